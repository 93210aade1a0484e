import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock, systemRandom } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { eventually, openProject } from '#support';
import { runCommandLine } from '../driftless.ts';
import { argoCrds } from '../simulation/fleet.ts';

const group = 'argoproj.io';
const source = { repoURL: 'https://git.example.com/shop.git', path: 'app', targetRevision: 'main' };
const startedAt = '2026-11-28T12:00:00Z';
const operation = { sync: {}, initiatedBy: { username: 'joe' }, retry: {} };
const running = { operation, phase: 'Running', startedAt, message: 'one or more tasks are running' };
const succeeded = {
  ...{ operation, phase: 'Succeeded', startedAt, finishedAt: '2026-11-28T12:00:03Z' },
  message: 'successfully synced (all tasks run)',
};

interface CommandRun {
  readonly out: string[];
  readonly err: string[];
  readonly stop: () => void;
  readonly ended: Promise<number>;
}

let hub: SimCluster;
let folder: string;
let runs: CommandRun[];

beforeEach(async () => {
  runs = [];
  hub = await startSimCluster({
    ...{ name: 'hub', clock: systemClock, random: systemRandom, crds: argoCrds() },
    workloads: { enabled: false, delayMs: 0 },
  });
  hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } });
  hub.store.create(openProject());
  folder = mkdtempSync(join(tmpdir(), 'driftless-operate-'));
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor([hub]));
});

afterEach(async () => {
  for (const run of runs) run.stop();
  await Promise.all(runs.map(({ ended }) => ended));
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

function create(name: string, over: JsonObject = {}): void {
  const { spec = {}, ...more } = over;
  hub.store.create({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd' },
    spec: { project: 'default', source, destination: { name: 'prod', namespace: 'shop' }, ...(spec as object) },
    ...more,
  });
}

function read(name: string): KubeObject & { readonly status?: JsonObject } {
  const found = hub.store.get(group, 'Application', 'argocd', name);
  if (found === undefined) throw new Error(`no Application argocd/${name}`);
  return found;
}

/** Writes as a controller: operation undefined removes it. */
function write(name: string, over: { readonly operation?: object | undefined; readonly status?: object }): void {
  const { operation: before, ...rest } = read(name);
  const requested = 'operation' in over ? over.operation : before;
  const status = { ...rest.status, ...over.status };
  hub.store.update({ ...rest, status, ...(requested === undefined ? {} : { operation: requested }) });
}

function start(...args: readonly string[]): CommandRun {
  const [out, err, end]: [string[], string[], AbortController] = [[], [], new AbortController()];
  const output = {
    ...{ color: false, live: false },
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    progress: (line: string) => void err.push(line),
  };
  const argv = [...args, '--kubeconfig', join(folder, 'kubeconfig')];
  const ended = runCommandLine(argv, { env: { HOME: '/nonexistent' }, output, signal: end.signal });
  const run = { out, err, stop: () => end.abort(new Shutdown()), ended };
  runs.push(run);
  return run;
}

async function run(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const { out, err, ended } = start(...args);
  const code = await ended;
  return { code, out: out.join('\n'), err: err.join('\n') };
}

/** Waits until a command waits. */
async function waits({ err }: CommandRun, text = 'waiting for the controller'): Promise<void> {
  await eventually(() => expect(err.join('\n')).toContain(text));
}

describe('driftless sync', () => {
  it('writes the operation with the name of the user, removes the last state, and does not wait', async () => {
    create('shop', { status: { operationState: succeeded } });
    const { code, out } = await run('sync', 'shop', '--revision', 'v2', '--prune');
    expect([code, out]).toEqual([0, 'Application argocd/shop: sync requested']);
    expect(read('shop')['operation']).toEqual({
      sync: { revision: 'v2', prune: true, source, syncStrategy: { hook: {} } },
      initiatedBy: { username: 'sim:admin' },
      retry: {},
    });
    expect(read('shop').status?.['operationState']).toBeUndefined();
  });

  it('with --wait shows the phases, the results and the exit code of the operation', async () => {
    create('shop');
    const command = start('sync', 'team/shop', '--wait');
    expect(await command.ended).toBe(1);
    expect(command.err.join()).toContain('there is no Application team/shop: did you mean argocd/shop?');
    const good = start('sync', 'shop', '--wait');
    await waits(good);
    write('shop', { status: { operationState: running } });
    await waits(good, 'argocd/shop: Running: one or more tasks are running');
    const row = { group: '', version: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a', status: 'Synced' };
    write('shop', {
      operation: undefined,
      status: {
        operationState: {
          ...succeeded,
          syncResult: { revision: 'c0ffee1234', source, resources: [{ ...row, message: 'created' }] },
        },
        sync: { status: 'Synced', revision: 'c0ffee1234' },
        health: { status: 'Healthy' },
      },
    });
    expect(await good.ended).toBe(0);
    expect(good.out).toEqual([
      'KIND        NAME     HOOK   STATUS   MESSAGE',
      'ConfigMap   shop/a          Synced   created',
      '',
      'Application argocd/shop: operation Succeeded after 3s',
      'It is Synced with c0ffee1, and Healthy',
    ]);
  });

  it.each([
    ['Failed', 'operation Failed: one or more objects failed to apply'],
    ['Error', 'operation Error: one or more objects failed to apply'],
  ])('exits with 1 if the operation ends as %s', async (phase, message) => {
    create('shop');
    const command = start('sync', 'shop', '--wait', '-o', 'json');
    await waits(command);
    const state = { ...succeeded, phase, message: 'one or more objects failed to apply' };
    write('shop', { operation: undefined, status: { operationState: state } });
    expect(await command.ended).toBe(1);
    expect(JSON.parse(command.out.join(''))).toMatchObject({
      ...{ namespace: 'argocd', name: 'shop', action: 'sync', state: 'failed', message },
      operationState: { phase },
      operation: { initiatedBy: { username: 'sim:admin' } },
    });
  });

  it('exits with 1 if resources are left that require pruning', async () => {
    create('shop');
    const command = start('sync', 'shop', '--wait');
    await waits(command);
    const row = { group: '', version: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'old', status: 'PruneSkipped' };
    const state = { ...succeeded, syncResult: { revision: 'c0ffee', source, resources: [row] } };
    write('shop', { operation: undefined, status: { operationState: state, sync: { status: 'OutOfSync' } } });
    expect(await command.ended).toBe(1);
    expect(command.err.at(-1)).toBe(
      'driftless: Application argocd/shop: operation Succeeded, but 1 resource requires pruning: driftless sync argocd/shop --prune',
    );
  });

  it('starts one operation when two people sync at the same time', async () => {
    create('shop');
    const results = await Promise.all([run('sync', 'shop'), run('sync', 'shop', '--prune')]);
    expect(results.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(results.map(({ err }) => err).join('')).toContain(
      'another operation is already in progress for Application argocd/shop: a sync by sim:admin, not begun yet',
    );
  });

  it('decides again if the Application changes before its write, and overwrites nothing', async () => {
    create('shop');
    let reads = 0;
    const stop = hub.onRequest(({ verb, resource }) => {
      if (verb !== 'patch' || resource !== 'applications') return;
      reads += 1;
      if (reads === 1) write('shop', { status: { reconciledAt: '2026-11-28T12:00:00Z' } });
      if (reads === 2) write('shop', { operation });
    });
    const { code, err } = await run('sync', 'shop');
    stop();
    expect([code, reads]).toEqual([1, 2]);
    expect(err).toContain('a sync by joe, not begun yet; wait for it, or end it: driftless terminate argocd/shop');
    expect(read('shop')['operation']).toEqual(operation);
  });

  it('says after the timeout which replica owns the cluster', async () => {
    create('shop');
    const table = {
      epoch: 1,
      replicas: 2,
      algorithm: 'round-robin',
      slots: 2,
      clusters: { 'https://c1': { names: ['prod'], shards: [1], homes: [1] } },
    };
    const member = { slot: 1, holder: 'driftless-1', incarnation: 'a', renewals: 1, acked: 1 };
    const mapping = [{ ShardNumber: 1, ControllerName: 'driftless-1', HeartbeatTime: null }];
    const map = (name: string, data: JsonObject): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'argocd' },
      data,
    });
    hub.store.create(map('driftless-ownership', { table: JSON.stringify(table) }));
    hub.store.create(
      map('argocd-app-controller-shard-cm', {
        shardControllerMapping: JSON.stringify(mapping),
        driftlessMembers: JSON.stringify([member]),
      }),
    );
    const { code, err } = await run('sync', 'shop', '--wait', '--timeout', '1ms');
    expect(code).toBe(1);
    expect(err).toContain(
      'Application argocd/shop: timed out waiting for the sync: no controller has answered; its cluster is owned by driftless-1; driftless explain argocd/shop shows what it waits for',
    );
  });

  it('says after a Ctrl-C that the sync goes on', async () => {
    create('shop');
    const command = start('sync', 'shop', '--wait');
    await waits(command);
    command.stop();
    expect(await command.ended).toBe(130);
    expect(command.err.at(-1)).toBe(
      'driftless: Application argocd/shop: interrupted; the sync goes on: driftless terminate argocd/shop ends it',
    );
    expect(read('shop')['operation']).toMatchObject({ sync: { syncStrategy: { hook: {} } } });
  });

  it.each([
    ['get', 'you need the right to get applications.argoproj.io in namespace argocd'],
    ['patch', 'you need the right to patch applications.argoproj.io in namespace argocd'],
  ])('names the right to %s that is missing', async (verb, message) => {
    create('shop');
    hub.addFault({ verb, resource: 'applications', fault: { kind: 'status', code: 403 } });
    const { code, err } = await run('sync', 'shop');
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
  });

  it('without the right to watch reads the Application again and again', async () => {
    create('shop');
    hub.addFault({ verb: 'watch', resource: 'applications', fault: { kind: 'status', code: 403 } });
    const command = start('sync', 'shop', '--wait');
    await waits(command);
    write('shop', { operation: undefined, status: { operationState: succeeded } });
    expect(await command.ended).toBe(0);
  });

  it('goes on when the watch breaks, and notices a deletion meanwhile', async () => {
    create('shop');
    const command = start('sync', 'shop', '--wait');
    await waits(command);
    hub.disconnect();
    write('shop', { status: { operationState: running } });
    await waits(command, 'Running');
    hub.store.delete(group, 'Application', 'argocd', 'shop');
    expect(await command.ended).toBe(1);
    expect(command.err.at(-1)).toContain('it was deleted during the sync');
  });

  // argoproj/argo-cd#12211: nothing changes any more once the wait begins.
  it('sees an operation that ends before its watch begins', async () => {
    create('shop');
    const stop = hub.onRequest(({ verb, resource }) => {
      if (verb !== 'watch' || resource !== 'applications') return;
      stop();
      write('shop', { operation: undefined, status: { operationState: succeeded } });
    });
    expect(await start('sync', 'shop', '--wait').ended).toBe(0);
  });

  // argoproj/argo-cd#5592: "Operation has completed with phase: Running".
  it('goes on waiting while the operation waits for its retry', async () => {
    create('shop');
    const command = start('sync', 'shop', '--wait');
    await waits(command);
    const message = 'failed to apply. Retrying attempt #1 at 2026-01-01T15:04:05Z.';
    write('shop', { status: { operationState: { ...succeeded, phase: 'Running', message, retryCount: 1 } } });
    await waits(command, message);
    write('shop', { operation: undefined, status: { operationState: { ...succeeded, retryCount: 1 } } });
    expect(await command.ended).toBe(0);
  });

  // Flux: a reconcile request to a suspended object is never answered.
  it.each(['sync', 'refresh', 'rollback'])(
    '%s is refused for an Application that is not reconciled',
    async (command) => {
      create('shop');
      const { metadata, ...rest } = read('shop');
      const annotations = { 'argocd.argoproj.io/skip-reconcile': 'true' };
      hub.store.update({ ...rest, metadata: { ...metadata, annotations } });
      const { code, err } = await run(command, 'shop', '--wait');
      expect([code, err]).toEqual([
        1,
        'driftless: Application argocd/shop is not reconciled: remove its annotation argocd.argoproj.io/skip-reconcile first',
      ]);
    },
  );

  it('notices that the operation was removed before a controller began it', async () => {
    create('shop');
    const command = start('sync', 'shop', '--wait');
    await waits(command);
    write('shop', { operation: undefined });
    expect(await command.ended).toBe(1);
    expect(command.err.at(-1)).toContain('it was removed before a controller began it');
  });

  it('is refused while a sync window of the project forbids it, as by the API server of Argo CD', async () => {
    create('shop');
    const project = hub.store.get(group, 'AppProject', 'argocd', 'default');
    const syncWindows = [{ kind: 'deny', schedule: '* * * * *', duration: '2h', applications: ['shop'] }];
    hub.store.update({ ...project!, spec: { ...(project?.['spec'] as object), syncWindows } });
    const { code, err } = await run('sync', 'shop');
    expect(code).toBe(1);
    expect(err).toContain('blocked by a sync window of project default: deny "* * * * *" for 2h');
    expect(read('shop')['operation']).toBeUndefined();
  });
});

describe('driftless rollback', () => {
  it('syncs to the revision of an entry of the history', async () => {
    const history = [0, 1].map((id) => ({ id, revision: `sha${id}`, source, deployedAt: startedAt, initiatedBy: {} }));
    create('shop', { status: { history } });
    expect(await run('rollback', 'shop', '0')).toMatchObject({
      code: 0,
      out: 'Application argocd/shop: rollback requested',
    });
    expect(read('shop')['operation']).toEqual({
      sync: { revision: 'sha0', source, syncStrategy: { apply: {} } },
      initiatedBy: { username: 'sim:admin' },
      retry: {},
    });
  });
});

describe('driftless terminate', () => {
  it('ends the operation in flight, and with --wait sees its end', async () => {
    create('shop', { operation, status: { operationState: running } });
    const command = start('terminate', 'shop', '--wait');
    await waits(command, 'Terminating');
    expect(read('shop').status?.['operationState']).toMatchObject({ ...running, phase: 'Terminating' });
    write('shop', {
      operation: undefined,
      status: { operationState: { ...succeeded, phase: 'Failed', message: 'Operation terminated' } },
    });
    expect(await command.ended).toBe(0);
    expect(command.out.at(-1)).toBe('Application argocd/shop: the operation has ended: Failed: Operation terminated');
  });

  it('removes an operation that no controller has begun', async () => {
    create('shop', { operation, status: { operationState: succeeded } });
    const { code, out } = await run('terminate', 'shop');
    expect([code, out]).toEqual([0, 'Application argocd/shop: the operation was removed; no controller had begun it']);
    expect(read('shop')['operation'] ?? null).toBeNull();
  });

  it('fails without an operation', async () => {
    create('shop', { status: { operationState: succeeded } });
    const { code, err } = await run('terminate', 'shop');
    expect([code, err]).toEqual([
      1,
      'driftless: Application argocd/shop has no operation in progress, so there is none to terminate',
    ]);
  });
});

describe('driftless refresh', () => {
  const annotationsOf = (name: string): Readonly<Record<string, string>> => read(name).metadata.annotations ?? {};

  function answer(name: string, status: object): void {
    const { metadata, ...rest } = read(name);
    hub.store.update({
      ...rest,
      metadata: { ...metadata, annotations: {} },
      status: { ...rest.status, ...status },
    });
  }

  it('writes the annotations of Argo CD, and with --wait sees the comparison', async () => {
    create('shop');
    const command = start('refresh', 'shop', '--hard', '--wait');
    await waits(command, 'waiting for the comparison');
    expect(annotationsOf('shop')).toEqual({
      'argocd.argoproj.io/refresh': 'hard',
      'argocd.argoproj.io/refresh-timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    answer('shop', { sync: { status: 'OutOfSync', revision: 'c0ffee1234' }, health: { status: 'Healthy' } });
    expect(await command.ended).toBe(0);
    expect(command.out).toEqual(['Application argocd/shop: compared', 'It is OutOfSync with c0ffee1, and Healthy']);
  });

  it('fails if the Application could not be compared', async () => {
    create('shop');
    const command = start('refresh', 'shop', '--wait', '-o', 'yaml');
    await waits(command, 'waiting for the comparison');
    answer('shop', { conditions: [{ type: 'ComparisonError', message: 'no such branch' }] });
    expect(await command.ended).toBe(1);
    expect(command.out.join('\n')).toContain('state: failed');
    expect(command.err.at(-1)).toBe(
      'driftless: Application argocd/shop: not compared: ComparisonError: no such branch',
    );
  });

  it.each([
    [['refresh'], 'usage: driftless refresh'],
    [['sync', 'a', 'b'], 'usage: driftless sync'],
    [['sync', 'a/b/c'], 'an Application is named NAME or NAMESPACE/NAME, not "a/b/c"'],
    [['rollback', 'a', '1', '2'], 'usage: driftless rollback'],
    [['terminate', ''], 'usage: driftless terminate'],
  ])('%j is wrong usage', async (args, message) => {
    const { code, err } = await run(...args);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

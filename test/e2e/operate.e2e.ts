import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { driftless, eventually } from '#support';
import type { ProgramResult } from '#support';
import { endlessHook, settings } from './argo-cli/manifests.ts';
import { inCluster } from './argo-cli/stage.ts';
import { ArgoWorld } from './argo-cli/world.ts';
import type { CommandOutcome } from './argo-cli/world.ts';
import type { ServedRepository } from './argo-cli/repository.ts';

const limitMs = 120_000;
const applications = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';

interface Operation {
  readonly sync?: { readonly revision?: string };
  readonly initiatedBy?: { readonly username?: string };
}

interface StoredApplication {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly operation?: Operation | null;
  readonly status?: {
    readonly sync?: { readonly status: string };
    readonly history?: readonly { readonly id: number; readonly revision: string }[];
    readonly operationState?: {
      readonly operation: Operation;
      readonly phase: string;
      readonly startedAt: string;
      readonly syncResult?: { readonly revision?: string };
    };
  };
}

let world: ArgoWorld;
let repository: ServedRepository;

async function read(name: string): Promise<StoredApplication> {
  const app = await world.hub.api.get<StoredApplication>(`${applications}/${name}`);
  if (app === undefined) throw new Error(`no Application ${name}`);
  return app;
}

async function until(name: string, holds: (app: StoredApplication) => boolean): Promise<StoredApplication> {
  return eventually(async () => {
    const app = await read(name);
    if (!holds(app)) throw new Error(`${name}: ${JSON.stringify(app)}\n${world.tail()}`);
    return app;
  }, limitMs);
}

function ours(...args: readonly string[]): Promise<ProgramResult> {
  return driftless([...args, '--kubeconfig', world.hub.kubeconfig]);
}

async function theirs(...args: readonly string[]): Promise<CommandOutcome> {
  const outcome = await world.argocd(args);
  if (outcome.code !== 0) throw new Error(`argocd ${args.join(' ')}: ${outcome.text}\n${world.tail()}`);
  return outcome;
}

/** Creates an Application, for the repository of the same name. */
async function create(name: string, files: Readonly<Record<string, string>>): Promise<ServedRepository> {
  const created = world.repository(name);
  created.commit(files);
  const metadata = { name, namespace: 'argocd' };
  const spec = {
    project: 'default',
    source: { repoURL: world.url(name), path: 'app', targetRevision: 'main' },
    destination: { server: inCluster, namespace: name },
    syncPolicy: { syncOptions: ['CreateNamespace=true'], retry: { limit: 1, backoff: { duration: '5s', factor: 2 } } },
  };
  const body = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata, spec };
  await world.hub.kubectl(['apply', '-f', '-'], { input: JSON.stringify(body) });
  await until(name, ({ status }) => status?.sync?.status === 'OutOfSync');
  return created;
}

/** The operation that the last command wrote, as the controller has kept it. */
async function written(name: string): Promise<Operation> {
  const { status } = await until(name, ({ operation, status: now }) => {
    const phase = now?.operationState?.phase;
    return (operation ?? null) === null && phase !== undefined && phase !== 'Running' && phase !== 'Terminating';
  });
  return status?.operationState?.operation ?? {};
}

/** Without what differs by design: the name of the user and the resolved revision. */
function comparable({ sync = {}, ...rest }: Operation): object {
  const others = omit(sync, 'revision');
  return { ...rest, sync: others, initiatedBy: Object.keys(rest.initiatedBy ?? {}) };
}

beforeAll(async () => {
  world = await ArgoWorld.start('Driftless');
  await theirs('login', world.address, '--username', 'admin', '--password', 'password');
  repository = await create('shop', {
    'app/a.yaml': settings('a', 'blue'),
    'app/b.yaml': settings('b', 'blue'),
    'app/old.yaml': settings('old', 'blue'),
  });
}, 600_000);
afterAll(() => world.close());

describe("driftless and Argo CD's CLI write the same operation", () => {
  it.each([
    ['of all', [], []],
    ['with prune', ['--prune'], ['--prune']],
    ['as a dry run', ['--dry-run'], ['--dry-run']],
    ['of one resource', ['--resource', ':ConfigMap:a'], ['--resource', ':ConfigMap:a']],
    ['of all but one', ['--resource', '!:ConfigMap:a'], ['--resource', '!:ConfigMap:a']],
    ['to a revision', ['--revision', 'main'], ['--revision', 'main']],
  ])(
    'a sync %s',
    async (_name, argoFlags, flags) => {
      await theirs('app', 'sync', 'shop', '--timeout', '90', ...argoFlags);
      const expected = await written('shop');
      const { code, stderr } = await ours('sync', 'shop', '--wait', '--timeout', '90s', ...flags);
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      const found = await written('shop');
      expect(comparable(found)).toEqual(comparable(expected));
      // The API server of Argo CD resolves the revision, here the controller does.
      expect(expected.sync?.revision).toMatch(/^[0-9a-f]{40}$/);
      expect(found.initiatedBy?.username).not.toBe('');
    },
    limitMs * 2,
  );

  it(
    'a rollback, with and without prune',
    async () => {
      repository.commit({ 'app/a.yaml': settings('a', 'green'), 'app/old.yaml': null });
      expect(await ours('sync', 'shop', '--prune', '--wait')).toMatchObject({ code: 0 });
      const { status } = await read('shop');
      const [first] = status?.history ?? [];
      if (first === undefined) throw new Error('no history');
      for (const flags of [[], ['--prune']]) {
        await theirs('app', 'rollback', 'shop', String(first.id), '--timeout', '90', ...flags);
        const expected = await written('shop');
        const { code, stderr } = await ours('rollback', 'shop', String(first.id), '--wait', ...flags);
        expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
        expect({ ...(await written('shop')), initiatedBy: {} }).toEqual({ ...expected, initiatedBy: {} });
      }
    },
    limitMs * 2,
  );
});

describe("beside Argo CD's API server", () => {
  it(
    'a refresh has the annotations of `argocd app get --refresh`, and ends with the comparison',
    async () => {
      const requests: Readonly<Record<string, string>>[] = [];
      const stop = new AbortController();
      const watching = watchRequests(requests, stop.signal);
      try {
        for (const [index, [flag, more]] of (
          [
            ['--refresh', []],
            ['--hard-refresh', ['--hard']],
          ] as const
        ).entries()) {
          await theirs('app', 'get', 'shop', flag);
          await eventually(() => expect(requests).toHaveLength(2 * index + 1), limitMs);
          const { code, stdout } = await ours('refresh', 'shop', '--wait', '-o', 'json', ...more);
          expect([code, JSON.parse(stdout)]).toEqual([
            0,
            expect.objectContaining({ state: 'done', message: 'compared' }),
          ]);
          await eventually(() => expect(requests).toHaveLength(2 * index + 2), limitMs);
          expect(requests.at(-1)).toEqual(requests.at(-2));
        }
      } finally {
        stop.abort();
        await watching.catch(() => undefined);
      }
    },
    limitMs * 2,
  );

  it(
    'a second operation is refused, and terminate ends the first; then another may start',
    async () => {
      await create('stuck', { 'app/hook.yaml': endlessHook, 'app/a.yaml': settings('a', 'blue') });
      await theirs('app', 'sync', 'stuck', '--async');
      await until('stuck', ({ status }) => status?.operationState?.phase === 'Running');
      const second = await ours('sync', 'stuck');
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringContaining(
          'another operation is already in progress for Application argocd/stuck: a sync by admin',
        ),
      ]);
      const timedOut = await ours('terminate', 'stuck', '--wait');
      expect([timedOut.code, timedOut.stdout]).toEqual([0, expect.stringContaining('Failed: Operation terminated')]);
      expect(await ours('sync', 'stuck', '--dry-run', '--resource', ':ConfigMap:a')).toMatchObject({ code: 0 });
      expect(comparable(await written('stuck'))).toMatchObject({ sync: { dryRun: true } });
      const none = await ours('terminate', 'stuck');
      expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('has no operation in progress')]);
    },
    limitMs * 2,
  );
});

/** Records the value of each request for a refresh, and whether it has a time. */
async function watchRequests(requests: Readonly<Record<string, string>>[], signal: AbortSignal): Promise<void> {
  const path = `${applications}?watch=true&fieldSelector=metadata.name%3Dshop`;
  let last = '';
  for await (const { object } of world.hub.api.watch(path, signal)) {
    const { annotations = {} } = (object as unknown as StoredApplication).metadata;
    const refresh = annotations['argocd.argoproj.io/refresh'] ?? '';
    const timestamp = annotations['argocd.argoproj.io/refresh-timestamp'] ?? '';
    if (timestamp !== '' && timestamp !== last)
      requests.push({ refresh, timed: String(!Number.isNaN(Date.parse(timestamp))) });
    last = timestamp;
  }
}

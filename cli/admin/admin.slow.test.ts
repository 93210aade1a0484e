import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { kubeconfigFor } from '#sim';
import type { SimRequest } from '#sim';
import { World } from '../../test/acceptance/world.ts';
import type { GitFixture } from '../../test/acceptance/world.ts';
import { runCommandLine } from '../driftless.ts';

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function admin(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Finished> {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const err = (line: string): void => void stderr.push(`${line}\n`);
  const out = (line: string): void => void stdout.push(`${line}\n`);
  const output = { color: false, live: false, out, err, progress: err };
  const surroundings = { PATH: env['PATH'], HOME: '/nonexistent', DRIFTLESS_ALLOW_LOCAL_REPOSITORIES: 'true', ...more };
  const code = await runCommandLine(['admin', ...args], {
    env: surroundings,
    output,
    signal: new AbortController().signal,
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

interface Results {
  readonly applications: readonly {
    readonly name: string;
    readonly health: string;
    readonly sync: { readonly status: string; readonly revision?: string; readonly comparedTo: object };
    readonly conditions: readonly { readonly type: string; readonly message: string }[] | null;
  }[];
}

describe('get-reconcile-results', () => {
  let world: World;
  let repo: GitFixture;
  let hub: readonly string[];
  let requests: SimRequest[] = [];
  const path = (name: string): string => join(world.root, name);

  beforeAll(async () => {
    world = await World.start();
    writeFileSync(path('kubeconfig'), kubeconfigFor([world.hub]));
    hub = ['--kubeconfig', path('kubeconfig'), '-n', 'argocd'];
    repo = world.repository('app');
    const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {key: a}\n';
    repo.commit({ 'plain/cm.yaml': configMap });
    const source = { repoURL: repo.url, path: 'plain', targetRevision: 'main' };
    world.application('plain', { source, syncPolicy: { automated: {} } }, { labels: { team: 'shop' } });
    const replica = await world.replica({ persistResourceHealth: true });
    await world.until('plain', (app) => {
      expect([app.status?.sync?.status, app.status?.operationState?.phase]).toEqual(['Synced', 'Succeeded']);
    });
    await replica.stop();
    world.application('fresh', { source });
    world.application('lost', { source: { ...source, path: 'nowhere' } });
    const collect = (request: SimRequest): void => void requests.push(request);
    world.hub.onRequest(collect);
    world.cluster.onRequest(collect);
  }, 60_000);
  afterAll(() => world.close());

  async function results(...args: readonly string[]): Promise<Results> {
    const { code, stdout, stderr } = await admin(['get-reconcile-results', '-', '-o', 'json', ...hub, ...args]);
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Results;
  }

  it('takes the stored status, by Applications of the namespace', async () => {
    const { applications } = await results();
    expect(applications.map(({ name, health, sync }) => [name, health, sync.status])).toEqual([
      ['fresh', '', ''],
      ['lost', '', ''],
      ['plain', 'Healthy', 'Synced'],
    ]);
    expect(applications[2]?.sync).toEqual(world.app('plain')?.status?.sync);
    expect(applications[2]?.conditions).toBeNull();
  });

  it('takes flags as in Argo CD, also under `admin app`, and writes YAML by default', async () => {
    const file = path('results');
    const finished = await admin(['app', 'get-reconcile-results', file, ...hub, '--l', 'team=shop']);
    expect(finished).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(readFileSync(file, 'utf8')).toMatch(
      /^applications:\n- conditions: null\n {2}health: Healthy\n {2}name: plain\n/,
    );
    expect((await results('-l', 'team!=shop')).applications.map(({ name }) => name)).toEqual(['fresh', 'lost']);
    const none = await admin(['get-reconcile-results', file, ...hub, '--selector', 'team=none', '--o=json']);
    expect(none).toMatchObject({
      code: 0,
      stderr: 'driftless: no Application in namespace argocd matches --selector\n',
    });
    expect(readFileSync(file, 'utf8')).toBe('{"applications":null}');
  });

  it('compares again with --refresh, and writes nothing to a cluster', async () => {
    requests = [];
    const { applications } = await results('--refresh', '--timeout', '30s');
    const [fresh, lost, plain] = applications;
    expect([fresh?.health, fresh?.sync.status, fresh?.sync.revision]).toEqual([
      'Healthy',
      // Its only object belongs to the Application `plain`.
      'OutOfSync',
      plain?.sync.revision,
    ]);
    expect([lost?.sync.status, lost?.conditions?.map(({ type }) => type)]).toEqual(['Unknown', ['ComparisonError']]);
    expect(plain?.sync).toEqual(world.app('plain')?.status?.sync);
    expect(requests.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))).toEqual([]);
    expect(world.app('fresh')?.status).toBeUndefined();
  }, 60_000);

  it('an Application that is not compared in time fails the command, and no file is written', async () => {
    const heal = world.cluster.addFault({ resource: 'configmaps', fault: { kind: 'hang' } });
    const file = path('unfinished');
    const finished = await admin(['get-reconcile-results', file, '--refresh', '--timeout', '2s', ...hub]);
    heal();
    expect(finished.code).toBe(2);
    expect(finished.stderr).toMatch(/not compared within --timeout \(2 s\): .*; nothing is written\n$/);
    expect(existsSync(file)).toBe(false);
  }, 30_000);

  const refused: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /usage: driftless admin get-reconcile-results PATH/],
    [['a', 'b'], /usage: /],
    [['a', '--server-side-diff'], /--server-side-diff is not supported: it sends dry runs/],
    [['a', '--repo-server', 'x:1'], /--repo-server needs --refresh/],
    [['a', '--refresh', '--repo-server-plaintext'], /--repo-server-plaintext needs --repo-server/],
    [['a', '-o', 'xml'], /--output: must be one of yaml, json/],
    [['a', '--as', 'me'], /unknown flag --as/],
  ];
  it.each(refused)('refuses %j by name', async (args, message) => {
    const { code, stderr } = await admin(['get-reconcile-results', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('names what cannot be read or written', async () => {
    const folder = path('none/at/all');
    expect((await admin(['get-reconcile-results', folder, ...hub])).stderr).toMatch(/cannot write .*ENOENT/);
    const destination = ['--kubeconfig', path('other'), '-n', 'argocd'];
    writeFileSync(path('other'), kubeconfigFor([world.cluster]));
    expect((await admin(['get-reconcile-results', '-', ...destination])).stderr).toMatch(
      /does not know Applications: is Argo CD in another cluster\?/,
    );
    expect((await admin(['get-reconcile-results', '-', ...hub, '-l', 'a==,b c'])).code).not.toBe(0);
  });
});

describe('diff-reconcile-results', () => {
  let world: World;
  const path = (name: string): string => join(world.root, name);
  const entry = (name: string, sync: string): object => ({
    name,
    health: 'Healthy',
    sync: { status: sync },
    conditions: null,
  });
  const write = (name: string, applications: readonly object[]): string => {
    writeFileSync(path(name), JSON.stringify({ applications }));
    return path(name);
  };

  beforeAll(async () => {
    world = await World.start();
  });
  afterAll(() => world.close());

  it("prints each name, and what `diff` prints if it differs; exit 0, as Argo CD's", async () => {
    const first = write('1', [entry('b', 'Synced'), entry('a', 'Synced'), entry('gone', 'Synced')]);
    const second = write('2', [entry('a', 'Synced'), entry('b', 'OutOfSync')]);
    const { code, stdout } = await admin(['app', 'diff-reconcile-results', first, second]);
    expect([code, stdout]).toEqual([
      0,
      'a\nb\n5c5\n<   status: Synced\n---\n>   status: OutOfSync\ngone\n1,5d0\n< conditions: null\n< health: Healthy\n< name: gone\n< sync:\n<   status: Synced\n',
    ]);
    expect((await admin(['diff-reconcile-results', '--exit-code', first, second])).code).toBe(1);
    expect((await admin(['diff-reconcile-results', '--exit-code', first, first])).code).toBe(0);
  });

  it('passes hostile names to no program, folder or terminal', async () => {
    const hostile = ['../../escape', '--to-file=x', '$(id)', 'a\nb', '\u001b[2J'];
    const first = write(
      '1',
      hostile.map((name) => entry(name, 'Synced')),
    );
    const second = write(
      '2',
      hostile.map((name) => entry(name, 'OutOfSync')),
    );
    const seen = path('arguments');
    const program = path('differ');
    writeFileSync(program, `#!/bin/sh\necho "$@" >> ${seen}\nexit 1\n`);
    chmodSync(program, 0o755);
    const { code, stdout } = await admin(['diff-reconcile-results', first, second], {
      KUBECTL_EXTERNAL_DIFF: `${program} -u`,
    });
    expect(code).toBe(0);
    expect(stdout).not.toContain('\u001b');
    expect(stdout.split('\n')).toHaveLength(hostile.length + 1);
    const calls = readFileSync(seen, 'utf8').trim().split('\n');
    expect(calls).toHaveLength(hostile.length);
    for (const call of calls) expect(call).toMatch(/^-u \S+\/first\.yaml \S+\/second\.yaml$/);
    expect(existsSync(join(world.root, '..', 'escape'))).toBe(false);
  });

  it('fails with the reason when the program fails or is missing', async () => {
    const [first, second] = [write('1', [entry('a', 'Synced')]), write('2', [entry('a', 'OutOfSync')])];
    const failing = await admin(['diff-reconcile-results', first, second], {
      KUBECTL_EXTERNAL_DIFF: 'diff --nonsense',
    });
    expect([failing.code, failing.stderr]).toEqual([2, expect.stringMatching(/diff failed: .*nonsense/)]);
    const missing = await admin(['diff-reconcile-results', first, second], { KUBECTL_EXTERNAL_DIFF: '/none' });
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('/none')]);
  });

  it('names the file that cannot be read', async () => {
    const good = write('1', []);
    expect((await admin(['diff-reconcile-results', good, path('none')])).stderr).toMatch(
      /cannot read .*none: .*ENOENT/,
    );
    writeFileSync(path('cut'), '{"applications":[{"na');
    expect((await admin(['diff-reconcile-results', good, path('cut')])).stderr).toMatch(
      /cut: not a whole JSON or YAML/,
    );
    expect((await admin(['diff-reconcile-results', good])).stderr).toMatch(/usage: /);
  });
});

describe('admin', () => {
  it('names the commands that it has, and those that argocd has', async () => {
    expect((await admin([])).code).toBe(2);
    expect(await admin(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('admin cluster shards') });
    expect((await admin(['export'])).stderr).toMatch(/there is no "driftless admin export": argocd admin export may/);
    expect((await admin(['cluster', 'shard'])).stderr).toMatch(/did you mean shards\?/);
    expect((await admin(['app', 'constructor'])).stderr).toMatch(/there is no "driftless admin app constructor"/);
  });
});

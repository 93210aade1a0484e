import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createToolLookup } from '#desired';
import { driftless, eventually, Program, RawApi, serversOf } from '#support';

const run = promisify(execFile);
const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
const apps = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';
const limitMs = 60_000;

interface Application {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly source: { readonly repoURL: string } };
  readonly operation?: unknown;
  readonly status?: {
    readonly sync?: { readonly status?: string; readonly revision?: string };
    readonly health?: { readonly status?: string };
    readonly history?: readonly { readonly id: number }[];
    readonly operationState?: { readonly startedAt: string; readonly phase: string };
  };
}

interface Deployment {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly replicas: number };
}

/** Operation and history of an Application: if they are unchanged, no operation was repeated. */
function operationsOf(app: Application): unknown {
  return [app.metadata.name, app.status?.history?.map(({ id }) => id), app.status?.operationState?.startedAt];
}

const isGood = (app: Application): boolean =>
  app.status?.sync?.status === 'Synced' && app.status.health?.status === 'Healthy';

/**
 * Three samples on each of three clusters, one with two sources, and one for each rendering program
 * on this machine.
 */
function sampleCount(): number {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folders = [process.env['DRIFTLESS_E2E_CACHE'] ?? join(cache, 'driftless', 'e2e')];
  const lookup = createToolLookup({ path: process.env['PATH'], folders });
  return 10 + ['helm', 'kustomize', 'jsonnet'].filter((name) => lookup(name) !== undefined).length;
}

describe('the demo', () => {
  it('with --once -o json ends by itself and prints a JSON summary as its last line', async () => {
    const wanted = sampleCount();
    const all = { applications: wanted, synced: wanted, healthy: wanted };
    const { code, stdout, stderr } = await driftless(['demo', '--once', '-o', 'json', '--timeout', '90s']);
    const last: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect({ code, last, stderr: code === 0 ? '' : stderr }).toEqual({
      code: 0,
      stderr: '',
      last: { ...all, clusters: 3, replicas: 3, elapsedMs: expect.any(Number) },
    });
  }, 120_000);
});

describe('a running demo', () => {
  let demo: Program;
  let folder: string;
  let hub: RawApi;
  let cluster: RawApi;
  let work: string;
  const deployment = '/apis/apps/v1/namespaces/guestbook/deployments/guestbook-ui';

  beforeAll(async () => {
    work = mkdtempSync(join(tmpdir(), 'driftless-acceptance-'));
    demo = new Program(['demo', '--port', '0', '--timeout', '90s']);
    await eventually(() => expect(demo.stdout).toContain('Press Ctrl-C to stop.'), 100_000);
    const kubeconfig = /KUBECONFIG=(\S+)/.exec(demo.stdout)?.[1] ?? '';
    folder = dirname(kubeconfig);
    const servers = serversOf(kubeconfig);
    hub = new RawApi(servers.get('hub') ?? '');
    cluster = new RawApi(servers.get('sim-0') ?? '');
  }, 120_000);

  afterAll(() => {
    demo.child.kill('SIGKILL');
    rmSync(work, { recursive: true, force: true });
  });

  const app = async (name: string): Promise<Application> => (await hub.get<Application>(`${apps}/${name}`))!;
  const allGood = async (): Promise<void> => {
    const all = await hub.list<Application>(apps);
    expect(all.filter((one) => !isGood(one)).map((one) => one.metadata.name)).toEqual([]);
  };

  it('shows its dashboard', async () => {
    const url = /dashboard: (\S+)/.exec(demo.stderr)?.[1] ?? '';
    expect(await (await fetch(url)).text()).toContain('<title>Driftless</title>');
    const page = async <T>(name: string): Promise<T> => (await (await fetch(`${url}/api/v1/${name}`)).json()) as T;
    await eventually(async () => {
      const { total } = await page<{ readonly total: number }>('applications');
      const { items } = await page<{ readonly items: readonly { readonly ready: boolean }[] }>('replica');
      const { clusters } = await page<{ readonly clusters: readonly { readonly names: readonly string[] }[] }>(
        'ownership',
      );
      expect([total, items.map(({ ready }) => ready)]).toEqual([sampleCount(), [true, true, true]]);
      expect(clusters.flatMap(({ names }) => names).sort()).toEqual(['in-cluster', 'sim-0', 'sim-1', 'sim-2']);
    });
  });

  it('prints a KUBECONFIG with which the commands that it suggests work', async () => {
    const kubeconfig = join(folder, 'kubeconfig');
    const suggested = [...demo.stdout.matchAll(/^ {2}driftless (.+)$/gm)].map(([, words = '']) => words.split(' '));
    expect(suggested.map(([name]) => name)).toEqual(['explain', 'top', 'preflight', 'refresh', 'sync']);
    for (const words of [...suggested, ['shards', 'stats'], ['explain', 'replica', 'driftless-2']])
      // A replica on a busy machine may just have lost its shard.
      await eventually(async () => {
        const { code, stdout, stderr } = await driftless([...words, '--kubeconfig', kubeconfig]);
        // Without helm and kustomize on PATH, preflight names them as missing.
        const isFine = code === 0 || (words[0] === 'preflight' && stdout.includes('MISSING'));
        expect([words, code, isFine ? '' : `${stdout}\n${stderr}`]).toEqual([words, code, '']);
        expect(stderr).not.toContain('your kubeconfig has no token');
      }, limitMs);
    await eventually(allGood, limitMs);
  }, 300_000);

  it('recreates a deleted object', async () => {
    const before = await cluster.get<Deployment>(deployment);
    const begin = performance.now();
    await cluster.delete(deployment);
    const after = await eventually(async () => {
      const live = await cluster.get<Deployment>(deployment);
      expect(live?.metadata.uid ?? before?.metadata.uid).not.toBe(before?.metadata.uid);
      return performance.now();
    }, limitMs);
    process.stdout.write(`a deleted Deployment was back after ${Math.round(after - begin)} ms\n`);
    await eventually(allGood, limitMs);
  }, 90_000);

  it('reverts an edited object', async () => {
    const wanted = (await cluster.get<Deployment>(deployment))?.spec.replicas;
    const begin = performance.now();
    await cluster.mergePatch(deployment, { spec: { replicas: 7 } });
    await eventually(
      async () => expect((await cluster.get<Deployment>(deployment))?.spec.replicas).toBe(wanted),
      limitMs,
    );
    process.stdout.write(`an edited Deployment was right after ${Math.round(performance.now() - begin)} ms\n`);
    await eventually(allGood, limitMs);
  }, 90_000);

  it('deploys a commit after a refresh request', async () => {
    const { repoURL } = (await app('guestbook-sim-0')).spec.source;
    const tree = join(work, 'guestbook');
    await run('git', ['clone', '-q', repoURL, tree]);
    writeFileSync(
      join(tree, 'added.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: added\ndata:\n  by: test\n',
    );
    await run('git', ['add', '.'], { cwd: tree });
    await run('git', [...identity, 'commit', '-q', '-m', 'add'], { cwd: tree });
    await run('git', ['push', '-q', 'origin', 'HEAD:main'], { cwd: tree });
    const head = (await run('git', ['rev-parse', 'HEAD'], { cwd: tree })).stdout.trim();
    const refreshed = await driftless(['refresh', 'guestbook-sim-0', '--kubeconfig', join(folder, 'kubeconfig')]);
    expect(refreshed).toMatchObject({ code: 0 });
    await eventually(async () => {
      expect(await cluster.get('/api/v1/namespaces/guestbook/configmaps/added')).toMatchObject({
        data: { by: 'test' },
      });
      const now = await app('guestbook-sim-0');
      expect(now.status?.sync).toMatchObject({ status: 'Synced', revision: head });
      expect(now.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    }, limitMs);
  }, 90_000);

  it('loses no object and repeats no operation when a replica is killed', async () => {
    await eventually(allGood, limitMs);
    const before = (await hub.list<Application>(apps)).map(operationsOf);
    const pid = Number(/driftless-1 {3}pid (\d+)/.exec(demo.stdout)?.[1]);
    process.kill(pid, 'SIGKILL');
    await eventually(() => expect(demo.stderr).toContain('driftless-1 ended (SIGKILL) and is restarted'), limitMs);
    const ready = (): number =>
      readFileSync(join(folder, 'driftless-1.log'), 'utf8').split('Cluster cache is complete').length;
    const seen = ready();
    await eventually(() => expect(ready()).toBeGreaterThan(seen), limitMs);
    await eventually(allGood, limitMs);
    expect((await hub.list<Application>(apps)).map(operationsOf)).toEqual(before);
  }, 90_000);

  it('deletes the resources of a deleted Application', async () => {
    await hub.delete(`${apps}/waves-sim-0`);
    await eventually(async () => {
      expect(await hub.get(`${apps}/waves-sim-0`)).toBeUndefined();
      expect(await cluster.list('/apis/apps/v1/namespaces/waves/deployments')).toEqual([]);
      expect(await cluster.list('/api/v1/namespaces/waves/services')).toEqual([]);
    }, limitMs);
  }, 90_000);

  it('ends within five seconds of Ctrl-C and leaves no files behind', async () => {
    const pids = [...demo.stdout.matchAll(/pid (\d+)/g)].map((match) => Number(match[1]));
    const end = await demo.stop('SIGINT');
    process.stdout.write(`the demo ended after ${end.tookMs} ms\n`);
    expect(end.code).toBe(0);
    expect(existsSync(folder)).toBe(false);
    const alive = pids.filter((pid) => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    });
    expect(alive).toEqual([]);
    await expect(hub.list(apps)).rejects.toThrow();
  }, 30_000);
});

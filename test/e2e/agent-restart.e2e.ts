/** @seconds 400 */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, Program } from '#support';
import { GitFixture } from '../acceptance/world.ts';
import { startGitServer } from './support/git-server.ts';
import type { GitServer } from './support/git-server.ts';
import { HangingProxy } from './support/hanging-proxy.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const limitMs = 90_000;
const record = '/apis/coordination.k8s.io/v1/namespaces/driftless-agent/leases/agent-shop';
const revisionAnnotation = 'driftless.io/agent-revision';

interface ConfigMap {
  readonly data?: { readonly value?: string };
}

const manifest = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: "${value}"}\n`;

/** Overwrites each file below a folder. */
function garble(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (!statSync(path).isFile()) continue;
    rmSync(path);
    writeFileSync(path, 'garbled');
  }
}

describe('driftless agent on a real API server, killed and started again while Git is away', () => {
  let world: Servers<'target'>;
  let target: Server;
  let double: ClusterDouble;
  let git: GitServer;
  let path: HangingProxy;
  let repo: GitFixture;
  let agent: Program;
  let namespace = '';
  let count = 0;
  let port = 0;

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    double = await startDouble(target.access);
    git = await startGitServer({ root: world.folder });
    path = await HangingProxy.start(Number(new URL(git.url).port));
    ({ port } = path);
  }, 120_000);
  beforeEach(async () => {
    count += 1;
    namespace = `shop-${count}`;
    await target.kubectl(['create', 'namespace', namespace]);
    repo = new GitFixture(world.folder, namespace);
    const first = repo.commit({ 'app/one.yaml': manifest('one', '1'), 'app/two.yaml': manifest('two', '1') });
    start();
    await eventually(async () => {
      expect([agent.stdout, await valueOf('two')]).toEqual([expect.stringContaining('Synced, Healthy'), '1']);
      expect(await revisionInRecord()).toContain(first);
    }, limitMs);
    await agent.stop('SIGKILL');
  }, 120_000);
  afterEach(async () => {
    await agent.stop('SIGTERM');
    path.heal();
    await target.api.delete(record);
  }, 60_000);
  afterAll(async () => {
    await path.close();
    await git.close();
    await double.stop();
    await world.close();
  }, 60_000);

  const cacheFolder = (): string => join(world.folder, 'cache', namespace);

  function start(...more: readonly string[]): void {
    const source = ['--repo', `http://127.0.0.1:${port}/${namespace}`, '--path=app', '--name=shop'];
    const own = ['--cache-dir', cacheFolder(), '--metrics-port=0', '--interval=1s', '--self-heal', '--prune'];
    const where = ['--kubeconfig', target.kubeconfig, '--namespace', namespace];
    agent = new Program(['agent', ...where, ...source, ...own, ...more]);
  }

  const mapPath = (name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const valueOf = async (name: string): Promise<string | undefined> =>
    (await target.api.get<ConfigMap>(mapPath(name)))?.data?.value;
  const revisionInRecord = async (): Promise<string | undefined> =>
    (await target.api.get<{ metadata: { annotations?: Record<string, string> } }>(record))?.metadata.annotations?.[
      revisionAnnotation
    ];
  const reaches = (name: string, value: string | undefined): Promise<void> =>
    eventually(async () => {
      const found = await valueOf(name);
      if (found !== value) throw new Error(`${name} is ${found}\n${agent.stdout}\n${agent.stderr}`);
    }, limitMs);

  it.each(['hang', 'refuse'] as const)(
    'repairs drift by the commit in its record while connections %s, and applies a new commit when Git is back',
    async (how) => {
      path[how]();
      await target.api.delete(mapPath('one'));
      await target.api.patch(mapPath('two'), { data: { value: 'by hand' } });
      start();
      await reaches('one', '1');
      await reaches('two', '1');
      if (how === 'refuse') await eventually(() => expect(agent.stdout).toContain('Drift is repaired'), limitMs);
      await target.api.delete(mapPath('one'));
      await reaches('one', '1');
      const second = repo.commit({ 'app/one.yaml': manifest('one', '2'), 'app/two.yaml': null });
      path.heal();
      await reaches('one', '2');
      await reaches('two', undefined);
      await eventually(async () => expect(await revisionInRecord()).toContain(second), limitMs);
    },
    300_000,
  );

  it('writes nothing by a damaged cache, says so, and goes on when Git is back', async () => {
    path.refuse();
    garble(cacheFolder());
    await target.api.delete(mapPath('one'));
    start();
    await eventually(() => expect(agent.stdout).toContain('Drift is not repaired'), limitMs);
    expect([await valueOf('one'), await valueOf('two')]).toEqual([undefined, '1']);
    repo.commit({ 'app/two.yaml': manifest('two', '2') });
    path.heal();
    await reaches('one', '1');
    await reaches('two', '2');
  }, 300_000);

  it.each([
    ['of another --revision', '--revision=other', 'the last commit is one of another --revision'],
    ['that an agent of another version may have changed', '', 'an agent of another version has renewed the record'],
  ])(
    'writes nothing by a commit %s, and says so',
    async (_what, flag, message) => {
      path.refuse();
      execFileSync('git', ['-C', repo.path, 'branch', 'other']);
      if (flag === '') await target.api.patch(record, { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } });
      await target.api.delete(mapPath('one'));
      start(...[flag].filter((each) => each !== ''));
      await eventually(() => expect(agent.stderr).toContain(message), limitMs);
      await eventually(() => expect(agent.stdout).toContain('ComparisonError'), limitMs);
      expect(await valueOf('one')).toBeUndefined();
      path.heal();
      await reaches('one', '1');
    },
    300_000,
  );
});

/** @seconds 130 */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, Program } from '#support';
import { GitFixture } from '../acceptance/world.ts';
import { startGitServer } from './support/git-server.ts';
import type { GitServer } from './support/git-server.ts';
import { HangingProxy } from './support/hanging-proxy.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const limitMs = 90_000;
const records = '/apis/coordination.k8s.io/v1/namespaces/driftless-agent/leases';
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

let world: Servers<'target'>;
let target: Server;
let double: ClusterDouble;
let git: GitServer;

/** An agent that has synced its folder once and was killed. */
class KilledAgent {
  readonly repo: GitFixture;
  /** Its way to Git. */
  readonly path: HangingProxy;
  readonly record: string;
  readonly cacheFolder: string;
  readonly #name: string;
  #agent: Program | undefined;

  private constructor(name: string, path: HangingProxy) {
    this.#name = name;
    this.path = path;
    this.repo = new GitFixture(world.folder, name);
    this.record = `${records}/agent-${name}`;
    this.cacheFolder = join(world.folder, 'cache', name);
  }

  static async of(name: string): Promise<KilledAgent> {
    const killed = new KilledAgent(name, await HangingProxy.start(Number(new URL(git.url).port)));
    await target.kubectl(['create', 'namespace', name]);
    const first = killed.repo.commit({ 'app/one.yaml': manifest('one', '1'), 'app/two.yaml': manifest('two', '1') });
    const agent = killed.start();
    await eventually(async () => {
      expect([agent.stdout, await killed.valueOf('two')]).toEqual([expect.stringContaining('Synced, Healthy'), '1']);
      expect(await killed.revisionInRecord()).toContain(first);
    }, limitMs);
    await agent.stop('SIGKILL');
    return killed;
  }

  start(...more: readonly string[]): Program {
    const source = ['--repo', `http://127.0.0.1:${this.path.port}/${this.#name}`, '--path=app', `--name=${this.#name}`];
    const own = ['--cache-dir', this.cacheFolder, '--metrics-port=0', '--interval=1s', '--self-heal', '--prune'];
    const where = ['--kubeconfig', target.kubeconfig, '--namespace', this.#name];
    this.#agent = new Program(['agent', ...where, ...source, ...own, ...more]);
    return this.#agent;
  }

  async close(): Promise<void> {
    await this.#agent?.stop('SIGTERM');
    await this.path.close();
  }

  mapPath(name: string): string {
    return `/api/v1/namespaces/${this.#name}/configmaps/${name}`;
  }

  async valueOf(name: string): Promise<string | undefined> {
    return (await target.api.get<ConfigMap>(this.mapPath(name)))?.data?.value;
  }

  async revisionInRecord(): Promise<string | undefined> {
    const found = await target.api.get<{ metadata: { annotations?: Record<string, string> } }>(this.record);
    return found?.metadata.annotations?.[revisionAnnotation];
  }

  reaches(name: string, value: string | undefined): Promise<void> {
    return eventually(async () => {
      const found = await this.valueOf(name);
      if (found !== value) throw new Error(`${name} is ${found}\n${this.#agent?.stdout}\n${this.#agent?.stderr}`);
    }, limitMs);
  }
}

/** Scenes while Git is away, by the name of the agent. All agents wait at the same time. */
const scenes = {
  hang: (killed: KilledAgent) => repairs(killed, 'hang'),
  refuse: (killed: KilledAgent) => repairs(killed, 'refuse'),
  damaged: async (killed: KilledAgent): Promise<void> => {
    killed.path.refuse();
    garble(killed.cacheFolder);
    await target.api.delete(killed.mapPath('one'));
    const agent = killed.start();
    await eventually(() => expect(agent.stdout).toContain('Drift is not repaired'), limitMs);
    expect([await killed.valueOf('one'), await killed.valueOf('two')]).toEqual([undefined, '1']);
    killed.repo.commit({ 'app/two.yaml': manifest('two', '2') });
    killed.path.heal();
    await killed.reaches('one', '1');
    await killed.reaches('two', '2');
  },
  branch: (killed: KilledAgent) =>
    refuses(killed, 'the last commit is one of another --revision', ['--revision=other']),
  version: async (killed: KilledAgent): Promise<void> => {
    await target.api.patch(killed.record, { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } });
    await refuses(killed, 'an agent of another version has renewed the record');
  },
};

async function repairs(killed: KilledAgent, how: 'hang' | 'refuse'): Promise<void> {
  killed.path[how]();
  await target.api.delete(killed.mapPath('one'));
  await target.api.patch(killed.mapPath('two'), { data: { value: 'by hand' } });
  const agent = killed.start();
  await killed.reaches('one', '1');
  await killed.reaches('two', '1');
  if (how === 'refuse') await eventually(() => expect(agent.stdout).toContain('Drift is repaired'), limitMs);
  await target.api.delete(killed.mapPath('one'));
  await killed.reaches('one', '1');
  const second = killed.repo.commit({ 'app/one.yaml': manifest('one', '2'), 'app/two.yaml': null });
  killed.path.heal();
  await killed.reaches('one', '2');
  await killed.reaches('two', undefined);
  await eventually(async () => expect(await killed.revisionInRecord()).toContain(second), limitMs);
}

async function refuses(killed: KilledAgent, message: string, flags: readonly string[] = []): Promise<void> {
  killed.path.refuse();
  execFileSync('git', ['-C', killed.repo.path, 'branch', 'other']);
  await target.api.delete(killed.mapPath('one'));
  const agent = killed.start(...flags);
  await eventually(() => expect(agent.stderr).toContain(message), limitMs);
  await eventually(() => expect(agent.stdout).toContain('ComparisonError'), limitMs);
  expect(await killed.valueOf('one')).toBeUndefined();
  killed.path.heal();
  await killed.reaches('one', '1');
}

describe('driftless agent on a real API server, killed and started again while Git is away', () => {
  const agents: KilledAgent[] = [];
  const played = new Map<keyof typeof scenes, Promise<void>>();

  beforeAll(async () => {
    world = await startServers({ names: ['target'] });
    ({ target } = world.servers);
    double = await startDouble(target.access);
    git = await startGitServer({ root: world.folder });
    for (const name of Object.keys(scenes) as (keyof typeof scenes)[]) {
      const killed = await KilledAgent.of(name);
      agents.push(killed);
      const scene = scenes[name](killed);
      // The test that awaits it reports its failure.
      scene.catch(() => undefined);
      played.set(name, scene);
    }
  }, 300_000);
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    await git.close();
    await double.stop();
    await world.close();
  }, 60_000);

  it.each([
    [
      'repairs drift by the commit in its record while connections hang, and applies a new commit when Git is back',
      'hang',
    ],
    ['does the same while connections are refused', 'refuse'],
    ['writes nothing by a damaged cache, says so, and goes on when Git is back', 'damaged'],
    ['writes nothing by a commit of another --revision, and says so', 'branch'],
    ['writes nothing by a commit that an agent of another version may have changed, and says so', 'version'],
  ] as const)(
    '%s',
    async (_title, name) => {
      await expect(played.get(name)).resolves.toBeUndefined();
    },
    300_000,
  );
});

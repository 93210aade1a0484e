import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newAbortController, systemClock } from '#base';
import { canMount, eventually, SmallDisk } from '#support';
import { TestApplication } from './applications.ts';
import { CertificateAuthority } from './support/certificates.ts';
import { startGitServer } from './support/git-server.ts';
import type { GitServer } from './support/git-server.ts';
import { HangingProxy } from './support/hanging-proxy.ts';
import { freePort, isDryRun, isWrite, startDouble, startServers, toolPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { formerOwnersWrite, OwnershipWitness, replicaWrites } from './support/ownership-witness.ts';
import { renderedController } from './rendered-controller.ts';
import { ServerProcess } from './support/processes.ts';
import { startSshServer } from './support/ssh-server.ts';
import type { SshServer } from './support/ssh-server.ts';
import { refreshed, UnderTest } from './under-test.ts';

const limitMs = 90_000;
const syncPolicy = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };

/** Three waves, so that a sync takes seconds and a fault hits it in its middle. */
const files = (colour: string): Record<string, string> =>
  Object.fromEntries(
    ['a', 'b', 'c'].map((name, wave) => [
      `${name}.yaml`,
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, annotations: {argocd.argoproj.io/sync-wave: "${wave}"}}\ndata: {colour: ${colour}}\n`,
    ]),
  );

/** Keeps the disk full, whatever its other files release; returns what ends that. */
function fill(disk: SmallDisk): () => void {
  disk.fill();
  const timer = setInterval(() => disk.fill(), 50);
  return () => {
    clearInterval(timer);
    disk.free();
  };
}

/** 0 would be the process group of this test. */
function pidOf(pod: { readonly pid: number | undefined } | undefined): number {
  if (pod?.pid === undefined) throw new Error('the pod does not run');
  return pod.pid;
}

interface HistoryEntry {
  readonly revision: string;
  readonly deployStartedAt: string;
}

/** Real processes stop, hang and starve in the middle of syncs, with two replicas. */
describe('real processes that fail in the middle of syncs', () => {
  let world: Servers<'hub' | 'managed'>;
  let hub: Server;
  let managed: Server;
  let doubles: ClusterDouble[];
  let controller: UnderTest;
  let redis: ServerProcess;
  let redisPort = 0;
  let git: GitServer;
  let ssh: SshServer;
  let proxies: HangingProxy[];
  let apps: TestApplication[];
  let witness: OwnershipWitness;
  /** The disk of each replica's cache, by the name of its pod; none if this user may not mount. */
  const disks = new Map<string, SmallDisk>();
  let round = 0;

  beforeAll(async () => {
    world = await startServers({ names: ['hub', 'managed'] });
    ({ hub, managed } = world.servers);
    doubles = await Promise.all([hub, managed].map((server) => startDouble(server.access)));
    redisPort = await freePort();
    const settings = ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--dir', world.folder];
    redis = new ServerProcess(toolPath('redis-server'), settings, join(world.folder, 'redis.log'));
    redis.start();
    const certificates = join(world.folder, 'certificates');
    mkdirSync(certificates);
    await (await CertificateAuthority.create(certificates)).server('git');
    const read = (file: string): string => readFileSync(join(certificates, file), 'utf8');
    git = await startGitServer({ root: world.folder, tls: { key: read('git.key'), cert: read('git.crt') } });
    ssh = await startSshServer(join(world.folder, 'ssh'));
    proxies = await Promise.all([git.url, ssh.url].map((url) => HangingProxy.start(Number(new URL(url).port))));
    const values = {
      rbac: { clusterWrite: true },
      controller: { replicas: 2, heartbeatTime: 2 },
      externalRedis: { host: '127.0.0.1', port: redisPort },
      configs: { params: { 'controller.self.heal.backoff.timeout.seconds': '0' } },
    };
    if (canMount) await mountDisks(values);
    controller = await UnderTest.install({ server: hub, folder: world.folder, values });
    witness = new OwnershipWitness(hub);
    await secret('cluster-managed', 'cluster', { name: 'managed', server: managed.url, config: clusterConfig() });
    apps = await Promise.all(
      (['file', 'https', 'ssh'] as const).flatMap((by) => [hub, managed].map((server) => create(by, server))),
    );
  }, 120_000);

  afterAll(async () => {
    await witness.stop();
    await controller.stop();
    await Promise.all([...doubles.map((double) => double.stop()), ...proxies.map((proxy) => proxy.close())]);
    await Promise.all([git.close(), ssh.close(), redis.stop()]);
    for (const disk of disks.values()) disk.close();
    await world.close();
  });

  async function mountDisks(values: { readonly controller: { readonly replicas: number } }): Promise<void> {
    const { workload } = await renderedController(values);
    for (let ordinal = 0; ordinal < values.controller.replicas; ordinal += 1) {
      const name = `${workload.metadata.name}-${ordinal}`;
      const disk = new SmallDisk('24m');
      disks.set(name, disk);
      symlinkSync(disk.path, join(world.folder, name));
    }
  }

  function clusterConfig(): string {
    const { ca = '', cert = '', key = '' } = managed.access;
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    return JSON.stringify({
      tlsClientConfig: { caData: base64(ca), certData: base64(cert), keyData: base64(key) },
    });
  }

  function secret(name: string, type: string, stringData: Readonly<Record<string, string>>): Promise<unknown> {
    const labels = { 'argocd.argoproj.io/secret-type': type };
    return hub.api.create('/api/v1/namespaces/argocd/secrets', { metadata: { name, labels }, stringData });
  }

  async function create(by: 'file' | 'https' | 'ssh', server: Server): Promise<TestApplication> {
    const name = `${by}-${server === hub ? 'hub' : 'managed'}`;
    const app = await TestApplication.create({ hub, folder: world.folder }, name, {
      files: files('first'),
      spec: {
        syncPolicy,
        destination: { server: server === hub ? 'https://kubernetes.default.svc' : server.url, namespace: name },
      },
    });
    if (by === 'file') return app;
    const [https, sshPort] = proxies.map(({ port }) => port);
    const path = new URL(app.git.url).pathname;
    const repoURL =
      by === 'https'
        ? `https://127.0.0.1:${https}${path.slice(world.folder.length)}`
        : `ssh://${new URL(ssh.url).username}@127.0.0.1:${sshPort}${path}`;
    await secret(`repository-${name}`, 'repository', {
      type: 'git',
      url: repoURL,
      insecure: 'true',
      ...(by === 'ssh' ? { sshPrivateKey: ssh.privateKey } : {}),
    });
    await hub.api.patch(app.path, { spec: { source: { repoURL } } });
    return app;
  }

  /** Commits to every repository and requests a refresh; resolves when the syncs have begun. */
  async function begin(): Promise<readonly string[]> {
    round += 1;
    const commits = apps.map((app) => app.git.commit(files(`round-${round}`)));
    const annotations = { 'argocd.argoproj.io/refresh': 'normal' };
    await Promise.all(apps.map((app) => hub.api.patch(app.path, { metadata: { annotations } })));
    await systemClock.sleep(700);
    return commits;
  }

  /** All clusters are as Git demands, each sync is recorded once, each cluster has one owner. */
  async function settled(commits: readonly (string | undefined)[]): Promise<void> {
    const tail = (): string => controller.pods.tail();
    for (const [i, app] of apps.entries()) {
      await app.isGood(commits[i], { withinMs: limitMs, tail });
      const server = app.name.endsWith('hub') ? hub : managed;
      const maps = await server.api.list<{ metadata: { name: string }; data?: { colour?: string } }>(
        `/api/v1/namespaces/${app.name}/configmaps`,
      );
      const colours = maps.filter(({ metadata }) => metadata.name.length === 1).map(({ data }) => data?.colour);
      const wanted = round === 0 ? 'first' : `round-${round}`;
      expect({ [app.name]: colours }).toEqual({ [app.name]: [wanted, wanted, wanted] });
      const found = await hub.api.get<{ status: { history: readonly HistoryEntry[] } }>(app.path);
      const syncs = (found?.status.history ?? []).map((entry) => `${entry.deployStartedAt} ${entry.revision}`);
      expect(new Set(syncs).size).toBe(syncs.length);
    }
    await eventually(async () => {
      const owners = await controller.pods.owners();
      if (owners.size < 2 || [...owners.values()].some((names) => names.length !== 1))
        throw new Error(`owners: ${JSON.stringify([...owners])}\n${tail()}`);
    }, limitMs);
    expectNoFormerOwner();
  }

  const serverOf = ({ name }: TestApplication): Server => (name.endsWith('hub') ? hub : managed);
  const mapPath = ({ name }: TestApplication, map: string): string => `/api/v1/namespaces/${name}/configmaps/${map}`;

  /** Changes an object of each Application by hand, and waits until all of them are repaired. */
  async function driftIsRepaired(drifted: readonly TestApplication[], colour: string): Promise<void> {
    const data = { colour: 'by hand' };
    for (const app of drifted) await serverOf(app).api.patch(mapPath(app, 'b'), { data });
    for (const app of drifted)
      await eventually(async () => {
        const map = await serverOf(app).api.get<{ data: object }>(mapPath(app, 'b'));
        expect({ [app.name]: map?.data }).toEqual({ [app.name]: { colour } });
      }, limitMs);
  }

  /** Notes each status that is Synced by another commit than the newest; returns what ends that. */
  function noteWrongSynced(watched: readonly TestApplication[], commits: readonly string[]): () => Promise<string[]> {
    const wrong: string[] = [];
    const over = newAbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        for (const app of watched) {
          const { sync } = (await app.read()).status ?? {};
          if (sync?.status === 'Synced' && sync.revision !== commits[apps.indexOf(app)])
            wrong.push(`${app.name}: ${sync.revision}`);
        }
        await systemClock.sleep(250);
      }
    })();
    return async () => {
      over.abort();
      await watching;
      return wrong;
    };
  }

  /** The audit logs of both API servers are the witness. */
  function expectNoFormerOwner(): void {
    const written = [
      { server: 'https://kubernetes.default.svc', events: controller.managedWrites(hub) },
      { server: managed.url, events: managed.audit().filter((event) => isWrite(event) && !isDryRun(event)) },
    ];
    for (const { server, events } of written) {
      const writes = replicaWrites(events);
      expect(writes.length).toBeGreaterThan(0);
      const periods = witness.periods(server);
      expect({ server, periods, former: formerOwnersWrite(writes, periods) }).toEqual({
        server,
        periods: expect.anything(),
        former: undefined,
      });
    }
  }

  it('settle with all dependencies in place', async () => {
    await settled([]);
  }, 150_000);

  (canMount ? it : it.skip)(
    'the disk of a cache is full: known commits go on, new ones are reported, and synced once there is space (needs root)',
    async () => {
      const lastOwner = (url: string): string => witness.periods(url).at(-1)?.owner ?? '';
      const owner = lastOwner(managed.url);
      const ownsHub = lastOwner('https://kubernetes.default.svc') === owner;
      const affected = apps.filter((app) => ownsHub || serverOf(app) === managed);
      const pod = controller.pods.all().find(({ name }) => name === owner);
      const disk = disks.get(owner);
      if (pod === undefined || disk === undefined) throw new Error(`no disk of ${owner}`);
      const facts = (): unknown => [pidOf(pod), pod.isRunning, witness.periods(managed.url).length];
      const before = facts();
      const free = fill(disk);
      try {
        await driftIsRepaired(affected, 'first');
        // The key of an ssh repository is a file: without space its branch cannot be resolved anew.
        for (const app of affected.filter(({ name }) => !name.startsWith('ssh'))) {
          await refreshed(hub, app.path, 'normal', limitMs);
          await app.isGood(undefined, { withinMs: limitMs });
          expect((await app.read()).status?.conditions ?? []).toEqual([]);
        }
        const commits = await begin();
        for (const app of affected)
          await eventually(async () => {
            const { conditions = [] } = (await app.read()).status ?? {};
            const message = expect.stringContaining(
              `/${app.name}: the cache on disk cannot be written: No space left on device. Check the volume and its size`,
            );
            expect(conditions).toContainEqual(expect.objectContaining({ type: 'ComparisonError', message }));
          }, limitMs);
        const wrong = noteWrongSynced(affected, commits);
        for (const [i, app] of apps.entries())
          if (!affected.includes(app)) await app.isGood(commits[i], { withinMs: limitMs });
        free();
        // No resync is due so soon: the retry finds the commits.
        await settled(commits);
        expect(await wrong()).toEqual([]);
      } finally {
        free();
      }
      expect(facts()).toEqual(before);
      const pruned = managed
        .audit()
        .filter(({ verb, objectRef }) => verb === 'delete' && objectRef?.resource === 'configmaps');
      expect(pruned).toEqual([]);
    },
    200_000,
  );

  it.each(['etcd', 'apiserver'] as const)(
    'the %s of a managed cluster is killed and started again',
    async (part) => {
      const commits = await begin();
      await managed.stop(part);
      await systemClock.sleep(3000);
      await managed.resume(part);
      await settled(commits);
    },
    150_000,
  );

  it.each(['etcd', 'apiserver'] as const)(
    'the %s of the hub is killed and started again',
    async (part) => {
      const commits = await begin();
      await hub.stop(part);
      await systemClock.sleep(3000);
      await hub.resume(part);
      await settled(commits);
    },
    150_000,
  );

  it('Redis is killed and comes back empty: what is published is there again', async () => {
    const commits = await begin();
    await redis.stop();
    await settled(commits);
    redis.start();
    const client = new Redis({ host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    try {
      await eventually(async () => {
        const keys = await client.keys('app|resources-tree|*');
        if (keys.length < apps.length) throw new Error(`published: ${keys.join()}\n${controller.pods.tail()}`);
      }, limitMs);
    } finally {
      client.disconnect();
    }
  }, 150_000);

  it('Git over https and ssh hangs: Applications of other repositories are synced meanwhile', async () => {
    proxies.forEach((proxy) => proxy.hang());
    const commits = await begin();
    for (const [i, app] of apps.entries())
      if (app.name.startsWith('file')) await app.isGood(commits[i], { withinMs: limitMs });
    proxies.forEach((proxy) => proxy.heal());
    await settled(commits);
  }, 200_000);

  it('a replica gets a tenth of its CPU time: each cluster keeps one owner', async () => {
    const starved = pidOf(controller.pods.all()[0]);
    const end = systemClock.monotonic() + 12_000;
    const starve = async (): Promise<void> => {
      while (systemClock.monotonic() < end) {
        process.kill(starved, 'SIGSTOP');
        await systemClock.sleep(180);
        process.kill(starved, 'SIGCONT');
        await systemClock.sleep(20);
      }
    };
    const starving = starve();
    const commits = await begin();
    await starving;
    await settled(commits);
  }, 150_000);

  it('a replica that is killed by the kernel in the middle of a sync is replaced', async () => {
    const commits = await begin();
    const [first] = controller.pods.all();
    process.kill(pidOf(first), 'SIGKILL');
    await eventually(() => (first?.isRunning === false ? Promise.resolve() : Promise.reject(new Error('runs'))), 5000);
    await controller.pods.roll();
    await settled(commits);
  }, 150_000);

  it('a replica is frozen for longer than its lease: it writes nothing after it continues', async () => {
    const owner = witness.periods(managed.url).at(-1)?.owner ?? '';
    const frozen = pidOf(controller.pods.all().find(({ name }) => name === owner));
    const changes = witness.periods(managed.url).length;
    const commits = await begin();
    process.kill(frozen, 'SIGSTOP');
    try {
      await eventually(() => {
        if (witness.periods(managed.url).length > changes) return Promise.resolve();
        return Promise.reject(new Error(`the cluster still belongs to ${owner}`));
      }, limitMs);
      for (const [i, app] of apps.entries())
        if (app.name.endsWith('managed')) await app.isGood(commits[i], { withinMs: limitMs });
    } finally {
      process.kill(frozen, 'SIGCONT');
    }
    await settled(commits);
  }, 300_000);
});

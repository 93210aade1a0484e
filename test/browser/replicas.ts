import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject, seededRandom, systemClock } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { eventually, openProject, Program } from '#support';
import { freePorts } from '../../cli/testing/index.ts';
import { argoCrds, GitFixture } from '../acceptance/world.ts';

const replicaCount = 2;
const startLimitMs = 90_000;

/** The namespaces in which each token may get Applications; "": all. */
type Rights = Map<string, readonly string[]>;

/** Two replicas of `driftless run --dashboard` as processes, over a simulated hub and clusters. */
export class DashboardReplicas {
  readonly hub: SimCluster;
  readonly clusters: readonly SimCluster[];
  readonly rights: Rights;
  readonly #folder = mkdtempSync(join(tmpdir(), 'driftless-browser-'));
  readonly #git = new GitFixture(this.#folder, 'repository');
  readonly #programs: (Program | undefined)[] = [];
  readonly #stopped: Program[] = [];
  #ports: readonly number[] = [];

  private constructor(hub: SimCluster, clusters: readonly SimCluster[], rights: Rights) {
    this.hub = hub;
    this.rights = rights;
    this.clusters = clusters;
  }

  static async start(): Promise<DashboardReplicas> {
    const common = { clock: systemClock, random: seededRandom(5) };
    const rights: Rights = new Map();
    const review = (object: KubeObject): Json | undefined => answerReview(object, rights);
    const hub = await startSimCluster({ ...common, name: 'hub', crds: argoCrds(), review });
    const workloads = { enabled: true, delayMs: 5 };
    const clusters = await Promise.all(['c0', 'c1'].map((name) => startSimCluster({ ...common, name, workloads })));
    const scene = new DashboardReplicas(hub, clusters, rights);
    scene.#ports = await freePorts(replicaCount);
    scene.#prepare();
    for (let shard = 0; shard < replicaCount; shard += 1) scene.startReplica(shard);
    try {
      await Promise.all(scene.#ports.map((port) => eventually(() => connected(port), startLimitMs)));
    } catch (error) {
      const logs = scene.#programs.map((program) => program?.stdout.slice(-2000) ?? '').join('\n');
      await scene.close();
      throw new Error(`the replicas do not listen:\n${logs}`, { cause: error });
    }
    return scene;
  }

  /** Where a replica serves its page. */
  url(shard: number): string {
    return `https://127.0.0.1:${this.#ports[shard] ?? 0}`;
  }

  /** Commits the manifests of an Application, and creates it. */
  application(namespace: string, name: string, more: { manifest: string; cluster: SimCluster; spec?: object }): void {
    this.#git.commit({ [`${name}/manifest.yaml`]: more.manifest });
    this.hub.store.create({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace },
      spec: {
        project: 'default',
        source: { repoURL: this.#git.url, path: name, targetRevision: 'main' },
        destination: { server: more.cluster.url, namespace: 'apps' },
        ...more.spec,
      },
    });
  }

  /** Replaces a part of an object's spec, as a user with this field manager. */
  edit(cluster: SimCluster, path: readonly [string, string, string, string], spec: object, manager: string): void {
    const object = cluster.store.get(...path);
    if (object === undefined) throw new Error(`there is no ${path.join('/')}`);
    const before = isObject(object['spec']) ? object['spec'] : {};
    cluster.store.update({ ...object, spec: { ...before, ...spec } }, { manager });
  }

  startReplica(shard: number): void {
    const name = `driftless-${shard}`;
    this.#programs[shard] = new Program([
      'run',
      ...[`--kubeconfig=${join(this.#folder, 'kubeconfig')}`, '--context=hub', '--namespace=argocd'],
      ...[`--replicas=${replicaCount}`, `--shard=${shard}`, `--hostname=${name}`, '--heartbeat-seconds=1'],
      ...['--sharding-method=round-robin', '--application-namespaces=team-a'],
      ...['--metrics-host=127.0.0.1', '--metrics-port=0', `--cache-dir=${join(this.#folder, name)}`],
      ...['--dashboard', `--api-port=${this.#ports[shard] ?? 0}`, '--sync-wave-delay-seconds=0'],
      '--self-heal-backoff-timeout-seconds=0',
    ]);
  }

  async stopReplica(shard: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const program = this.#programs[shard];
    this.#programs[shard] = undefined;
    if (program === undefined) return;
    this.#stopped.push(program);
    await program.stop(signal);
  }

  async close(): Promise<void> {
    const programs = [...this.#programs.flatMap((program) => program ?? []), ...this.#stopped];
    for (const { child } of programs) child.kill('SIGKILL');
    await Promise.all(programs.map(({ ended }) => ended));
    await Promise.all([this.hub, ...this.clusters].map((cluster) => cluster.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #prepare(): void {
    const { store } = this.hub;
    for (const name of ['argocd', 'team-a']) store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    store.create(openProject({ sourceNamespaces: ['*'] }));
    for (const { name, url, store: target } of this.clusters) {
      target.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
      store.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: `cluster-${name}`,
          namespace: 'argocd',
          labels: { 'argocd.argoproj.io/secret-type': 'cluster' },
        },
        stringData: { name, server: url, config: '{}' },
      });
    }
    writeFileSync(join(this.#folder, 'kubeconfig'), kubeconfigFor([this.hub]));
  }
}

/** The reviews of an API server on which each user has its token as name. */
function answerReview({ kind, ...review }: KubeObject, rights: Rights): Json | undefined {
  const spec = isObject(review['spec']) ? review['spec'] : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  if (kind === 'TokenReview') {
    const username = text(spec['token']);
    return { authenticated: rights.has(username), user: { username, groups: [] } };
  }
  if (kind !== 'SubjectAccessReview') return undefined;
  const attributes = isObject(spec['resourceAttributes']) ? spec['resourceAttributes'] : {};
  return { allowed: rights.get(text(spec['user']))?.includes(text(attributes['namespace'])) === true };
}

function connected(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

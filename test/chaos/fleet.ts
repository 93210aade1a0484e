import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject, seededRandom, systemClock } from '#base';
import type { Json, JsonObject, RandomSource } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster, SimRequest } from '#sim';
import { eventually, ownReplica, Program, socketPage } from '#support';
import { argoCrds, GitFixture } from '../acceptance/world.ts';
import { DroppingProxy } from './dropping-proxy.ts';

export const workload = 'argocd-application-controller';
const namespace = 'argocd';
const defaultHeartbeatSeconds = 1;
/**
 * The lease duration with that heartbeat. Its margin covers a write that waits for an admission
 * webhook (sharding/timing/timing.ts).
 */
export const leaseMs = 16_500;
const mutating = ['create', 'update', 'patch', 'delete'];
const appsPerCluster = 3;

/** Pages of the read API that show what a replica knows of its clusters and Applications. */
const readPages = ['replica', 'ownership', 'clusters', 'applications', 'events'];

/** The ownership documents of the hub, parsed without production code. */
interface OwnershipRecords {
  /** Holder of each shard. */
  readonly holders: ReadonlyMap<number, string>;
  /** Shard of each cluster. */
  readonly shards: ReadonlyMap<string, number>;
  /** Version of the table. */
  readonly epoch: number;
}

/**
 * Runs replicas of `driftless run` as child processes; the hub and the clusters are simulated in
 * this process. `disturb` deletes objects continuously, so that owners always have something to
 * write. Every write to a cluster is checked on arrival: after the holder of the cluster's shard
 * has written, a write by any other replica is a violation.
 */
export class ChaosFleet {
  readonly random: RandomSource;
  readonly #folder = mkdtempSync(join(tmpdir(), 'driftless-chaos-'));
  readonly #git = new GitFixture(this.#folder, 'repository');
  readonly #dynamic: boolean;
  readonly #hub: SimCluster;
  readonly #clusters: readonly SimCluster[];
  readonly #replicas = new Map<string, Program>();
  readonly #writers = new Map<string, string>();
  readonly #stopped: Program[] = [];
  /** The proxy before each cluster. */
  readonly #proxies = new Map<SimCluster, DroppingProxy>();
  /** Heartbeat in seconds of replicas that are started from now on. */
  heartbeat = defaultHeartbeatSeconds;
  /** Options of Node for replicas that are started from now on. */
  runtime: readonly string[] = [];
  /** By replica and cluster: whether another replica held the cluster at its first list request. */
  readonly #prepared = new Map<string, boolean>();
  readonly violations: string[] = [];
  /** Writes by replica. */
  readonly writes = new Map<string, number>();
  readonly #added: string[] = [];
  #born = 0;
  #disturbing: NodeJS.Timeout | undefined;

  private constructor(hub: SimCluster, clusters: readonly SimCluster[], options: { dynamic: boolean; seed: number }) {
    this.#hub = hub;
    this.#clusters = clusters;
    this.#dynamic = options.dynamic;
    this.random = seededRandom(options.seed);
  }

  static async start(options: { dynamic: boolean; seed: number; clusters: number }): Promise<ChaosFleet> {
    const common = {
      clock: systemClock,
      random: seededRandom(options.seed),
      workloads: { enabled: false, delayMs: 0 },
    };
    const hub = await startSimCluster({ ...common, name: 'hub', crds: argoCrds() });
    const names = Array.from({ length: options.clusters }, (_, i) => `c${i}`);
    const clusters = await Promise.all(names.map((name) => startSimCluster({ ...common, name })));
    const fleet = new ChaosFleet(hub, clusters, options);
    for (const cluster of clusters) fleet.#proxies.set(cluster, await DroppingProxy.start(cluster.url, fleet.random));
    fleet.#prepare();
    return fleet;
  }

  #prepare(): void {
    const { store } = this.#hub;
    const git = this.#git;
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    store.create(projectObject());
    for (const cluster of this.#clusters) {
      cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } });
      const url = this.#urlOf(cluster);
      store.create(secretOf(cluster.name, url));
      for (let i = 0; i < appsPerCluster; i += 1) {
        const name = `${cluster.name}-${i}`;
        git.commit({ [`${name}/cm.yaml`]: manifestOf(name) });
        store.create(applicationOf(name, git.url, url));
      }
      cluster.onRequest((request) => {
        this.#judge(cluster, request);
        this.#noteReading(cluster, request);
      });
    }
    writeFileSync(join(this.#folder, 'kubeconfig'), kubeconfigFor([this.#hub]));
  }

  /** Does what `kubectl scale` and the workload controller do. */
  async scale(replicas: number): Promise<void> {
    const kind = this.#dynamic ? 'Deployment' : 'StatefulSet';
    const known = this.#hub.store.get('apps', kind, namespace, workload);
    if (known === undefined) this.#hub.store.create(workloadOf(kind, replicas));
    else
      this.#hub.store.update(
        { ...known, spec: { ...(known['spec'] as JsonObject), replicas } },
        { manager: 'kubectl' },
      );
    const names = [...this.#replicas.keys()];
    for (let i = names.length; i < replicas; i += 1) this.#startOne(this.#dynamic ? undefined : i);
    const surplus = this.#dynamic ? names.slice(replicas) : names.filter((name) => ordinalOf(name) >= replicas);
    await Promise.all(surplus.map((name) => this.#endOne(name)));
  }

  /** Sends SIGKILL. Call {@link restart} to do the workload controller's part. */
  kill(name: string): void {
    const program = this.#replicas.get(name);
    this.#replicas.delete(name);
    if (program !== undefined) this.#stopped.push(program);
    program?.child.kill('SIGKILL');
  }

  restart(name: string): void {
    this.#startOne(this.#dynamic ? undefined : ordinalOf(name));
  }

  freeze(name: string): void {
    this.#replicas.get(name)?.child.kill('SIGSTOP');
  }

  thaw(name: string): void {
    this.#replicas.get(name)?.child.kill('SIGCONT');
  }

  /**
   * Cuts a replica off from the hub, or only from the ConfigMaps of ownership: then only its own
   * clock can stop it. Returns a function that heals the partition.
   */
  partition(name: string, from: 'hub' | 'leases'): () => void {
    const agent = `driftless ${name})`;
    const end = this.#hub.addFault({
      agent,
      ...(from === 'hub' ? {} : { resource: 'configmaps' }),
      fault: { kind: 'reset' },
    });
    this.#hub.disconnect();
    return end;
  }

  /** Resets this percentage of writes and carries them out seconds later. */
  drop(percent: number): void {
    for (const proxy of this.#proxies.values()) proxy.dropped = percent;
  }

  /** Number of writes that reached a cluster after their connection was reset. */
  landedLate(): number {
    return [...this.#proxies.values()].reduce((sum, { landedLate }) => sum + landedLate, 0);
  }

  /** Hides events of Secrets from the planning replica. Returns a function that ends this. */
  blindPlanner(): () => void {
    const rule = { agent: `driftless ${workload}-0)`, resource: 'secrets', fault: { kind: 'loseEvents' } } as const;
    const end = this.#hub.addFault(rule);
    return () => {
      end();
      this.#hub.disconnect();
    };
  }

  /** Adds a cluster, with an Application that has an object there. */
  addCluster(name: string, url: string): void {
    this.#added.push(name);
    this.#hub.store.create(secretOf(name, url));
    this.#git.commit({ [`${name}-0/cm.yaml`]: manifestOf(`${name}-0`) });
    this.#hub.store.create(applicationOf(`${name}-0`, this.#git.url, url));
  }

  /** Adds Applications that are never synced: each has `objects` ConfigMaps of `bytes` in Git. */
  addLarge(prefix: string, { count, objects, bytes }: { count: number; objects: number; bytes: number }): string[] {
    const url = this.#urlOf(this.#clusters[0]);
    return Array.from({ length: count }, (_, i) => {
      const name = `${prefix}-${i}`;
      const files = Array.from({ length: objects }, (_file, j): [string, string] => {
        const data = { value: `${i}.${j} `.padEnd(bytes, 'large ') };
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-${j}` }, data };
        return [`${name}/${j}.json`, JSON.stringify(object)];
      });
      this.#git.commit(Object.fromEntries(files));
      const app = applicationOf(name, this.#git.url, url);
      this.#hub.store.create({ ...app, spec: { ...(app['spec'] as JsonObject), syncPolicy: {} } });
      return name;
    });
  }

  /** Requests a refresh of each Application, and waits until all have been refreshed. */
  async refreshed(apps: readonly string[], withinMs: number): Promise<void> {
    const { store } = this.#hub;
    const asked = 'argocd.argoproj.io/refresh';
    const find = (app: string): KubeObject | undefined => store.get('argoproj.io', 'Application', namespace, app);
    for (const object of apps.map(find))
      if (object !== undefined)
        store.update(
          { ...object, metadata: { ...object.metadata, annotations: { [asked]: 'normal' } } },
          { manager: 'kubectl' },
        );
    await eventually(() => {
      const open = apps.filter((app) => find(app)?.metadata.annotations?.[asked] !== undefined);
      expectEqual(open, [], 'not refreshed');
    }, withinMs);
  }

  isRunning(name: string): boolean {
    const { exitCode, signalCode } = this.#replicas.get(name)?.child ?? { exitCode: 1, signalCode: null };
    return exitCode === null && signalCode === null;
  }

  /** The status of comparison of an Application. */
  syncStatusOf(app: string): Json | undefined {
    const status = this.#hub.store.get('argoproj.io', 'Application', namespace, app)?.['status'];
    return isObject(status) && isObject(status['sync']) ? status['sync']['status'] : undefined;
  }

  /** The conditions of an Application, as JSON. */
  conditionsOf(app: string): string {
    const status = this.#hub.store.get('argoproj.io', 'Application', namespace, app)?.['status'];
    return JSON.stringify(isObject(status) ? status['conditions'] : undefined);
  }

  /** Adds the Secret of a cluster that does not exist. */
  addHidden(name: string): string {
    const url = 'http://127.0.0.1:9';
    this.#hub.store.create(secretOf(name, url));
    return url;
  }

  /**
   * The clusters that a replica owns by the table, and those of them that it began to list while
   * another replica owned them.
   */
  preparedBy(name: string): { readonly has: readonly string[]; readonly prepared: readonly string[] } {
    const { holders, shards } = this.#ownershipRecords();
    const has = this.#clusters.filter((cluster) => holders.get(shards.get(this.#urlOf(cluster)) ?? -1) === name);
    const prepared = has.filter((cluster) => this.#prepared.get(`${name} ${cluster.name}`) === true);
    return { has: has.map((cluster) => cluster.name), prepared: prepared.map((cluster) => cluster.name) };
  }

  /** Stops a replica with SIGTERM and starts it again, as a rolling update does. */
  async roll(name: string): Promise<void> {
    await this.#endOne(name);
    this.restart(name);
  }

  names(): readonly string[] {
    return [...this.#replicas.keys()];
  }

  pids(): ReadonlyMap<string, number | undefined> {
    return new Map([...this.#replicas].map(([name, { child }]) => [name, child.pid]));
  }

  /** The replica that owns the first cluster. */
  ownerOfFirst(): string {
    const { holders, shards } = this.#ownershipRecords();
    return holders.get(shards.get(this.#urlOf(this.#clusters[0])) ?? -1) ?? '';
  }

  /** Waits until the running replicas report exactly one owner for each cluster. */
  async owned(withinMs = 30_000): Promise<void> {
    await eventually(async () => {
      const states = await Promise.all([...this.#replicas.values()].map(ownedBy));
      const owned = states.flat().sort();
      expectEqual(owned, [...this.#clusters.map(({ name }) => name), ...this.#added, 'in-cluster'].sort(), 'owners');
    }, withinMs);
  }

  /** The metrics of each running replica. */
  metrics(): Promise<string[]> {
    return Promise.all([...this.#replicas.values()].map(async (program) => (await ask(program, '/metrics')).text()));
  }

  /** Waits until each cluster has one owner, and deleted objects of every Application are back. */
  async settled(withinMs = 30_000): Promise<void> {
    await this.owned(withinMs);
    const before = new Map(this.writes);
    let missing = this.#clusters.flatMap((cluster) => this.#disturbAll(cluster));
    await eventually(() => {
      // Recreated once is enough: `disturb` may have deleted it again.
      missing = missing.filter(({ cluster, name, uid }) => {
        const found = cluster.store.get('', 'ConfigMap', 'apps', name);
        return found === undefined || found.metadata.uid === uid;
      });
      expectEqual(
        missing.map(({ name }) => name),
        [],
        `not healed (writes before ${JSON.stringify([...before])}, now ${JSON.stringify([...this.writes])}; ${this.#statusOf(missing[0]?.name ?? '')})`,
      );
    }, withinMs);
  }

  /** Status and intended owner of an Application, for the message of a failed test. */
  #statusOf(name: string): string {
    const app = this.#hub.store.get('argoproj.io', 'Application', namespace, name);
    const status = { operation: app?.['operation'], ...(app?.['status'] as object | undefined), history: undefined };
    const { holders, shards } = this.#ownershipRecords();
    const logs = [...this.#replicas].map(([replica, { stderr, stdout }]) => {
      const lines = (stdout + stderr)
        .split('\n')
        .filter((line) => line.includes(`/${name}"`) || line.includes('ownership'));
      return `${replica}:\n${lines.slice(-12).join('\n')}`;
    });
    return `${JSON.stringify(status)} ${JSON.stringify([[...holders], [...shards]])}\n${logs.join('\n')}`;
  }

  /** Deletes a random object every 50 ms. */
  disturb(): void {
    this.#disturbing = setInterval(() => {
      const cluster = this.#clusters[Math.floor(this.random.next() * this.#clusters.length)];
      const name = `${cluster?.name ?? ''}-${Math.floor(this.random.next() * appsPerCluster)}`;
      if (cluster?.store.get('', 'ConfigMap', 'apps', name) !== undefined)
        cluster.store.delete('', 'ConfigMap', 'apps', name);
    }, 50);
  }

  calm(): void {
    clearInterval(this.#disturbing);
  }

  /** The log of a replica, for the message of a failed test. */
  log(name: string): string {
    return this.#replicas.get(name)?.stderr ?? '';
  }

  /**
   * Outputs that contain the credentials of a cluster (T-SEC-1): logs of all replicas, answers of
   * the running ones, objects of the hub.
   */
  async canaries(): Promise<string[]> {
    const living = [...this.#replicas.values()];
    const answers = living.flatMap((program) =>
      [
        async () => (await ask(program, '/metrics')).text(),
        ...readPages.map((page) => () => socketPage(socketOf(program), page)),
      ].map((answer) => answer()),
    );
    const kinds = [
      ['argoproj.io', 'Application'],
      ['', 'ConfigMap'],
      ['', 'Event'],
    ] as const;
    const outputs = {
      logs: [...living, ...this.#stopped].map(({ stdout, stderr }) => stdout + stderr),
      answers: await Promise.all(answers),
      objects: kinds.map(([group, kind]) => JSON.stringify(this.#hub.store.list(group, kind))),
    };
    return Object.entries(outputs).flatMap(([where, texts]) =>
      texts.some((text) => text.includes(canary)) ? [where] : [],
    );
  }

  async close(): Promise<void> {
    this.calm();
    const programs = [...this.#replicas.values(), ...this.#stopped];
    for (const { child } of programs) child.kill('SIGKILL');
    await Promise.all(programs.map(({ ended }) => ended));
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
    await Promise.all([this.#hub, ...this.#clusters].map((cluster) => cluster.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #startOne(ordinal: number | undefined): void {
    this.#born += 1;
    const name = `${workload}-${ordinal ?? `x${this.#born}`}`;
    const program = new Program(
      [
        'run',
        ...[`--kubeconfig=${join(this.#folder, 'kubeconfig')}`, '--context=hub', `--namespace=${namespace}`],
        ...[`--hostname=${name}`, `--heartbeat-seconds=${this.heartbeat}`, '--sharding-method=round-robin'],
        `--dynamic-cluster-distribution-enabled=${this.#dynamic}`,
        ...['--metrics-host=127.0.0.1', '--metrics-port=0', '--api-port=0', '--self-heal-backoff-timeout-seconds=0'],
        ...['--sync-wave-delay-seconds=0', `--cache-dir=${join(this.#folder, name)}`],
      ],
      this.runtime,
    );
    this.#replicas.set(name, program);
  }

  async #endOne(name: string): Promise<void> {
    const program = this.#replicas.get(name);
    this.#replicas.delete(name);
    if (program !== undefined) this.#stopped.push(program);
    await program?.stop('SIGTERM');
  }

  #disturbAll(cluster: SimCluster): { cluster: SimCluster; name: string; uid: string | undefined }[] {
    return Array.from({ length: appsPerCluster }, (_, i) => {
      const name = `${cluster.name}-${i}`;
      const uid = cluster.store.get('', 'ConfigMap', 'apps', name)?.metadata.uid;
      if (uid !== undefined) cluster.store.delete('', 'ConfigMap', 'apps', name);
      return { cluster, name, uid };
    });
  }

  #judge(cluster: SimCluster, request: SimRequest): void {
    const { verb, resource, agent, dryRun } = request;
    if (!mutating.includes(verb) || dryRun || resource !== 'configmaps' || !agent.includes('driftless')) return;
    const writer = /driftless (\S+)\)/.exec(agent)?.[1] ?? '';
    this.writes.set(writer, (this.writes.get(writer) ?? 0) + 1);
    const { holders, shards, epoch } = this.#ownershipRecords();
    const holder = holders.get(shards.get(this.#urlOf(cluster)) ?? -1);
    // The path of a create has no name, so writers are checked for the whole cluster, which is
    // stricter. A write under an earlier table does not count as taking over: since then a stand-in
    // may have owned the cluster, and its last writes are still in flight when the owner returns.
    const tenure = `${holder ?? ''} under table ${epoch}`;
    if (writer === holder) this.#writers.set(cluster.name, tenure);
    else if (this.#writers.get(cluster.name) === tenure && holder !== undefined)
      this.violations.push(`${writer} wrote to ${cluster.name}, where ${tenure} had already taken over`);
  }

  #noteReading(cluster: SimCluster, { verb, agent }: SimRequest): void {
    const reader = /driftless (\S+)\)/.exec(agent)?.[1] ?? '';
    const key = `${reader} ${cluster.name}`;
    if (verb !== 'list' || this.#prepared.has(key)) return;
    const { holders, shards } = this.#ownershipRecords();
    const holder = holders.get(shards.get(this.#urlOf(cluster)) ?? -1);
    this.#prepared.set(key, holder !== undefined && holder !== reader);
  }

  /** The URL under which replicas know a cluster. */
  #urlOf(cluster: SimCluster | undefined): string {
    return cluster === undefined ? '' : (this.#proxies.get(cluster)?.url ?? cluster.url);
  }

  #ownershipRecords(): OwnershipRecords {
    const mapping = this.#data('argocd-app-controller-shard-cm', 'shardControllerMapping');
    const table = this.#data('driftless-ownership', 'table');
    const holders = new Map<number, string>();
    for (const entry of (Array.isArray(mapping) ? mapping : []) as { ShardNumber: number; ControllerName: string }[])
      holders.set(entry.ShardNumber, entry.ControllerName);
    const entries = isObject(table) && isObject(table['clusters']) ? Object.entries(table['clusters']) : [];
    const shards = entries.map(([server, entry]): [string, number] => {
      const list = isObject(entry) ? entry['shards'] : undefined;
      return [server, Array.isArray(list) ? Number(list[0]) : -1];
    });
    const epoch = isObject(table) ? Number(table['epoch']) : 0;
    return { holders, shards: new Map(shards), epoch };
  }

  #data(name: string, key: string): Json | undefined {
    const data = this.#hub.store.get('', 'ConfigMap', namespace, name)?.['data'];
    const text = isObject(data) ? data[key] : undefined;
    return typeof text === 'string' ? (JSON.parse(text) as Json) : undefined;
  }
}

function expectEqual(got: readonly string[], wanted: readonly string[], what: string): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}

/** The clusters that a replica reports as its own. */
async function ownedBy(program: Program): Promise<string[]> {
  return [...(await ownReplica(socketOf(program))).ownedClusters];
}

function socketOf(program: Program): string {
  return /"socket":"([^"]+)"/.exec(program.stdout + program.stderr)?.[1] ?? '';
}

function ask(program: Program, path: string): Promise<Response> {
  const port = /"port":(\d+)[^\n]*Serving metrics|Serving metrics[^\n]*"port":(\d+)/.exec(
    program.stdout + program.stderr,
  );
  return fetch(`http://127.0.0.1:${port?.[1] ?? port?.[2] ?? '0'}${path}`);
}

function ordinalOf(name: string): number {
  return Number(/\d+$/.exec(name)?.[0]);
}

function projectObject(): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default', namespace },
    spec: { sourceRepos: ['*'], destinations: [{ server: '*', namespace: '*' }] },
  };
}

const canary = 'c4nary-cluster-hunter2';

function secretOf(name: string, url: string): KubeObject {
  const labels = { 'argocd.argoproj.io/secret-type': 'cluster' };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `cluster-${name}`, namespace, labels },
    // The first cluster has its credentials in the URL, the others in `config`.
    stringData: name.endsWith('0')
      ? { name, server: url.replace('://', `://admin:${canary}@`), config: '{}' }
      : { name, server: url, config: JSON.stringify({ bearerToken: canary }) },
  };
}

function applicationOf(name: string, repoURL: string, server: string): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace },
    spec: {
      project: 'default',
      source: { repoURL, path: name, targetRevision: 'main' },
      destination: { server, namespace: 'apps' },
      syncPolicy: { automated: { selfHeal: true } },
    },
  };
}

function manifestOf(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  key: value\n`;
}

function workloadOf(kind: string, replicas: number): KubeObject {
  const labels = { app: workload };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'controller', image: 'driftless' }] } };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: workload, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template,
      ...(kind === 'StatefulSet' ? { serviceName: workload } : {}),
    },
  };
}

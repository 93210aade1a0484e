import { seededRandom } from '#base';
import { asApplication } from '#model';
import type { Application, KubeObject } from '#model';
import { openProject } from '#support';
import { VirtualTime } from '../../sharding/testing/index.ts';
import { WorldApiServer } from './servers/api-server.ts';
import type { ServedKind } from './servers/api-server.ts';
import { canary, configMap, hasCanary, isReady, namespace, ownedRule, resourceOf } from './content.ts';
import { firstOther } from './acts.ts';
import type { SettingsChange } from './acts.ts';
import { FaultCounts } from './faults.ts';
import { WorldGit } from './servers/git.ts';
import type { Commit } from './servers/git.ts';
import { WorldNetwork } from './servers/network.ts';
import type { SecretChange, SyncManner, WorldPlan } from './plan.ts';
import { WorldRedis } from './servers/redis.ts';
import { hubUrl, otherWorkload, WorldReplica, workload } from './replica.ts';
import { JournalRules } from './rules.ts';
import type { ObservedWorld, Since } from './rules.ts';

const core = (kind: string, resource: string, namespaced = true): ServedKind => ({
  group: '',
  version: 'v1',
  kind,
  resource,
  namespaced,
});
const clusterKinds: readonly ServedKind[] = [
  core('ConfigMap', 'configmaps'),
  core('Secret', 'secrets'),
  core('PersistentVolumeClaim', 'persistentvolumeclaims'),
  core('Namespace', 'namespaces', false),
];
const argo = { group: 'argoproj.io', version: 'v1alpha1', namespaced: true };
const hubKinds: readonly ServedKind[] = [
  ...clusterKinds,
  core('Event', 'events'),
  { group: 'apps', version: 'v1', kind: 'StatefulSet', resource: 'statefulsets', namespaced: true },
  { ...argo, kind: 'Application', resource: 'applications' },
  { ...argo, kind: 'AppProject', resource: 'appprojects' },
];

/** Small enough that clocks of any speed stay exact, large enough for clocks that jump back. */
const beginMs = 1_000_000_000;
/** How long a process that ended by itself is missing. */
const restartMs = 2000;
const bindMs = 1500;

/** Changes that make a cluster Secret unreadable. */
const damages: Readonly<Record<string, Partial<KubeObject>>> = {
  'config truncated': { data: { config: Buffer.from('{"bearer').toString('base64') } },
  'server emptied': { data: { server: '' } },
  'without its type': { metadata: { labels: {} } },
};

/** The simulated world: one hub, clusters, Git, replicas and their network, in virtual time. */
export class World implements ObservedWorld {
  readonly plan: WorldPlan;
  readonly time = new VirtualTime();
  readonly counts = new FaultCounts();
  readonly hub: WorldApiServer;
  readonly clusters: readonly WorldApiServer[];
  readonly git: WorldGit;
  readonly network: WorldNetwork;
  readonly redis: WorldRedis;
  readonly rules: JournalRules;
  /** All processes so far. */
  readonly replicas: WorldReplica[] = [];
  /** Commits that Applications were to have, by name. */
  readonly targets = new Map<string, Since<string>[]>();
  readonly manners = new Map<string, Since<SyncManner>[]>();
  /** Names of those who asked for a sync, with the Application. */
  readonly asked = new Map<string, string>();
  /** Operations that a person terminated: the Application, and when they started. */
  readonly terminated = new Set<string>();
  /** Number of replicas that should run. */
  desired: number;
  violation: string | undefined;
  readonly log: string[] = [];
  /** Into how many parts clusters are split. */
  readonly #parts = new Map<number, number>();
  readonly #downUntil = new Map<number, number>();
  readonly #start: number;

  constructor(plan: WorldPlan) {
    this.plan = plan;
    this.desired = plan.replicas;
    this.time.now = beginMs;
    this.#start = this.time.now;
    const now = (): number => this.time.now;
    this.git = new WorldGit(now, this.counts);
    this.hub = new WorldApiServer(hubUrl, hubKinds, now);
    this.clusters = Array.from(
      { length: plan.clusters },
      (_, i) => new WorldApiServer(`https://c${i}.world`, clusterKinds, now),
    );
    this.rules = new JournalRules(this);
    this.network = new WorldNetwork({
      time: this.time,
      random: seededRandom(plan.seed ^ 0x77),
      counts: this.counts,
      onServed: (served) => this.rules.served(served),
    });
    this.redis = new WorldRedis({
      time: this.time,
      random: seededRandom(plan.seed ^ 0x5ed1),
      counts: this.counts,
      onWrite: (write) => this.rules.published(write),
    });
    for (const server of [this.hub, ...this.clusters]) this.network.add(server);
    for (const cluster of this.clusters) this.#prepareCluster(cluster);
    this.#prepareHub();
    for (const index of this.expected()) this.startReplica(index);
  }

  /** Indices of the replicas that should run, of both releases. */
  expected(): readonly number[] {
    const { others = 0 } = this.plan;
    const own = Array.from({ length: this.desired }, (_, i) => i);
    return this.desired === 0 ? [] : [...own, ...Array.from({ length: others }, (_, i) => firstOther + i)];
  }

  get elapsedMs(): number {
    return this.time.now - this.#start;
  }

  /** Plays until so long after the start, or until a violation. */
  async playTo(elapsedMs: number): Promise<void> {
    await this.time.play(this.#start + elapsedMs, () => this.violation !== undefined);
  }

  at(elapsedMs: number, run: () => void): void {
    this.time.at(this.#start + elapsedMs, run);
  }

  break(what: string): void {
    this.violation ??= `at ${this.elapsedMs}: ${what}`;
  }

  note(what: string): void {
    this.log.push(`${this.elapsedMs} ${what}`);
  }

  /** The process of a replica that exists now. */
  replica(index: number): WorldReplica | undefined {
    return this.replicas.find((replica) => replica.index === index && replica.isAlive);
  }

  alive(): readonly WorldReplica[] {
    return this.replicas.filter(({ isAlive }) => isAlive);
  }

  startReplica(index: number): void {
    if (!this.expected().includes(index) || this.replica(index) !== undefined) return;
    if ((this.#downUntil.get(index) ?? 0) > this.time.now) return;
    this.note(`replica ${index} starts`);
    this.replicas.push(
      new WorldReplica({
        time: this.time,
        network: this.network,
        git: this.git,
        redis: this.redis,
        index,
        birth: this.replicas.length,
        seed: this.plan.seed,
        clusterQps: this.plan.clusterQps,
        keepsSettings: this.plan.owned === true,
        offersClusters: this.plan.offers === true,
        onOutput: (where, text) => {
          if (hasCanary(text)) this.break(`${where} of replica ${index} contains a secret value: ${text}`);
        },
        onGone: () => this.#restartLater(index, restartMs),
      }),
    );
  }

  /** A replica is missing for a time, after it was killed or stopped. */
  restart(index: number, how: 'kill' | 'stop', downMs: number): void {
    const replica = this.replica(index);
    if (replica === undefined) return;
    this.counts.add(how === 'kill' ? 'killed' : 'stopped in order');
    this.#downUntil.set(index, this.time.now + downMs);
    if (how === 'kill') replica.kill();
    else replica.stop();
    this.#restartLater(index, downMs);
  }

  scale(replicas: number): void {
    this.desired = replicas;
    this.writeWorkload();
    const expected = this.expected();
    for (const replica of this.alive()) if (!expected.includes(replica.index)) replica.stop();
    for (const index of expected) this.startReplica(index);
  }

  #restartLater(index: number, afterMs: number): void {
    this.time.at(this.time.now + afterMs, () => this.startReplica(index));
  }

  // ---------------------------------------------------------------- the hub

  app(name: string): Application | undefined {
    const object = this.hub.store.get('applications', 'argocd', name);
    return object === undefined ? undefined : asApplication(object);
  }

  /** Changes an Application as a person. */
  editApp(name: string, change: (app: Application) => object): void {
    const app = this.app(name);
    if (app === undefined) return;
    this.hub.store.put('applications', { ...app, ...change(app) } as unknown as KubeObject);
  }

  get appNames(): readonly string[] {
    return this.plan.apps.map((_, i) => `a${i}`);
  }

  clusterOf(app: string): WorldApiServer {
    const index = this.plan.apps[Number(app.slice(1))]?.cluster ?? 0;
    return this.clusters[index] ?? this.hub;
  }

  live(app: string, object: KubeObject): KubeObject | undefined {
    return this.clusterOf(app).store.get(resourceOf[object.kind] ?? '', namespace, object.metadata.name ?? '');
  }

  /** All objects of the cluster that are named like those of the Application. */
  objectsOf(app: string): readonly KubeObject[] {
    return Object.values(resourceOf)
      .flatMap((resource) => this.clusterOf(app).store.list(resource, namespace))
      .filter(({ metadata }) => metadata.name?.startsWith(`${app}-`) === true);
  }

  /** The commit that an Application should have now. */
  target(app: string): Commit | undefined {
    return this.git.get(this.targets.get(app)?.at(-1)?.value ?? '');
  }

  setTarget(app: string): void {
    const { targetRevision } = this.app(app)?.spec.source ?? {};
    const sha = this.git.get(targetRevision ?? '')?.sha ?? this.git.head(app).sha;
    const known = this.targets.get(app) ?? [];
    if (known.at(-1)?.value !== sha) this.targets.set(app, [...known, { at: this.time.now, value: sha }]);
  }

  setManner(app: string, manner: SyncManner): void {
    this.manners.set(app, [...(this.manners.get(app) ?? []), { at: this.time.now, value: manner }]);
    const more = this.plan.owned === true ? { syncOptions: ['RespectIgnoreDifferences=true'] } : {};
    this.editApp(app, ({ spec }) => ({ spec: { ...spec, syncPolicy: { ...syncPolicyOf(manner), ...more } } }));
  }

  writeWorkload(): void {
    const { others = 0 } = this.plan;
    this.#writeStatefulSet(workload, this.desired);
    if (others > 0) this.#writeStatefulSet(otherWorkload, others);
  }

  #writeStatefulSet(name: string, replicas: number): void {
    const object = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name, namespace: 'argocd' } };
    this.hub.store.put('statefulsets', { ...object, spec: { replicas } });
  }

  /** Changes the Secret of a cluster for a while. */
  changeSecret(cluster: number, change: SecretChange, ms: number): void {
    const { url } = this.clusters[cluster] ?? this.hub;
    const other = this.clusters[(cluster + 1) % this.clusters.length]?.url ?? url;
    const found = this.hub.store.get('secrets', 'argocd', `cluster-c${cluster}`);
    if (change === 'deleted') {
      if (found !== undefined) this.hub.store.delete('secrets', found);
    } else if (change in damages) {
      this.#writeSecret(cluster);
      this.#damageSecret(cluster, damages[change]);
    } else if (change === 'renamed') this.#writeSecret(cluster, { name: `renamed-${this.elapsedMs}` });
    else this.#writeSecret(cluster, { server: change === 'url with a slash' ? `${url}/` : other });
    this.time.at(this.time.now + ms, () => this.#writeSecret(cluster));
  }

  #damageSecret(cluster: number, damage: Partial<KubeObject> | undefined): void {
    const secret = this.hub.store.get('secrets', 'argocd', `cluster-c${cluster}`);
    if (secret === undefined) return;
    const data = { ...(secret['data'] as object), ...(damage?.['data'] as object | undefined) };
    this.hub.store.put('secrets', { ...secret, data, metadata: { ...secret.metadata, ...damage?.metadata } });
  }

  /** The content of argocd-cm. */
  get settingsData(): Readonly<Record<string, string>> {
    return { 'cluster.inClusterEnabled': 'false', ...(this.plan.owned === true ? ownedRule : {}) };
  }

  /** Changes argocd-cm for a while. */
  changeSettings(change: SettingsChange, ms: number): void {
    const [rule = ''] = Object.keys(ownedRule);
    const bad = change === 'bad YAML' ? 'jsonPointers: ["/data/owned' : 'jsonPointers: /data/owned';
    const known = this.hub.store.get('configmaps', 'argocd', 'argocd-cm');
    if (change !== 'deleted') this.#writeSettings(change === 'emptied' ? {} : { ...this.settingsData, [rule]: bad });
    else if (known !== undefined) this.hub.store.delete('configmaps', known);
    this.time.at(this.time.now + ms, () => this.#writeSettings(this.settingsData));
  }

  #writeSettings(data: Readonly<Record<string, string>>): void {
    const metadata = { name: 'argocd-cm', namespace: 'argocd', labels: { 'app.kubernetes.io/part-of': 'argocd' } };
    this.hub.store.put('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }

  split(cluster: number, parts: number): void {
    this.#parts.set(cluster, parts);
    this.#writeSecret(cluster);
  }

  #writeSecret(cluster: number, change: { readonly name?: string; readonly server?: string } = {}): void {
    const given = { name: `c${cluster}`, server: this.clusters[cluster]?.url ?? '', ...change };
    const namespaces = this.plan.scoped === true ? `${namespace},elsewhere` : undefined;
    this.hub.store.put('secrets', clusterSecret(`c${cluster}`, { ...given, namespaces }, this.#parts.get(cluster)));
  }

  #prepareCluster(cluster: WorldApiServer): void {
    if (this.plan.scoped === true) cluster.gitVersion = 'v1.36.0';
    cluster.onCreate = (object) =>
      object.kind === 'PersistentVolumeClaim' ? { ...object, status: { phase: 'Pending' } } : object;
    cluster.store.onEvent(({ type, object }) => {
      if (type === 'ADDED' && object.kind === 'PersistentVolumeClaim') this.#bindLater(cluster);
    });
    cluster.store.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const foreign = configMap('foreign', 'v0');
    cluster.store.put('configmaps', { ...foreign, metadata: { ...foreign.metadata, namespace } });
  }

  /** The volume controller of a cluster. */
  #bindLater(cluster: WorldApiServer): void {
    this.time.at(this.time.now + bindMs, () => this.bindVolumes(cluster));
  }

  bindVolumes({ store }: WorldApiServer): void {
    for (const claim of store.list('persistentvolumeclaims', namespace))
      if (!isReady(claim)) store.put('persistentvolumeclaims', { ...claim, status: { phase: 'Bound' } });
  }

  #prepareHub(): void {
    const { store } = this.hub;
    this.writeWorkload();
    this.#writeSettings(this.settingsData);
    store.put('appprojects', openProject());
    this.clusters.forEach((_, i) => this.#writeSecret(i));
  }
}

export function syncPolicyOf(manner: SyncManner): object {
  const retry = { limit: -1, backoff: { duration: '1s', factor: 2, maxDuration: '8s' } };
  if (manner === 'manual') return { retry };
  return { automated: { prune: manner === 'automated', selfHeal: true }, retry };
}

function clusterSecret(
  id: string,
  { namespaces, ...given }: { readonly name: string; readonly server: string; readonly namespaces: string | undefined },
  parts: number | undefined,
): KubeObject {
  const config = JSON.stringify({ bearerToken: `${canary}-token-of-${id}` });
  const texts = { ...given, config, ...(namespaces === undefined ? {} : { namespaces }) };
  const labels = { 'argocd.argoproj.io/secret-type': 'cluster' };
  const split = parts === undefined ? {} : { annotations: { 'driftless.io/split': String(parts) } };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `cluster-${id}`, namespace: 'argocd', labels, ...split },
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

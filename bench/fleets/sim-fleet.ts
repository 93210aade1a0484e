import { performance } from 'node:perf_hooks';
import { isObject, seededRandom, systemClock } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster, SimRequest, StoreEvent } from '#sim';
import { openProject } from '#support';
import { isSettled, readArgoCrds } from '../fleet/servers.ts';
import { ChurnLoad } from './churn-load.ts';
import type { ChurnRates } from './churn-load.ts';
import {
  applicationObject,
  clusterSecretOf,
  firstValue,
  hubNamespace,
  namespaceObject,
  numbered,
  renamedObject,
  workloadObject,
  workloadName,
} from './fleet-objects.ts';
import type { FleetApplication } from './fleet-objects.ts';

export interface FleetShape {
  readonly clusters: number;
  /** Without cluster-wide rights: only these namespaces may be listed and watched. */
  readonly namespaces?: readonly string[];
  /** Argo CD's `resource.inclusions`, as YAML. */
  readonly inclusions?: string;
  readonly objectsPerApplication: number;
  /** The hub is the last cluster, too. */
  readonly withHub?: boolean;
  /** The cluster i belongs to the shard i. Default: as the replicas distribute them. */
  readonly isPinned?: boolean;
}

/** A repaired object, or a pushed change that is Synced. */
export interface Witnessed {
  readonly name: string;
  readonly cluster: number;
  readonly ms: number;
}

/** Requests of the controller since {@link SimFleet.resetCounts}, as the servers saw them. */
export interface FleetCounts {
  /** Requests to the hub: "list applications" → 1. */
  readonly hub: Readonly<Record<string, number>>;
  /** Lists of one kind with one selector, however many pages each has: the largest number. */
  readonly repeatedLists: number;
  /** Creates, patches, updates and deletes in all clusters. */
  readonly clusterWrites: number;
  /** Changes of Applications, which each replica sees. */
  readonly applicationEvents: number;
  /** Names of the Applications that were written. */
  readonly writtenApplications: readonly string[];
  /** Applications whose sync or health status turned Unknown. */
  readonly turnedUnknown: readonly string[];
  readonly cpuMs: number;
  /** Share of the time for which the event loop of the servers was busy: 1 means a full core. */
  readonly loopBusyRatio: number;
}

interface ClusterState {
  readonly index: number;
  readonly sim: SimCluster;
  /** Names of changed objects that are not repaired yet, and since when. */
  readonly drifted: Map<string, number>;
}

const argoGroup = 'argoproj.io';
const refreshAnnotation = 'argocd.argoproj.io/refresh';
const refreshTimestampAnnotation = 'argocd.argoproj.io/refresh-timestamp';
const writeVerbs = new Set(['create', 'patch', 'update', 'delete']);
const forbiddenMessage = 'this account has rights in some namespaces only';

/**
 * A simulated hub and many simulated clusters, what users and other controllers do to them, and
 * independent measurements of what the replicas do. Runs in a process of its own.
 */
export class SimFleet {
  readonly #applications = new Map<string, FleetApplication>();
  readonly #values = new Map<string, string>();
  readonly #settled = new Set<string>();
  /** The pushed commits, in their order. */
  readonly #revisions = new Map<string, number>();
  readonly #pushed = new Map<string, { readonly order: number; readonly since: number }>();
  #shape: FleetShape = { clusters: 0, objectsPerApplication: 1 };
  #hub: SimCluster | undefined;
  #clusters: ClusterState[] = [];
  #repository = '';
  #repaired: Witnessed[] = [];
  #synced: Witnessed[] = [];
  #finishedOperations = 0;
  #probing: NodeJS.Timeout | undefined;
  #churn: ChurnLoad | undefined;
  #hubRequests: Record<string, number> = {};
  readonly #hubLists = new Map<string, number>();
  #clusterWrites = 0;
  #applicationEvents = 0;
  readonly #written = new Set<string>();
  readonly #unknown = new Set<string>();
  #cpu = process.cpuUsage();
  #loop = performance.eventLoopUtilization();

  /** Starts all servers; returns a kubeconfig of the hub, and the URLs of the clusters. */
  async start(
    shape: FleetShape,
    repository: string,
  ): Promise<{ readonly kubeconfig: string; readonly servers: readonly string[] }> {
    this.#shape = shape;
    this.#repository = repository;
    const common = { clock: systemClock, random: seededRandom(3), workloads: { enabled: false, delayMs: 0 } };
    const hub = await startSimCluster({ ...common, name: 'hub', crds: readArgoCrds() });
    this.#hub = hub;
    for (const object of [namespaceObject(hubNamespace), openProject()]) hub.store.create(object);
    hub.store.create(settingsOf(shape.inclusions));
    for (let index = 0; index < shape.clusters; index += 1)
      this.#clusters.push(this.#watched(index, await startSimCluster({ ...common, name: numbered('c', index) })));
    if (shape.withHub === true) this.#clusters.push(this.#watched(shape.clusters, hub));
    hub.store.subscribe((event) => this.#observeHub(event));
    hub.onRequest((request) => this.#countHub(request));
    return { kubeconfig: kubeconfigFor([hub]), servers: this.#clusters.map(({ sim }) => sim.url) };
  }

  /** Sets the number of replicas of the controller's workload, like `kubectl scale`. */
  scale(replicas: number): void {
    const { store } = this.#startedHub();
    const known = store.get('apps', 'StatefulSet', hubNamespace, workloadName);
    if (known === undefined) store.create(workloadObject(replicas));
    else store.update({ ...known, spec: { ...(known['spec'] as object), replicas } }, { manager: 'kubectl' });
  }

  create(applications: readonly FleetApplication[]): void {
    const { store } = this.#startedHub();
    for (const app of applications) {
      this.#register(app);
      store.create(applicationObject(app, this.#repository, this.#cluster(app.cluster).sim.url));
    }
  }

  /**
   * Creates Applications and their objects as an earlier replica left them: as it left those of the
   * settled Application `template`, with other names.
   */
  seed(template: string, applications: readonly FleetApplication[]): void {
    const { store } = this.#startedHub();
    const model = this.#application(template);
    const modelUrl = this.#cluster(model.cluster).sim.url;
    const stored = store.get(argoGroup, 'Application', hubNamespace, template);
    if (stored === undefined) throw new Error(`no Application ${template}`);
    const live = this.#objectNames(template).map((name) => this.#liveObject(model, name));
    for (const app of applications) {
      this.#register(app);
      const { sim } = this.#cluster(app.cluster);
      const namespaces = [`"namespace":"${model.namespace}"`, `"namespace":"${app.namespace}"`] as const;
      const names = [template, app.name] as const;
      for (const object of live) sim.store.create(renamedObject(object, [names, namespaces]), 'argocd-controller');
      const copy = renamedObject(stored, [names, namespaces, [modelUrl, sim.url]]);
      const annotations = { ...copy.metadata.annotations, ...app.annotations };
      store.create({ ...copy, metadata: { ...copy.metadata, annotations } }, 'argocd-controller');
    }
  }

  /** Number of Applications that are Synced and Healthy, without a running operation. */
  settled(): number {
    return this.#settled.size;
  }

  /** Changes the first object, or all objects, of each Application by hand. */
  drift(names: readonly string[], which: 'first' | 'all' = 'first'): void {
    const objects = names.flatMap((name) => this.#objectNames(name).slice(0, which === 'first' ? 1 : undefined));
    this.driftObjects(objects);
  }

  /** Changes objects by hand that are in their desired state; others are left as they are. */
  driftObjects(objects: readonly string[]): void {
    for (const name of objects) {
      const app = this.#application(name.slice(0, name.lastIndexOf('-')));
      const { sim, drifted } = this.#cluster(app.cluster);
      const object = sim.store.get('', 'ConfigMap', app.namespace, name);
      if (object === undefined || drifted.has(name)) continue;
      drifted.set(name, systemClock.monotonic());
      sim.store.update({ ...object, data: { ...(object['data'] as object), key: 'changed by hand' } });
    }
  }

  /** Drifts one of these Applications after the other. */
  startProbe(names: readonly string[], intervalMs: number): void {
    let next = 0;
    this.#probing = setInterval(() => {
      this.drift([names[next % names.length] ?? '']);
      next += 1;
    }, intervalMs);
  }

  stopProbe(): void {
    clearInterval(this.#probing);
  }

  /** Returns and forgets the repairs since the last call. */
  takeRepairs(): readonly Witnessed[] {
    const repaired = this.#repaired;
    this.#repaired = [];
    return repaired;
  }

  /** The objects that are changed and not yet repaired, with the time since then. */
  unrepaired(): readonly Witnessed[] {
    const now = systemClock.monotonic();
    return this.#clusters.flatMap(({ index, drifted }) =>
      [...drifted].map(([name, since]) => ({ name, cluster: index, ms: now - since })),
    );
  }

  /**
   * Requests a refresh of the Applications whose paths changed, like Argo CD's API server for the
   * webhook of a push. Begins to wait until they are Synced to `revision`, or to a later one.
   */
  push(names: readonly string[], revision: string, value: string): void {
    const since = systemClock.monotonic();
    const order = this.#revisions.size;
    this.#revisions.set(revision, order);
    for (const name of names) {
      for (const object of this.#objectNames(name)) this.#values.set(object, value);
      this.#pushed.set(name, { order, since: this.#pushed.get(name)?.since ?? since });
    }
    this.refresh(names);
  }

  /** Requests a refresh of each Application, like Argo CD's API server. */
  refresh(names: readonly string[]): void {
    const { store } = this.#startedHub();
    const requestedAt = new Date(systemClock.now()).toISOString();
    for (const name of names) {
      const object = this.#applicationObject(name);
      const requested = { [refreshAnnotation]: 'normal', [refreshTimestampAnnotation]: requestedAt };
      const annotations = { ...object.metadata.annotations, ...requested };
      store.update({ ...object, metadata: { ...object.metadata, annotations } });
    }
  }

  /** Changes only the status of Applications, as a comparison does. */
  touch(names: readonly string[]): void {
    const { store } = this.#startedHub();
    const reconciledAt = new Date(systemClock.now()).toISOString();
    for (const name of names) {
      const object = this.#applicationObject(name);
      store.update({ ...object, status: { ...(object['status'] as object), reconciledAt } });
    }
  }

  /** Returns and forgets the pushed changes that became Synced since the last call. */
  takeSynced(): readonly Witnessed[] {
    const synced = this.#synced;
    this.#synced = [];
    return synced;
  }

  /** Number of pushed changes that are not Synced yet. */
  unsynced(): number {
    return this.#pushed.size;
  }

  /** Starts a sync of each Application that has no operation, like `argocd app sync`. */
  sync(names: readonly string[]): number {
    let started = 0;
    for (const name of names) {
      const object = this.#applicationObject(name);
      if ((object['operation'] ?? undefined) !== undefined) continue;
      this.#startedHub().store.update({ ...object, operation: { sync: {}, initiatedBy: { username: 'bench' } } });
      started += 1;
    }
    return started;
  }

  /** Number of operations that have ended. */
  finishedOperations(): number {
    return this.#finishedOperations;
  }

  /** Starts changes of objects of all Applications, and of objects that no Application has. */
  startChurn(rates: ChurnRates): void {
    const stores = this.#clusters.map(({ sim }) => sim.store);
    const managed = [...this.#applications.values()].flatMap(({ name, cluster, namespace }) =>
      this.#objectNames(name).map((object) => ({ cluster, namespace, name: object })),
    );
    this.#churn = new ChurnLoad({ stores, managed, random: seededRandom(4), ...rates });
  }

  /** Number of events so far. */
  churned(): number {
    return this.#churn?.events ?? 0;
  }

  /** Ends the churn; the objects that no Application has are deleted. */
  stopChurn(): void {
    this.#churn?.stop();
  }

  /** Ends all connections to a cluster, or to the hub. */
  breakConnections(cluster: number | 'hub'): void {
    if (cluster === 'hub') this.#startedHub().disconnect();
    else this.#cluster(cluster).sim.disconnect();
  }

  counts(): FleetCounts {
    const { user, system } = process.cpuUsage(this.#cpu);
    return {
      hub: { ...this.#hubRequests },
      repeatedLists: Math.max(0, ...this.#hubLists.values()),
      clusterWrites: this.#clusterWrites,
      applicationEvents: this.#applicationEvents,
      writtenApplications: [...this.#written],
      turnedUnknown: [...this.#unknown],
      cpuMs: (user + system) / 1000,
      loopBusyRatio: performance.eventLoopUtilization(this.#loop).utilization,
    };
  }

  resetCounts(): void {
    this.#hubRequests = {};
    this.#hubLists.clear();
    this.#clusterWrites = 0;
    this.#applicationEvents = 0;
    this.#written.clear();
    this.#unknown.clear();
    this.#cpu = process.cpuUsage();
    this.#loop = performance.eventLoopUtilization();
  }

  async close(): Promise<void> {
    this.stopProbe();
    this.stopChurn();
    await this.#hub?.close();
    const others = this.#clusters.filter(({ sim }) => sim !== this.#hub);
    await Promise.all(others.map(({ sim }) => sim.close()));
  }

  /** Registers a cluster with the hub, and observes it. */
  #watched(index: number, sim: SimCluster): ClusterState {
    const { namespaces = [], isPinned = false } = this.#shape;
    const state: ClusterState = { index, sim, drifted: new Map() };
    this.#startedHub().store.create(clusterSecretOf(sim.name, sim.url, namespaces, isPinned ? index : undefined));
    for (const verb of namespaces.length === 0 ? [] : ['list', 'watch'])
      sim.addFault({ verb, namespace: '', fault: { kind: 'status', code: 403, message: forbiddenMessage } });
    sim.onRequest(({ verb, dryRun }) => {
      if (writeVerbs.has(verb) && !dryRun) this.#clusterWrites += 1;
    });
    sim.store.subscribe(({ object }) => {
      if (object.kind === 'ConfigMap') this.#observeObject(state, object);
    });
    return state;
  }

  #observeObject({ index, drifted }: ClusterState, object: KubeObject): void {
    const name = object.metadata.name ?? '';
    const since = drifted.get(name);
    if (since === undefined) return;
    const data = object['data'];
    if (!isObject(data) || data['key'] !== (this.#values.get(name) ?? firstValue)) return;
    drifted.delete(name);
    this.#repaired.push({ name, cluster: index, ms: systemClock.monotonic() - since });
  }

  #observeHub({ object, old }: StoreEvent): void {
    if (object.kind !== 'Application') return;
    this.#applicationEvents += 1;
    const name = object.metadata.name ?? '';
    if (isSettled(object)) this.#settled.add(name);
    else this.#settled.delete(name);
    if (old === undefined) return;
    if (isUnknown(object) && !isUnknown(old)) this.#unknown.add(name);
    if ((old['operation'] ?? undefined) !== undefined && (object['operation'] ?? undefined) === undefined)
      this.#finishedOperations += 1;
    const pushed = this.#pushed.get(name);
    const synced = this.#revisions.get(syncedRevision(object) ?? '');
    if (pushed === undefined || !isSettled(object) || synced === undefined || synced < pushed.order) return;
    this.#pushed.delete(name);
    const { cluster } = this.#application(name);
    this.#synced.push({ name, cluster, ms: systemClock.monotonic() - pushed.since });
  }

  #countHub({ verb, group, resource, name, agent, isContinued, selector }: SimRequest): void {
    if (!agent.includes('driftless')) return;
    if (verb === 'list' && !isContinued) {
      const list = `${resource} ${name} ${selector}`;
      this.#hubLists.set(list, (this.#hubLists.get(list) ?? 0) + 1);
    }
    const key = `${verb} ${resource}`;
    this.#hubRequests[key] = (this.#hubRequests[key] ?? 0) + 1;
    if (group === argoGroup && resource === 'applications' && writeVerbs.has(verb)) this.#written.add(name);
  }

  #register(app: FleetApplication): void {
    this.#applications.set(app.name, app);
    const { store } = this.#cluster(app.cluster).sim;
    if (store.get('', 'Namespace', '', app.namespace) === undefined) store.create(namespaceObject(app.namespace));
  }

  #liveObject({ cluster, namespace }: FleetApplication, name: string): KubeObject {
    const object = this.#cluster(cluster).sim.store.get('', 'ConfigMap', namespace, name);
    if (object === undefined) throw new Error(`no ConfigMap ${name}`);
    return object;
  }

  #objectNames(app: string): readonly string[] {
    return Array.from({ length: this.#shape.objectsPerApplication }, (_, i) => `${app}-${i}`);
  }

  #application(name: string): FleetApplication {
    const app = this.#applications.get(name);
    if (app === undefined) throw new Error(`no Application ${name}`);
    return app;
  }

  #applicationObject(name: string): KubeObject {
    const object = this.#startedHub().store.get(argoGroup, 'Application', hubNamespace, name);
    if (object === undefined) throw new Error(`no Application ${name}`);
    return object;
  }

  #cluster(index: number): ClusterState {
    const state = this.#clusters[index];
    if (state === undefined) throw new Error(`no cluster ${index}`);
    return state;
  }

  #startedHub(): SimCluster {
    if (this.#hub === undefined) throw new Error('the servers are not started');
    return this.#hub;
  }
}

/** The hub is no destination, so that all requests to it are those of a hub. */
function settingsOf(inclusions: string | undefined): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: hubNamespace, labels: { 'app.kubernetes.io/part-of': 'argocd' } },
    data: {
      'cluster.inClusterEnabled': 'false',
      ...(inclusions === undefined ? {} : { 'resource.inclusions': inclusions }),
    },
  };
}

interface StatusPart {
  readonly sync?: { readonly status?: string; readonly revision?: string };
  readonly health?: { readonly status?: string };
}

function isUnknown(object: KubeObject): boolean {
  const status = object['status'] as StatusPart | undefined;
  return status?.sync?.status === 'Unknown' || status?.health?.status === 'Unknown';
}

function syncedRevision(object: KubeObject): string | undefined {
  return (object['status'] as StatusPart | undefined)?.sync?.revision;
}

/**
 * double: a test double of kube-controller-manager and the kubelets for a real API server. It runs
 * the workload controllers of the simulator (sim/workloads) over the network, and adds garbage
 * collection, default ServiceAccounts, deletion of namespaces, and termination of pods.
 */
import { systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { startWorkloads } from '#sim';
import type { StoreEvent } from '#sim';
import { ApiClient } from '#support';
import type { ApiAccess } from '#support';
import { HttpBridge } from './bridge.ts';
import { GarbageCollectorDouble } from './collector.ts';
import { reconcileNamespace } from './namespaces.ts';
import { RemoteStore } from './remote-store.ts';

export interface ClusterDouble {
  /** Stops it and closes all its connections. */
  stop(): Promise<void>;
}

/**
 * Starts the double for one server and resolves when it watches every kind. It needs administrator
 * access, survives restarts of the server, and watches kinds that are added later.
 * @param delayMs how long a pod takes to start
 * @param collects false: a real kube-controller-manager collects garbage and ends namespaces
 */
export async function startDouble(
  access: ApiAccess,
  { delayMs = 50, collects = true }: { readonly delayMs?: number; readonly collects?: boolean } = {},
): Promise<ClusterDouble> {
  const api = new ApiClient(access);
  const bridge = new HttpBridge(access);
  const stop = new AbortController();
  const store = new RemoteStore(api, bridge, stop.signal);
  await store.discover();
  const workloads = startWorkloads({ store, clock: systemClock, random: systemRandom, delayMs });
  const surroundings = new LifecycleDouble(store, access.ca ?? '', collects);
  store.subscribe((event) => surroundings.hear(event));
  store.replay((event) => surroundings.hear(event));
  surroundings.start();
  return {
    stop: async () => {
      stop.abort();
      workloads.stop();
      surroundings.stop();
      await api.close();
      await store.settled();
      await bridge.close();
    },
  };
}

/** The fields of a CRD that name its kind. */
interface CrdSummary {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

/**
 * Everything except workloads. Events are queued and handled outside of the write that caused them.
 */
class LifecycleDouble {
  readonly #store: RemoteStore;
  readonly #ca: string;
  readonly #collects: boolean;
  readonly #collector: GarbageCollectorDouble;
  readonly #queue: StoreEvent[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;
  #scheduled = false;

  constructor(store: RemoteStore, ca: string, collects: boolean) {
    this.#store = store;
    this.#ca = ca;
    this.#collects = collects;
    this.#collector = new GarbageCollectorDouble(store);
  }

  /**
   * Polls terminating namespaces, whose objects may have finalizers, and CRDs whose kinds are
   * missing in discovery, which takes seconds on a loaded machine.
   */
  start(): void {
    const look = (): void => {
      if (this.#collects) this.#collectAgain();
      if (this.#isKindMissing()) void this.#rediscover();
      if (!this.#stopped) this.#later(500, look);
    };
    look();
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#queue.length = 0;
  }

  hear(event: StoreEvent): void {
    this.#queue.push(event);
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const next of this.#queue.splice(0)) if (!this.#stopped) this.#react(next);
    });
  }

  #react(event: StoreEvent): void {
    const { object, type } = event;
    if (this.#collects) this.#collect(event);
    if (object.kind === 'Pod' && type !== 'DELETED') this.#endPod(object);
    if (type !== 'DELETED' && object.metadata.deletionTimestamp !== undefined) this.#unprotect(object);
    if (object.kind === 'CustomResourceDefinition')
      for (const ms of [0, 300, 1500]) this.#later(ms, () => void this.#rediscover());
  }

  #collectAgain(): void {
    for (const namespace of this.#store.list('', 'Namespace'))
      if (namespace.metadata.deletionTimestamp !== undefined) reconcileNamespace(this.#store, namespace, this.#ca);
    this.#collector.retry();
  }

  #collect(event: StoreEvent): void {
    const { object, type } = event;
    this.#collector.hear(event);
    if (object.kind === 'Namespace' && type !== 'DELETED') reconcileNamespace(this.#store, object, this.#ca);
    if (object.kind === 'ServiceAccount' && type === 'DELETED') this.#refurnish(object);
  }

  /** Removes the protection finalizer of claims and volumes: no pod uses them any more. */
  #unprotect(object: KubeObject): void {
    const finalizers = object.metadata.finalizers ?? [];
    const rest = finalizers.filter((name) => !/^kubernetes\.io\/pvc?-protection$/.test(name));
    if (rest.length === finalizers.length) return;
    try {
      this.#store.update({ ...object, metadata: { ...object.metadata, finalizers: rest } });
    } catch {
      // A conflict: the event of the other change follows.
    }
  }

  #refurnish({ metadata }: KubeObject): void {
    const namespace = this.#store.get('', 'Namespace', '', metadata.namespace ?? '');
    if (namespace !== undefined && namespace.metadata.deletionTimestamp === undefined)
      reconcileNamespace(this.#store, namespace, this.#ca);
  }

  #endPod({ metadata }: KubeObject): void {
    if (metadata.deletionTimestamp === undefined || metadata.deletionGracePeriodSeconds === 0) return;
    try {
      const { namespace = '', name = '', uid = '' } = metadata;
      this.#store.delete('', 'Pod', namespace, name, { gracePeriodSeconds: 0, uid });
    } catch {
      // It is gone already, or the server is down and the next list has it again.
    }
  }

  #isKindMissing(): boolean {
    return this.#store.list('apiextensions.k8s.io', 'CustomResourceDefinition').some((definition) => {
      const { spec } = definition as KubeObject & { readonly spec: CrdSummary };
      const version = spec.versions.find(({ served }) => served)?.name;
      const kind = { apiVersion: `${spec.group}/${version ?? ''}`, kind: spec.names.kind };
      const isStaying = definition.metadata.deletionTimestamp === undefined;
      return isStaying && version !== undefined && this.#store.servedOf(kind) === undefined;
    });
  }

  async #rediscover(): Promise<void> {
    // If the server is down, the next CRD event or retry repeats this.
    await this.#store.discover().catch(() => undefined);
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#stopped) work();
    }, ms);
    this.#timers.add(timer);
  }
}

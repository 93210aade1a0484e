/**
 * double: what kube-controller-manager and the kubelets would do on a real API server, as far as the tests need it. The workload
 * controllers are the simulator's own (sim/workloads), over the network; added are garbage collection, namespaces with their default
 * ServiceAccount and their end, and pods that end when they are deleted.
 */
import { systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { startWorkloads } from '#sim';
import type { StoreEvent } from '#sim';
import { ApiClient } from '#support';
import type { ApiAccess } from '#support';
import { Bridge } from './bridge.ts';
import { Collector } from './collector.ts';
import { reconcileNamespace } from './namespaces.ts';
import { RemoteStore } from './remote-store.ts';

export interface Double {
  /** Stops reacting and ends all its connections. */
  stop(): Promise<void>;
}

/**
 * Starts the double for one server and resolves when it follows every kind. It needs an administrator's access, survives restarts of the
 * server, and follows kinds that come later.
 * @param delayMs how long a pod takes to start
 */
export async function startDouble(
  access: ApiAccess,
  { delayMs = 50 }: { readonly delayMs?: number } = {},
): Promise<Double> {
  const api = new ApiClient(access);
  const bridge = new Bridge(access);
  const stop = new AbortController();
  const store = new RemoteStore(api, bridge, stop.signal);
  await store.discover();
  const workloads = startWorkloads({ store, clock: systemClock, random: systemRandom, delayMs });
  const surroundings = new Surroundings(store, access.ca ?? '');
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

/** What of a CustomResourceDefinition says which kind it makes. */
interface Definition {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

/** Runs what is not a workload: events queue up and are worked off outside of the write that caused them. */
class Surroundings {
  readonly #store: RemoteStore;
  readonly #ca: string;
  readonly #collector: Collector;
  readonly #queue: StoreEvent[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;
  #scheduled = false;

  constructor(store: RemoteStore, ca: string) {
    this.#store = store;
    this.#ca = ca;
    this.#collector = new Collector(store);
  }

  /**
   * Namespaces are looked at again and again while they end: what is left in them may be held by others. So are kinds that a definition promises
   * and discovery does not show yet: on a loaded machine that takes seconds.
   */
  start(): void {
    const look = (): void => {
      for (const namespace of this.#store.list('', 'Namespace')) {
        if (namespace.metadata.deletionTimestamp !== undefined) reconcileNamespace(this.#store, namespace, this.#ca);
      }
      this.#collector.retry();
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
    this.#collector.hear(event);
    if (object.kind === 'Namespace' && type !== 'DELETED') reconcileNamespace(this.#store, object, this.#ca);
    if (object.kind === 'Pod' && type !== 'DELETED') this.#endPod(object);
    if (type !== 'DELETED' && object.metadata.deletionTimestamp !== undefined) this.#unprotect(object);
    if (object.kind === 'ServiceAccount' && type === 'DELETED') this.#refurnish(object);
    if (object.kind === 'CustomResourceDefinition')
      for (const ms of [0, 300, 1500]) this.#later(ms, () => void this.#rediscover());
  }

  /** Nothing here uses a claim or a volume that is being deleted: pods have ended before. */
  #unprotect(object: KubeObject): void {
    const finalizers = object.metadata.finalizers ?? [];
    const rest = finalizers.filter((name) => !/^kubernetes\.io\/pvc?-protection$/.test(name));
    if (rest.length === finalizers.length) return;
    try {
      this.#store.update({ ...object, metadata: { ...object.metadata, finalizers: rest } });
    } catch {
      // Someone else changed it: that change comes here too.
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
      // It is gone already, or the server is away and says it again when it is back.
    }
  }

  #isKindMissing(): boolean {
    return this.#store.list('apiextensions.k8s.io', 'CustomResourceDefinition').some((definition) => {
      const { spec } = definition as KubeObject & { readonly spec: Definition };
      const version = spec.versions.find(({ served }) => served)?.name;
      const kind = { apiVersion: `${spec.group}/${version ?? ''}`, kind: spec.names.kind };
      const isStaying = definition.metadata.deletionTimestamp === undefined;
      return isStaying && version !== undefined && this.#store.servedOf(kind) === undefined;
    });
  }

  async #rediscover(): Promise<void> {
    // A server that is away is asked again with the next CRD, or by the retry that is planned.
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

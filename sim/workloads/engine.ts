import type { Clock, JsonObject, RandomSource, ClockTimer } from '#base';
import { deepEqual, isObject } from '#base';
import type { KubeObject, ResourceRef } from '#model';
import { groupOf } from '#model';
import type { SimStore } from '../types.ts';

/**
 * The dependencies of a reconciler. All its changes go through the store, by the server's rules.
 */
export interface ReconcilerContext {
  readonly store: SimStore;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The duration of one step of a pod, in ms. */
  readonly delayMs: number;
  /** Wall time in Kubernetes' format. */
  now(): string;
  /**
   * Time since this object (by its UID) was first seen, in ms: times in objects have whole seconds
   * only.
   */
  knownFor(object: KubeObject): number;
  /** Reconciles `object` again after `afterMs`. */
  again(object: KubeObject, afterMs: number): void;
  /** Replaces the status if it differs. */
  setStatus(object: KubeObject, status: JsonObject): void;
}

/**
 * Advances one object by one step. Called after every change of the object or of one it owns; must
 * be a no-op in the desired state.
 */
export type KindReconciler = (object: KubeObject, context: ReconcilerContext) => void;

/** Reconcilers by `<group>/<kind>`. */
export type KindReconcilers = Readonly<Record<string, KindReconciler>>;

const managerName = 'kube-controller-manager';
const conflictRetryDelayMs = 20;

/**
 * A level-triggered loop over store events: reconciles changed objects soon, once for any number of
 * changes, and never inside the write that changed them. Retries conflicts (409); ignores deleted
 * objects.
 */
export class WorkloadEngine implements ReconcilerContext {
  readonly store: SimStore;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly delayMs: number;
  readonly #reconcilers: KindReconcilers;
  readonly #due = new Map<string, { readonly at: number; readonly timer: ClockTimer }>();
  readonly #firstSeen = new Map<string, number>();
  readonly #unsubscribe: () => void;

  constructor(deps: Pick<ReconcilerContext, 'store' | 'clock' | 'random' | 'delayMs'>, reconcilers: KindReconcilers) {
    this.store = deps.store;
    this.clock = deps.clock;
    this.random = deps.random;
    this.delayMs = deps.delayMs;
    this.#reconcilers = reconcilers;
    this.#unsubscribe = this.store.subscribe((event) => {
      if (event.type === 'DELETED') this.#firstSeen.delete(event.object.metadata.uid ?? '');
      this.#changed(event.object);
    });
  }

  stop(): void {
    this.#unsubscribe();
    for (const { timer } of this.#due.values()) timer.cancel();
    this.#due.clear();
  }

  now(): string {
    return new Date(this.clock.now()).toISOString().replace(/\.[0-9]+Z$/, 'Z');
  }

  knownFor(object: KubeObject): number {
    const now = this.clock.monotonic();
    const uid = object.metadata.uid ?? '';
    const since = this.#firstSeen.get(uid) ?? now;
    this.#firstSeen.set(uid, since);
    return now - since;
  }

  again(object: KubeObject, afterMs: number): void {
    const { namespace = '', name = '' } = object.metadata;
    this.#schedule({ group: groupOf(object.apiVersion), kind: object.kind, namespace, name }, afterMs);
  }

  setStatus(object: KubeObject, status: JsonObject): void {
    const before = object['status'];
    if (deepEqual(isObject(before) ? before : {}, status)) return;
    this.store.update({ ...object, status }, { subresource: 'status', manager: managerName });
  }

  #changed(object: KubeObject): void {
    this.again(object, 0);
    const namespace = object.metadata.namespace ?? '';
    for (const owner of object.metadata.ownerReferences ?? []) {
      this.#schedule({ group: groupOf(owner.apiVersion), kind: owner.kind, namespace, name: owner.name }, 0);
    }
    for (const follower of this.#followers(object)) this.again(follower, 0);
  }

  /**
   * Objects that depend on others without owning them: a Service and a budget on pods, an
   * autoscaler on its target.
   */
  #followers(object: KubeObject): readonly KubeObject[] {
    const namespace = object.metadata.namespace ?? '';
    if (object.kind === 'Deployment') return this.store.list('autoscaling', 'HorizontalPodAutoscaler', namespace);
    if (object.kind !== 'Pod') return [];
    return [
      ...this.store.list('', 'Service', namespace),
      ...this.store.list('policy', 'PodDisruptionBudget', namespace),
    ];
  }

  #schedule({ group, kind, namespace, name }: ResourceRef, afterMs: number): void {
    const reconcile = this.#reconcilers[`${group}/${kind}`];
    if (reconcile === undefined) return;
    const key = `${group}/${kind}/${namespace}/${name}`;
    const at = this.clock.monotonic() + afterMs;
    const known = this.#due.get(key);
    if (known !== undefined && known.at <= at) return;
    known?.timer.cancel();
    const timer = this.clock.timer(afterMs, () => {
      this.#due.delete(key);
      const object = this.store.get(group, kind, namespace, name);
      if (object !== undefined) this.#run(reconcile, object);
    });
    this.#due.set(key, { at, timer });
  }

  #run(reconcile: KindReconciler, object: KubeObject): void {
    try {
      reconcile(object, this);
    } catch (error) {
      // Conflict: retry. Deleted, rejected or in a terminating namespace: wait for the next change.
      if ((error as { readonly httpCode?: unknown }).httpCode === 409) this.again(object, conflictRetryDelayMs);
      else if ((error as { readonly httpCode?: unknown }).httpCode === undefined) throw error;
    }
  }
}

/** Creates with the field manager of the controller manager. */
export function createObject(context: ReconcilerContext, object: KubeObject): KubeObject {
  return context.store.create(object, managerName);
}

export function replaceObject(context: ReconcilerContext, object: KubeObject): KubeObject {
  return context.store.update(object, { manager: managerName });
}

import type { Clock, JsonObject, Random, Timer } from '#base';
import { deepEqual, isObject } from '#base';
import type { KubeObject, ResourceRef } from '#model';
import { groupOf } from '#model';
import type { SimStore } from '../types.ts';

/** What a reconciler may use. Everything it changes goes through the store, by the server's rules. */
export interface World {
  readonly store: SimStore;
  readonly clock: Clock;
  readonly random: Random;
  /** How long one step of a pod takes, in ms. */
  readonly delayMs: number;
  /** Wall time as Kubernetes writes it. */
  now(): string;
  /** How long this very object (by its UID) has been known here, in ms: times inside objects have whole seconds only. */
  knownFor(object: KubeObject): number;
  /** Runs the reconciler of `object` again after `afterMs`. */
  again(object: KubeObject, afterMs: number): void;
  /** Replaces status if it differs. */
  setStatus(object: KubeObject, status: JsonObject): void;
}

/** Moves one object one step on. Called after every change of the object or of one that it owns; must do nothing when all is as it should be. */
export type Reconciler = (object: KubeObject, world: World) => void;

/** Kinds by `<group>/<kind>`. */
export type Reconcilers = Readonly<Record<string, Reconciler>>;

const manager = 'kube-controller-manager';
const retryMs = 20;

/**
 * A level-triggered loop over store events: what changed is reconciled soon, once however often it changed, and never inside the write that
 * changed it. Losing a race (409) means trying again; an object that is gone is forgotten.
 */
export class Engine implements World {
  readonly store: SimStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly delayMs: number;
  readonly #reconcilers: Reconcilers;
  readonly #due = new Map<string, { readonly at: number; readonly timer: Timer }>();
  readonly #firstSeen = new Map<string, number>();
  readonly #unsubscribe: () => void;

  constructor(deps: Pick<World, 'store' | 'clock' | 'random' | 'delayMs'>, reconcilers: Reconcilers) {
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
    this.store.update({ ...object, status }, { subresource: 'status', manager });
  }

  #changed(object: KubeObject): void {
    this.again(object, 0);
    const namespace = object.metadata.namespace ?? '';
    for (const owner of object.metadata.ownerReferences ?? []) {
      this.#schedule({ group: groupOf(owner.apiVersion), kind: owner.kind, namespace, name: owner.name }, 0);
    }
    for (const follower of this.#followers(object)) this.again(follower, 0);
  }

  /** Objects that look at others without owning them: a Service and a budget at pods, an autoscaler at what it scales. */
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

  #run(reconcile: Reconciler, object: KubeObject): void {
    try {
      reconcile(object, this);
    } catch (error) {
      // Lost a race: look again. Gone, refused or in a namespace that is going: nothing to do until the next change.
      if ((error as { readonly httpCode?: unknown }).httpCode === 409) this.again(object, retryMs);
      else if ((error as { readonly httpCode?: unknown }).httpCode === undefined) throw error;
    }
  }
}

/** Writes as the controller manager does. */
export function create(world: World, object: KubeObject): KubeObject {
  return world.store.create(object, manager);
}

export function replace(world: World, object: KubeObject): KubeObject {
  return world.store.update(object, { manager });
}

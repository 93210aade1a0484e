import { groupOf } from '#model';
import type { KubeObject, OwnerReference } from '#model';
import { foregroundFinalizer, orphanFinalizer } from './deletion.ts';
import { withMeta } from './fields.ts';
import type { Inner } from './inner.ts';
import type { Change } from './storage.ts';

/** Where an object lies. */
interface Place {
  readonly shelf: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The garbage collector: owners and dependents as a graph that follows every change, and the three ways in which an owner's end reaches its
 * dependents (kubernetes: pkg/controller/garbagecollector). It acts while the change is being told, in order, without timers: equal
 * histories collect equally.
 */
export function startGarbageCollector(inner: Inner): () => void {
  const collector = new Collector(inner);
  return inner.storage.subscribe((change) => collector.hear(change));
}

class Collector {
  readonly #inner: Inner;
  /** Dependents by the uid of their owner, by place. */
  readonly #dependents = new Map<string, Map<string, Place>>();
  readonly #owners = new Map<string, Place>();

  constructor(inner: Inner) {
    this.#inner = inner;
  }

  hear(change: Change): void {
    const { object, old } = change;
    const place = { shelf: change.kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
    const uid = object.metadata.uid ?? '';
    this.#index(place, old, change.type === 'DELETED' ? undefined : object);
    if (change.type === 'DELETED') {
      this.#owners.delete(uid);
      for (const dependent of this.#dependentsOf(uid)) this.#collect(dependent);
      this.#releaseWaiting(object);
      return;
    }
    this.#owners.set(uid, place);
    const finalizers = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp !== undefined) {
      if (finalizers.includes(orphanFinalizer)) this.#orphan(place, uid);
      else if (finalizers.includes(foregroundFinalizer)) this.#foreground(place);
      return;
    }
    if (
      object.metadata.ownerReferences !== undefined &&
      object.metadata.ownerReferences !== old?.metadata.ownerReferences
    )
      this.#collect(place);
    if (old !== undefined) this.#releaseWaiting(old);
  }

  #index(place: Place, old: KubeObject | undefined, now: KubeObject | undefined): void {
    const key = `${place.shelf} ${place.namespace}/${place.name}`;
    for (const owner of old?.metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(key);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
    for (const owner of now?.metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(owner.uid) ?? new Map<string, Place>();
      this.#dependents.set(owner.uid, dependents.set(key, place));
    }
  }

  #dependentsOf(uid: string): readonly Place[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  #at(place: Place): KubeObject | undefined {
    return this.#inner.storage.get(place.shelf, place.namespace, place.name);
  }

  #write(object: KubeObject): void {
    const kind = this.#inner.registry.byKind(groupOf(object.apiVersion), object.kind);
    if (kind !== undefined) this.#inner.objects.force(kind, object);
  }

  /** A dependent is gone or has left: owners that wait for it may go. */
  #releaseWaiting(dependent: KubeObject): void {
    for (const { uid } of dependent.metadata.ownerReferences ?? []) {
      const owner = this.#owners.get(uid);
      if (owner !== undefined) this.#foreground(owner);
    }
  }

  /** Deletes a dependent whose owners are all gone or going; drops the references to such owners where another one stays. */
  #collect(place: Place): void {
    const object = this.#at(place);
    const owners = object?.metadata.ownerReferences ?? [];
    if (object === undefined || owners.length === 0 || object.metadata.deletionTimestamp !== undefined) return;
    const judged = owners.map((owner) => ({ owner, state: this.#judge(object, owner) }));
    if (judged.some(({ state }) => state === 'solid')) {
      const rest = judged.filter(({ state }) => state === 'solid').map(({ owner }) => owner);
      if (rest.length < owners.length) this.#write(withMeta(object, { ownerReferences: rest }));
      return;
    }
    const kind = this.#inner.registry.byKind(groupOf(object.apiVersion), object.kind);
    if (kind === undefined) return;
    const waiting = judged.some(({ state }) => state === 'waiting');
    const cascade = waiting && this.#dependentsOf(object.metadata.uid ?? '').length > 0;
    this.#inner.deletion.delete(kind, place, {
      propagationPolicy: cascade ? 'Foreground' : 'Background',
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
    });
  }

  /**
   * Is the owner there? A kind that is not served, and a namespaced owner of a cluster-scoped object, cannot be resolved: such a reference
   * holds its object for ever, as in a real cluster. A namespaced owner is looked for in the dependent's own namespace only.
   */
  #judge(dependent: KubeObject, owner: OwnerReference): 'solid' | 'waiting' | 'absent' {
    const kind = this.#inner.registry.byKind(groupOf(owner.apiVersion), owner.kind);
    const namespace = dependent.metadata.namespace ?? '';
    if (kind === undefined || (kind.namespaced && namespace === '')) return 'solid';
    const found = this.#inner.storage.get(kind.shelf, kind.namespaced ? namespace : '', owner.name);
    if (found?.metadata.uid !== owner.uid) return 'absent';
    return isForeground(found) ? 'waiting' : 'solid';
  }

  #foreground(place: Place): void {
    const owner = this.#at(place);
    if (owner === undefined || !isForeground(owner)) return;
    const uid = owner.metadata.uid ?? '';
    const dependents = this.#dependentsOf(uid);
    for (const dependent of dependents) this.#collect(dependent);
    const blocked = dependents.some((dependent) =>
      (this.#at(dependent)?.metadata.ownerReferences ?? []).some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
      ),
    );
    // Collecting may have come back here and let the owner go already.
    const now = this.#at(place);
    if (!blocked && now?.metadata.uid === uid && isForeground(now))
      this.#write(withoutFinalizer(now, foregroundFinalizer));
  }

  #orphan(place: Place, uid: string): void {
    for (const dependent of this.#dependentsOf(uid)) {
      const object = this.#at(dependent);
      if (object === undefined) continue;
      const rest = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
      this.#write(withMeta(object, { ownerReferences: rest.length === 0 ? undefined : rest }));
    }
    const owner = this.#at(place);
    if (owner?.metadata.uid === uid && (owner.metadata.finalizers ?? []).includes(orphanFinalizer))
      this.#write(withoutFinalizer(owner, orphanFinalizer));
  }
}

function isForeground(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && (finalizers ?? []).includes(foregroundFinalizer);
}

function withoutFinalizer(object: KubeObject, finalizer: string): KubeObject {
  const rest = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  return withMeta(object, { finalizers: rest.length === 0 ? undefined : rest });
}

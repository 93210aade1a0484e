import { groupOf } from '#model';
import type { KubeObject, OwnerReference } from '#model';
import { foregroundFinalizer, orphanFinalizer } from '../storage/deletion.ts';
import { withMeta } from '../fields.ts';
import type { SimControllerDeps } from './deps.ts';
import type { StorageChange } from '../storage/storage.ts';

/** The storage location of an object. */
interface ObjectLocation {
  readonly groupKind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * The garbage collector: a graph of owners and dependents that follows every change, and the three
 * propagation policies (kubernetes: pkg/controller/garbagecollector). Runs synchronously in order
 * of changes, without timers, so equal histories collect equally.
 */
export function startGarbageCollector(deps: SimControllerDeps): () => void {
  const collector = new GarbageCollector(deps);
  return deps.storage.subscribe((change) => collector.onChange(change));
}

class GarbageCollector {
  readonly #deps: SimControllerDeps;
  /** Dependents by the UID of their owner, then by location. */
  readonly #dependents = new Map<string, Map<string, ObjectLocation>>();
  readonly #owners = new Map<string, ObjectLocation>();

  constructor(deps: SimControllerDeps) {
    this.#deps = deps;
  }

  onChange(change: StorageChange): void {
    const { object, old } = change;
    const location = {
      groupKind: change.kind,
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name ?? '',
    };
    const uid = object.metadata.uid ?? '';
    this.#index(location, old, change.type === 'DELETED' ? undefined : object);
    if (change.type === 'DELETED') {
      this.#owners.delete(uid);
      for (const dependent of this.#dependentsOf(uid)) this.#collect(dependent);
      this.#releaseWaiting(object);
      return;
    }
    this.#owners.set(uid, location);
    const finalizers = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp !== undefined) {
      if (finalizers.includes(orphanFinalizer)) this.#orphan(location, uid);
      else if (finalizers.includes(foregroundFinalizer)) this.#foreground(location);
      return;
    }
    if (
      object.metadata.ownerReferences !== undefined &&
      object.metadata.ownerReferences !== old?.metadata.ownerReferences
    )
      this.#collect(location);
    if (old !== undefined) this.#releaseWaiting(old);
  }

  #index(location: ObjectLocation, old: KubeObject | undefined, now: KubeObject | undefined): void {
    const key = `${location.groupKind} ${location.namespace}/${location.name}`;
    for (const owner of old?.metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(key);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
    for (const owner of now?.metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(owner.uid) ?? new Map<string, ObjectLocation>();
      this.#dependents.set(owner.uid, dependents.set(key, location));
    }
  }

  #dependentsOf(uid: string): readonly ObjectLocation[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  #at(location: ObjectLocation): KubeObject | undefined {
    return this.#deps.storage.get(location.groupKind, location.namespace, location.name);
  }

  #write(object: KubeObject): void {
    const kind = this.#deps.registry.byKind(groupOf(object.apiVersion), object.kind);
    if (kind !== undefined) this.#deps.objects.force(kind, object);
  }

  /** A dependent is deleted or lost its owner reference: owners waiting for it may be removed. */
  #releaseWaiting(dependent: KubeObject): void {
    for (const { uid } of dependent.metadata.ownerReferences ?? []) {
      const owner = this.#owners.get(uid);
      if (owner !== undefined) this.#foreground(owner);
    }
  }

  /**
   * Deletes a dependent without remaining owners; if some owners remain, drops the references to
   * the others.
   */
  #collect(location: ObjectLocation): void {
    const object = this.#at(location);
    const owners = object?.metadata.ownerReferences ?? [];
    if (object === undefined || owners.length === 0 || object.metadata.deletionTimestamp !== undefined) return;
    const ownerStates = owners.map((owner) => ({ owner, state: this.#ownerState(object, owner) }));
    if (ownerStates.some(({ state }) => state === 'solid')) {
      const rest = ownerStates.filter(({ state }) => state === 'solid').map(({ owner }) => owner);
      if (rest.length < owners.length) this.#write(withMeta(object, { ownerReferences: rest }));
      return;
    }
    const kind = this.#deps.registry.byKind(groupOf(object.apiVersion), object.kind);
    if (kind === undefined) return;
    const waiting = ownerStates.some(({ state }) => state === 'waiting');
    const cascade = waiting && this.#dependentsOf(object.metadata.uid ?? '').length > 0;
    this.#deps.deletion.delete(kind, location, {
      propagationPolicy: cascade ? 'Foreground' : 'Background',
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
    });
  }

  /**
   * Resolves an owner, a namespaced one only in the dependent's namespace. An owner that cannot be
   * resolved (unserved kind, wrong scope) holds its dependent for ever, as in a real cluster.
   */
  #ownerState(dependent: KubeObject, owner: OwnerReference): 'solid' | 'waiting' | 'absent' {
    const kind = this.#deps.registry.byKind(groupOf(owner.apiVersion), owner.kind);
    const namespace = dependent.metadata.namespace ?? '';
    if (kind === undefined || (kind.namespaced && namespace === '')) return 'solid';
    const found = this.#deps.storage.get(kind.groupKind, kind.namespaced ? namespace : '', owner.name);
    if (found?.metadata.uid !== owner.uid) return 'absent';
    return isForeground(found) ? 'waiting' : 'solid';
  }

  #foreground(location: ObjectLocation): void {
    const owner = this.#at(location);
    if (owner === undefined || !isForeground(owner)) return;
    const uid = owner.metadata.uid ?? '';
    const dependents = this.#dependentsOf(uid);
    for (const dependent of dependents) this.#collect(dependent);
    const blocked = dependents.some((dependent) =>
      (this.#at(dependent)?.metadata.ownerReferences ?? []).some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
      ),
    );
    // The collection may have re-entered here and already removed the owner.
    const now = this.#at(location);
    if (!blocked && now?.metadata.uid === uid && isForeground(now))
      this.#write(withoutFinalizer(now, foregroundFinalizer));
  }

  #orphan(location: ObjectLocation, uid: string): void {
    for (const dependent of this.#dependentsOf(uid)) {
      const object = this.#at(dependent);
      if (object === undefined) continue;
      const rest = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
      this.#write(withMeta(object, { ownerReferences: rest.length === 0 ? undefined : rest }));
    }
    const owner = this.#at(location);
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

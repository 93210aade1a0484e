import { groupOf } from '#model';
import type { KubeObject, OwnerReference } from '#model';
import type { StoreEvent } from '#sim';
import type { RemoteStore } from './remote-store.ts';

const foreground = 'foregroundDeletion';
const orphan = 'orphan';

/**
 * Garbage collection of a real server as in kube-controller-manager
 * (pkg/controller/garbagecollector): deletes dependents with their last owner, lets foreground
 * deletion wait for blocking dependents, and removes references of orphans. Called for each event,
 * outside of writes.
 */
export class GarbageCollectorDouble {
  readonly #store: RemoteStore;
  /** UIDs of objects with a failed request, for a retry. */
  readonly #again = new Set<string>();

  constructor(store: RemoteStore) {
    this.#store = store;
  }

  hear({ type, object, old }: StoreEvent): void {
    const uid = object.metadata.uid ?? '';
    if (type === 'DELETED') {
      for (const dependent of this.#dependents(uid)) this.#collect(dependent);
      this.#release(object.metadata.ownerReferences);
      return;
    }
    const finalizers = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp !== undefined) {
      if (finalizers.includes(orphan)) this.#orphan(object);
      else if (finalizers.includes(foreground)) this.#foreground(object);
    } else if (object.metadata.ownerReferences !== undefined) this.#collect(object);
    this.#release(old?.metadata.ownerReferences);
  }

  /** Retries failed objects, for which there may be no further event. Call it periodically. */
  retry(): void {
    if (this.#again.size === 0) return;
    const failed = this.#store.all().filter(({ metadata }) => this.#again.has(metadata.uid ?? ''));
    this.#again.clear();
    for (const object of failed) this.hear({ type: 'MODIFIED', object });
  }

  #dependents(uid: string): KubeObject[] {
    return this.#store
      .all()
      .filter((object) => object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true);
  }

  #release(owners: readonly OwnerReference[] | undefined): void {
    for (const { uid } of owners ?? []) {
      const owner = this.#store.all().find((object) => object.metadata.uid === uid);
      if (owner !== undefined && isForeground(owner)) this.#foreground(owner);
    }
  }

  #collect(object: KubeObject): void {
    const owners = object.metadata.ownerReferences ?? [];
    if (object.metadata.deletionTimestamp !== undefined || owners.length === 0) return;
    const solid = owners.filter((owner) => this.#state(object, owner) === 'solid');
    if (solid.length === owners.length) return;
    if (solid.length > 0) {
      this.#write({ ...object, metadata: { ...object.metadata, ownerReferences: solid } });
      return;
    }
    const waiting = owners.some((owner) => this.#state(object, owner) === 'waiting');
    const cascade = waiting && this.#dependents(object.metadata.uid ?? '').length > 0;
    const { namespace = '', name = '', uid = '' } = object.metadata;
    this.#quietly(object, () => {
      this.#store.delete(groupOf(object.apiVersion), object.kind, namespace, name, {
        propagationPolicy: cascade ? 'Foreground' : 'Background',
        uid,
      });
    });
  }

  /** State of an owner. Asks the server for one that the caches lack: they may be stale. */
  #state(object: KubeObject, owner: OwnerReference): 'solid' | 'waiting' | 'absent' {
    const served = this.#store.servedOf(owner);
    const namespace = object.metadata.namespace ?? '';
    if (served === undefined || (served.namespaced && namespace === '')) return 'solid';
    const place = served.namespaced ? namespace : '';
    const known = this.#store.get(served.group, served.kind, place, owner.name);
    const found =
      known?.metadata.uid === owner.uid ? known : this.#ask(object, () => this.#store.live(served, place, owner.name));
    if (found === 'unknown') return 'solid';
    if (found?.metadata.uid !== owner.uid) return 'absent';
    return isForeground(found) ? 'waiting' : 'solid';
  }

  #ask(object: KubeObject, question: () => KubeObject | undefined): KubeObject | 'unknown' | undefined {
    try {
      return question();
    } catch {
      this.#again.add(object.metadata.uid ?? '');
      return 'unknown';
    }
  }

  #foreground(owner: KubeObject): void {
    const uid = owner.metadata.uid ?? '';
    for (const dependent of this.#dependents(uid)) this.#collect(dependent);
    const blocked = this.#dependents(uid).some((dependent) =>
      dependent.metadata.ownerReferences?.some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
      ),
    );
    if (!blocked) this.#write(withoutFinalizer(owner, foreground));
  }

  #orphan(owner: KubeObject): void {
    for (const dependent of this.#dependents(owner.metadata.uid ?? '')) {
      const rest = (dependent.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
      this.#write({ ...dependent, metadata: { ...dependent.metadata, ownerReferences: rest } });
    }
    this.#write(withoutFinalizer(owner, orphan));
  }

  #write(object: KubeObject): void {
    this.#quietly(object, () => this.#store.update(object));
  }

  #quietly(object: KubeObject, write: () => unknown): void {
    try {
      write();
    } catch {
      this.#again.add(object.metadata.uid ?? '');
    }
  }
}

function isForeground(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && (finalizers ?? []).includes(foreground);
}

function withoutFinalizer(object: KubeObject, finalizer: string): KubeObject {
  return {
    ...object,
    metadata: {
      ...object.metadata,
      finalizers: (object.metadata.finalizers ?? []).filter((name) => name !== finalizer),
    },
  };
}

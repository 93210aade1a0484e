import { DriftlessError, isObject, UsageError } from '#base';
import type { Json } from '#base';
import type { ApiDiscovery } from '#kube';
import { groupOf, isHook, keyOf, refOf, resourceKey } from '#model';
import type { KubeObject, ObjectName, ResourceKey, ResourceResult, ResultCode } from '#model';
import type { InventoryObject, SyncInventory } from './types.ts';

const format = 'driftless.inventory/v1';
const maxObjects = 100_000;
/** The longest names of Kubernetes have 253 characters, API versions a group and a version. */
const maxTextLength = 317;

/** A stored inventory that cannot be read: nothing is written, and nothing pruned. */
export class InventoryMalformed extends DriftlessError {
  constructor(why: string) {
    super('INVENTORY_MALFORMED', `the inventory cannot be used: ${why}`, { retry: 'never' });
  }
}

/** The inventory of other targets, or of another cluster: its objects are not ours to prune. */
export class InventoryForeign extends DriftlessError {
  constructor(why: string) {
    super('INVENTORY_FOREIGN', `the inventory is another one: ${why}`, { retry: 'never' });
  }
}

/** Whose inventory it is. */
export interface InventoryIdentity {
  readonly name: string;
  readonly server: string | undefined;
}

/** Everything that a step knows about the objects of its targets. */
export interface InventoryFacts {
  readonly targets: readonly KubeObject[];
  readonly live: ReadonlyMap<ResourceKey, KubeObject>;
  readonly results: readonly ResourceResult[];
  /** The sync has succeeded: equal objects that it has left out are ours, too. */
  readonly isComplete: boolean;
  readonly isSelected: (object: KubeObject) => boolean;
  /** Another owner has taken the object over. */
  readonly isForeign: (object: KubeObject) => boolean;
  /** Namespace of the results of cluster-scoped objects. */
  readonly namespace: string;
  readonly discovery: ApiDiscovery;
}

/** The objects that earlier syncs have applied, and that were not seen gone since. */
export class Inventory {
  readonly #identity: InventoryIdentity;
  readonly #objects: ReadonlyMap<ResourceKey, InventoryObject>;

  /**
   * @param targetCount number of objects that the sync may add
   * @throws InventoryMalformed, InventoryForeign, UsageError
   */
  constructor(stored: SyncInventory | undefined, targetCount: number, identity: InventoryIdentity) {
    this.#identity = identity;
    const objects = stored === undefined ? [] : readObjects(stored, identity);
    if (objects.length + targetCount > maxObjects)
      throw new UsageError(`targets and inventory have more than ${maxObjects} objects: divide them`);
    this.#objects = new Map(objects.map((object) => [keyOf(nameOf(object)), object]));
  }

  /** The inventory before the sync. */
  before(): SyncInventory {
    return this.#of(this.#objects);
  }

  names(): readonly ObjectName[] {
    return [...this.#objects.values()].map(nameOf);
  }

  /**
   * Whether the live object is one that an earlier sync has deleted, or the first one of its name.
   * An object that others have created since under the name of a deleted one is not ours.
   */
  isOurs(key: ResourceKey, live: KubeObject): boolean {
    const deletedUid = this.#objects.get(key)?.deletedUid;
    return deletedUid === undefined || deletedUid === live.metadata.uid;
  }

  /** The inventory after a step. Objects leave it when the server shows that they are gone. */
  after(facts: InventoryFacts): SyncInventory {
    const { targets, live, discovery } = facts;
    const objects = new Map<ResourceKey, InventoryObject>();
    const statusOf = statusesOf(facts);
    const wanted = new Map(targets.filter((target) => !isHook(target)).map((target) => [keyOf(target), target]));
    for (const [key, known] of this.#objects) {
      const object = live.get(key);
      const isUnreadable = discovery.failedGroups.has(groupOf(known.apiVersion));
      const isLost = object === undefined ? !isUnreadable : facts.isForeign(object);
      if (isLost && !wanted.has(key)) continue;
      const isPruned = statusOf(nameOf(known)) === 'Pruned' && object !== undefined;
      objects.set(key, isPruned ? { ...known, deletedUid: object.metadata.uid ?? '' } : known);
    }
    for (const [key, target] of wanted) {
      const status = statusOf(target);
      const isApplied =
        status === undefined ? facts.isComplete && live.has(key) && facts.isSelected(target) : status === 'Synced';
      if (isApplied || objects.has(key)) objects.set(key, entryOf(target));
    }
    return this.#of(objects);
  }

  #of(objects: ReadonlyMap<ResourceKey, InventoryObject>): SyncInventory {
    const { name, server } = this.#identity;
    const sorted = [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    return { format, name, ...(server === undefined ? {} : { server }), objects: sorted };
  }
}

/** @throws InventoryMalformed, InventoryForeign */
function readObjects(stored: SyncInventory, identity: InventoryIdentity): readonly InventoryObject[] {
  const value = stored as unknown as Json;
  if (!isObject(value)) throw new InventoryMalformed('it is no object');
  if (value['format'] !== format)
    throw new InventoryMalformed(`its format is ${JSON.stringify(value['format'] ?? null)}, not "${format}"`);
  const { name, server, objects } = value;
  if (typeof name !== 'string' || (server !== undefined && typeof server !== 'string'))
    throw new InventoryMalformed('name and server must be texts');
  if (!Array.isArray(objects)) throw new InventoryMalformed('objects must be a list');
  if (objects.length > maxObjects) throw new InventoryMalformed(`it has more than ${maxObjects} objects`);
  if (name !== identity.name)
    throw new InventoryForeign(`it belongs to "${name}", this sync is "${identity.name}" (inventoryName)`);
  if (server !== undefined && identity.server !== undefined && server !== identity.server)
    throw new InventoryForeign(`it is that of ${server}; if ${identity.server} is the same cluster, remove its server`);
  return (objects as readonly Json[]).map((object, index) => readObject(object, index));
}

function readObject(value: Json, index: number): InventoryObject {
  const fields = isObject(value) ? value : {};
  const read = (field: string, isOptional: boolean): string | undefined => {
    const text = fields[field];
    if (text === undefined && isOptional) return undefined;
    if (typeof text === 'string' && text !== '' && text.length <= maxTextLength) return text;
    throw new InventoryMalformed(`object ${index} has no valid ${field}`);
  };
  const [apiVersion = '', kind = '', name = ''] = ['apiVersion', 'kind', 'name'].map((field) => read(field, false));
  const [namespace, deletedUid] = ['namespace', 'deletedUid'].map((field) => read(field, true));
  return {
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(deletedUid === undefined ? {} : { deletedUid }),
  };
}

function nameOf({ apiVersion, kind, namespace, name }: InventoryObject): ObjectName {
  return { apiVersion, kind, metadata: namespace === undefined ? { name } : { name, namespace } };
}

function entryOf({ apiVersion, kind, metadata: { name = '', namespace } }: KubeObject): InventoryObject {
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name };
}

/** Hooks may have the names of ordinary targets: their results do not count. */
function statusesOf({ results, namespace }: InventoryFacts): (object: ObjectName) => ResultCode | undefined {
  const ordinary = results.filter(({ hookType }) => hookType === undefined);
  const byKey = new Map(
    ordinary.map((result) => [resourceKey(result.group, result.kind, result.namespace, result.name), result.status]),
  );
  return (object) => {
    const { group, kind, name, namespace: own } = refOf(object);
    const found = byKey.get(resourceKey(group, kind, own, name));
    return found ?? (own === '' ? byKey.get(resourceKey(group, kind, namespace, name)) : undefined);
  };
}

import { defined, runSteps } from '#base';
import type { SlicedWork } from '#base';
import type { LiveOwner, LiveRow } from '#live';
import { keyOfRef, parseResourceKey } from '#model';
import type { ResourceKey } from '#model';
import type { NodeRef, TreeNode } from '#publish';

/** The part of a managed resource that the tree needs; kept from one comparison to the next. */
export interface TreeRoot {
  readonly key: ResourceKey;
  readonly version: string;
  readonly live: boolean;
}

/** A node and the row it was built from; undefined for a root that does not exist. */
interface GrownNode {
  readonly key: ResourceKey;
  readonly row: LiveRow | undefined;
  readonly node: TreeNode;
}

/** The tree of managed objects, sorted by key, with what an incremental change needs. Immutable. */
export interface GrownTree {
  /** Every key occurs once. */
  readonly isPlain: boolean;
  readonly entries: readonly GrownNode[];
}

/** A change of one object that may be visible in the tree. */
export type RowChange =
  | { readonly key: ResourceKey; readonly row: LiveRow | undefined }
  /** The object entered the tree, with everything below it. */
  | { readonly key: ResourceKey; readonly subtree: readonly LiveRow[] };

/** Builds the nodes of all rows, and of the roots that do not exist. */
export function growTree(roots: readonly TreeRoot[], rows: readonly LiveRow[]): GrownTree {
  return runSteps(growTreeSteps(roots, rows));
}

/** {@link growTree} in small steps. */
export function* growTreeSteps(roots: readonly TreeRoot[], rows: readonly LiveRow[]): SlicedWork<GrownTree> {
  const known = new Map(rows.map((row) => [row.key, row]));
  const entries: GrownNode[] = roots.filter((root) => !root.live).map(missingNode);
  for (const row of rows) {
    entries.push({ key: row.key, row, node: treeNode(row, (key) => known.get(key)) });
    yield;
  }
  entries.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  return { entries, isPlain: entries.every(({ key }, i) => key !== entries[i - 1]?.key) };
}

/**
 * Replaces, adds or removes some objects. Undefined if a change may reach beyond its own node
 * (other owners, another UID, a removed object with children, one object under two groups); the
 * caller then builds the whole tree.
 */
export function changeTree(before: GrownTree, changes: readonly RowChange[]): GrownTree | undefined {
  if (!before.isPlain) return undefined;
  const now = changedRows(before, changes);
  if (now === undefined || hasDoubles(before, now)) return undefined;
  const rowOf = (key: ResourceKey): LiveRow | undefined => (now.has(key) ? now.get(key) : entryAt(before, key)?.row);
  const made = [...now].map(([key, row]) => ({ key, row, node: row && treeNode(row, rowOf) }));
  const entries = [...before.entries];
  for (const { key, row, node } of made) {
    const position = positionOf(entries, key);
    const isThere = entries[position]?.key === key;
    // A missing root that now exists changes the list of roots.
    if (isThere && entries[position]?.row === undefined) return undefined;
    if (node === undefined) entries.splice(position, 1);
    else entries.splice(position, isThere ? 1 : 0, { key, row, node });
  }
  return { isPlain: true, entries };
}

/**
 * The changed rows, undefined for a removal. The result is undefined if one cannot be replaced
 * alone.
 */
function changedRows(
  before: GrownTree,
  changes: readonly RowChange[],
): ReadonlyMap<ResourceKey, LiveRow | undefined> | undefined {
  const now = new Map<ResourceKey, LiveRow | undefined>();
  for (const change of changes) {
    if ('subtree' in change) for (const row of change.subtree) now.set(row.key, row);
    else {
      const old = rowIn(before, change.key);
      const isFree = change.row === undefined ? !hasChildren(before, old) : isSameLink(old, change.row);
      if (old === undefined || !isFree) return undefined;
      now.set(change.key, change.row);
    }
  }
  return now;
}

/** The row of an object in the tree. */
export function rowIn(tree: GrownTree, key: ResourceKey): LiveRow | undefined {
  return entryAt(tree, key)?.row;
}

function entryAt({ entries }: GrownTree, key: ResourceKey): GrownNode | undefined {
  const found = entries[positionOf(entries, key)];
  return found?.key === key ? found : undefined;
}

/** Index of the key, or where it would be inserted. */
function positionOf(entries: readonly GrownNode[], key: ResourceKey): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = entries[middle];
    if (other !== undefined && other.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function hasChildren({ entries }: GrownTree, of: LiveRow | undefined): boolean {
  const isOwner = ({ key, uid }: LiveOwner): boolean => key === of?.key || (uid !== '' && uid === of?.uid);
  return entries.some(({ row }) => row?.owners.some(isOwner) === true);
}

/** A tree shows an object that is served under two groups only once. */
function hasDoubles(before: GrownTree, now: ReadonlyMap<ResourceKey, LiveRow | undefined>): boolean {
  const keys = new Map<string, ResourceKey>();
  for (const [key, row] of now) {
    if (row === undefined || entryAt(before, key) !== undefined || row.uid === '') continue;
    if (keys.has(row.uid)) return true;
    keys.set(row.uid, key);
  }
  return keys.size > 0 && before.entries.some(({ row }) => row !== undefined && keys.has(row.uid));
}

/** The same object with the same owners: its parents and children are unchanged. */
function isSameLink(old: LiveRow | undefined, row: LiveRow): boolean {
  return (
    old?.uid === row.uid &&
    old.parents.length === row.parents.length &&
    old.parents.every((parent, i) => parent === row.parents[i]) &&
    old.owners.length === row.owners.length &&
    old.owners.every((owner, i) => isSameOwner(owner, row.owners[i]))
  );
}

function isSameOwner(a: LiveOwner, b: LiveOwner | undefined): boolean {
  return a.key === b?.key && a.version === b.version && a.uid === b.uid;
}

function missingNode({ key, version }: TreeRoot): GrownNode {
  const { group, kind, namespace, name } = parseResourceKey(key);
  const node = { ...groupAndNamespace(group, namespace), version, kind, name, health: { status: 'Missing' } as const };
  return { key: keyOfRef({ group, kind, namespace, name }), row: undefined, node };
}

function groupAndNamespace(group: string, namespace: string): Pick<TreeNode, 'group' | 'namespace'> {
  return { ...(group === '' ? {} : { group }), ...(namespace === '' ? {} : { namespace }) };
}

/**
 * Assigns member by member: there may be tens of thousands, and spreading costs ten times as much.
 */
function treeNode(row: LiveRow, rowOf: (key: ResourceKey) => LiveRow | undefined): TreeNode {
  const node: { -readonly [K in keyof TreeNode]: TreeNode[K] } = {
    version: row.version,
    kind: row.kind,
    name: row.name,
  };
  if (row.group !== '') node.group = row.group;
  if (row.namespace !== '') node.namespace = row.namespace;
  node.uid = row.uid;
  if (row.owners.length > 0) node.parentRefs = row.owners.map((owner) => parentRef(owner, row, rowOf));
  if (row.info !== undefined) node.info = row.info;
  if (row.networkingInfo !== undefined) node.networkingInfo = row.networkingInfo;
  node.resourceVersion = row.resourceVersion;
  if (row.images.length > 0) node.images = row.images;
  if (row.health !== null) node.health = row.health;
  if (row.createdAt !== '') node.createdAt = row.createdAt;
  return node;
}

/**
 * The owner as the object names it, whether it exists or not. A missing owner has no namespace,
 * since its scope is unknown.
 */
function parentRef(
  { key, version, uid }: LiveOwner,
  { parents }: LiveRow,
  rowOf: (key: ResourceKey) => LiveRow | undefined,
): NodeRef {
  const { group, kind, namespace, name } = parseResourceKey(key);
  const id = uid === '' ? rowOf(key)?.uid : uid;
  return {
    ...groupAndNamespace(group, parents.includes(key) ? namespace : ''),
    version,
    kind,
    name,
    ...defined({ uid: id }),
  };
}

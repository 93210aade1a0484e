import { finish } from '#base';
import type { Steps } from '#base';
import type { LiveOwner, LiveRow } from '#live';
import { keyOfRef, parseResourceKey } from '#model';
import type { ResourceKey } from '#model';
import type { NodeRef, TreeNode } from '#publish';

/** A managed resource, as much of it as the tree needs: remembered from one comparison to the next. */
export interface TreeRoot {
  readonly key: ResourceKey;
  readonly version: string;
  readonly live: boolean;
}

/** A node, and the row that it was made from; undefined: a root that is not there. */
interface Grown {
  readonly key: ResourceKey;
  readonly row: LiveRow | undefined;
  readonly node: TreeNode;
}

/** The tree of managed objects, by key, with what is needed to know it again after a change. An immutable value. */
export interface GrownTree {
  /** Each key once. */
  readonly isPlain: boolean;
  readonly entries: readonly Grown[];
}

/** What became of an object of which one may see something else now. */
export type RowChange =
  | { readonly key: ResourceKey; readonly row: LiveRow | undefined }
  /** It came into the tree, with everything below it. */
  | { readonly key: ResourceKey; readonly subtree: readonly LiveRow[] };

/** Makes the nodes of all rows, and of the roots that are not there. */
export function growTree(roots: readonly TreeRoot[], rows: readonly LiveRow[]): GrownTree {
  return finish(growSteps(roots, rows));
}

/** Step by step. */
export function* growSteps(roots: readonly TreeRoot[], rows: readonly LiveRow[]): Steps<GrownTree> {
  const known = new Map(rows.map((row) => [row.key, row]));
  const entries: Grown[] = roots.filter((root) => !root.live).map(missing);
  for (const row of rows) {
    entries.push({ key: row.key, row, node: treeNode(row, (key) => known.get(key)) });
    yield;
  }
  entries.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  return { entries, isPlain: entries.every(({ key }, i) => key !== entries[i - 1]?.key) };
}

/**
 * The tree with some objects replaced, added or taken away; by the difference. Undefined where a change may reach further than its own place: an object has
 * other owners, or is another object; what went had something below it; one object is there under two groups. Then the tree is to be read anew.
 */
export function changeTree(before: GrownTree, changes: readonly RowChange[]): GrownTree | undefined {
  if (!before.isPlain) return undefined;
  const now = rowsNow(before, changes);
  if (now === undefined || hasDoubles(before, now)) return undefined;
  const rowOf = (key: ResourceKey): LiveRow | undefined => (now.has(key) ? now.get(key) : entryAt(before, key)?.row);
  const made = [...now].map(([key, row]) => ({ key, row, node: row && treeNode(row, rowOf) }));
  const entries = [...before.entries];
  for (const { key, row, node } of made) {
    const place = placeOf(entries, key);
    const isThere = entries[place]?.key === key;
    // A root that was missing is another list of roots.
    if (isThere && entries[place]?.row === undefined) return undefined;
    if (node === undefined) entries.splice(place, 1);
    else entries.splice(place, isThere ? 1 : 0, { key, row, node });
  }
  return { isPlain: true, entries };
}

/** The rows that are others, undefined for what goes; undefined where one of them may not be replaced alone. */
function rowsNow(
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

function entryAt({ entries }: GrownTree, key: ResourceKey): Grown | undefined {
  const found = entries[placeOf(entries, key)];
  return found?.key === key ? found : undefined;
}

/** Where it stands, or would. */
function placeOf(entries: readonly Grown[], key: ResourceKey): number {
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

/** Of an object that is served under two groups a tree shows one. */
function hasDoubles(before: GrownTree, now: ReadonlyMap<ResourceKey, LiveRow | undefined>): boolean {
  const keys = new Map<string, ResourceKey>();
  for (const [key, row] of now) {
    if (row === undefined || entryAt(before, key) !== undefined || row.uid === '') continue;
    if (keys.has(row.uid)) return true;
    keys.set(row.uid, key);
  }
  return keys.size > 0 && before.entries.some(({ row }) => row !== undefined && keys.has(row.uid));
}

/** It is the same object, with the same owners: whatever hangs on it, and what it hangs on, is as it was. */
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

function missing({ key, version }: TreeRoot): Grown {
  const { group, kind, namespace, name } = parseResourceKey(key);
  const node = { ...place(group, namespace), version, kind, name, health: { status: 'Missing' } as const };
  return { key: keyOfRef({ group, kind, namespace, name }), row: undefined, node };
}

function place(group: string, namespace: string): Pick<TreeNode, 'group' | 'namespace'> {
  return { ...(group === '' ? {} : { group }), ...(namespace === '' ? {} : { namespace }) };
}

/** Member by member, since there may be tens of thousands, and spreading costs ten times as much. */
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

/** As the object names its owner, there or not. One that is not there has no namespace, because nobody knows its scope. */
function parentRef(
  { key, version, uid }: LiveOwner,
  { parents }: LiveRow,
  rowOf: (key: ResourceKey) => LiveRow | undefined,
): NodeRef {
  const { group, kind, namespace, name } = parseResourceKey(key);
  const id = uid === '' ? rowOf(key)?.uid : uid;
  return {
    ...place(group, parents.includes(key) ? namespace : ''),
    version,
    kind,
    name,
    ...(id === undefined ? {} : { uid: id }),
  };
}

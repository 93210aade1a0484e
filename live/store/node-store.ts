import type { ResourceKey } from '#model';
import type { ObjectBody } from '../objects/object-body.ts';
import { ChangeLog } from './change-log.ts';
import { MachineLoad } from './machine-load.ts';
import { isClaimOf } from '../objects/owners.ts';
import { NodeIndex } from './node-index.ts';
import { isClaim } from '../objects/stored-node.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import { RowIndex } from './row-index.ts';
import { StoreSizes } from './store-sizes.ts';
import type { SizedNode } from './store-sizes.ts';
import type { ListQuery, LiveOwner } from '../types.ts';

/**
 * All nodes of one cluster, with indexes.
 *
 *   byKey         key -> node           source of truth; the others are derived in put and remove
 *   rows          row -> node           a key has the same row number while its object exists
 *   byKind        group/kind -> rows    the objects that a list of the kind replaces
 *   byNamespace   namespace -> rows     for top-level objects
 *   byApp         instance -> rows      tracked roots
 *   claims        namespace -> nodes    PersistentVolumeClaims
 *   statefulSets  namespace -> nodes    StatefulSets with volume claim templates
 *   byOwnerUid    uid -> nodes          children whose owner reference has a UID
 *   byOwnerKey    key -> nodes          children of owners known by name only
 *   load          machine -> sums       Pod requests on each Node
 */
export class NodeStore {
  /** Derived from Pods, like an index. */
  readonly load = new MachineLoad();
  /**
   * Objects whose rows have changed: those added, updated or removed, and the children of an owner
   * that was added, removed or replaced, because their parents change with it.
   */
  readonly log = new ChangeLog();
  /** Estimated memory of all nodes. */
  readonly sizes = new StoreSizes();
  /** Called for each body that the store no longer holds. */
  onBodyLeft: (body: ObjectBody) => void = () => undefined;
  /** Kinds whose bodies are not kept. */
  readonly #bodyless = new Set<string>();
  readonly #byKey = new Map<ResourceKey, StoredNode>();
  #stamp = 0;
  readonly #rows: (StoredNode | undefined)[] = [];
  /** Unused row numbers. */
  readonly #freeRows: number[] = [];
  readonly #byKind = new RowIndex<string>();
  readonly #byNamespace = new RowIndex<string>();
  readonly #byApp = new RowIndex<string>();
  readonly #claims = new NodeIndex<string>();
  readonly #statefulSets = new NodeIndex<string>();
  readonly #byOwnerUid = new NodeIndex<string>();
  readonly #byOwnerKey = new NodeIndex<ResourceKey>();

  /** Number of writes so far. Each node is stamped with the number of the write that stored it. */
  get stamp(): number {
    return this.#stamp;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: ResourceKey): StoredNode | undefined {
    return this.#byKey.get(key);
  }

  /** @param isRepeat the stored node has the same content: it keeps its stamp. */
  put(node: StoredNode, isRepeat = false): void {
    const before = this.#byKey.get(node.key);
    if (this.#bodyless.has(node.kindText)) node.dropBody();
    if (before === undefined) this.#insert(node);
    else {
      this.#unlink(before);
      node.row = before.row;
      // Share the key's string with the map, which keeps the first instance.
      node.key = before.key;
    }
    if (!isRepeat || before === undefined) this.#stamp += 1;
    node.stamp = isRepeat && before !== undefined ? before.stamp : this.#stamp;
    this.#rows[node.row] = node;
    this.#byKey.set(node.key, node);
    if (before !== undefined && before.claims.length > 0 && node.claims.length === 0) this.#removeInferredOwner(before);
    node.ownerRefs = this.#shareOwner(node.ownerRefs);
    this.#inferOwners(node);
    this.#link(node);
    this.#logChange(before, node);
    this.sizes.onChange(this.sizes.account(before, node));
    if (before !== undefined && before !== node) this.#leave(before, node.body);
  }

  remove(key: ResourceKey): StoredNode | undefined {
    const node = this.#byKey.get(key);
    if (node === undefined) return undefined;
    this.#byKey.delete(key);
    this.#unlink(node);
    this.#byKind.drop(node.kindText, node.row);
    this.#byNamespace.drop(node.namespace, node.row);
    this.#rows[node.row] = undefined;
    this.#freeRows.push(node.row);
    if (node.claims.length > 0) this.#removeInferredOwner(node);
    this.#logChange(node, undefined);
    this.sizes.onChange(this.sizes.account(node, undefined));
    this.#leave(node);
    return node;
  }

  /** Keeps a whole object that was read on demand, until the object changes. */
  keepFetched(node: StoredNode, apiVersion: string, body: ObjectBody): void {
    if (this.#bodyless.has(node.kindText) || this.#byKey.get(node.key) !== node) return;
    const before = sizeOf(node);
    (node.fetched ??= new Map()).set(apiVersion, body);
    this.sizes.onChange(this.sizes.account(before, node));
  }

  /** Drops the whole objects that were read on demand. */
  dropFetched(node: StoredNode): void {
    if (node.fetched === undefined) return;
    const before = sizeOf(node);
    for (const body of node.fetched.values()) this.onBodyLeft(body);
    node.fetched = undefined;
    this.sizes.onChange(this.sizes.account(before, node));
  }

  /** Drops the bodies of a kind, and keeps none from now on. */
  dropBodies(kindText: string): void {
    this.#bodyless.add(kindText);
    let change = 0;
    for (const node of this.#nodes(this.#byKind.of(kindText))) {
      const before = sizeOf(node);
      if (before.bodyBytes === 0) continue;
      this.#leave(node);
      node.dropBody();
      change += this.sizes.account(before, node);
    }
    this.sizes.onChange(change);
  }

  #leave({ body, fetched }: StoredNode, kept?: ObjectBody): void {
    if (body !== undefined && body !== kept) this.onBodyLeft(body);
    for (const each of fetched?.values() ?? []) this.onBodyLeft(each);
  }

  /** Reverts {@link dropBodies} for objects that are stored from now on. */
  keepBodies(kindText: string): void {
    this.#bodyless.delete(kindText);
  }

  ofKind(group: string, kind: string): Iterable<StoredNode> {
    return this.#nodes(this.#byKind.of(`${group}/${kind}`));
  }

  countOfKind(group: string, kind: string): number {
    return this.#byKind.count(`${group}/${kind}`);
  }

  ofApp(app: string): Iterable<StoredNode> {
    return this.#nodes(this.#byApp.of(app));
  }

  /** Tracked roots of all Applications. */
  *tracked(): Generator<StoredNode> {
    for (const node of this.#byKey.values()) if (node.app !== undefined) yield node;
  }

  /** Selects by the index that fits: kinds, else namespaces. */
  *select({ kinds, namespaces, topLevelOnly = false }: ListQuery): Generator<StoredNode> {
    const within = namespaces === undefined ? undefined : new Set(namespaces.filter((namespace) => namespace !== ''));
    for (const node of this.#candidates(kinds, within)) {
      if (within !== undefined && !within.has(node.namespace)) continue;
      if (!topLevelOnly || node.ownerRefs.length === 0) yield node;
    }
  }

  *#candidates(kinds: ListQuery['kinds'], within: ReadonlySet<string> | undefined): Generator<StoredNode> {
    if (kinds !== undefined) {
      for (const text of new Set(kinds.map(({ group, kind }) => `${group}/${kind}`)))
        yield* this.#nodes(this.#byKind.of(text));
    } else if (within === undefined) yield* this.#byKey.values();
    else for (const namespace of within) yield* this.#nodes(this.#byNamespace.of(namespace));
  }

  /** Children in the same namespace; of a cluster-scoped node, in all namespaces. */
  children(node: StoredNode): readonly StoredNode[] {
    const found: StoredNode[] = [];
    const reach = (child: StoredNode): void => {
      if (node.namespace === '' || child.namespace === node.namespace) found.push(child);
    };
    if (node.uid !== '') for (const child of this.#byOwnerUid.of(node.uid)) reach(child);
    for (const child of this.#byOwnerKey.of(node.key)) reach(child);
    return found.length > 1 ? withoutDuplicates(found) : found;
  }

  /** Existing owners. An object with the owner's name but another UID is not the owner. */
  parents(node: StoredNode): readonly StoredNode[] {
    const found: StoredNode[] = [];
    for (const { key, uid } of node.ownerRefs) {
      const owner = this.#byKey.get(key);
      if (owner !== undefined && (uid === '' || owner.uid === uid)) found.push(owner);
    }
    return found;
  }

  /**
   * Visits every node below `roots` once, breadth first; cycles end. If `visit` returns false, the
   * children are skipped, unless they are reachable through another parent.
   */
  walk(roots: Iterable<ResourceKey>, visit: (node: StoredNode, parents: readonly ResourceKey[]) => boolean): void {
    const seen = new Set<ResourceKey>();
    const unseen = (node: StoredNode): boolean => !seen.has(node.key) && seen.add(node.key).has(node.key);
    const found = [...roots].map((key) => this.#byKey.get(key)).filter((node) => node !== undefined);
    // A queue instead of recursion: owner chains may be deeper than the stack.
    let level = found.filter(unseen);
    while (level.length > 0) {
      const next: StoredNode[] = [];
      for (const node of level) {
        const parents = this.parents(node).map((parent) => parent.key);
        if (visit(node, parents)) next.push(...this.children(node).filter(unseen));
      }
      level = next;
    }
  }

  /** The Application that tracks the node, and, if it has owners, those of its ancestors. */
  appsOf(node: StoredNode): ReadonlySet<string> {
    const apps = new Set(node.app === undefined ? [] : [node.app]);
    if (node.app !== undefined && node.ownerRefs.length === 0) return apps;
    const seen = new Set<StoredNode>([node]);
    const queue = [node];
    for (let here = queue.pop(); here !== undefined; here = queue.pop()) {
      for (const parent of this.parents(here)) {
        if (seen.has(parent)) continue;
        seen.add(parent);
        if (parent.app !== undefined) apps.add(parent.app);
        else queue.push(parent);
      }
    }
    return apps;
  }

  #logChange(before: StoredNode | undefined, after: StoredNode | undefined): void {
    const changed = after ?? before;
    if (changed === undefined) return;
    this.log.add(changed.key);
    if (before !== undefined && before.uid === after?.uid) return;
    for (const uid of new Set([before?.uid ?? '', after?.uid ?? '']))
      if (uid !== '') for (const child of this.#byOwnerUid.of(uid)) this.log.add(child.key);
    for (const child of this.#byOwnerKey.of(changed.key)) this.log.add(child.key);
  }

  *#nodes(rows: Iterable<number>): Generator<StoredNode> {
    for (const row of rows) {
      const node = this.#rows[row];
      if (node !== undefined) yield node;
    }
  }

  /** Indexes the fields that depend on the key only. */
  #insert(node: StoredNode): void {
    node.row = this.#freeRows.pop() ?? this.#rows.length;
    this.#byKind.add(node.kindText, node.row);
    this.#byNamespace.add(node.namespace, node.row);
  }

  #link(node: StoredNode): void {
    if (node.app !== undefined) this.#byApp.add(node.app, node.row);
    if (node.details?.pod !== undefined) this.load.add(node.details.pod);
    if (isClaim(node)) this.#claims.add(node.namespace, node);
    if (node.claims.length > 0) this.#statefulSets.add(node.namespace, node);
    this.#linkOwners(node);
  }

  #unlink(node: StoredNode): void {
    if (node.app !== undefined) this.#byApp.drop(node.app, node.row);
    if (node.details?.pod !== undefined) this.load.drop(node.details.pod);
    if (isClaim(node)) this.#claims.drop(node.namespace, node);
    if (node.claims.length > 0) this.#statefulSets.drop(node.namespace, node);
    this.#unlinkOwners(node);
  }

  /** Returns a value shared with siblings or with the owner, to save memory. */
  #shareOwner(refs: readonly LiveOwner[]): readonly LiveOwner[] {
    const [only] = refs;
    if (only === undefined || refs.length > 1 || only.uid === '') return refs;
    for (const sibling of this.#byOwnerUid.of(only.uid)) {
      const [theirs] = sibling.ownerRefs;
      const isAlone = sibling.ownerRefs.length === 1 && theirs?.uid === only.uid;
      return isAlone && theirs.key === only.key && theirs.version === only.version ? sibling.ownerRefs : refs;
    }
    const owner = this.#byKey.get(only.key);
    if (owner?.uid !== only.uid) return refs;
    return [{ key: owner.key, version: only.version, uid: owner.uid }];
  }

  #linkOwners(node: StoredNode): void {
    for (const { key, uid } of node.ownerRefs) {
      if (uid !== '') this.#byOwnerUid.add(uid, node);
      else this.#byOwnerKey.add(key, node);
    }
  }

  #unlinkOwners(node: StoredNode): void {
    for (const { key, uid } of node.ownerRefs) {
      if (uid !== '') this.#byOwnerUid.drop(uid, node);
      else this.#byOwnerKey.drop(key, node);
    }
  }

  /** Links claims and their StatefulSet, whichever is stored last. */
  #inferOwners(node: StoredNode): void {
    if (node.claims.length > 0) {
      for (const claim of this.#claims.of(node.namespace))
        this.#setInferred(claim, node.key, isClaimOf(claim.name, node.name, node.claims));
    } else if (isClaim(node)) {
      for (const set of this.#statefulSets.of(node.namespace))
        if (isClaimOf(node.name, set.name, set.claims)) this.#setInferred(node, set.key, true);
    }
  }

  #removeInferredOwner(set: StoredNode): void {
    for (const claim of this.#claims.of(set.namespace)) this.#setInferred(claim, set.key, false);
  }

  /** Adds or removes an inferred owner; a real reference to the same owner stays. */
  #setInferred(claim: StoredNode, owner: ResourceKey, owned: boolean): void {
    const existing = claim.ownerRefs.find((ref) => ref.key === owner);
    if (owned === (existing !== undefined) || (existing !== undefined && existing.uid !== '')) return;
    const linked = this.#byKey.get(claim.key) === claim;
    if (linked) this.#unlinkOwners(claim);
    claim.ownerRefs = owned
      ? [...claim.ownerRefs, { key: owner, version: 'v1', uid: '' }]
      : claim.ownerRefs.filter((ref) => ref.key !== owner);
    if (linked) {
      this.#linkOwners(claim);
      this.log.add(claim.key);
    }
  }
}

/** An object served under two groups is shown once, with the key that sorts first. */
function withoutDuplicates(nodes: readonly StoredNode[]): readonly StoredNode[] {
  const byIdentity = new Map<string, StoredNode>();
  for (const node of nodes) {
    const identity = node.uid === '' ? node.key : node.uid;
    const other = byIdentity.get(identity);
    if (other === undefined || node.key < other.key) byIdentity.set(identity, node);
  }
  return [...byIdentity.values()];
}

/** Its sizes before a change. */
function sizeOf({ kindText, rowBytes, bodyBytes }: StoredNode): SizedNode {
  return { kindText, rowBytes, bodyBytes };
}

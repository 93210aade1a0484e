import type { ResourceKey } from '#model';
import { ChangeLog } from './change-log.ts';
import { MachineLoad } from './machine-load.ts';
import { isClaimOf } from './owners.ts';
import { NodeIndex } from './node-index.ts';
import type { StoredNode } from './node.ts';
import { RowIndex } from './row-index.ts';
import type { LiveOwner } from './types.ts';

/**
 * All nodes of one cluster, with the indexes that questions need: by key, by kind, by namespace, by application, and children by owner.
 *
 *   byKey       key -> node            the one truth; the others are derived in put and remove
 *   rows        row -> node            a node's number, for as long as there is an object of its key
 *   byKind      group/kind -> rows     what a list of one kind replaces
 *   byNamespace namespace -> rows      top-level objects
 *   byApp       instance -> rows       tracked roots
 *   claims      namespace -> claims    PersistentVolumeClaims, and sets: StatefulSets that have templates of them
 *   byOwnerUid  uid -> nodes           children whose owner reference has a uid
 *   byOwnerKey  key -> nodes           children of owners that are known by name only
 *   load        machine -> sums        what the pods of a machine ask for
 */
export class NodeStore {
  /** Derived from the pods, as the indexes are. */
  readonly load = new MachineLoad();
  /**
   * Everything of which a reader may see something else than before: what came, changed or went, and with an owner that came, went or is another object
   * its children, since what they say of their owners follows from it.
   */
  readonly log = new ChangeLog();
  readonly #byKey = new Map<ResourceKey, StoredNode>();
  #stamp = 0;
  readonly #rows: (StoredNode | undefined)[] = [];
  /** Rows that are free again. */
  readonly #free: number[] = [];
  readonly #byKind = new RowIndex<string>();
  readonly #byNamespace = new RowIndex<string>();
  readonly #byApp = new RowIndex<string>();
  readonly #claims = new NodeIndex<string>();
  readonly #sets = new NodeIndex<string>();
  readonly #byOwnerUid = new NodeIndex<string>();
  readonly #byOwnerKey = new NodeIndex<ResourceKey>();

  /** The place of the latest node in the order of their coming. */
  get stamp(): number {
    return this.#stamp;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: ResourceKey): StoredNode | undefined {
    return this.#byKey.get(key);
  }

  /** Inserts or replaces. */
  put(node: StoredNode): void {
    const before = this.#byKey.get(node.key);
    if (before === undefined) this.#enter(node);
    else {
      this.#unlink(before);
      node.row = before.row;
      // One text for the map and for the node, or the former one would live on in the map.
      node.key = before.key;
    }
    this.#stamp += 1;
    node.stamp = this.#stamp;
    this.#rows[node.row] = node;
    this.#byKey.set(node.key, node);
    if (before !== undefined && before.claims.length > 0 && node.claims.length === 0) this.#disown(before);
    node.ownerRefs = this.#shared(node.ownerRefs);
    this.#infer(node);
    this.#link(node);
    this.#note(before, node);
  }

  remove(key: ResourceKey): StoredNode | undefined {
    const node = this.#byKey.get(key);
    if (node === undefined) return undefined;
    this.#byKey.delete(key);
    this.#unlink(node);
    this.#byKind.drop(node.kindText, node.row);
    this.#byNamespace.drop(node.namespace, node.row);
    this.#rows[node.row] = undefined;
    this.#free.push(node.row);
    if (node.claims.length > 0) this.#disown(node);
    this.#note(node, undefined);
    return node;
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

  /** Tracked roots of all applications. */
  *tracked(): Generator<StoredNode> {
    for (const node of this.#byKey.values()) if (node.app !== undefined) yield node;
  }

  /** Objects of a namespace that nothing owns. */
  topLevel(namespace: string): readonly StoredNode[] {
    return [...this.#nodes(this.#byNamespace.of(namespace))].filter((node) => node.ownerRefs.length === 0);
  }

  /** Children in the same namespace; of a cluster-scoped node, in all namespaces. */
  children(node: StoredNode): readonly StoredNode[] {
    const found: StoredNode[] = [];
    const reach = (child: StoredNode): void => {
      if (node.namespace === '' || child.namespace === node.namespace) found.push(child);
    };
    if (node.uid !== '') for (const child of this.#byOwnerUid.of(node.uid)) reach(child);
    for (const child of this.#byOwnerKey.of(node.key)) reach(child);
    return found.length > 1 ? withoutDoubles(found) : found;
  }

  /** Owners that exist: an owner of that name with another uid is another object. */
  parents(node: StoredNode): readonly StoredNode[] {
    const found: StoredNode[] = [];
    for (const { key, uid } of node.ownerRefs) {
      const owner = this.#byKey.get(key);
      if (owner !== undefined && (uid === '' || owner.uid === uid)) found.push(owner);
    }
    return found;
  }

  /**
   * Every node below `roots`, each once, parents before children. A cycle ends where it meets itself. `visit` returns false to leave out
   * what is below a node; that node's children may still be reached through another parent.
   */
  walk(roots: Iterable<ResourceKey>, visit: (node: StoredNode, parents: readonly ResourceKey[]) => boolean): void {
    const seen = new Set<ResourceKey>();
    const unseen = (node: StoredNode): boolean => !seen.has(node.key) && seen.add(node.key).has(node.key);
    const found = [...roots].map((key) => this.#byKey.get(key)).filter((node) => node !== undefined);
    // A queue, not recursion: chains of owners may be longer than the stack.
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

  /** Applications that a node concerns: its own, else those of the owners above it. */
  appsOf(node: StoredNode): ReadonlySet<string> {
    if (node.app !== undefined) return new Set([node.app]);
    const apps = new Set<string>();
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

  #note(before: StoredNode | undefined, after: StoredNode | undefined): void {
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

  /** What is the same for every object of a key. */
  #enter(node: StoredNode): void {
    node.row = this.#free.pop() ?? this.#rows.length;
    this.#byKind.add(node.kindText, node.row);
    this.#byNamespace.add(node.namespace, node.row);
  }

  #link(node: StoredNode): void {
    if (node.app !== undefined) this.#byApp.add(node.app, node.row);
    if (node.details?.pod !== undefined) this.load.add(node.details.pod);
    if (isClaim(node)) this.#claims.add(node.namespace, node);
    if (node.claims.length > 0) this.#sets.add(node.namespace, node);
    this.#linkOwners(node);
  }

  #unlink(node: StoredNode): void {
    if (node.app !== undefined) this.#byApp.drop(node.app, node.row);
    if (node.details?.pod !== undefined) this.load.drop(node.details.pod);
    if (isClaim(node)) this.#claims.drop(node.namespace, node);
    if (node.claims.length > 0) this.#sets.drop(node.namespace, node);
    this.#unlinkOwners(node);
  }

  /** Siblings share the value that names their owner. */
  #shared(refs: readonly LiveOwner[]): readonly LiveOwner[] {
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

  /** Claims of StatefulSets: whichever of the two comes second finds the other. */
  #infer(node: StoredNode): void {
    if (node.claims.length > 0) {
      for (const claim of this.#claims.of(node.namespace))
        this.#setInferred(claim, node.key, isClaimOf(claim.name, node.name, node.claims));
    } else if (isClaim(node)) {
      for (const set of this.#sets.of(node.namespace))
        if (isClaimOf(node.name, set.name, set.claims)) this.#setInferred(node, set.key, true);
    }
  }

  #disown(set: StoredNode): void {
    for (const claim of this.#claims.of(set.namespace)) this.#setInferred(claim, set.key, false);
  }

  /** Adds or removes an owner that is known by name only; a real reference to the same owner stays. */
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

function isClaim(node: StoredNode): boolean {
  return node.kind === 'PersistentVolumeClaim' && node.group === '';
}

/** One object that is served under two groups shows once: under the key that sorts first. */
function withoutDoubles(nodes: readonly StoredNode[]): readonly StoredNode[] {
  const byIdentity = new Map<string, StoredNode>();
  for (const node of nodes) {
    const identity = node.uid === '' ? node.key : node.uid;
    const other = byIdentity.get(identity);
    if (other === undefined || node.key < other.key) byIdentity.set(identity, node);
  }
  return [...byIdentity.values()];
}

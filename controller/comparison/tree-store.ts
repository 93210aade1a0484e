import { inSlices } from '#base';
import type { Clock } from '#base';
import { changeTree, growTreeSteps, rowIn } from '#compare';
import type { GrownTree, RowChange, TreeRows } from '#compare';
import type { LiveCluster, LiveOwner, LiveRow } from '#live';
import type { AppKey, ResourceKey } from '#model';
import { machinesOf, readTree } from './tree-rows.ts';
import type { TreeRowsQuery } from './tree-rows.ts';

/** Upper bound on remembered nodes of all applications; a larger tree is remembered alone. */
const maxRememberedNodes = 5_000;
/** Above this number of changes a full read is cheaper. */
const maxTreeChanges = 256;

export interface StoredTreeQuery extends TreeRowsQuery {
  readonly key: AppKey;
  readonly cluster: TreeCluster;
  /** Changes whenever the result of `permitted` may change. */
  readonly premise: string;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type TreeCluster = Pick<LiveCluster, 'tree' | 'list' | 'machines' | 'changesSince' | 'rows'>;

/** The last tree of an application, and its inputs. */
interface RememberedTree {
  readonly grown: GrownTree;
  readonly roots: TreeRowsQuery['roots'];
  readonly live: ReadonlySet<ResourceKey>;
  readonly cluster: TreeCluster;
  readonly premise: string;
  readonly version: number;
}

/**
 * Keeps recently read trees of large applications, and reads only the rows that changed since.
 * Reads the full tree if a change may affect more than its own row, if the project watches orphans,
 * or if it forbids part of the tree.
 */
export class TreeStore {
  readonly #big: number;
  /** In order of use, most recent last. */
  readonly #last = new Map<AppKey, RememberedTree>();
  #remembered = 0;

  /** @param big minimum number of nodes for a tree to be remembered. */
  constructor(big = 100) {
    this.#big = big;
  }

  async read(query: StoredTreeQuery, signal: AbortSignal): Promise<TreeRows> {
    const last = this.#last.get(query.key);
    const next = last === undefined ? undefined : await updatedTree(last, query, signal);
    if (next !== undefined) {
      this.#setLast(query.key, next);
      return { managed: next.grown, orphaned: [], machines: await machinesOf(query, podsIn(next.grown), signal) };
    }
    const { roots, cluster, premise, clock } = query;
    const { version } = await cluster.changesSince(undefined, signal);
    const rows = await readTree(query, signal);
    const grown = await inSlices(growTreeSteps(roots, rows.managed), { clock }, signal);
    const isKept = grown.entries.length >= this.#big && grown.isPlain && rows.isWhole && !watchesOrphans(query);
    const live = new Set(isKept ? roots.flatMap((root) => (root.live ? [root.key] : [])) : []);
    this.#setLast(query.key, isKept ? { grown, roots, live, cluster, premise, version } : undefined);
    return { ...rows, managed: grown };
  }

  forget(key: AppKey): void {
    this.#setLast(key, undefined);
  }

  #setLast(key: AppKey, last: RememberedTree | undefined): void {
    this.#remembered -= this.#last.get(key)?.grown.entries.length ?? 0;
    this.#last.delete(key);
    if (last === undefined) return;
    this.#last.set(key, last);
    this.#remembered += last.grown.entries.length;
    for (const [oldest, { grown }] of this.#last) {
      if (oldest === key || this.#remembered <= maxRememberedNodes) return;
      this.#remembered -= grown.entries.length;
      this.#last.delete(oldest);
    }
  }
}

/** A loop, because flatMap over thousands of nodes would dominate the cost of an edit. */
function podsIn({ entries }: GrownTree): readonly LiveRow[] {
  const pods: LiveRow[] = [];
  for (const { row } of entries) if (row?.kind === 'Pod') pods.push(row);
  return pods;
}

function watchesOrphans({ project }: StoredTreeQuery): boolean {
  return project.spec.orphanedResources !== undefined;
}

/** Applies the changes since the last tree; undefined if a full read is needed. */
async function updatedTree(
  last: RememberedTree,
  query: StoredTreeQuery,
  signal: AbortSignal,
): Promise<RememberedTree | undefined> {
  const { cluster } = query;
  const isSame = last.roots === query.roots && last.cluster === cluster && last.premise === query.premise;
  if (!isSame || watchesOrphans(query)) return undefined;
  const news = await cluster.changesSince(last.version, signal);
  if (news.changed === undefined) return undefined;
  const { grown } = last;
  const inside = news.changed.map(({ key }) => key).filter((key) => rowIn(grown, key) !== undefined);
  const outside = news.changed.filter(({ key }) => rowIn(grown, key) === undefined);
  // Read in full after many changes, or when a root reappeared with everything below it.
  if (inside.length + outside.length > maxTreeChanges || outside.some(({ key }) => last.live.has(key)))
    return undefined;
  const rows = inside.length === 0 ? new Map<ResourceKey, LiveRow>() : await cluster.rows(inside, signal);
  const changes: RowChange[] = inside.map((key) => ({ key, row: rows.get(key) }));
  const gone = inside.filter((key) => rows.get(key) === undefined);
  // Read the subtrees of owners again: a new object appears below its owner, and a deleted one may
  // still be there under another API group.
  const links = [...outside.map(({ owners }) => owners), ...gone.map((key) => rowIn(grown, key)?.owners ?? [])];
  for (const key of ownersIn(grown, links.flat()))
    if (!gone.includes(key)) changes.push({ key, subtree: await cluster.tree({ roots: [key], excluded: [] }, signal) });
  if (!changes.every((change) => rowsOf(change).every((row) => query.permitted(row)))) return undefined;
  const next = changes.length === 0 ? grown : changeTree(grown, changes);
  return next === undefined ? undefined : { ...last, grown: next, version: news.version };
}

/**
 * The owners in the tree, found by key, or by UID if an object names its owner by another API
 * group.
 */
function ownersIn(grown: GrownTree, owners: readonly LiveOwner[]): ReadonlySet<ResourceKey> {
  const found = new Set<ResourceKey>();
  const uids = new Set<string>();
  for (const { key, uid } of owners) {
    if (rowIn(grown, key) !== undefined) found.add(key);
    else if (uid !== '') uids.add(uid);
  }
  if (uids.size > 0)
    for (const { key, row } of grown.entries) if (row !== undefined && uids.has(row.uid)) found.add(key);
  return found;
}

function rowsOf(change: RowChange): readonly LiveRow[] {
  if ('subtree' in change) return change.subtree;
  return change.row === undefined ? [] : [change.row];
}

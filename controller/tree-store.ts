import { inSlices } from '#base';
import type { Clock } from '#base';
import { changeTree, growSteps, rowIn } from '#compare';
import type { GrownTree, RowChange, TreeRows } from '#compare';
import type { LiveCluster, LiveOwner, LiveRow } from '#live';
import type { AppKey, ResourceKey } from '#model';
import { machinesOf, readTree } from './tree-rows.ts';
import type { TreeRowsQuery } from './tree-rows.ts';

/** Nodes that are remembered, of all applications; a tree that is bigger is remembered alone. */
const mostRemembered = 5_000;
/** More changes than these, and reading everything costs no more. */
const mostChanges = 256;

export interface StoredTreeQuery extends TreeRowsQuery {
  readonly key: AppKey;
  readonly cluster: TreeCluster;
  /** Another text whenever `permitted` may say something else. */
  readonly premise: string;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type TreeCluster = Pick<LiveCluster, 'tree' | 'topLevel' | 'machines' | 'news' | 'rows'>;

/** The last tree of an application, and what it follows from. */
interface Last {
  readonly grown: GrownTree;
  readonly roots: TreeRowsQuery['roots'];
  readonly live: ReadonlySet<ResourceKey>;
  readonly cluster: TreeCluster;
  readonly premise: string;
  readonly version: number;
}

/**
 * The trees of big applications that were read last: of what the cache has changed since, only that is read again. Where a change may reach further than
 * its own place, or the project watches orphans or forbids part of the tree, everything is read as if nothing were remembered.
 */
export class TreeStore {
  readonly #big: number;
  /** The latest stands last. */
  readonly #last = new Map<AppKey, Last>();
  #remembered = 0;

  /** @param big from how many nodes on a tree is remembered. */
  constructor(big = 100) {
    this.#big = big;
  }

  async read(query: StoredTreeQuery, signal: AbortSignal): Promise<TreeRows> {
    const last = this.#last.get(query.key);
    const next = last === undefined ? undefined : await changed(last, query, signal);
    if (next !== undefined) {
      this.#setLast(query.key, next);
      return { managed: next.grown, orphaned: [], machines: await machinesOf(query, podsIn(next.grown), signal) };
    }
    const { roots, cluster, premise, clock } = query;
    const { version } = await cluster.news(undefined, signal);
    const rows = await readTree(query, signal);
    const grown = await inSlices(growSteps(roots, rows.managed), { clock }, signal);
    const isKept = grown.entries.length >= this.#big && grown.isPlain && rows.isWhole && !watchesOrphans(query);
    const live = new Set(isKept ? roots.flatMap((root) => (root.live ? [root.key] : [])) : []);
    this.#setLast(query.key, isKept ? { grown, roots, live, cluster, premise, version } : undefined);
    return { ...rows, managed: grown };
  }

  forget(key: AppKey): void {
    this.#setLast(key, undefined);
  }

  #setLast(key: AppKey, last: Last | undefined): void {
    this.#remembered -= this.#last.get(key)?.grown.entries.length ?? 0;
    this.#last.delete(key);
    if (last === undefined) return;
    this.#last.set(key, last);
    this.#remembered += last.grown.entries.length;
    for (const [oldest, { grown }] of this.#last) {
      if (oldest === key || this.#remembered <= mostRemembered) return;
      this.#remembered -= grown.entries.length;
      this.#last.delete(oldest);
    }
  }
}

/** One by one: a list for each of thousands of nodes, to put it into another, costs as much as all else of an edit. */
function podsIn({ entries }: GrownTree): readonly LiveRow[] {
  const pods: LiveRow[] = [];
  for (const { row } of entries) if (row?.kind === 'Pod') pods.push(row);
  return pods;
}

function watchesOrphans({ project }: StoredTreeQuery): boolean {
  return project.spec.orphanedResources !== undefined;
}

/** The tree as it is now, by its difference to the last one; undefined where that does not tell. */
async function changed(last: Last, query: StoredTreeQuery, signal: AbortSignal): Promise<Last | undefined> {
  const { cluster } = query;
  const isSame = last.roots === query.roots && last.cluster === cluster && last.premise === query.premise;
  if (!isSame || watchesOrphans(query)) return undefined;
  const news = await cluster.news(last.version, signal);
  if (news.changed === undefined) return undefined;
  const { grown } = last;
  const inside = news.changed.map(({ key }) => key).filter((key) => rowIn(grown, key) !== undefined);
  const outside = news.changed.filter(({ key }) => rowIn(grown, key) === undefined);
  // A root that was gone is there again: everything below it comes with it.
  if (inside.length + outside.length > mostChanges || outside.some(({ key }) => last.live.has(key))) return undefined;
  const rows = inside.length === 0 ? new Map<ResourceKey, LiveRow>() : await cluster.rows(inside, signal);
  const changes: RowChange[] = inside.map((key) => ({ key, row: rows.get(key) }));
  const gone = inside.filter((key) => rows.get(key) === undefined);
  // What is new hangs on something in the tree; and below the owner of what is gone there may be the same object under another group, which did not
  // show beside it.
  const links = [...outside.map(({ owners }) => owners), ...gone.map((key) => rowIn(grown, key)?.owners ?? [])];
  for (const key of ownersIn(grown, links.flat()))
    if (!gone.includes(key)) changes.push({ key, subtree: await cluster.tree({ roots: [key], leaveOut: [] }, signal) });
  if (!changes.every((change) => rowsOf(change).every((row) => query.permitted(row)))) return undefined;
  const next = changes.length === 0 ? grown : changeTree(grown, changes);
  return next === undefined ? undefined : { ...last, grown: next, version: news.version };
}

/** Those of the owners that are in the tree: by their key, or by their UID where an object names its owner by another group. */
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

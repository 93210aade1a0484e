import { deepEqual } from '#base';
import { isHook, jsonOf, keyOf, contentIdOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { maxJqSteps, rulesOf } from './comparison.ts';
import { refoldRows } from './fold.ts';
import type { ComparedRow, FoldedComparison, ReplacedRow } from './fold.ts';
import { managesNamespaceMetadata } from './namespaces.ts';
import { bytesOfRow } from './row-memory.ts';
import { compareResource } from './row.ts';
import type { CompareFacts } from './types.ts';

/** Input and result of the last comparison of an Application. */
export interface LastComparison {
  readonly facts: CompareFacts;
  /** See {@link versionOfRules}. */
  readonly version: string;
  readonly folded: FoldedComparison;
  /** Positions of rows that are never reused, because their result may change with equal input. */
  readonly volatile: ReadonlySet<number>;
  /** Positions by the key of the row. */
  readonly positions: ReadonlyMap<ResourceKey, number>;
  /** Steps that the jq programs of all rows took. */
  readonly spent: number;
}

export interface IncrementalResult {
  readonly last: LastComparison;
  /** The resources whose rows were compared again. */
  readonly again: readonly ResourceKey[];
  /** By how many bytes their objects have grown; negative if they have shrunk. */
  readonly grownBytes: number;
}

/** Above this number of changed rows, a full comparison costs no more. */
const maxChangedRows = 256;

/**
 * Recomputes only the rows whose live object changed. Returns undefined if anything else differs or
 * a change reaches beyond its row; the caller then compares fully. Live objects are recognised by
 * what they were parsed from; if the cache names those that changed (`LiveState.changes`), only
 * these are looked at.
 */
export function compareChange(
  last: LastComparison,
  facts: CompareFacts,
  version: string,
  changed: ReadonlySet<ResourceKey>,
): IncrementalResult | undefined {
  if (last.version !== version || !isPlain(last.facts) || !isPlain(facts) || !isSameSetting(last.facts, facts))
    return undefined;
  const moved = movedPositions(last, facts);
  if (moved === undefined) return undefined;
  const namedPositions = [...changed].flatMap((key) => last.positions.get(key) ?? []);
  const again = new Set([...moved.keys(), ...last.volatile, ...namedPositions]);
  if (again.size > maxChangedRows) return undefined;
  const replaced = recomputeRows(last, facts, moved, again);
  const folded = replaced === undefined ? undefined : refoldRows(facts, last.folded, replaced.rows);
  if (replaced === undefined || folded === undefined) return undefined;
  const { volatile, spent } = replaced;
  return {
    again: replaced.rows.map(({ now }) => now.row.key),
    grownBytes: replaced.rows.reduce((sum, { now, old }) => sum + bytesOfRow(now.row) - bytesOfRow(old.row), 0),
    last: { ...last, facts, folded, volatile, spent },
  };
}

/** Nothing concerns the Application as a whole, or rows other than the changed ones. */
function isPlain({ app, rendered, live, serverSideDiff }: CompareFacts): boolean {
  return (
    !rendered.failed &&
    !live.failed &&
    rendered.conditions.length === 0 &&
    live.conditions.length === 0 &&
    live.degraded.every(({ state }) => state === 'left-out') &&
    (live.unread ?? []).length === 0 &&
    serverSideDiff === undefined &&
    !managesNamespaceMetadata(app)
  );
}

function isSameSetting(before: CompareFacts, now: CompareFacts): boolean {
  const [old, targets] = [before.rendered.targets, now.rendered.targets];
  return (
    now.policyVersion !== undefined &&
    before.policyVersion === now.policyVersion &&
    before.jqSteps === now.jqSteps &&
    (old === targets || (old.length === targets.length && old.every((target, i) => target === targets[i])))
  );
}

/**
 * Changed live objects by the position of their row; undefined if resources may pair up
 * differently.
 */
function movedPositions(last: LastComparison, facts: CompareFacts): ReadonlyMap<number, KubeObject> | undefined {
  const [before, now] = [last.facts.live.objects, facts.live.objects];
  if (before.size !== now.size) return undefined;
  const moved = new Map<number, KubeObject>();
  for (const key of changeCandidates(last, facts)) {
    const [old, object] = [before.get(key), now.get(key)];
    if (object === undefined) return undefined;
    if (isSameObject(old, object)) continue;
    const position = last.positions.get(key);
    const row = position === undefined ? undefined : last.folded.rows[position];
    if (old === undefined || position === undefined || row === undefined || row.facts.target === null) return undefined;
    if (!isSameObject(row.facts.live ?? undefined, old)) return undefined;
    if (!isSameIdentity(old, object) || !facts.permitted(object) || isHook(row.facts.target)) return undefined;
    moved.set(position, object);
    if (moved.size > maxChangedRows) return undefined;
  }
  return moved;
}

/** The cache may know which objects changed since the last comparison. */
function changeCandidates(last: LastComparison, { live }: CompareFacts): Iterable<ResourceKey> {
  return live.changes?.since === last.facts.live.objects ? live.changes.keys : live.objects.keys();
}

/**
 * Objects kept as text are parsed into a new value each time, so compare what they were parsed
 * from.
 */
function isSameObject(old: KubeObject | undefined, object: KubeObject): boolean {
  return old === object || (old !== undefined && contentIdOf(old) === contentIdOf(object));
}

/** Pairing sees no difference between the two. */
function isSameIdentity(old: KubeObject, now: KubeObject): boolean {
  return (
    old.apiVersion === now.apiVersion &&
    keyOf(old) === keyOf(now) &&
    old.metadata.uid === now.metadata.uid &&
    !isHook(old) &&
    !isHook(now)
  );
}

function recomputeRows(
  last: LastComparison,
  facts: CompareFacts,
  moved: ReadonlyMap<number, KubeObject>,
  again: ReadonlySet<number>,
):
  | { readonly rows: readonly ReplacedRow[]; readonly volatile: ReadonlySet<number>; readonly spent: number }
  | undefined {
  const { rows } = last.folded;
  let { spent } = last;
  for (const position of again) spent -= rows[position]?.row.spent ?? 0;
  const work = { left: (facts.jqSteps ?? maxJqSteps) - spent };
  const rules = rulesOf(facts, work);
  const volatile = new Set<number>();
  const made: ReplacedRow[] = [];
  // In position order, as in a full comparison.
  for (const position of [...again].sort((a, b) => a - b)) {
    const old = rows[position];
    if (old === undefined) return undefined;
    const live = moved.get(position) ?? old.facts.live;
    const rowFacts = live === old.facts.live ? old.facts : { ...old.facts, live };
    const row = compareResource(rowFacts, rules);
    if (row.isVolatile || !hasVersion(live)) volatile.add(position);
    spent += row.spent;
    made.push({ position, old, now: { facts: rowFacts, row: reuseEqualValues(old, row) } });
  }
  return work.left < 0 ? undefined : { rows: made, volatile, spent };
}

/** Reuses equal values by identity, so that readers need not compare them. */
function reuseEqualValues(old: ComparedRow, row: ComparedRow['row']): ComparedRow['row'] {
  const status = deepEqual(jsonOf(old.row.status), jsonOf(row.status)) ? old.row.status : row.status;
  const health = deepEqual(jsonOf(old.row.health), jsonOf(row.health)) ? old.row.health : row.health;
  return { ...row, status, health };
}

function hasVersion(live: KubeObject | null): boolean {
  return live === null || ((live.metadata.uid ?? '') !== '' && (live.metadata.resourceVersion ?? '') !== '');
}

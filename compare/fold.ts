import type { KindState } from '#live';
import { hasMultipleSources, keyOfStatus, kindFinder, refOf, refOfStatus } from '#model';
import type {
  Application,
  ApplicationCondition,
  ConditionType,
  HealthStatus,
  HealthStatusCode,
  ResourceKey,
  ResourceStatus,
  SyncStatus,
  SyncStatusCode,
} from '#model';
import { applicationHealth } from './app-health.ts';
import type { CompareFacts, Comparison, ManagedPair } from './types.ts';
import { managedNamespaceMetadataChanged, sharedNamespaceWarnings } from './namespaces.ts';
import type { ComparisonFrame } from './pairing.ts';
import { liveOrTarget } from './row.ts';
import type { ResourceComparison, RowFacts } from './row.ts';
import { faultConditions } from './rule-faults.ts';
import { leftConditions } from './left-objects.ts';
import { inheritOrder } from './order.ts';
import { comparedToOf } from './sources.ts';
import { unreadConditions, unreadRow } from './unread.ts';

/** A row with its input. */
export interface ComparedRow {
  readonly facts: RowFacts;
  readonly row: ResourceComparison;
}

/** Counts of an Application's rows. A row can be added and subtracted again. */
export interface RowCounters {
  readonly rows: number;
  /** Rows that make the Application OutOfSync. */
  readonly outOfSync: number;
  /** Rows whose sync status is Unknown. */
  readonly unknown: number;
  /** Rows that have a health, by its code. */
  readonly health: Readonly<Partial<Record<HealthStatusCode, number>>>;
}

export interface FoldedComparison {
  readonly comparison: Comparison;
  readonly counters: RowCounters;
  /** In the order of the comparison's pairs. */
  readonly rows: readonly ComparedRow[];
}

/** A row that replaces another one of the same resource. */
export interface ReplacedRow {
  readonly position: number;
  readonly old: ComparedRow;
  readonly now: ComparedRow;
}

/**
 * Folds rows into one comparison, in any order: each row knows its position. The facts add what no
 * row can know: conditions of either side, revisions, and unreadable objects that no manifest
 * names.
 */
export function foldRows(
  facts: CompareFacts,
  frame: ComparisonFrame,
  unordered: readonly ComparedRow[],
): FoldedComparison {
  const rows = [...unordered].sort(byPlace);
  const pairs = rows.map(pairOf);
  const { rendered, live } = facts;
  const unread = live.unread ?? [];
  const extra = [...trackedUnread(facts, rows), ...frame.left.map(({ status }) => status), ...carriedRows(facts, rows)];
  const counters = countersOf(rows, { unread: trackedUnread(facts, rows).length, left: frame.left.length });
  const failed = rendered.failed || live.failed;
  // Without a live cache the health is Unknown (Argo CD takes every resource for missing).
  const health = live.failed ? ({ status: 'Unknown', message: '' } as const) : applicationHealth(rows.map(judgedOf));
  const comparison: Comparison = {
    syncStatus: syncStatus(facts, codeOf(facts.app, failed, counters)),
    health,
    resourceHealthSource: facts.persistResourceHealth ? '' : 'appTree',
    resources: byIdentity([...rows.map(({ row }) => row.status), ...extra]),
    resourceHealth: new Map(rows.flatMap(({ row }) => healthEntry(row))),
    conditions: [
      ...rendered.conditions,
      ...live.conditions,
      ...unreadConditions(unread),
      ...leftConditions(frame.left),
      ...faultConditions(pairs.filter((pair) => pair.own)),
      ...conditionsOf(rows, 'ComparisonError'),
      ...rowWarnings.flatMap((type) => conditionsOf(rows, type)),
      ...conditionsOf(rows, 'SharedResourceWarning'),
      ...sharedNamespaceWarnings(facts.app, facts.namespaceSharers ?? []),
      ...conditionsOf(rows, 'InvalidSpecError'),
      ...degradedConditions(facts, rows),
    ],
    pairs,
    ...frame,
    sourceTypes: rendered.sourceTypes,
    mayHaveChanges: rendered.mayHaveChanges,
    failed,
    degraded: live.degraded,
    unread,
    refusals: conditionsOf(rows, 'ComparisonError'),
  };
  return { comparison, counters, rows };
}

const rowWarnings = ['RefusedChangeWarning', 'LastAppliedWarning'] as const;

/**
 * Folds some replaced rows into the last comparison, at the cost of what was replaced; the facts
 * are otherwise unchanged. Undefined if a replaced row has or had conditions: those need a full
 * fold.
 */
export function refoldRows(
  facts: CompareFacts,
  before: FoldedComparison,
  replaced: readonly ReplacedRow[],
): FoldedComparison | undefined {
  if (replaced.some(({ old, now }) => hasConditions(old) || hasConditions(now) || !isSameIdentity(old, now)))
    return undefined;
  const [rows, pairs] = [[...before.rows], [...before.comparison.pairs]];
  for (const { position, now } of replaced) {
    rows[position] = now;
    pairs[position] = pairOf(now);
  }
  const counters = updateCounters(before.counters, replaced);
  const isSameHealth = replaced.every(({ old, now }) => old.row.health === now.row.health);
  const { rendered } = facts;
  const comparison: Comparison = {
    ...before.comparison,
    syncStatus: syncStatus(facts, codeOf(facts.app, false, counters)),
    health: isSameHealth ? before.comparison.health : applicationHealth(rows.map(judgedOf)),
    resources: replaceStatuses(before.comparison.resources, replaced),
    resourceHealth: isSameHealth
      ? before.comparison.resourceHealth
      : new Map(rows.flatMap(({ row }) => healthEntry(row))),
    pairs: inheritOrder(before.comparison.pairs, pairs),
    sourceTypes: rendered.sourceTypes,
    mayHaveChanges: rendered.mayHaveChanges,
    degraded: facts.live.degraded,
    unread: facts.live.unread ?? [],
  };
  return { comparison, counters, rows };
}

function hasConditions({ row }: ComparedRow): boolean {
  return row.conditions.length > 0 || row.diff.faults.length > 0;
}

function isSameIdentity(old: ComparedRow, now: ComparedRow): boolean {
  return old.row.key === now.row.key && keyOfStatus(old.row.status) === keyOfStatus(now.row.status);
}

function updateCounters(before: RowCounters, replaced: readonly ReplacedRow[]): RowCounters {
  const codes = new Map(Object.entries(before.health) as [HealthStatusCode, number][]);
  let { outOfSync, unknown } = before;
  const add = ({ row }: ComparedRow, sign: 1 | -1): void => {
    if (row.makesOutOfSync) outOfSync += sign;
    if (row.isUnknown) unknown += sign;
    if (row.health === null) return;
    codes.set(row.health.status, (codes.get(row.health.status) ?? 0) + sign);
  };
  for (const { old, now } of replaced) {
    add(old, -1);
    add(now, 1);
  }
  const health: RowCounters['health'] = Object.fromEntries([...codes].filter(([, count]) => count > 0));
  return { rows: before.rows, outOfSync, unknown, health };
}

/** The same list if no entry changed. */
function replaceStatuses(
  resources: readonly ResourceStatus[],
  replaced: readonly ReplacedRow[],
): readonly ResourceStatus[] {
  const others = replaced.filter(({ old, now }) => old.row.status !== now.row.status);
  if (others.length === 0) return resources;
  const next = [...resources];
  for (const { old, now } of others) next[next.indexOf(old.row.status)] = now.row.status;
  return next;
}

/** Rendering order, then by key for resources that no manifest names. */
function byPlace(a: ComparedRow, b: ComparedRow): number {
  return a.facts.at - b.facts.at || (a.row.key < b.row.key ? -1 : Number(a.row.key > b.row.key));
}

function pairOf({ facts, row }: ComparedRow): ManagedPair {
  return {
    key: row.key,
    target: facts.target,
    live: facts.live,
    hook: row.hook,
    own: row.own,
    ...(facts.unread ? { unread: true } : {}),
    diff: row.diff,
  };
}

function judgedOf({ facts, row }: ComparedRow): Parameters<typeof applicationHealth>[0][number] {
  return { target: facts.target, live: facts.live, unread: facts.unread, health: row.health };
}

/** @param others numbers of objects without a row. */
function countersOf(
  rows: readonly ComparedRow[],
  others: { readonly unread: number; readonly left: number },
): RowCounters {
  const health: Partial<Record<HealthStatusCode, number>> = {};
  let [outOfSync, unknown] = [others.left, others.unread];
  for (const { row } of rows) {
    if (row.makesOutOfSync) outOfSync += 1;
    if (row.isUnknown) unknown += 1;
    if (row.health !== null) health[row.health.status] = (health[row.health.status] ?? 0) + 1;
  }
  return { rows: rows.length, outOfSync, unknown, health };
}

function codeOf(app: Application, failed: boolean, counters: RowCounters): SyncStatusCode {
  if (failed) return 'Unknown';
  if (managedNamespaceMetadataChanged(app) || counters.outOfSync > 0) return 'OutOfSync';
  return counters.unknown > 0 ? 'Unknown' : 'Synced';
}

function syncStatus(facts: CompareFacts, status: SyncStatusCode): SyncStatus {
  const { spec } = facts.app;
  const { revisions } = facts.rendered;
  const comparedTo = comparedToOf(spec, facts.app.status?.sync?.comparedTo);
  if (hasMultipleSources(spec)) return { status, comparedTo, ...(revisions.length > 0 ? { revisions } : {}) };
  const revision = revisions[0] ?? facts.requested[0] ?? '';
  return { status, comparedTo, ...(revision === '' ? {} : { revision }) };
}

function healthEntry({ key, health }: ResourceComparison): [ResourceKey, HealthStatus][] {
  return health === null ? [] : [[key, health]];
}

/**
 * Unreadable objects that this Application tracks and no manifest names: they are still its own.
 */
function trackedUnread(facts: CompareFacts, rows: readonly ComparedRow[]): readonly ResourceStatus[] {
  const paired = new Set(rows.map(({ row }) => row.key));
  const rest = (facts.live.unread ?? []).filter(({ key }) => !paired.has(key));
  return rest.map((object) => unreadRow(object, facts.persistResourceHealth));
}

/**
 * While one side is unknown, the record keeps what was to be pruned: it names objects that nothing
 * else may name later.
 */
function carriedRows({ app, rendered, live }: CompareFacts, rows: readonly ComparedRow[]): readonly ResourceStatus[] {
  if (!rendered.failed && !live.failed) return [];
  const known = new Set(rows.map(({ row }) => row.key));
  const open = (app.status?.resources ?? []).filter(({ requiresPruning }) => requiresPruning === true);
  return open.filter((row) => !known.has(keyOfStatus(row))).map((row) => ({ ...row, status: 'Unknown' as const }));
}

function conditionsOf(rows: readonly ComparedRow[], type: ConditionType): readonly ApplicationCondition[] {
  return rows.flatMap(({ row }) => row.conditions.filter((condition) => condition.type === type));
}

/**
 * For a kind that is left out, only prunable objects are reported: all others were read one by one.
 */
function degradedConditions(facts: CompareFacts, rows: readonly ComparedRow[]): readonly ApplicationCondition[] {
  if (facts.live.degraded.length === 0) return [];
  const find = kindFinder(facts.live.degraded);
  const used = new Set<KindState | undefined>();
  for (const one of rows) {
    const kind = find(refOf(liveOrTarget(one.facts)));
    const isPrunable = one.facts.target === null && one.row.own;
    if (kind?.state !== 'left-out' || isPrunable) used.add(kind);
  }
  for (const had of facts.app.status?.resources ?? []) {
    const kind = find(refOfStatus(had));
    if (kind?.state !== 'left-out') used.add(kind);
  }
  return facts.live.degraded
    .filter((kind) => used.has(kind) && kind.isPolledByNature !== true)
    .map((kind) => ({
      type: 'StaleResourceWarning',
      message: staleText(kind),
    }));
}

/** Without a time that changes with each list: the condition is written once. */
function staleText(kind: KindState): string {
  const { namespace, message, state, listedAt } = kind;
  const what = `The live state of ${kind.group}/${kind.kind}${placeText(kind)}`;
  if (state === 'polled') return `${what} may be a minute old: ${message ?? state}`;
  const there = namespace === undefined ? '' : ' there';
  const age = listedAt === undefined ? '' : `; it was last listed at ${new Date(listedAt).toISOString()}`;
  return `${what} is not up to date, nothing of this kind is pruned${there}: ${message ?? state}${age}`;
}

function placeText({ namespace }: KindState): string {
  return namespace === undefined ? '' : ` in namespace ${namespace}`;
}

function byIdentity(resources: readonly ResourceStatus[]): readonly ResourceStatus[] {
  const named = resources.map((resource) => ({ resource, id: keyOfStatus(resource) }));
  return named.sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id))).map(({ resource }) => resource);
}

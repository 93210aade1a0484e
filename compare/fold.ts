import type { KindState } from '#live';
import { hasMultipleSources, keyOfStatus, refOfStatus } from '#model';
import type {
  Application,
  ApplicationCondition,
  ConditionType,
  GroupKind,
  HealthStatus,
  HealthStatusCode,
  ResourceKey,
  ResourceStatus,
  SyncStatus,
  SyncStatusCode,
} from '#model';
import { applicationHealth } from './app-health.ts';
import type { CompareFacts, Comparison, ManagedPair } from './types.ts';
import { managedNamespaceMetadataChanged } from './namespaces.ts';
import type { Frame } from './pairing.ts';
import { sideOf } from './row.ts';
import type { Row, RowFacts } from './row.ts';
import { faultConditions } from './rule-faults.ts';
import { likeBefore } from './order.ts';
import { comparedToOf } from './sources.ts';
import { gkOf } from './targets.ts';
import { unreadConditions, unreadRow } from './unread.ts';

/** A row, with what it was made from. */
export interface ComparedRow {
  readonly facts: RowFacts;
  readonly row: Row;
}

/** What an application comes to, in numbers: each row adds to them, and taking it away again takes off as much. */
export interface Counters {
  readonly rows: number;
  /** Rows that make the application OutOfSync. */
  readonly outOfSync: number;
  /** Rows of which nobody can tell. */
  readonly unknown: number;
  /** Rows that have a health, by its code. */
  readonly health: Readonly<Partial<Record<HealthStatusCode, number>>>;
}

export interface Folded {
  readonly comparison: Comparison;
  readonly counters: Counters;
  /** In their order, that of the pairs of the comparison. */
  readonly rows: readonly ComparedRow[];
}

/** A row that comes into the place of another one of the same resource. */
export interface Replaced {
  readonly place: number;
  readonly old: ComparedRow;
  readonly now: ComparedRow;
}

/**
 * Rows to one comparison. The same whatever the order in which the rows come: each knows its place. What no row can know comes from the facts:
 * conditions of either side, revisions, and objects that could not be read and that no manifest names.
 */
export function fold(facts: CompareFacts, frame: Frame, unordered: readonly ComparedRow[]): Folded {
  const rows = [...unordered].sort(byPlace);
  const pairs = rows.map(pairOf);
  const { rendered, live } = facts;
  const unread = live.unread ?? [];
  const extra = trackedUnread(facts, rows);
  const counters = countersOf(rows, extra.length);
  const failed = rendered.failed || live.failed;
  // Without a live cache nobody can tell (Argo CD takes everything for missing).
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
      ...faultConditions(pairs.filter((pair) => pair.own)),
      ...conditionsOf(rows, 'ComparisonError'),
      ...conditionsOf(rows, 'SharedResourceWarning'),
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
  };
  return { comparison, counters, rows };
}

/**
 * What {@link fold} gives when some rows are replaced and the facts are otherwise what they were; by the difference, at the cost of what was replaced.
 * Undefined when a replaced row has conditions, or had: those are gathered anew.
 */
export function refold(facts: CompareFacts, before: Folded, replaced: readonly Replaced[]): Folded | undefined {
  if (replaced.some(({ old, now }) => speaks(old) || speaks(now) || !isSamePlace(old, now))) return undefined;
  const [rows, pairs] = [[...before.rows], [...before.comparison.pairs]];
  for (const { place, now } of replaced) {
    rows[place] = now;
    pairs[place] = pairOf(now);
  }
  const counters = recounted(before.counters, replaced);
  const isSameHealth = replaced.every(({ old, now }) => old.row.health === now.row.health);
  const { rendered } = facts;
  const comparison: Comparison = {
    ...before.comparison,
    syncStatus: syncStatus(facts, codeOf(facts.app, false, counters)),
    health: isSameHealth ? before.comparison.health : applicationHealth(rows.map(judgedOf)),
    resources: restated(before.comparison.resources, replaced),
    resourceHealth: isSameHealth
      ? before.comparison.resourceHealth
      : new Map(rows.flatMap(({ row }) => healthEntry(row))),
    pairs: likeBefore(before.comparison.pairs, pairs),
    sourceTypes: rendered.sourceTypes,
    mayHaveChanges: rendered.mayHaveChanges,
    degraded: facts.live.degraded,
    unread: facts.live.unread ?? [],
  };
  return { comparison, counters, rows };
}

function speaks({ row }: ComparedRow): boolean {
  return row.conditions.length > 0 || row.diff.faults.length > 0;
}

function isSamePlace(old: ComparedRow, now: ComparedRow): boolean {
  return old.row.key === now.row.key && keyOfStatus(old.row.status) === keyOfStatus(now.row.status);
}

function recounted(before: Counters, replaced: readonly Replaced[]): Counters {
  const codes = new Map(Object.entries(before.health) as [HealthStatusCode, number][]);
  let { outOfSync, unknown } = before;
  const add = ({ row }: ComparedRow, sign: 1 | -1): void => {
    if (row.counts) outOfSync += sign;
    if (row.stale) unknown += sign;
    if (row.health === null) return;
    codes.set(row.health.status, (codes.get(row.health.status) ?? 0) + sign);
  };
  for (const { old, now } of replaced) {
    add(old, -1);
    add(now, 1);
  }
  const health: Counters['health'] = Object.fromEntries([...codes].filter(([, count]) => count > 0));
  return { rows: before.rows, outOfSync, unknown, health };
}

/** The very same list where nothing in it is another. */
function restated(resources: readonly ResourceStatus[], replaced: readonly Replaced[]): readonly ResourceStatus[] {
  const others = replaced.filter(({ old, now }) => old.row.status !== now.row.status);
  if (others.length === 0) return resources;
  const next = [...resources];
  for (const { old, now } of others) next[next.indexOf(old.row.status)] = now.row.status;
  return next;
}

/** In rendering order; what no manifest names by key. */
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

/** @param unread objects without a row, of which nothing is known. */
function countersOf(rows: readonly ComparedRow[], unread: number): Counters {
  const health: Partial<Record<HealthStatusCode, number>> = {};
  let [outOfSync, unknown] = [0, unread];
  for (const { row } of rows) {
    if (row.counts) outOfSync += 1;
    if (row.stale) unknown += 1;
    if (row.health !== null) health[row.health.status] = (health[row.health.status] ?? 0) + 1;
  }
  return { rows: rows.length, outOfSync, unknown, health };
}

function codeOf(app: Application, failed: boolean, counters: Counters): SyncStatusCode {
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

function healthEntry({ key, health }: Row): [ResourceKey, HealthStatus][] {
  return health === null ? [] : [[key, health]];
}

/** Objects of this application that no manifest names, and nobody could read: they are still its own. */
function trackedUnread(facts: CompareFacts, rows: readonly ComparedRow[]): readonly ResourceStatus[] {
  const paired = new Set(rows.map(({ row }) => row.key));
  const rest = (facts.live.unread ?? []).filter(({ key }) => !paired.has(key));
  return rest.map((object) => unreadRow(object, facts.persistResourceHealth));
}

function conditionsOf(rows: readonly ComparedRow[], type: ConditionType): readonly ApplicationCondition[] {
  return rows.flatMap(({ row }) => row.conditions.filter((condition) => condition.type === type));
}

/** Of a kind that is left out only what is to go is told: everything else was read for itself. */
function degradedConditions(facts: CompareFacts, rows: readonly ComparedRow[]): readonly ApplicationCondition[] {
  const isUsed = (kind: KindState): boolean => {
    const own = rows.filter((one) => sameKind(kind, gkOf(sideOf(one.facts))));
    if (kind.state === 'left-out') return own.some((one) => one.facts.target === null && one.row.own);
    const had = facts.app.status?.resources ?? [];
    return own.length > 0 || had.some((r) => sameKind(kind, refOfStatus(r)));
  };
  return facts.live.degraded.filter(isUsed).map((kind) => ({
    type: 'StaleResourceWarning',
    message: `The live state of ${kind.group}/${kind.kind} is not up to date, nothing of this kind is pruned: ${kind.message ?? kind.state}`,
  }));
}

function sameKind(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind;
}

function byIdentity(resources: readonly ResourceStatus[]): readonly ResourceStatus[] {
  const named = resources.map((resource) => ({ resource, id: keyOfStatus(resource) }));
  return named.sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id))).map(({ resource }) => resource);
}

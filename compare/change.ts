import { deepEqual } from '#base';
import { isHook, jsonOf, keyOf, readingOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { jqSteps, rulesOf } from './comparison.ts';
import { refold } from './fold.ts';
import type { ComparedRow, Folded, Replaced } from './fold.ts';
import { makeRow } from './row.ts';
import type { CompareFacts } from './types.ts';

/** What the last comparison of an application was made of, and what it came to. */
export interface Last {
  readonly facts: CompareFacts;
  /** See `versionOfRules`. */
  readonly version: string;
  readonly folded: Folded;
  /** Places of rows that are never used again: nobody can tell whether they would be the same. */
  readonly open: ReadonlySet<number>;
  /** By the key of the row. */
  readonly places: ReadonlyMap<ResourceKey, number>;
  /** Steps that the jq programs of all rows took. */
  readonly spent: number;
}

export interface Changed {
  readonly last: Last;
  /** The resources whose rows were made. */
  readonly again: readonly ResourceKey[];
}

/** More rows than these are as well looked at one by one. */
const most = 256;

/**
 * The comparison of facts that are those of the last one, but for some live objects whose place is the same: only their rows are made, and put in the
 * place of the old ones. What is the same is known object by object, by what it was made from, so that nothing is taken on trust. Undefined where anything
 * else is different, or bears on more than its own row: then everything is paired up and folded anew.
 */
export function compareChange(
  last: Last,
  facts: CompareFacts,
  version: string,
  changed: ReadonlySet<ResourceKey>,
): Changed | undefined {
  if (last.version !== version || !isPlain(last.facts) || !isPlain(facts) || !isSameSetting(last.facts, facts))
    return undefined;
  const moved = movedPlaces(last, facts);
  if (moved === undefined) return undefined;
  const told = [...changed].flatMap((key) => last.places.get(key) ?? []);
  const again = new Set([...moved.keys(), ...last.open, ...told]);
  if (again.size > most) return undefined;
  const replaced = madeAgain(last, facts, moved, again);
  const folded = replaced === undefined ? undefined : refold(facts, last.folded, replaced.rows);
  if (replaced === undefined || folded === undefined) return undefined;
  const { open, spent } = replaced;
  return { again: replaced.rows.map(({ now }) => now.row.key), last: { ...last, facts, folded, open, spent } };
}

/** Nothing in them concerns the application as a whole, or a row that nobody asked about. */
function isPlain({ app, rendered, live, serverSideDiff }: CompareFacts): boolean {
  return (
    !rendered.failed &&
    !live.failed &&
    rendered.conditions.length === 0 &&
    live.conditions.length === 0 &&
    live.degraded.every(({ state }) => state === 'left-out') &&
    (live.unread ?? []).length === 0 &&
    serverSideDiff === undefined &&
    app.spec.syncPolicy?.managedNamespaceMetadata === undefined
  );
}

function isSameSetting(before: CompareFacts, now: CompareFacts): boolean {
  const [old, targets] = [before.rendered.targets, now.rendered.targets];
  return (
    now.premises !== undefined &&
    before.premises === now.premises &&
    before.jqSteps === now.jqSteps &&
    old.length === targets.length &&
    old.every((target, i) => target === targets[i])
  );
}

/** Rows whose live object is another one now, by their place; undefined when the pairs may be others. */
function movedPlaces(last: Last, facts: CompareFacts): ReadonlyMap<number, KubeObject> | undefined {
  const [before, now] = [last.facts.live.objects, facts.live.objects];
  if (before.size !== now.size) return undefined;
  const moved = new Map<number, KubeObject>();
  for (const [key, object] of now) {
    const old = before.get(key);
    if (isSameObject(old, object)) continue;
    const place = last.places.get(key);
    const row = place === undefined ? undefined : last.folded.rows[place];
    if (old === undefined || place === undefined || row === undefined || row.facts.target === null) return undefined;
    if (!isSameObject(row.facts.live ?? undefined, old)) return undefined;
    if (!isSamePlace(old, object) || !facts.permitted(object) || isHook(row.facts.target)) return undefined;
    moved.set(place, object);
    if (moved.size > most) return undefined;
  }
  return moved;
}

/** Objects that are kept as text are other ones each time that they are parsed. */
function isSameObject(old: KubeObject | undefined, object: KubeObject): boolean {
  return old === object || (old !== undefined && readingOf(old) === readingOf(object));
}

/** Whatever pairs objects up sees no difference between them. */
function isSamePlace(old: KubeObject, now: KubeObject): boolean {
  return (
    old.apiVersion === now.apiVersion &&
    keyOf(old) === keyOf(now) &&
    old.metadata.uid === now.metadata.uid &&
    !isHook(old) &&
    !isHook(now)
  );
}

function madeAgain(
  last: Last,
  facts: CompareFacts,
  moved: ReadonlyMap<number, KubeObject>,
  again: ReadonlySet<number>,
): { readonly rows: readonly Replaced[]; readonly open: ReadonlySet<number>; readonly spent: number } | undefined {
  const { rows } = last.folded;
  let { spent } = last;
  for (const place of again) spent -= rows[place]?.row.spent ?? 0;
  const work = { left: (facts.jqSteps ?? jqSteps) - spent };
  const rules = rulesOf(facts, work);
  const open = new Set<number>();
  const made: Replaced[] = [];
  // In their order, as a full comparison makes them.
  for (const place of [...again].sort((a, b) => a - b)) {
    const old = rows[place];
    if (old === undefined) return undefined;
    const live = moved.get(place) ?? old.facts.live;
    const rowFacts = live === old.facts.live ? old.facts : { ...old.facts, live };
    const row = makeRow(rowFacts, rules);
    if (row.passing || !hasVersion(live)) open.add(place);
    spent += row.spent;
    made.push({ place, old, now: { facts: rowFacts, row: sameIfEqual(old, row) } });
  }
  return work.left < 0 ? undefined : { rows: made, open, spent };
}

/** What nobody can see a difference in stays the very same, so that others need not look. */
function sameIfEqual(old: ComparedRow, row: ComparedRow['row']): ComparedRow['row'] {
  const status = deepEqual(jsonOf(old.row.status), jsonOf(row.status)) ? old.row.status : row.status;
  const health = deepEqual(jsonOf(old.row.health), jsonOf(row.health)) ? old.row.health : row.health;
  return { ...row, status, health };
}

function hasVersion(live: KubeObject | null): boolean {
  return live === null || ((live.metadata.uid ?? '') !== '' && (live.metadata.resourceVersion ?? '') !== '');
}

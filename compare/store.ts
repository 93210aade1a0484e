import { runSteps } from '#base';
import type { SlicedWork } from '#base';
import { keyOf } from '#model';
import type { AppKey, KubeObject, ResourceKey } from '#model';
import { compareChange } from './change.ts';
import type { LastComparison } from './change.ts';
import { maxJqSteps, rulesOf } from './comparison.ts';
import type { CompareFacts } from './types.ts';
import { foldRows } from './fold.ts';
import type { ComparedRow, FoldedComparison } from './fold.ts';
import { mapSteps, pairUpSteps } from './pairing.ts';
import { bytesOfRow, trimmedRow } from './row-memory.ts';
import { compareResource, liveOrTarget, rowIdentity, versionOfRules } from './row.ts';
import type { ResourceComparison, RowFacts } from './row.ts';

/** Rows of comparisons that are kept with all their objects. A bigger one is kept alone. */
const maxRememberedRows = 5_000;

/** The objects of the rows of one Application. */
interface HeldObjects {
  readonly bytes: number;
  /** Only their names are kept. */
  readonly isTrimmed: boolean;
}

/** A stored row and the identity of its input; undefined if it must not be reused. */
interface KeptRow {
  readonly row: ResourceComparison;
  readonly identity: string | undefined;
}

/** A resource, with its stored row if that can be reused. */
interface RowCandidate {
  readonly facts: RowFacts;
  readonly slot: string;
  readonly identity: string | undefined;
  readonly row: ResourceComparison | undefined;
  /** Why there is no reusable row. */
  readonly miss: RowMiss | undefined;
}

/**
 * Why a row was compared although a stored one exists or could exist. The first reason that
 * applies.
 */
export const rowMisses = [
  /** Everything was requested: once a day, or by a hard refresh. */
  'full',
  /** No row is stored. */
  'new',
  /** The resource is known to have changed, or its row is volatile. */
  'event',
  /** Equal input may give another result: a script judged it, or the object has no version. */
  'unsure',
  /** Input that all rows share: settings, spec, project, schemas. */
  'rules',
  /** The manifest. */
  'manifest',
  /** The live object. */
  'live',
  /** Its wave, or whether it is readable and permitted. */
  'place',
] as const;
export type RowMiss = (typeof rowMisses)[number];

export interface StoredComparison extends FoldedComparison {
  /** Rows compared in this comparison. The others are reused. */
  readonly made: number;
  /** The same, by reason. */
  readonly misses: ReadonlyMap<RowMiss, number>;
}

/**
 * Keeps the rows of each Application from one comparison to the next (decision D6). A row is reused
 * while its input is equal, so a change of one resource costs the comparison of one. The result
 * equals a full comparison of the same facts.
 *
 * A row takes about 2 kB besides the live object, with which it shares both sides of the diff. All
 * rows together hold at most `maxBytes` of objects: beyond that the Application with the most keeps
 * only their names, and its next comparison compares all of them.
 */
export class RowStore {
  /** Number of rows in `last`. */
  #remembered = 0;
  readonly #apps = new Map<AppKey, Map<string, KeptRow>>();
  /** Only of big Applications compared recently: input and result of the last comparison. */
  readonly #last = new Map<AppKey, LastComparison>();
  readonly #big: number;
  readonly #maxBytes: number;
  readonly #held = new Map<AppKey, HeldObjects>();
  #heldBytes = 0;
  /** Counts calls of `forget`. */
  #forgotten = 0;

  /** @param big number of resources from which on comparisons are incremental. */
  constructor(big = 100, maxBytes = Infinity) {
    this.#big = big;
    this.#maxBytes = maxBytes;
  }

  /** All steps of {@link steps} at once. */
  compare(facts: CompareFacts, changed: ReadonlySet<ResourceKey> | undefined): StoredComparison {
    return runSteps(this.steps(facts, changed));
  }

  /**
   * Compares, reusing stored rows; resource by resource, so that a big Application does not block
   * the event loop. Two comparisons of one Application may run concurrently.
   * @param changed resources known to have changed: never reuse their rows. Undefined: reuse none.
   */
  *steps(facts: CompareFacts, changed: ReadonlySet<ResourceKey> | undefined): SlicedWork<StoredComparison> {
    const version = versionOfRules(rulesOf(facts));
    const last = changed === undefined ? undefined : this.#last.get(facts.key);
    const outcome =
      last === undefined || changed === undefined ? undefined : compareChange(last, facts, version, changed);
    if (outcome === undefined) return yield* this.#compareAll(facts, version, changed);
    this.#setLast(facts.key, outcome.last);
    // Drop the old rows of these resources: they are never reused, and keep old objects alive.
    for (const key of outcome.again) this.#apps.get(facts.key)?.delete(key);
    this.#setHeld(facts.key, this.bytesOf(facts.key) + outcome.grownBytes);
    const made = outcome.again.length;
    return { ...outcome.last.folded, made, misses: new Map(made === 0 ? [] : [['event', made]]) };
  }

  *#compareAll(
    facts: CompareFacts,
    version: string,
    changed: ReadonlySet<ResourceKey> | undefined,
  ): SlicedWork<StoredComparison> {
    const forgotten = this.#forgotten;
    const { frame, resources } = yield* pairUpSteps(facts);
    const kept = changed === undefined ? undefined : this.#apps.get(facts.key);
    const candidates = yield* mapSteps(resources, (resource) => candidate(resource, version, kept, changed));
    const work = {
      left: (facts.jqSteps ?? maxJqSteps) - candidates.reduce((sum, { row }) => sum + (row?.spent ?? 0), 0),
    };
    const rules = rulesOf(facts, work);
    const rows = yield* mapSteps(candidates, ({ facts: resource, row }): ComparedRow => ({
      facts: resource,
      row: row ?? compareResource(resource, rules),
    }));
    const misses = new Map<RowMiss, number>();
    for (const { miss } of candidates) if (miss !== undefined) misses.set(miss, (misses.get(miss) ?? 0) + 1);
    const made = candidates.filter(({ row }) => row === undefined).length;
    const folded = foldRows(facts, frame, rows);
    if (work.left >= 0) {
      // Do not store an Application that was forgotten during the comparison.
      if (forgotten === this.#forgotten) {
        this.#keep(facts.key, candidates, rows);
        this.#remember(facts.key, { facts, version, folded }, candidates);
        this.#setHeld(
          facts.key,
          rows.reduce((sum, { row }) => sum + bytesOfRow(row), 0),
        );
      }
      return { ...folded, made, misses };
    }
    // The jq budget was exceeded: which rows still got some depends on the order, so reuse none.
    this.forget(facts.key);
    return made === rows.length ? { ...folded, made, misses } : yield* this.steps(facts, undefined);
  }

  /** The Application is deleted, or owned by another replica. */
  forget(key: AppKey): void {
    this.#forgotten += 1;
    this.#apps.delete(key);
    this.#setLast(key, undefined);
    this.#heldBytes -= held(this.#held.get(key));
    this.#held.delete(key);
  }

  /** About how many bytes the objects of an Application's last comparison take. */
  bytesOf(key: AppKey): number {
    return this.#held.get(key)?.bytes ?? 0;
  }

  /** The same of all Applications whose objects are kept. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Live objects of a big Application's last comparison: the cache can name what changed since. */
  lastObjects(key: AppKey): ReadonlyMap<ResourceKey, KubeObject> | undefined {
    return this.#last.get(key)?.facts.live.objects;
  }

  /** The rows of the last comparison of an Application; empty if there was none. */
  rowsOf(key: AppKey): readonly ResourceComparison[] {
    const last = this.#last.get(key);
    if (last !== undefined) return last.folded.rows.map(({ row }) => row);
    return [...(this.#apps.get(key)?.values() ?? [])].map(({ row }) => row);
  }

  get size(): number {
    return this.#apps.size;
  }

  #remember(
    key: AppKey,
    last: Omit<LastComparison, 'volatile' | 'positions' | 'spent'>,
    candidates: readonly RowCandidate[],
  ): void {
    const { rows } = last.folded;
    const positions = new Map(rows.map(({ row }, position) => [row.key, position]));
    // Objects with generateName have no unique key.
    if (rows.length < this.#big || positions.size < rows.length) {
      this.#setLast(key, undefined);
      return;
    }
    const unsure = new Set(candidates.filter(({ identity }) => identity === undefined).map(({ facts }) => facts));
    const isVolatileRow = ({ facts, row }: ComparedRow): boolean => row.isVolatile || unsure.has(facts);
    const volatile = new Set(rows.flatMap((one, position) => (isVolatileRow(one) ? [position] : [])));
    const spent = rows.reduce((sum, { row }) => sum + row.spent, 0);
    this.#setLast(key, { ...last, volatile, positions, spent });
  }

  /**
   * Keeps the map in order of use. A comparison keeps all its objects alive, so keep only a few.
   */
  #setLast(key: AppKey, last: LastComparison | undefined): void {
    this.#remembered -= this.#last.get(key)?.positions.size ?? 0;
    this.#last.delete(key);
    if (last === undefined) return;
    this.#last.set(key, last);
    this.#remembered += last.positions.size;
    for (const [oldest, { positions }] of this.#last) {
      if (oldest === key || this.#remembered <= maxRememberedRows) return;
      this.#remembered -= positions.size;
      this.#last.delete(oldest);
    }
  }

  #setHeld(key: AppKey, bytes: number): void {
    this.#heldBytes += bytes - held(this.#held.get(key));
    this.#held.set(key, { bytes, isTrimmed: false });
    while (this.#heldBytes > this.#maxBytes) {
      const [largest] = [...this.#held].reduce((a, b) => (held(b[1]) > held(a[1]) ? b : a));
      this.#trim(largest);
    }
  }

  #trim(key: AppKey): void {
    const rows = this.rowsOf(key).map((row, i): [string, KeptRow] => [
      `${row.key} ${i}`,
      { row: trimmedRow(row), identity: undefined },
    ]);
    this.#apps.set(key, new Map(rows));
    this.#setLast(key, undefined);
    this.#heldBytes -= held(this.#held.get(key));
    this.#held.set(key, { bytes: this.bytesOf(key), isTrimmed: true });
  }

  #keep(key: AppKey, candidates: readonly RowCandidate[], rows: readonly ComparedRow[]): void {
    const kept = new Map<string, KeptRow>();
    candidates.forEach(({ slot, identity }, i) => {
      const row = rows[i]?.row;
      if (row !== undefined) kept.set(slot, { row, identity: row.isVolatile ? undefined : identity });
    });
    this.#apps.set(key, kept);
  }
}

function held(objects: HeldObjects | undefined): number {
  return objects === undefined || objects.isTrimmed ? 0 : objects.bytes;
}

function candidate(
  facts: RowFacts,
  version: string,
  kept: ReadonlyMap<string, KeptRow> | undefined,
  changed: ReadonlySet<ResourceKey> | undefined,
): RowCandidate {
  const [slot, identity] = [slotOf(facts), rowIdentity(facts, version)];
  const known = kept?.get(slot);
  const named = changed?.has(keyOf(liveOrTarget(facts))) === true;
  const miss = changed === undefined ? 'full' : named ? 'event' : missOf(known, identity);
  return { facts, slot, identity, row: miss === undefined ? known?.row : undefined, miss };
}

/** Undefined if the stored row can be reused. */
function missOf(known: KeptRow | undefined, identity: string | undefined): RowMiss | undefined {
  if (known === undefined) return 'new';
  if (known.identity === undefined || identity === undefined) return 'unsure';
  if (known.identity === identity) return undefined;
  const [before, now] = [known.identity.split('\n'), identity.split('\n')];
  // The parts of {@link rowIdentity}, in their order.
  return (['rules', 'manifest', 'live'] as const).find((_, part) => before[part] !== now[part]) ?? 'place';
}

/** Its key; for an object with generateName, its key and position. */
function slotOf(facts: RowFacts): string {
  const object = liveOrTarget(facts);
  return (object.metadata.name ?? '') === '' ? `${keyOf(object)} ${facts.at}` : keyOf(object);
}

import { finish } from '#base';
import type { Steps } from '#base';
import { keyOf } from '#model';
import type { AppKey, KubeObject, ResourceKey } from '#model';
import { compareChange } from './change.ts';
import type { Last } from './change.ts';
import { jqSteps, rulesOf } from './comparison.ts';
import type { CompareFacts } from './types.ts';
import { fold } from './fold.ts';
import type { ComparedRow, Folded } from './fold.ts';
import { mapped, pairUpSteps } from './pairing.ts';
import { identityOf, makeRow, sideOf, versionOfRules } from './row.ts';
import type { Row, RowFacts } from './row.ts';

/** Rows of comparisons that are remembered with all their objects; one that is bigger than this is remembered alone. */
const mostRemembered = 5_000;

/** A row that was made, and what it follows from; undefined: nobody can tell whether it would be the same again. */
interface KeptRow {
  readonly row: Row;
  readonly identity: string | undefined;
}

/** A resource, with its kept row if that still holds. */
interface Candidate {
  readonly facts: RowFacts;
  readonly slot: string;
  readonly identity: string | undefined;
  readonly row: Row | undefined;
  /** Why it has none. */
  readonly miss: RowMiss | undefined;
}

/** Why a row was made although there is one of an earlier comparison, or might be. The first that holds is named. */
export const rowMisses = [
  /** All were asked for: at the resync, and when revision, spec or settings changed. */
  'full',
  /** There is none. */
  'new',
  /** Its resource is known to have changed, or to be one of which nobody can tell. */
  'event',
  /** Nobody can tell whether it would be the same: a script judged it, the cluster names no version. */
  'unsure',
  /** What all rows have in common: settings, spec, project, schemas. */
  'rules',
  /** What the sources say. */
  'manifest',
  /** What the cluster says. */
  'live',
  /** Its wave, what may be read and what is permitted. */
  'place',
] as const;
export type RowMiss = (typeof rowMisses)[number];

export interface StoredComparison extends Folded {
  /** Rows that were made in this comparison. The others are those of an earlier one. */
  readonly made: number;
  /** The same by why. */
  readonly misses: ReadonlyMap<RowMiss, number>;
}

/**
 * The rows of each application, kept from one comparison to the next (decision D6). A row is used again when everything that it follows from is
 * the same, so that the change of one resource costs the comparison of one. What comes out equals a full comparison of the same facts.
 *
 * A row takes about 2 kB beside the live object, with which it shares the two sides of the difference.
 */
export class RowStore {
  /** Rows of `last`, in all. */
  #remembered = 0;
  readonly #apps = new Map<AppKey, Map<string, KeptRow>>();
  /** Of big applications alone, and of those that were compared last: all that a comparison was made of. */
  readonly #last = new Map<AppKey, Last>();
  readonly #big: number;
  /** How often something was forgotten. */
  #forgotten = 0;

  /** @param big from how many resources on a comparison is made by its difference to the last one. */
  constructor(big = 100) {
    this.#big = big;
  }

  /** All steps of {@link steps} without a pause. */
  compare(facts: CompareFacts, changed: ReadonlySet<ResourceKey> | undefined): StoredComparison {
    return finish(this.steps(facts, changed));
  }

  /**
   * Compares, with the rows that are kept where they hold; resource by resource, so that a big application need not hold everything else up. Two comparisons
   * of one application may be under way at once: each comes to what its own facts say.
   * @param changed the resources that are known to have changed: their rows are made anew whatever their identity says. Undefined: all are.
   */
  *steps(facts: CompareFacts, changed: ReadonlySet<ResourceKey> | undefined): Steps<StoredComparison> {
    const version = versionOfRules(rulesOf(facts));
    const last = changed === undefined ? undefined : this.#last.get(facts.key);
    const outcome =
      last === undefined || changed === undefined ? undefined : compareChange(last, facts, version, changed);
    if (outcome === undefined) return yield* this.#compareAll(facts, version, changed);
    this.#setLast(facts.key, outcome.last);
    // Nobody will use their old rows again; those hold on to old objects.
    for (const key of outcome.again) this.#apps.get(facts.key)?.delete(key);
    const made = outcome.again.length;
    return { ...outcome.last.folded, made, misses: new Map(made === 0 ? [] : [['event', made]]) };
  }

  *#compareAll(
    facts: CompareFacts,
    version: string,
    changed: ReadonlySet<ResourceKey> | undefined,
  ): Steps<StoredComparison> {
    const forgotten = this.#forgotten;
    const { frame, resources } = yield* pairUpSteps(facts);
    const kept = changed === undefined ? undefined : this.#apps.get(facts.key);
    const candidates = yield* mapped(resources, (resource) => candidate(resource, version, kept, changed));
    const work = { left: (facts.jqSteps ?? jqSteps) - candidates.reduce((sum, { row }) => sum + (row?.spent ?? 0), 0) };
    const rules = rulesOf(facts, work);
    const rows = yield* mapped(candidates, ({ facts: resource, row }): ComparedRow => ({
      facts: resource,
      row: row ?? makeRow(resource, rules),
    }));
    const misses = new Map<RowMiss, number>();
    for (const { miss } of candidates) if (miss !== undefined) misses.set(miss, (misses.get(miss) ?? 0) + 1);
    const made = candidates.filter(({ row }) => row === undefined).length;
    const folded = fold(facts, frame, rows);
    if (work.left >= 0) {
      // Whoever lost the application meanwhile has had it forgotten.
      if (forgotten === this.#forgotten) {
        this.#keep(facts.key, candidates, rows);
        this.#remember(facts.key, { facts, version, folded }, candidates);
      }
      return { ...folded, made, misses };
    }
    // All programs together were too much work: which rows still got some depends on their order, so none of them is good for another time.
    this.forget(facts.key);
    return made === rows.length ? { ...folded, made, misses } : yield* this.steps(facts, undefined);
  }

  /** The application is gone, or another replica's. */
  forget(key: AppKey): void {
    this.#forgotten += 1;
    this.#apps.delete(key);
    this.#setLast(key, undefined);
  }

  /** The live objects that a big application was compared with last: who reads them again may say what is another since then. */
  lastObjects(key: AppKey): ReadonlyMap<ResourceKey, KubeObject> | undefined {
    return this.#last.get(key)?.facts.live.objects;
  }

  get size(): number {
    return this.#apps.size;
  }

  #remember(key: AppKey, last: Omit<Last, 'open' | 'places' | 'spent'>, candidates: readonly Candidate[]): void {
    const { rows } = last.folded;
    const places = new Map(rows.map(({ row }, place) => [row.key, place]));
    // What the server is to name has no key of its own.
    if (rows.length < this.#big || places.size < rows.length) {
      this.#setLast(key, undefined);
      return;
    }
    const unsure = new Set(candidates.filter(({ identity }) => identity === undefined).map(({ facts }) => facts));
    const isOpen = ({ facts, row }: ComparedRow): boolean => row.passing || unsure.has(facts);
    const open = new Set(rows.flatMap((one, place) => (isOpen(one) ? [place] : [])));
    const spent = rows.reduce((sum, { row }) => sum + row.spent, 0);
    this.#setLast(key, { ...last, open, places, spent });
  }

  /** The latest stands last. A comparison holds on to all objects that it was made of, so that few of them are remembered. */
  #setLast(key: AppKey, last: Last | undefined): void {
    this.#remembered -= this.#last.get(key)?.places.size ?? 0;
    this.#last.delete(key);
    if (last === undefined) return;
    this.#last.set(key, last);
    this.#remembered += last.places.size;
    for (const [oldest, { places }] of this.#last) {
      if (oldest === key || this.#remembered <= mostRemembered) return;
      this.#remembered -= places.size;
      this.#last.delete(oldest);
    }
  }

  #keep(key: AppKey, candidates: readonly Candidate[], rows: readonly ComparedRow[]): void {
    const kept = new Map<string, KeptRow>();
    candidates.forEach(({ slot, identity }, i) => {
      const row = rows[i]?.row;
      if (row !== undefined) kept.set(slot, { row, identity: row.passing ? undefined : identity });
    });
    this.#apps.set(key, kept);
  }
}

function candidate(
  facts: RowFacts,
  version: string,
  kept: ReadonlyMap<string, KeptRow> | undefined,
  changed: ReadonlySet<ResourceKey> | undefined,
): Candidate {
  const [slot, identity] = [slotOf(facts), identityOf(facts, version)];
  const known = kept?.get(slot);
  const named = changed?.has(keyOf(sideOf(facts))) === true;
  const miss = changed === undefined ? 'full' : named ? 'event' : missOf(known, identity);
  return { facts, slot, identity, row: miss === undefined ? known?.row : undefined, miss };
}

/** Undefined: the kept row still holds. */
function missOf(known: KeptRow | undefined, identity: string | undefined): RowMiss | undefined {
  if (known === undefined) return 'new';
  if (known.identity === undefined || identity === undefined) return 'unsure';
  if (known.identity === identity) return undefined;
  const [before, now] = [known.identity.split('\n'), identity.split('\n')];
  // The parts of identityOf, in their order.
  return (['rules', 'manifest', 'live'] as const).find((_, part) => before[part] !== now[part]) ?? 'place';
}

/** Its key; what the server will name has none, but a place. */
function slotOf(facts: RowFacts): string {
  const object = sideOf(facts);
  return (object.metadata.name ?? '') === '' ? `${keyOf(object)} ${facts.at}` : keyOf(object);
}

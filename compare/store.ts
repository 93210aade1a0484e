import { keyOf } from '#model';
import type { AppKey, ResourceKey } from '#model';
import { jqSteps, rulesOf } from './comparison.ts';
import type { CompareFacts } from './types.ts';
import { fold } from './fold.ts';
import type { ComparedRow, Folded } from './fold.ts';
import { pairUp } from './pairing.ts';
import { identityOf, makeRow, sideOf, versionOfRules } from './row.ts';
import type { Row, RowFacts } from './row.ts';

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
}

export interface StoredComparison extends Folded {
  /** Rows that were made in this comparison. The others are those of an earlier one. */
  readonly made: number;
}

/**
 * The rows of each application, kept from one comparison to the next (decision D6). A row is used again when everything that it follows from is
 * the same, so that the change of one resource costs the comparison of one. What comes out equals a full comparison of the same facts.
 *
 * A row takes about 2 kB beside the live object, with which it shares the two sides of the difference.
 */
export class RowStore {
  readonly #apps = new Map<AppKey, ReadonlyMap<string, KeptRow>>();

  /**
   * Compares, with the rows that are kept where they hold.
   * @param changed the resources that are known to have changed: their rows are made anew whatever their identity says. Undefined: all are.
   */
  compare(facts: CompareFacts, changed: ReadonlySet<ResourceKey> | undefined): StoredComparison {
    const { frame, resources } = pairUp(facts);
    const version = versionOfRules(rulesOf(facts));
    const kept = changed === undefined ? undefined : this.#apps.get(facts.key);
    const candidates = resources.map((resource) => candidate(resource, version, kept, changed));
    const work = { left: (facts.jqSteps ?? jqSteps) - candidates.reduce((sum, { row }) => sum + (row?.spent ?? 0), 0) };
    const rules = rulesOf(facts, work);
    const rows = candidates.map(({ facts: resource, row }): ComparedRow => ({
      facts: resource,
      row: row ?? makeRow(resource, rules),
    }));
    const made = candidates.filter(({ row }) => row === undefined).length;
    if (work.left >= 0) {
      this.#keep(facts.key, candidates, rows);
      return { ...fold(facts, frame, rows), made };
    }
    // All programs together were too much work: which rows still got some depends on their order, so none of them is good for another time.
    this.#apps.delete(facts.key);
    return made === rows.length ? { ...fold(facts, frame, rows), made } : this.compare(facts, undefined);
  }

  /** The application is gone, or another replica's. */
  forget(key: AppKey): void {
    this.#apps.delete(key);
  }

  get size(): number {
    return this.#apps.size;
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
  const known = changed?.has(keyOf(sideOf(facts))) === true ? undefined : kept?.get(slot);
  const holds = known?.identity !== undefined && known.identity === identity;
  return { facts, slot, identity, row: holds ? known.row : undefined };
}

/** Its key; what the server will name has none, but a place. */
function slotOf(facts: RowFacts): string {
  const object = sideOf(facts);
  return (object.metadata.name ?? '') === '' ? `${keyOf(object)} ${facts.at}` : keyOf(object);
}

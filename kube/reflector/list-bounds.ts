import type { Clock } from '#base';
import { EndlessListError } from '../errors.ts';
import type { ListPage } from '../types.ts';

/** Upper bounds of a list. */
export interface ListLimits {
  /** Objects of one list. An etcd of the largest recommended size (8 GiB) hardly holds more. */
  readonly maxItems: number;
  /**
   * From the first to the last page. API servers compact every five minutes, so a snapshot hardly
   * lasts longer than ten.
   */
  readonly maxDurationMs: number;
}

export const listLimits: ListLimits = { maxItems: 2_000_000, maxDurationMs: 1_800_000 };

/** API servers use a few hundred characters; the token is sent back in the URL. */
const maxTokenLength = 16_384;

/** Tolerance for an imprecise count, or for objects created meanwhile. */
const countTolerance = { times: 2, items: 10_000 } as const;

/**
 * Follows one list through its pages and rejects an endless one: a server may answer every page
 * with another `continue` token. Each of four criteria suffices: a repeated token (a cycle of any
 * length is found by storing one token), far more objects than the first page announced
 * (`remainingItemCount`), more objects than any server holds, or more time than a snapshot lasts.
 */
export class ListBounds {
  readonly #what: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: ListLimits;
  readonly #startedAt: number;
  #items = 0;
  #pages = 0;
  /** Total number of objects according to the first page. */
  #announcedItems: number | undefined;
  /**
   * Token of an earlier page. It is replaced after 1, 2, 4, 8 … pages, so that a cycle of any
   * length returns to it (Brent's algorithm).
   */
  #anchor: string | undefined;
  #replaceAt = 1;

  constructor(what: string, clock: Pick<Clock, 'monotonic'>, limits: ListLimits = listLimits) {
    this.#what = what;
    this.#clock = clock;
    this.#limits = limits;
    this.#startedAt = clock.monotonic();
  }

  get ageMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  /**
   * Counts items as they arrive: even a single page may be endless.
   * @throws EndlessListError if there are too many.
   */
  countItems(items: number): void {
    this.#items += items;
    const most = this.#maxItems();
    if (this.#items > most)
      this.#refuse(
        `it has more than ${most} objects${this.#announcedItems === undefined ? '' : this.#announcedText()}`,
      );
  }

  /**
   * The token of the next page; undefined if this was the last.
   * @throws EndlessListError if the list should not be continued.
   */
  next(page: Pick<ListPage, 'continue' | 'remaining'>): string | undefined {
    const token = page.continue;
    this.#pages += 1;
    if (token === undefined) return undefined;
    if (token.length > maxTokenLength) this.#refuse(`its continue token has ${token.length} letters`, 'backoff');
    if (this.#pages === 1 && page.remaining !== undefined) this.#announcedItems = this.#items + page.remaining;
    if (token === this.#anchor) this.#refuse('it returned to an earlier page', 'backoff');
    if (this.#pages === this.#replaceAt) {
      this.#anchor = token;
      this.#replaceAt *= 2;
    }
    if (this.ageMs > this.#limits.maxDurationMs)
      this.#refuse(`it is not complete after ${this.#limits.maxDurationMs / 1000} s`);
    return token;
  }

  #maxItems(): number {
    const { maxItems: mostItems } = this.#limits;
    return this.#announcedItems === undefined
      ? mostItems
      : Math.min(mostItems, countTolerance.times * this.#announcedItems + countTolerance.items);
  }

  #announcedText(): string {
    return ` (its first page announced ${this.#announcedItems ?? 0})`;
  }

  #refuse(why: string, retry: 'backoff' | 'later' = 'later'): never {
    throw new EndlessListError(
      this.#what,
      `the list has no end: ${why} (${this.#pages} pages and ${this.#items} objects so far)`,
      retry,
    );
  }
}

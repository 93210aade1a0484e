import type { Clock } from '#base';
import { EndlessListError } from './errors.ts';
import type { ListPage } from './types.ts';

/** How far a list may go. */
export interface ListLimits {
  /** Objects of one list. An etcd of the largest size that is advised (8 GiB) has hardly more. */
  readonly mostItems: number;
  /** From the first page to the last. API servers compact every five minutes, so that one snapshot lasts hardly longer than ten. */
  readonly longestMs: number;
}

export const listLimits: ListLimits = { mostItems: 2_000_000, longestMs: 1_800_000 };

/** A server may have counted wrong, or count what has come meanwhile: a list is believed to go on until it is so much longer than was said. */
const tolerance = { times: 2, items: 10_000 } as const;

/**
 * Follows one list through its pages, and ends it when it cannot be an honest one: a server that answers each page with another `continue` would keep it
 * going for ever. Four signs, each by itself: a token that comes again (found for a circle of any length, with one token remembered), far more objects than
 * the first page said that there are (`remainingItemCount`), more than any server holds, longer than any snapshot lasts.
 */
export class ListBounds {
  readonly #what: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: ListLimits;
  readonly #startedAt: number;
  #items = 0;
  #pages = 0;
  /** What the first page said of the whole. */
  #said: number | undefined;
  /** A token of before, replaced at each power of two of pages: a circle comes back to one of these. */
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
   * To be told of items as they arrive: one page alone may be without end.
   * @throws EndlessListError when they are too many.
   */
  took(items: number): void {
    this.#items += items;
    const most = this.#most();
    if (this.#items > most)
      this.#refuse(`it has more than ${most} objects${this.#said === undefined ? '' : this.#words()}`);
  }

  /**
   * The token of the next page; undefined: there is none.
   * @throws EndlessListError when that page is none to ask for.
   */
  next(page: Pick<ListPage, 'continue' | 'remaining'>): string | undefined {
    const token = page.continue;
    this.#pages += 1;
    if (token === undefined) return undefined;
    if (this.#pages === 1 && page.remaining !== undefined) this.#said = this.#items + page.remaining;
    if (token === this.#anchor) this.#refuse('it leads back to a page that it has shown already', 'backoff');
    if (this.#pages === this.#replaceAt) {
      this.#anchor = token;
      this.#replaceAt *= 2;
    }
    if (this.ageMs > this.#limits.longestMs)
      this.#refuse(`it has not come to its end after ${this.#limits.longestMs / 1000} s`);
    return token;
  }

  #most(): number {
    const { mostItems } = this.#limits;
    return this.#said === undefined ? mostItems : Math.min(mostItems, tolerance.times * this.#said + tolerance.items);
  }

  #words(): string {
    return ` (its first page said ${this.#said ?? 0})`;
  }

  #refuse(why: string, retry: 'backoff' | 'later' = 'later'): never {
    throw new EndlessListError(
      this.#what,
      `the list has no end: ${why} (${this.#pages} pages and ${this.#items} objects so far)`,
      retry,
    );
  }
}

import type { Json } from '#base';
import { deepEqual } from '#base';

/** A process-wide counter for versions; never returns a number twice. */
export class VersionCounter {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/**
 * Assigns version numbers to recomputed values: equal content gets an equal number. Callers detect
 * changes without comparing values, even across threads.
 */
export class ContentVersions<T> {
  readonly #versions: VersionCounter;
  readonly #essence: (value: T) => Json;
  #known: { readonly version: number; readonly essence: Json } | undefined;

  /** @param essence the content that decides whether two values are equal. */
  constructor(versions: VersionCounter, essence: (value: T) => Json) {
    this.#versions = versions;
    this.#essence = essence;
  }

  of(value: T): number {
    const essence = this.#essence(value);
    if (this.#known === undefined || !deepEqual(this.#known.essence, essence))
      this.#known = { version: this.#versions.next(), essence };
    return this.#known.version;
  }
}

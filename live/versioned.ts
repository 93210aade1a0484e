import type { Json } from '#base';
import { deepEqual } from '#base';

/** Hands out numbers that it has never handed out before, for everything in a process that has a version. */
export class Versions {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/**
 * Numbers what is computed anew each time it is asked for: two answers with one number are equal in their essence. So who asks can
 * tell that nothing has changed without comparing, also when the answer comes from another thread.
 */
export class Versioned<T> {
  readonly #versions: Versions;
  readonly #essence: (value: T) => Json;
  #known: { readonly version: number; readonly essence: Json } | undefined;

  /** @param essence what of a value makes it another one. */
  constructor(versions: Versions, essence: (value: T) => Json) {
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

import { OwnershipLost, withChild } from '#base';
import type { AppKey } from '#model';

/**
 * Reads of sources that end when this replica loses their Application. A repository may take a
 * minute to answer; a pass that waits for it would delay the first one after a quick return.
 */
export class OwnedReads {
  readonly #ends = new Map<AppKey, Set<() => void>>();

  /** Calls `read` with a signal that also aborts with {@link OwnershipLost}. */
  run<T>(key: AppKey, signal: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withChild(signal, async (inner, stop) => {
      const end = (): void => stop(new OwnershipLost(`application ${key}`));
      const ends = this.#ends.get(key) ?? new Set();
      this.#ends.set(key, ends.add(end));
      try {
        return await read(inner);
      } finally {
        ends.delete(end);
        if (ends.size === 0 && this.#ends.get(key) === ends) this.#ends.delete(key);
      }
    });
  }

  /** The process ends. */
  endAll(): void {
    for (const key of this.#ends.keys()) this.end(key);
  }

  /** The Application is lost. */
  end(key: AppKey): void {
    for (const end of this.#ends.get(key) ?? []) end();
  }
}

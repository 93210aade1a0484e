import type { ResourceKey } from '#model';

/** Ring buffer capacity. */
const defaultCapacity = 8192;

/**
 * A ring buffer of changed keys. Readers that know an earlier version get the objects changed
 * since. Bounded, because a reader may not return for a long time. Entries are cheap: they
 * reference the strings of the store.
 */
export class ChangeLog {
  readonly #keys: ResourceKey[] = [];
  readonly #capacity: number;
  #version = 0;

  constructor(limit = defaultCapacity) {
    this.#capacity = limit;
  }

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  add(key: ResourceKey): void {
    this.#keys[this.#version % this.#capacity] = key;
    this.#version += 1;
  }

  /** Distinct keys, or undefined if `version` is too old or unknown. */
  since(version: number): ReadonlySet<ResourceKey> | undefined {
    const count = this.#version - version;
    if (count < 0 || count > this.#capacity) return undefined;
    const keys = new Set<ResourceKey>();
    for (let at = version; at < this.#version; at += 1) {
      const key = this.#keys[at % this.#capacity];
      if (key !== undefined) keys.add(key);
    }
    return keys;
  }
}

import type { ResourceKey } from '#model';

/** So many changes back it can be told what has changed. */
const most = 8192;

/**
 * Which objects of a cluster have changed, in their order: whoever knows how it was at some version asks for what is another since then. Bounded, because
 * nobody may ask for a long time; one entry is a reference to a text that the store holds anyway.
 */
export class ChangeLog {
  readonly #keys: ResourceKey[] = [];
  readonly #most: number;
  #version = 0;

  constructor(limit = most) {
    this.#most = limit;
  }

  /** Another number whenever anything has changed. */
  get version(): number {
    return this.#version;
  }

  add(key: ResourceKey): void {
    this.#keys[this.#version % this.#most] = key;
    this.#version += 1;
  }

  /** Each once. Undefined: that is too long ago, or no version of this log. */
  since(version: number): ReadonlySet<ResourceKey> | undefined {
    const count = this.#version - version;
    if (count < 0 || count > this.#most) return undefined;
    const keys = new Set<ResourceKey>();
    for (let at = version; at < this.#version; at += 1) {
      const key = this.#keys[at % this.#most];
      if (key !== undefined) keys.add(key);
    }
    return keys;
  }
}

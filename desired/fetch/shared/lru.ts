interface LruEntry<V> {
  readonly value: V;
  readonly weight: number;
  readonly owner: string;
}

/**
 * A least-recently-used cache bounded by total weight. A project whose entries weigh more than half
 * of it gives up its own first: it cannot evict those of the others.
 */
export class Lru<V> {
  readonly #entries = new Map<string, LruEntry<V>>();
  /** Weight by project. */
  readonly #owned = new Map<string, number>();
  readonly #capacity: number;
  #weight = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /**
   * An entry heavier than the whole capacity is not kept.
   * @param owner the project; "" for entries of the controller itself
   */
  set(key: string, value: V, weight: number, owner: string): void {
    this.delete(key);
    if (weight > this.#capacity) return;
    this.#entries.set(key, { value, weight, owner });
    this.#add(owner, weight);
    while (this.#weight > this.#capacity) this.#evict(key, owner);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#add(entry.owner, -entry.weight);
    this.#entries.delete(key);
  }

  get weight(): number {
    return this.#weight;
  }

  /** Evicts the oldest entry but the new one: that of the project, if it has more than half. */
  #evict(newest: string, grown: string): void {
    const isBig = (this.#owned.get(grown) ?? 0) > this.#capacity / 2;
    let oldest: string | undefined;
    for (const [key, { owner }] of this.#entries) {
      if (key === newest) continue;
      oldest ??= key;
      if (!isBig) break;
      if (owner !== grown) continue;
      this.delete(key);
      return;
    }
    if (oldest !== undefined) this.delete(oldest);
  }

  #add(owner: string, weight: number): void {
    this.#weight += weight;
    const owned = (this.#owned.get(owner) ?? 0) + weight;
    if (owned <= 0) this.#owned.delete(owner);
    else this.#owned.set(owner, owned);
  }
}

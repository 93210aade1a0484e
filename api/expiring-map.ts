interface ExpiringEntry<V> {
  readonly value: V;
  readonly until: number;
}

/** A map whose entries expire, with a maximum size: the oldest entries give way. */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, ExpiringEntry<V>>();
  readonly #now: () => number;
  readonly #ttlMs: number;
  readonly #max: number;

  constructor({ now, ttlMs, max }: { readonly now: () => number; readonly ttlMs: number; readonly max: number }) {
    this.#now = now;
    this.#ttlMs = ttlMs;
    this.#max = max;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.until > this.#now()) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#now() + this.#ttlMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#max) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

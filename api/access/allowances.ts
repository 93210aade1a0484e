import { ExpiringMap } from '../expiring-map.ts';

/** Token buckets by name: a burst, and a rate after it. */
export class Allowances {
  readonly #buckets: ExpiringMap<{ tokens: number; at: number }>;
  readonly #now: () => number;
  readonly #burst: number;
  readonly #perSecond: number;

  constructor(now: () => number, { burst, perSecond }: { readonly burst: number; readonly perSecond: number }) {
    this.#now = now;
    this.#burst = burst;
    this.#perSecond = perSecond;
    // A bucket that was not used for so long is full.
    this.#buckets = new ExpiringMap({ now, ttlMs: (burst / perSecond) * 1000, max: maxBuckets });
  }

  /** Takes one token; false if there is none. */
  take(name: string): boolean {
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { tokens: this.#burst, at: now };
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond);
    bucket.at = now;
    const isFree = bucket.tokens >= 1;
    if (isFree) bucket.tokens -= 1;
    this.#buckets.set(name, bucket);
    return isFree;
  }
}

const maxBuckets = 1000;

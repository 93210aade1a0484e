import { UsageError } from '#base';

/** Delays adds per key. Has no clock: `now` is monotonic milliseconds and never decreases. */
export interface RateLimiter<K> {
  /** Returns the delay of an add at `now` and counts the add. */
  delayMs(key: K, now: number): number;
  /** Forgets the adds of a key. */
  forget(key: K): void;
}

/** Argo CD's six parameters (flags `--wq-*`, environment `WORKQUEUE_*`). */
export interface RateLimiterConfig {
  /** Burst: adds that pass at once while the bucket is full. */
  readonly bucketSize: number;
  /** Refill rate, adds per second. Infinity or `Number.MAX_VALUE` (Go's MaxFloat64): no bucket. */
  readonly bucketQps: number;
  /** Time without an add that resets a key's backoff. 0: every delay is `baseDelayMs`. */
  readonly coolDownMs: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly backoffFactor: number;
}

/**
 * Argo CD's defaults (pkg/ratelimiter/ratelimiter.go). They set no bucket and no cool-down, so
 * every rate-limited add waits 1 ms.
 */
export const defaultRateLimiterConfig: RateLimiterConfig = Object.freeze({
  bucketSize: 500,
  bucketQps: Number.MAX_VALUE,
  coolDownMs: 0,
  baseDelayMs: 1,
  maxDelayMs: 1000,
  backoffFactor: 1.5,
});

/** Consecutive adds of a key within the cool-down. */
export interface AddStreak {
  readonly count: number;
  readonly lastAt: number;
}

export interface BackoffConfig {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly backoffFactor: number;
  readonly coolDownMs: number;
}

/**
 * One step of the exponential backoff: `base * factor^count`, at most `maxDelayMs`. An add after
 * the cool-down ends the streak and gets the base delay. Mirrors
 * ItemExponentialRateLimiterWithAutoReset including its oddity: the add that ends a streak does not
 * start the next one, so two base delays follow a pause.
 */
export function nextBackoff(
  streak: AddStreak | undefined,
  now: number,
  backoff: BackoffConfig,
): { readonly delayMs: number; readonly streak: AddStreak | undefined } {
  const { count, lastAt } = streak ?? { count: 0, lastAt: now };
  if (now - lastAt >= backoff.coolDownMs) return { delayMs: backoff.baseDelayMs, streak: undefined };
  // A large exponent gives Infinity, which is capped like any other value.
  const delayMs = Math.min(backoff.maxDelayMs, backoff.baseDelayMs * backoff.backoffFactor ** count);
  return { delayMs, streak: { count: count + 1, lastAt: now } };
}

/** Tokens in the bucket at time `at`. Negative: tokens that adds have reserved in advance. */
export interface BucketState {
  readonly tokens: number;
  readonly at: number;
}

/** Reserves one token; the delay is the time until it exists (as golang.org/x/time/rate). */
export function takeToken(
  bucket: BucketState,
  now: number,
  limits: { readonly size: number; readonly qps: number },
): { readonly delayMs: number; readonly bucket: BucketState } {
  const refilled = Math.min(limits.size, bucket.tokens + ((now - bucket.at) / 1000) * limits.qps);
  const tokens = refilled - 1;
  return { delayMs: tokens < 0 ? (-tokens / limits.qps) * 1000 : 0, bucket: { tokens, at: now } };
}

/** Smaller maps are not cleaned up. */
const minCleanupSize = 1024;

/**
 * Exponential backoff per key. Unlike upstream, it removes streaks after their cool-down, so keys
 * that never come back do not leak memory.
 */
export class ItemBackoff<K> implements RateLimiter<K> {
  readonly #backoff: BackoffConfig;
  readonly #streaks = new Map<K, AddStreak>();
  #cleanupSize = minCleanupSize;

  constructor(backoff: BackoffConfig) {
    this.#backoff = backoff;
  }

  /** Number of keys with a streak. */
  get size(): number {
    return this.#streaks.size;
  }

  delayMs(key: K, now: number): number {
    const { delayMs, streak } = nextBackoff(this.#streaks.get(key), now, this.#backoff);
    if (streak === undefined) this.#streaks.delete(key);
    else this.#streaks.set(key, streak);
    if (this.#streaks.size > this.#cleanupSize) this.#removeExpiredStreaks(now);
    return delayMs;
  }

  forget(key: K): void {
    this.#streaks.delete(key);
  }

  #removeExpiredStreaks(now: number): void {
    for (const [key, { lastAt }] of this.#streaks)
      if (now - lastAt >= this.#backoff.coolDownMs) this.#streaks.delete(key);
    // Doubling keeps the cost per add constant.
    this.#cleanupSize = Math.max(minCleanupSize, this.#streaks.size * 2);
  }
}

/** A token bucket shared by all keys. */
export class TokenBucket<K> implements RateLimiter<K> {
  readonly #limits: { readonly size: number; readonly qps: number };
  #bucket: BucketState | undefined;

  constructor(size: number, qps: number) {
    if (!(size >= 1) || !(qps > 0))
      throw new UsageError(
        `a rate limiter's bucket needs a size of at least 1 and more than 0 adds per second, not ${size} and ${qps}: set WORKQUEUE_BUCKET_SIZE and WORKQUEUE_BUCKET_QPS`,
      );
    this.#limits = { size, qps };
  }

  delayMs(_key: K, now: number): number {
    // MaxFloat64 is upstream's infinite rate; with larger values the arithmetic gives NaN.
    if (this.#limits.qps >= Number.MAX_VALUE) return 0;
    const { delayMs, bucket } = takeToken(this.#bucket ?? { tokens: this.#limits.size, at: now }, now, this.#limits);
    this.#bucket = bucket;
    return delayMs;
  }

  forget(): void {
    // Tokens belong to no key.
  }
}

/** The longest delay of several limiters. Every limiter counts every add. */
export class MaxOfRateLimiter<K> implements RateLimiter<K> {
  readonly #limiters: readonly RateLimiter<K>[];

  constructor(limiters: readonly RateLimiter<K>[]) {
    this.#limiters = limiters;
  }

  delayMs(key: K, now: number): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.delayMs(key, now)));
  }

  forget(key: K): void {
    for (const limiter of this.#limiters) limiter.forget(key);
  }
}

/** Argo CD's limiter: the longer of the key's backoff and the bucket. Create one per queue. */
export function createRateLimiter<K>(config: RateLimiterConfig = defaultRateLimiterConfig): RateLimiter<K> {
  return new MaxOfRateLimiter([new ItemBackoff<K>(config), new TokenBucket<K>(config.bucketSize, config.bucketQps)]);
}

/**
 * Backoff of failed items: 0.5 s, doubled up to 5 min, until a run succeeds. Argo CD has none,
 * because it never requeues a failed item. Its default limiter would requeue after 1 ms, which
 * would be a busy loop.
 */
export function createFailureBackoff<K>(): RateLimiter<K> {
  return new ItemBackoff<K>({ baseDelayMs: 500, maxDelayMs: 300_000, backoffFactor: 2, coolDownMs: Infinity });
}

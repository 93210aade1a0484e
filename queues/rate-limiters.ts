import { UsageError } from '#base';

/** Says how long an add of a key has to wait. Knows no clock: `now` is monotonic milliseconds and never decreases. */
export interface RateLimiter<K> {
  /** The delay of one more add at `now`; asking counts. */
  delayMs(key: K, now: number): number;
  /** The next add of this key is a first one again. */
  forget(key: K): void;
}

/** Argo CD's six parameters (flags `--wq-*`, environment `WORKQUEUE_*`). */
export interface RateLimiterConfig {
  /** How many adds may pass at once before the bucket is empty. */
  readonly bucketSize: number;
  /** Adds per second that refill the bucket. `Number.MAX_VALUE` (as Go's MaxFloat64) or Infinity: no bucket. */
  readonly bucketQps: number;
  /** A key without an add for so long starts anew. 0: every add does, so that the delay is always `baseDelayMs`. */
  readonly coolDownMs: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly backoffFactor: number;
}

/** Argo CD's defaults (pkg/ratelimiter/ratelimiter.go): no bucket, and with no cool-down a "rate limited" add waits 1 ms. */
export const defaultRateLimiterConfig: RateLimiterConfig = Object.freeze({
  bucketSize: 500,
  bucketQps: Number.MAX_VALUE,
  coolDownMs: 0,
  baseDelayMs: 1,
  maxDelayMs: 1000,
  backoffFactor: 1.5,
});

/** How often in a row a key was added, and when last. */
export interface Streak {
  readonly count: number;
  readonly lastAt: number;
}

export interface Backoff {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly backoffFactor: number;
  readonly coolDownMs: number;
}

/**
 * One step of the exponential backoff: `base * factor^count`, at most `maxDelayMs`. When the cool-down has passed since the last add, the
 * streak ends and the delay is the base. Mirrors ItemExponentialRateLimiterWithAutoReset, with its one oddity: the add that
 * ends a streak is not itself the first of the next one, so two base delays follow a pause.
 */
export function nextBackoff(
  streak: Streak | undefined,
  now: number,
  backoff: Backoff,
): { readonly delayMs: number; readonly streak: Streak | undefined } {
  const { count, lastAt } = streak ?? { count: 0, lastAt: now };
  if (now - lastAt >= backoff.coolDownMs) return { delayMs: backoff.baseDelayMs, streak: undefined };
  // An exponent without bound gives Infinity, which the cap below turns into the longest delay.
  const delayMs = Math.min(backoff.maxDelayMs, backoff.baseDelayMs * backoff.backoffFactor ** count);
  return { delayMs, streak: { count: count + 1, lastAt: now } };
}

/** Tokens in a bucket at a time; below zero they are promised already. */
export interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** Takes one token, promising a future one if none is left; the delay is the time until it exists (as golang.org/x/time/rate reserves). */
export function takeToken(
  bucket: Bucket,
  now: number,
  limits: { readonly size: number; readonly qps: number },
): { readonly delayMs: number; readonly bucket: Bucket } {
  const refilled = Math.min(limits.size, bucket.tokens + ((now - bucket.at) / 1000) * limits.qps);
  const tokens = refilled - 1;
  return { delayMs: tokens < 0 ? (-tokens / limits.qps) * 1000 : 0, bucket: { tokens, at: now } };
}

// Below this many keys a sweep is not worth its time.
const smallestSweep = 1024;

/**
 * Exponential backoff per key. Unlike upstream's, streaks whose cool-down has passed are swept out now and then, so that keys which
 * never come back cost nothing.
 */
export class ItemBackoff<K> implements RateLimiter<K> {
  readonly #backoff: Backoff;
  readonly #streaks = new Map<K, Streak>();
  #sweepAt = smallestSweep;

  constructor(backoff: Backoff) {
    this.#backoff = backoff;
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#streaks.size;
  }

  delayMs(key: K, now: number): number {
    const { delayMs, streak } = nextBackoff(this.#streaks.get(key), now, this.#backoff);
    if (streak === undefined) this.#streaks.delete(key);
    else this.#streaks.set(key, streak);
    if (this.#streaks.size > this.#sweepAt) this.#sweep(now);
    return delayMs;
  }

  forget(key: K): void {
    this.#streaks.delete(key);
  }

  #sweep(now: number): void {
    for (const [key, { lastAt }] of this.#streaks)
      if (now - lastAt >= this.#backoff.coolDownMs) this.#streaks.delete(key);
    // Doubling keeps the cost of sweeping constant per add.
    this.#sweepAt = Math.max(smallestSweep, this.#streaks.size * 2);
  }
}

/** One token bucket for all keys. */
export class TokenBucket<K> implements RateLimiter<K> {
  readonly #limits: { readonly size: number; readonly qps: number };
  #bucket: Bucket | undefined;

  constructor(size: number, qps: number) {
    if (!(size >= 1) || !(qps > 0))
      throw new UsageError(
        `a rate limiter's bucket needs a size of at least 1 and more than 0 adds per second, not ${size} and ${qps}: set WORKQUEUE_BUCKET_SIZE and WORKQUEUE_BUCKET_QPS`,
      );
    this.#limits = { size, qps };
  }

  delayMs(_key: K, now: number): number {
    // Upstream compares with MaxFloat64, its "infinite" rate; beyond it arithmetic gives NaN.
    if (this.#limits.qps >= Number.MAX_VALUE) return 0;
    const { delayMs, bucket } = takeToken(this.#bucket ?? { tokens: this.#limits.size, at: now }, now, this.#limits);
    this.#bucket = bucket;
    return delayMs;
  }

  forget(): void {
    // Tokens are not kept per key.
  }
}

/** The longest of several delays. Every limiter is asked, so that each counts each add. */
export class MaxOf<K> implements RateLimiter<K> {
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

/** Argo CD's limiter of rate-limited adds: the longer of the key's backoff and of the bucket. One for each queue. */
export function createRateLimiter<K>(config: RateLimiterConfig = defaultRateLimiterConfig): RateLimiter<K> {
  return new MaxOf([new ItemBackoff<K>(config), new TokenBucket<K>(config.bucketSize, config.bucketQps)]);
}

/**
 * The backoff of items that failed: half a second, doubled up to five minutes, until one run succeeds. Argo CD has none (its workers
 * never requeue a failed item); with its default limiter a requeue would come after 1 ms, which is a busy loop.
 */
export function createFailureBackoff<K>(): RateLimiter<K> {
  return new ItemBackoff<K>({ baseDelayMs: 500, maxDelayMs: 300_000, backoffFactor: 2, coolDownMs: Infinity });
}

import type { ResourceKey } from '#model';

/** An object whose changes are throttled. */
export interface ChattyObject {
  readonly key: ResourceKey;
  /** Number of changes since throttling began. */
  readonly changes: number;
}

interface TokenBucket {
  tokens: number;
  at: number;
  /** Number of changes since throttling began; undefined if not throttled. */
  changes: number | undefined;
  /** Time of the last emitted change. */
  emittedAt: number;
}

/** Bucket size: a burst of changes is normal, for example in a rollout. */
const burstSize = 40;
/** One token is added per this interval: the sustained rate. */
const refillMs = 2000;
/** Interval of events for throttled objects; Applications still see their latest state. */
const slowLaneIntervalMs = 10_000;
/** Above this number, buckets of quiet objects are dropped. */
const maxBuckets = 20_000;

/**
 * A token bucket per object. An object that exceeds its budget (leader election in a ConfigMap, two
 * controllers fighting) moves to a slow lane on its own: six events per minute, without effect on
 * others. It leaves the slow lane when its bucket is half full.
 */
export class ChangeRateLimiter {
  readonly #buckets = new Map<ResourceKey, TokenBucket>();

  /**
   * Delay of a change in milliseconds.
   * @param isMore a change of the object is already pending. Both are emitted as one event, which
   * costs one token, unless the object is throttled.
   */
  delayOf(key: ResourceKey, now: number, isMore: boolean): number {
    const bucket = this.#bucketOf(key, now);
    bucket.tokens = Math.min(burstSize, bucket.tokens + (now - bucket.at) / refillMs);
    bucket.at = now;
    if (bucket.changes !== undefined && bucket.tokens >= burstSize / 2) bucket.changes = undefined;
    if (isMore && bucket.changes === undefined) return 0;
    if (bucket.tokens < 1) bucket.changes ??= 0;
    bucket.tokens = Math.max(0, bucket.tokens - 1);
    if (bucket.changes === undefined) return 0;
    bucket.changes += 1;
    return Math.max(0, bucket.emittedAt + slowLaneIntervalMs - now);
  }

  /** Records that a change of the object was emitted. */
  noteEmitted(key: ResourceKey, now: number): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.emittedAt = now;
  }

  isThrottled(key: ResourceKey): boolean {
    return this.#buckets.get(key)?.changes !== undefined;
  }

  forget(key: ResourceKey): void {
    this.#buckets.delete(key);
  }

  /** Throttled objects, those with the most changes first. */
  chatty(now: number): readonly ChattyObject[] {
    const found: ChattyObject[] = [];
    for (const [key, { changes, at }] of this.#buckets)
      if (changes !== undefined && now - at < quietMs) found.push({ key, changes });
    return found.sort((a, b) => b.changes - a.changes).slice(0, maxReportedObjects);
  }

  #bucketOf(key: ResourceKey, now: number): TokenBucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    if (this.#buckets.size >= maxBuckets) this.#dropQuiet(now);
    const bucket = { tokens: burstSize, at: now, changes: undefined, emittedAt: -slowLaneIntervalMs };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** Quiet objects have full buckets anyway. If no object is quiet, all buckets are reset. */
  #dropQuiet(now: number): void {
    for (const [key, { at }] of this.#buckets) if (now - at >= quietMs) this.#buckets.delete(key);
    if (this.#buckets.size >= maxBuckets) this.#buckets.clear();
  }
}

const quietMs = burstSize * refillMs;
/** Limits the cardinality of the metric. */
const maxReportedObjects = 50;

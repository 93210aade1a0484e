import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createFailureBackoff,
  createRateLimiter,
  defaultRateLimiterConfig,
  ItemBackoff,
  MaxOfRateLimiter,
  nextBackoff,
  takeToken,
  TokenBucket,
} from './rate-limiters.ts';

const defaults = defaultRateLimiterConfig;

describe('Argo CD rate limiter', () => {
  // Each row: configuration, the times of the adds of one key, the delays that upstream's
  // arithmetic gives.
  const table: [string, Partial<typeof defaults>, number[], number[]][] = [
    ['uses the base delay by default, without a cool-down', {}, [0, 0, 1, 5, 5000], [1, 1, 1, 1, 1]],
    ['grows by the factor', { coolDownMs: 10_000 }, [0, 1, 2, 3], [1, 1.5, 2.25, 3.375]],
    [
      'stops growing at the maximum delay',
      { coolDownMs: 10_000, backoffFactor: 10 },
      [0, 0, 0, 0, 0],
      [1, 10, 100, 1000, 1000],
    ],
    [
      'restarts after the cool-down, counted from the last add',
      { coolDownMs: 100, backoffFactor: 2 },
      [0, 99, 198, 298, 299, 300],
      [1, 2, 4, 1, 1, 2],
    ],
    ['caps a base delay above the maximum', { coolDownMs: 100, baseDelayMs: 5000 }, [0, 1], [1000, 1000]],
    ['does not cap the base delay after a reset', { coolDownMs: 0, baseDelayMs: 5000 }, [0, 1], [5000, 5000]],
    [
      'delays adds until the next token when the bucket is empty',
      { bucketSize: 2, bucketQps: 10 },
      [0, 0, 0, 0, 100, 2000, 2000, 2000],
      [1, 1, 100, 200, 200, 1, 1, 100],
    ],
  ];

  it.each(table)('%s', (_name, config, times, delays) => {
    const limiter = createRateLimiter<string>({ ...defaults, ...config });
    const got = times.map((now) => limiter.delayMs('a', now));
    expect(got.map((delay) => Math.round(delay * 1e6) / 1e6)).toEqual(delays);
  });

  it('tracks backoff per key, and shares tokens between keys', () => {
    const limiter = createRateLimiter<string>({ ...defaults, coolDownMs: 1e6, bucketSize: 3, bucketQps: 1 });
    expect(limiter.delayMs('a', 0)).toBe(1);
    expect(limiter.delayMs('a', 0)).toBe(1.5);
    expect(limiter.delayMs('b', 0)).toBe(1);
    expect(limiter.delayMs('c', 0)).toBe(1000);
  });

  it('forgets one key', () => {
    const limiter = createRateLimiter<string>({ ...defaults, coolDownMs: 1e6 });
    for (let i = 0; i < 5; i += 1) limiter.delayMs('a', 0);
    limiter.delayMs('b', 0);
    limiter.forget('a');
    expect(limiter.delayMs('a', 0)).toBe(1);
    expect(limiter.delayMs('b', 0)).toBe(1.5);
  });

  it('counts an add in every limiter and returns the longest delay', () => {
    const one = new ItemBackoff<string>({ ...defaults, baseDelayMs: 3, coolDownMs: 1e6 });
    const two = new ItemBackoff<string>({ ...defaults, baseDelayMs: 2, backoffFactor: 10, coolDownMs: 1e6 });
    const both = new MaxOfRateLimiter([one, two]);
    expect([both.delayMs('a', 0), both.delayMs('a', 0), both.delayMs('a', 0)]).toEqual([3, 20, 200]);
    expect(new MaxOfRateLimiter([]).delayMs('a', 0)).toBe(0);
  });

  it('refuses a bucket that lets no add pass', () => {
    expect(() => new TokenBucket(0, 1)).toThrow('WORKQUEUE_BUCKET_SIZE');
    expect(() => new TokenBucket(1, 0)).toThrow('WORKQUEUE_BUCKET_QPS');
    expect(() => new TokenBucket(Number.NaN, 1)).toThrow('size of at least 1');
  });
});

describe('backoff and bucket', () => {
  const backoff = fc.record({
    baseDelayMs: fc.double({ min: 0.001, max: 1000, noNaN: true }),
    maxDelayMs: fc.double({ min: 1000, max: 1e6, noNaN: true }),
    backoffFactor: fc.double({ min: 1, max: 10, noNaN: true }),
    coolDownMs: fc.constant(Infinity),
  });

  it('never shorten the delays of a streak nor exceed the maximum', () => {
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 3000 }), (config, adds) => {
        let streak;
        let before = 0;
        for (let i = 0; i < adds; i += 1) {
          const next = nextBackoff(streak, i, config);
          if (next.delayMs < before || next.delayMs > config.maxDelayMs)
            throw new Error(`${next.delayMs} after ${before}`);
          before = next.delayMs;
          streak = next.streak;
        }
      }),
      { numRuns: 30 },
    );
  });

  it('let at most size + qps × t adds pass within any time t', () => {
    const limits = fc.record({ size: fc.integer({ min: 1, max: 20 }), qps: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 80 }), (limit, gaps) => {
        let bucket = { tokens: limit.size, at: 0 };
        let now = 0;
        const passed: number[] = [];
        for (const gap of gaps) {
          now += gap;
          const next = takeToken(bucket, now, limit);
          bucket = next.bucket;
          passed.push(now + next.delayMs);
        }
        const worst = passed.flatMap((from, i) =>
          passed.slice(i).map((to, more) => more + 1 - limit.size - ((to - from) / 1000) * limit.qps),
        );
        expect(Math.max(0, ...worst)).toBeLessThan(1e-6);
      }),
    );
  });

  it('forget keys after their cool-down', () => {
    const limiter = new ItemBackoff<string>({ ...defaults, coolDownMs: 10 });
    for (let i = 0; i < 100_000; i += 1) limiter.delayMs(`key-${i}`, i);
    expect(limiter.size).toBeLessThanOrEqual(2000);
  });

  it('delay failures longer and longer, until the key is forgotten', () => {
    const failures = createFailureBackoff<string>();
    const delays = Array.from({ length: 12 }, (_, i) => failures.delayMs('a', i * 1e6));
    expect(delays.slice(0, 4)).toEqual([500, 1000, 2000, 4000]);
    expect(delays.at(-1)).toBe(300_000);
    failures.forget('a');
    expect(failures.delayMs('a', 0)).toBe(500);
  });
});

import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { TokenBucket } from './token-bucket.ts';

describe('TokenBucket', () => {
  it('returns the token of a waiter that aborts', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, 1, 1);
    await bucket.take(new AbortController().signal);
    const stop = new AbortController();
    const leaver = bucket.take(stop.signal);
    leaver.catch(() => undefined);
    stop.abort(new Error('left'));
    await expect(leaver).rejects.toThrow('left');
    let done = false;
    void bucket.take(new AbortController().signal).then(() => (done = true));
    await clock.advance(999);
    expect(done).toBe(false);
    await clock.advance(1);
    expect(done).toBe(true);
  });

  it('never saves up more than its burst, and without qps never waits', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, 10, 3);
    const free = new TokenBucket(clock, 0, 0);
    await clock.advance(3_600_000);
    let passed = 0;
    for (let i = 0; i < 20; i += 1) void bucket.take(new AbortController().signal).then(() => (passed += 1));
    await clock.settle();
    expect(passed).toBe(3);
    for (let i = 0; i < 20; i += 1) await free.take(new AbortController().signal);
    await clock.advance(2_000);
    expect(passed).toBe(20);
  });
});

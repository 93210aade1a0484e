import { expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { PassTimes } from './pass-times.ts';

it('sums a stage that runs twice, counts one that fails, and cuts off to milliseconds', async () => {
  const clock = new FakeClock();
  const times = new PassTimes(clock, ['patch_ms', 'setop_ms']);
  const spend = async (name: string, ms: number): Promise<void> => {
    const spent = times.measure(name, () => clock.sleep(ms, new AbortController().signal));
    await clock.advance(ms);
    await spent;
  };
  await spend('live_ms', 20);
  await spend('live_ms', 5.9);
  const failing = times.measure('git_ms', async () => {
    await clock.sleep(7, new AbortController().signal);
    throw new Error('away');
  });
  const failed = expect(failing).rejects.toThrow('away');
  await clock.advance(7);
  await failed;
  expect(times.measureSync('dedup_ms', () => 'value')).toBe('value');
  expect(times.fields()).toEqual({ patch_ms: 0, setop_ms: 0, live_ms: 25, git_ms: 7, dedup_ms: 0 });
});

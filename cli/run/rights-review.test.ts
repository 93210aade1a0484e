import { expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { RightsReview } from './rights-review.ts';

it('asks four times a minute, and a failed request says nothing', async () => {
  const clock = new FakeClock();
  const answers: (boolean | Error)[] = [true, new Error('down'), false];
  const seen: boolean[] = [];
  const client = {
    mayList: () => {
      const answer = answers.shift() ?? false;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  const stop = new AbortController();
  const access = { reviewed: (mayList: boolean) => void seen.push(mayList) };
  const running = new RightsReview({ client, access, clock, logger: silentLogger }).run(stop.signal);
  await clock.advance(30_000);
  expect(seen).toEqual([true, false]);
  stop.abort(new Shutdown());
  await running;
  expect(clock.pending).toBe(0);
});

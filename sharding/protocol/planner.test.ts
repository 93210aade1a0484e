import { expect, it } from '@jest/globals';
import { TablePlanner } from './planner.ts';
import { timingOf } from '../timing/timing.ts';

const timing = timingOf(10_000);

it('changes right after a table rest for a moment, and for half a heartbeat while parts are handed over', () => {
  const planner = new TablePlanner(timing);
  expect(planner.restsUntil({ isHandingOver: () => true })).toBe(Number.NEGATIVE_INFINITY);
  planner.published({ monotonic: 1000, wall: 0 });
  expect(planner.restsUntil({ isHandingOver: () => false })).toBe(1000 + timing.publishMs);
  expect(planner.restsUntil({ isHandingOver: () => true })).toBe(1000 + timing.releaseMs / 2);
});

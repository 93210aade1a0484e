/** Test helpers of sharding/ for tests of other folders. */
export { legacyVectors, roundRobinVectors } from './vectors.ts';
export { scheduleSeed } from './schedule-seed.ts';
export { MachineClock, VirtualTime } from './virtual-time.ts';

/** Test helpers of sharding/ for tests of other folders. */
export { legacyVectors, roundRobinVectors } from './vectors.ts';

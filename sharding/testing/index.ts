/** What sharding/ lends to the tests of others. */
export { legacyVectors, roundRobinVectors } from './vectors.ts';

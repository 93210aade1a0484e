/** The live state over an API server in memory, in virtual time, for tests of other folders. */
export { FakeServer } from './fake-server.ts';
export { configMap, row, stateOf, tracked, world } from './world.ts';
export type { LiveWorld } from './world.ts';

/**
 * The controller's test tools for other folders: the real controller over in-memory servers and
 * Git, in virtual time.
 */
export { FakeApi } from './fake-api.ts';
export type { CallInterference } from './fake-api.ts';
export { publisherAfter } from './published.ts';
export { automated, config, configMap, FakeWorld, server } from './fake-world.ts';
export { stage } from './stage.ts';
export type { TestStage } from './stage.ts';
export { ObjectSync } from './object-sync.ts';
export type { ComparisonKind, ObjectSyncDeps, SyncMethod } from './object-sync.ts';

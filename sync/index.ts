/**
 * sync: how to close the gap. Pairing, hooks, waves, kind order, prune rules; one call is one step of an operation, and everything that the
 * next step needs is in the results of this one, so that any replica can go on (decision D8).
 *
 * It changes clusters through the ClusterWriter that it is given and in no other way; it knows nothing of Applications, queues or
 * status.
 */
export { wasHeldBack } from './plan.ts';
export { isIgnored, isPostDeleteHook, isPreDeleteHook, phasesOf, waveOf } from './hooks.ts';
export { hasResourceOption, optionValue, readSyncOptions, resourceOption } from './options.ts';
export type { OperationFacts } from './options.ts';
export { pairResources } from './reconcile.ts';
export type { PairedResources } from './reconcile.ts';
export { syncStep, terminateSync } from './run.ts';
export type {
  ApplyHow,
  ApplyResult,
  ClusterWriter,
  Deletion,
  ReconciledResource,
  SyncOptions,
  SyncOutcome,
  SyncRequest,
} from './types.ts';

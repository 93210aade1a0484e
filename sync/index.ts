/**
 * sync: brings a cluster to the desired state. Pairs resources, orders them by hooks, waves and
 * kinds, and prunes. One call is one step of an operation; its results contain all that the next
 * step needs, so any replica can continue.
 *
 * It changes clusters only through the given ClusterWriter and knows nothing of Applications,
 * queues or status.
 */
export { changedWriter } from './changed-writer.ts';
export { crdGroupKind, groupKindText, isPrunePostponed } from './plan.ts';
export { planSync } from './planned-tasks.ts';
export type { PlannedTask } from './planned-tasks.ts';
export { isLostHook, isPostDeleteHook, isPreDeleteHook, phasesOf } from './hooks.ts';
export { unreadableWave, waveOf, withHookFinalizer } from './hooks.ts';
export { containsTarget, optionValue, readSyncOptions, resourceOption } from './options.ts';
export { missingNameMessage } from './prepare.ts';
export { pairObjects, pairResources } from './reconcile.ts';
export type { PairedResources } from './reconcile.ts';
export { removeHookFinalizer } from './release.ts';
export { canKindBeMissing, hasHookFinalizer, kindsDefinedBySync } from './step.ts';
export { parseWaitingMessage } from './waiting-message.ts';
export type { WaitedFor } from './waiting-message.ts';
export { syncStep, terminateSync } from './run.ts';
export type {
  ApplyOptions,
  ApplyResult,
  ClusterWriter,
  DeleteOutcome,
  SyncOptions,
  SyncOutcome,
  SyncRequest,
} from './types.ts';

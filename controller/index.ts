/**
 * controller: decides what to refresh, whether to sync and what to write. The one module that knows an Application's life from its first event to
 * last finalizer; everything below is a tool of it.
 *
 * Mental model: events become keys in two queues (triggers). A refresh pass compares one Application and writes its status (refresh); an
 * operation pass does one step of a sync or of a deletion (operation). What a pass works with is bound once (bound). Decisions are pure
 * (freshness, autosync, operation-state, and all of #compare); the only writer of Applications is `application-store`, the only writer of managed
 * clusters is `writer`. What a refresh does about its findings are its effects: `refresh-writes` for the controller in charge
 * (create-controller), `shadow` for one that must not write (create-shadow).
 *
 * Invariants: an Application is written only by its owner, checked just before the write; no difference, no write; the object is the only
 * memory of an operation, so a pass may end anywhere and go on elsewhere; nothing of a kind is pruned while its live state is not fresh.
 */
export { decideAutosync, selfHealDelayMs } from './autosync.ts';
export type { AutosyncDecision, AutosyncFacts, SelfHealBackoff } from './autosync.ts';
export { ClusterCaches } from './cluster-caches.ts';
export { compareLevel } from './freshness.ts';
export type { CompareLevel } from './freshness.ts';
export type {
  AppSnapshot,
  Controller,
  ControllerConfig,
  ControllerDeps,
  ControllerSnapshot,
  WatchDeps,
} from './types.ts';
export type { Disagreement, PlannedWrite, Verdict } from './verdict.ts';
export { createShadowController } from './create-shadow.ts';
export type { ShadowConfig, ShadowDeps } from './create-shadow.ts';
export { createController } from './create-controller.ts';
export { JqRunner } from './jq-runner.ts';

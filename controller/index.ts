/**
 * controller: decides what to refresh, whether to sync and what to write. The only module that
 * knows an Application's whole life, from its first event to its last finalizer.
 *
 * Mental model: events become keys in two queues (triggers). A refresh pass compares one
 * Application and writes its status (refresh); an operation pass runs one step of a sync or of a
 * deletion (operation). Each pass binds settings, project and cluster once (bound). Decisions are
 * pure (freshness, autosync, operation-state and all of #compare); `application-store` is the only
 * writer of Applications, `writer` the only writer of managed clusters. `RefreshEffects` carry out
 * the decisions of a refresh: `refresh-writes` for the controller in charge (create-controller),
 * `shadow` for one that must not write (create-shadow).
 *
 * Invariants: only its owner writes an Application, and ownership is checked just before the write;
 * no difference, no write; operation state lives in the object alone, so a pass may stop anywhere
 * and continue on another replica; a kind is never pruned while its live state is stale.
 */
export { ClusterCaches } from './clusters/cluster-caches.ts';
export { exposeApplications } from './report/app-families.ts';
export { AppMetrics } from './report/metrics.ts';
export type { Controller, ControllerConfig, WatchDeps } from './assembly/types.ts';
export type { StatusDisagreement, PlannedWrite, ShadowVerdict } from './application/verdict.ts';
export { createShadowController } from './shadow/create-shadow.ts';
export { stallOf } from './report/controller-report.ts';
export type { ControllerReport, ReportedPool } from './report/controller-report.ts';
export type { ReportedEvents, ReportedLog, ReportedObject } from './report/object-report.ts';
export { RecordingRefused } from './recorder/recordings.ts';
export { maxLineLength as maxRecordingLine, RecordingError } from './replay/read-recording.ts';
export type { DecisionDifference } from './replay/differences.ts';
export type { ReplayTools } from './replay/recorded-pass.ts';
export { replayRecording } from './replay/replay-pass.ts';
export type { ReplayedPass } from './replay/replay-pass.ts';
export type { AutosyncCheck } from './application/autosync-checks.ts';
export type {
  ApplicationHealth,
  ReportedCommit,
  ReportedSource,
  ApplicationOperation,
  ApplicationReport,
  AutomatedSync,
  FieldDifference,
  FieldWriter,
  FullQueue,
  IgnoredDifference,
  LiveAge,
  ObjectHealth,
  OperationBlocker,
  OperationResource,
  Pass,
  PassCause,
  PassStages,
  ResourceCounts,
  ResourceDifference,
  Waiting,
} from './report/application-facts.ts';
export { createController } from './assembly/create-controller.ts';
export { sendDryRun } from './comparison/dry-run-sending.ts';
export { JqRunner } from './comparison/jq-runner.ts';
export { ApplyGate, contentHashOf } from './write/apply-gate.ts';
export { GuardedWriter } from './write/writer.ts';
export type { ApplyIntent, WriterDeps, WriterGate } from './write/writer.ts';

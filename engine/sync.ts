/**
 * @driftless/engine/sync: brings a cluster to the desired state as Argo CD does: hooks, waves, the
 * order of kinds, health between waves, pruning. It changes a cluster only through a writer: that
 * of `openWriter`, or your own.
 */
import { emitWarning } from 'node:process';
import { newAbortController, systemClock, systemRandom, withDeadline } from '#base';
import { createKubeClient } from '#kube';
import { fieldManager as controllerManager, keyOf } from '#model';
import type { GroupKind, KubeObject } from '#model';
import { pairObjects } from '#sync';
import type { PlannedTask } from '#sync';
import { silentLogger } from '#telemetry';
import { connectionOf } from './connect/connection.ts';
import { checkGateOptions, checkWriterOptions } from './sync/check-inputs.ts';
import { OpenedGate } from './sync/gate.ts';
import { OpenedWriter } from './sync/open-writer.ts';
import { SyncRun } from './sync/sync-run.ts';
import type {
  GateOptions,
  OpenedSyncWriter,
  ServerDiff,
  SyncGate,
  SyncInputs,
  SyncReport,
  WriterOptions,
} from './sync/types.ts';

export type {
  GateMetrics,
  GateOptions,
  InventoryObject,
  OpenedSyncWriter,
  ServerDiff,
  SyncCache,
  SyncGate,
  SyncInputs,
  SyncInventory,
  SyncOwner,
  SyncReport,
  SyncResult,
  SyncWarning,
  SyncWriter,
  WriterOptions,
} from './sync/types.ts';
export type {
  ApplyOptions,
  ApplyResult,
  ClusterWriter,
  DeleteOutcome,
  PlannedTask,
  SyncOptions,
  SyncOutcome,
} from '#sync';
export type { ClusterAddress } from './connect/connection.ts';
export type { KubeConfigReader } from '#kube';
export type {
  GroupKind,
  HookType,
  KubeObject,
  ObjectMeta,
  ObjectName,
  OperationPhase,
  ResourceRef,
  ResourceResult,
  ResultCode,
  SyncPhase,
} from '#model';

const connectMs = 60_000;

/** The tasks of a sync in execution order, with what each would do. Only reads. */
export async function planSync(inputs: SyncInputs): Promise<readonly PlannedTask[]> {
  return new SyncRun(inputs, syncDeps).plan();
}

/**
 * Runs a sync to its end. Errors of single objects are in the results, and the phase is `Failed`.
 * @throws an error with `code` `USAGE` for malformed inputs, `INVENTORY_MALFORMED` and
 * `INVENTORY_FOREIGN` for an inventory that is not that of these targets, `LIVE_STATE` if an object
 * cannot be read: all before anything is changed. The reason of `signal` when it aborts.
 */
export async function runSync(inputs: SyncInputs): Promise<SyncReport> {
  return new SyncRun(inputs, syncDeps).run();
}

/**
 * Predicts the apply of each target except hooks, by the server-side diff of the controller: sends
 * as dry runs what `runSync` would send for the same inputs.
 * @throws as `runSync`
 */
export async function serverSideDiff(inputs: SyncInputs): Promise<readonly ServerDiff[]> {
  return new SyncRun(inputs, syncDeps).diff();
}

/** Desired and live objects, paired as a sync pairs them. */
export type ReconciledObjects = ReturnType<typeof pairObjects>;

/**
 * Pairs targets with live objects by identity. Targets come first; live objects without a target
 * follow, and hooks are apart. Pure.
 * @param isNamespaced of a kind; undefined if that is unknown
 */
export function reconcile(
  targets: readonly KubeObject[],
  live: readonly KubeObject[],
  namespace: string,
  isNamespaced: (kind: GroupKind) => boolean | undefined,
): ReconciledObjects {
  return pairObjects(targets, new Map(live.map((object) => [keyOf(object), object])), namespace, isNamespaced);
}

/**
 * Opens a gate, for any number of writers and syncs of one process.
 * @throws an error with `code` `USAGE` for an option out of range
 */
export function openGate(options: GateOptions = {}): SyncGate {
  checkGateOptions(options);
  return new OpenedGate(options, { clock: systemClock, random: systemRandom });
}

/**
 * Opens the writer of the controller for one cluster; `close` ends its connections.
 * @throws an error with `code` `USAGE` for an unknown option or an invalid value
 */
export async function openWriter(options: WriterOptions = {}): Promise<OpenedSyncWriter> {
  checkWriterOptions(options);
  const { dryRun = false, denied = () => undefined, gate, fieldManager = controllerManager, ...address } = options;
  const { connection } = await connectionOf(address);
  const shared = { clock: systemClock, random: systemRandom, logger: silentLogger, userAgent: 'driftless-sync' };
  const client = createKubeClient(connection, shared);
  try {
    const deadline = { clock: systemClock, limitMs: connectMs, what: `discovery of ${connection.server}` };
    const { signal } = newAbortController();
    const discovery = await withDeadline(signal, deadline, (own) => client.discover({ signal: own }));
    const bound = (gate as OpenedGate | undefined)?.of(connection.server, fieldManager);
    return new OpenedWriter(client, discovery, { dryRun, denied, gate: bound, fieldManager }, systemClock);
  } catch (error) {
    await client.close();
    throw error;
  }
}

const syncDeps: ConstructorParameters<typeof SyncRun>[1] = {
  clock: systemClock,
  random: systemRandom,
  warn: (message) => emitWarning(message, 'DriftlessWarning'),
};

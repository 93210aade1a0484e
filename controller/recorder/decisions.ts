import { defined } from '#base';
import type { Json, JsonObject } from '#base';
import type { Comparison } from '#compare';
import { jsonOf, keyOfStatus } from '#model';
import type { OperationState, ResourceStatus, RevisionHistory } from '#model';
import type { AutosyncDecision } from '../application/autosync.ts';
import type { DueRefresh } from '../application/freshness.ts';
import type { PassStart } from '../application/operation-state.ts';
import type { CapturedCall, CapturedError, RefreshDecisions } from './capture.ts';

/** The decisions of a refresh, as a recording has them and a replay makes them. */
export interface DecidedRefresh {
  /** Undefined: a comparison after an operation, which no rule asked for. */
  readonly due: DueRefresh | undefined;
  readonly decided: RefreshDecisions | undefined;
  readonly error: CapturedError | undefined;
}

export function refreshDecisions({ due, decided, error }: DecidedRefresh): JsonObject {
  const compared = decided?.decisions;
  return plainObject({
    due: due === undefined ? undefined : dueValue(due),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
    conditions: decided?.conditions,
    ...(compared === undefined
      ? {}
      : {
          ...comparisonDecisions(compared.comparison),
          automatedSync: automatedSyncValue(compared.decision),
          finalizers: compared.finalizers,
        }),
    statusPatch: decided?.patch,
  });
}

function dueValue({ level, hard, reason, cause }: DueRefresh): JsonObject {
  return { level, hard, reason, cause };
}

/** A window that forbids it leaves no decision. */
function automatedSyncValue(decision: AutosyncDecision | undefined): Json {
  return decision === undefined ? { do: 'none', reason: 'a sync window forbids it' } : jsonOf(decision);
}

function comparisonDecisions({ syncStatus, health, pairs, resources, resourceHealth, ...rest }: Comparison): object {
  const statuses = new Map(resources.map((resource) => [keyOfStatus(resource), resource]));
  const rows = pairs.map(({ key, own, hook, diff }): [string, Json] => {
    const status: ResourceStatus = statuses.get(key) ?? {};
    const health = resourceHealth.get(key);
    return [
      key,
      jsonOf(
        defined({
          sync: status.status,
          health: health?.status,
          healthMessage: health?.message,
          hook: hook ? true : undefined,
          own: own ? undefined : false,
          prune: status.requiresPruning,
          confirm: status.requiresDeletionConfirmation,
          wave: status.syncWave,
          differs: diff.modified ? diff.paths : undefined,
          undecided: diff.undecided ? true : undefined,
          faults: diff.faults.length === 0 ? undefined : diff.faults.map(({ rule, problem }) => `${rule} ${problem}`),
        }),
      ),
    ];
  });
  return {
    sync: { status: syncStatus.status, revisions: syncStatus.revisions ?? [syncStatus.revision ?? ''] },
    health,
    failed: rest.failed,
    ...(rest.pruneBlocked === undefined ? {} : { pruneBlocked: rest.pruneBlocked }),
    resources: Object.fromEntries(rows),
  };
}

/** The decisions of a step of an operation. */
export interface DecidedStep {
  readonly start: PassStart;
  readonly calls: readonly CapturedCall[];
  readonly next: OperationState | undefined;
  readonly history: readonly RevisionHistory[] | undefined;
  readonly error: CapturedError | undefined;
}

export function stepDecisions({ start, calls, next, history, error }: DecidedStep): JsonObject {
  const listed = calls.filter(({ method }) => method !== 'get').map(({ method, key, how }) => ({ method, key, how }));
  const sorted = listed.map((call) => ({ call, id: `${call.key} ${call.method}` }));
  return plainObject({
    start: start.do,
    ...('state' in start ? { startState: start.state } : { waitMs: start.ms }),
    // Calls of one wave run at the same time, in any order.
    calls: sorted.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id))).map(({ call }) => call),
    next,
    history,
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  });
}

function plainObject(value: object): JsonObject {
  const members = Object.entries(value) as [string, Json | undefined][];
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}

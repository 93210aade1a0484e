import { applyMergePatch, createMergePatch, omit } from '#base';
import type { JsonObject } from '#base';
import { asObject, jsonOf } from '#model';
import type {
  AppHealthStatus,
  Application,
  ApplicationCondition,
  ApplicationStatus,
  HealthStatusCode,
  OperationState,
  RevisionHistory,
} from '#model';
import { setConditions } from './conditions.ts';
import { kubeTime, parseTime } from './kube-time.ts';
import { endOfSync } from './operation-state.ts';

/**
 * The health of a status: the time moves only when the code changes; with health kept in the tree the message stays frozen until then,
 * so that a flapping text is no write (Argo CD: appcontroller.go persistAppStatus).
 */
export function nextHealth(
  before: AppHealthStatus | undefined,
  now: { readonly status: HealthStatusCode; readonly message: string },
  options: { readonly inline: boolean; readonly time: string },
): AppHealthStatus {
  const changed = before?.status !== now.status;
  const message = changed || options.inline ? now.message : (before.message ?? '');
  const time = changed ? options.time : before.lastTransitionTime;
  return {
    status: now.status,
    ...(message === '' ? {} : { message }),
    ...(time === undefined ? {} : { lastTransitionTime: time }),
  };
}

/**
 * The merge patch that turns one status into another, undefined when nothing differs: no difference, no write. The operation's state is
 * never part of it: that has its own writer.
 */
export function statusPatch(before: ApplicationStatus | undefined, after: ApplicationStatus): JsonObject | undefined {
  const from = omit(before ?? {}, 'operationState');
  const to = omit(after, 'operationState');
  const patch = createMergePatch(jsonOf(from) as JsonObject, jsonOf(to) as JsonObject);
  return patch === undefined ? undefined : { status: patch };
}

/**
 * Whether `status.reconciledAt` has to be written for its own sake: never written, older than the end of the last operation (which is how
 * clients learn that a refresh followed it), or asked for. Otherwise it moves together with other changes only; this process remembers
 * when it compared last. Difference to Argo CD, which writes it at every refresh, so that a quiet installation writes for ever.
 */
export function mustStampReconciledAt(status: ApplicationStatus | undefined, asked: boolean): boolean {
  const at = parseTime(status?.reconciledAt);
  const finished = parseTime(status?.operationState?.finishedAt);
  return at === undefined || asked || (finished !== undefined && at < finished);
}

/**
 * The `status.reconciledAt` of a comparison that began before a sync ended: before that end, undefined when it is so already. Times are whole
 * seconds, and clients (`argocd app wait`, notifications) take a comparison of the second of the end for one that followed it: they would tell people
 * of a state that is over. Difference to Argo CD, where this is left to chance; it is slower, so that it happens less often.
 */
export function comparedBefore(
  reconciledAt: string | undefined,
  state: OperationState | undefined,
): string | undefined {
  const [compared, finished] = [parseTime(reconciledAt), endOfSync(state)];
  return compared === undefined || finished === undefined || compared < finished
    ? undefined
    : kubeTime(finished - 1000);
}

export interface StatusEvent {
  readonly reason: 'ResourceUpdated';
  readonly message: string;
}

/** The Kubernetes Events that a change of status is worth. */
export function statusEvents(before: ApplicationStatus | undefined, after: ApplicationStatus): readonly StatusEvent[] {
  const events: StatusEvent[] = [];
  const [oldSync, newSync] = [before?.sync?.status ?? '', after.sync?.status ?? ''];
  if (oldSync !== newSync)
    events.push({ reason: 'ResourceUpdated', message: `Updated sync status: ${oldSync} -> ${newSync}` });
  const [oldHealth, newHealth] = [before?.health?.status ?? '', after.health?.status ?? ''];
  const detail = after.health?.message ?? '';
  if (oldHealth !== newHealth)
    events.push({
      reason: 'ResourceUpdated',
      message: `Updated health status: ${oldHealth} -> ${newHealth}${detail === '' ? '' : ` (${detail})`}`,
    });
  return events;
}

const tooLarge =
  'Application status exceeds the Kubernetes resource size limit and could not be persisted. The displayed status may be stale. ' +
  'Reduce the number of managed resources, set ApplyOutOfSyncOnly=true, lower spec.revisionHistoryLimit, or split the Application.';

/** The old status with a condition that says that the new one is too big to store. */
export function tooLargeStatus(before: ApplicationStatus | undefined, time: string): ApplicationStatus {
  return withConditions(before ?? {}, [{ type: 'UnknownError', message: tooLarge }], ['UnknownError'], time);
}

/** A status with some condition types evaluated anew. */
export function withConditions(
  status: ApplicationStatus,
  fresh: readonly ApplicationCondition[],
  evaluated: readonly ApplicationCondition['type'][],
  time: string,
): ApplicationStatus {
  const conditions = setConditions(status.conditions, fresh, evaluated, time);
  return conditions.length === 0 ? omit(status, 'conditions') : { ...status, conditions };
}

/** The JSON patch that stores an operation's state; a final one clears `operation` and adds the history entry in one write. */
export function operationStatePatch(
  app: Application,
  state: OperationState,
  history: readonly RevisionHistory[] | undefined,
): readonly JsonObject[] {
  const known = app.status?.operationState;
  const final = state.phase !== 'Running' && state.phase !== 'Terminating';
  const before = comparedBefore(app.status?.reconciledAt, state);
  return [
    // A person may have asked to terminate since we read it: then this patch must not hide that. And another owner may have ended this operation
    // and begun the next one, which runs, too: a write of ours that was long on its way must not put the earlier one in its place.
    ...(['phase', 'startedAt'] as const).flatMap((field) =>
      known?.[field] === undefined
        ? []
        : [{ op: 'test', path: `/status/operationState/${field}`, value: known[field] }],
    ),
    { op: 'add', path: '/status/operationState', value: jsonOf(state) },
    ...(before === undefined ? [] : [{ op: 'add', path: '/status/reconciledAt', value: before }]),
    ...(history === undefined ? [] : [{ op: 'add', path: '/status/history', value: jsonOf(history) }]),
    ...(final ? [{ op: 'add', path: '/operation', value: null }] : []),
  ];
}

/** The merge patch that ends an operation and stores what a comparison found after it, for the very version that `known` is of. */
export function endPatch(known: Application, state: OperationState, status: ApplicationStatus): JsonObject {
  const { resourceVersion = null } = known.metadata;
  const found = statusPatch(known.status, status)?.['status'];
  const moved = createMergePatch(jsonOf(known.status?.operationState ?? {}) as JsonObject, jsonOf(state) as JsonObject);
  return {
    metadata: { resourceVersion },
    status: { ...(found as JsonObject | undefined), operationState: moved ?? {} },
    operation: null,
  };
}

/** What {@link operationStatePatch} does as a merge patch, for an object that has no status yet (a JSON patch cannot create the path). */
export function operationStateMerge(
  state: OperationState,
  history: readonly RevisionHistory[] | undefined,
): JsonObject {
  const final = state.phase !== 'Running' && state.phase !== 'Terminating';
  return {
    status: { operationState: jsonOf(state), ...(history === undefined ? {} : { history: jsonOf(history) }) },
    ...(final ? { operation: null } : {}),
  };
}

/**
 * The merge patch that normalizes a spec, undefined when it is in order: an empty project becomes `default`, empty syncPolicy, helm,
 * kustomize and directory blocks go (Argo CD: NormalizeApplicationSpec).
 */
export function normalizationPatch(app: Application): JsonObject | undefined {
  const spec = jsonOf(app.spec) as JsonObject;
  const sources = app.spec.sources ?? [];
  const normalized: JsonObject = {
    ...spec,
    ...((app.spec.project ?? '') === '' ? { project: 'default' } : {}),
    ...(isZeroPolicy(spec['syncPolicy']) ? { syncPolicy: undefined } : {}),
    ...(sources.length > 0 ? { sources: sources.map((source) => normalSource(jsonOf(source) as JsonObject)) } : {}),
    ...(sources.length === 0 && app.spec.source !== undefined
      ? { source: normalSource(jsonOf(app.spec.source) as JsonObject) }
      : {}),
  };
  const patch = createMergePatch(spec, normalized);
  return patch === undefined ? undefined : { spec: patch };
}

function isZeroPolicy(policy: unknown): boolean {
  return (
    typeof policy === 'object' &&
    policy !== null &&
    Object.entries(policy).every(([key, value]) => key === 'syncOptions' && Array.isArray(value) && value.length === 0)
  );
}

function normalSource(source: JsonObject): JsonObject {
  const result: Record<string, JsonObject[string]> = { ...source };
  for (const block of ['helm', 'kustomize']) if (isEmptyBlock(source[block])) result[block] = undefined;
  if (isEmptyBlock(source['directory'])) result['directory'] = undefined;
  return result;
}

function isEmptyBlock(block: unknown): boolean {
  return (
    typeof block === 'object' &&
    block !== null &&
    !Array.isArray(block) &&
    Object.values(block).every(
      (value) =>
        value === undefined ||
        value === null ||
        value === '' ||
        value === false ||
        isEmptyList(value) ||
        isEmptyBlock(value),
    )
  );
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** An Application with a merge patch applied, as the API server would. */
export function patched(app: Application, patch: JsonObject): Application {
  return applyMergePatch(asObject(app) as never, patch) as unknown as Application;
}

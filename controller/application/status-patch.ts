import { applyMergePatch, createMergePatch, deepEqual, defined, messageOf, omit } from '#base';
import type { JsonObject } from '#base';
import { isTooLarge } from '#kube';
import { asObject, jsonOf, statusRepair } from '#model';
import type {
  AppHealthStatus,
  Application,
  ApplicationCondition,
  ApplicationStatus,
  HealthStatusCode,
  OperationState,
  ResourceStatus,
  RevisionHistory,
} from '#model';
import { setConditions } from '../shared/conditions.ts';
import { kubeTime, parseTime } from '../shared/kube-time.ts';
import { syncEndedAt } from './operation-state.ts';

/**
 * The new health; its time changes only with its status. When the tree has the health of the
 * resources, the message changes only with the status too, so that a flapping text causes no write
 * (Argo CD: appcontroller.go persistAppStatus).
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
    ...defined({ lastTransitionTime: time }),
  };
}

/**
 * The merge patch between two statuses; undefined when they are equal: no difference, no write.
 * Never includes the operation's state, which has its own writer.
 */
export function statusPatch(before: ApplicationStatus | undefined, after: ApplicationStatus): JsonObject | undefined {
  const others = hasSameResources(before?.resources, after.resources) ? (['resources'] as const) : [];
  const from = omit(before ?? {}, 'operationState', ...others);
  const to = omit(after, 'operationState', ...others);
  const patch = createMergePatch(jsonOf(from) as JsonObject, jsonOf(to) as JsonObject);
  return patch === undefined ? undefined : { status: patch };
}

/** A status to store, and how it differs from the stored one. */
export interface StatusChange {
  readonly status: ApplicationStatus;
  /** The {@link statusPatch} against the stored status; undefined: no difference. */
  readonly patch: JsonObject | undefined;
}

export function statusChange(before: ApplicationStatus | undefined, status: ApplicationStatus): StatusChange {
  return { status, patch: statusPatch(before, status) };
}

/** Adds the time of the comparison to a change whose `status.reconciledAt` is the stored one. */
export function withReconciledAt(change: StatusChange, time: string): StatusChange {
  const { status, patch } = change;
  if (status.reconciledAt === time) return change;
  const changed = { ...(patch?.['status'] as JsonObject | undefined), reconciledAt: time };
  return { status: { ...status, reconciledAt: time }, patch: { status: changed } };
}

/** Maps a stored list to our list that was found equal to it. */
const equalResourceLists = new WeakMap<readonly ResourceStatus[], readonly ResourceStatus[]>();

/**
 * Compares only entries that changed since the last call: the same object, equal then, is equal
 * now.
 */
function hasSameResources(
  stored: readonly ResourceStatus[] | undefined,
  ours: readonly ResourceStatus[] | undefined,
): boolean {
  if (stored === ours || stored === undefined || ours === undefined) return stored === ours;
  const before = equalResourceLists.get(stored);
  if (before === ours) return true;
  const isSame =
    stored.length === ours.length &&
    ours.every((one, i) => one === before?.[i] || deepEqual(jsonOf(stored[i]), jsonOf(one)));
  if (isSame) equalResourceLists.set(stored, ours);
  return isSame;
}

/**
 * Whether `status.reconciledAt` must be written on its own: it is missing, older than the end of
 * the last operation (clients detect the refresh after it this way), or a refresh was requested.
 * Otherwise it is only written with other changes, and this process remembers when it compared.
 *
 * Difference to Argo CD, which writes it at every refresh, and so writes to idle Applications
 * forever.
 */
export function shouldStampReconciledAt(
  status: ApplicationStatus | undefined,
  { asked, time }: { readonly asked: boolean; readonly time: string },
): boolean {
  const at = parseTime(status?.reconciledAt);
  const finished = parseTime(status?.operationState?.finishedAt);
  if (at === undefined || asked) return true;
  // After the clock was set back, no stamp is later than the end yet: writing one helps no client.
  return finished !== undefined && at < finished && (parseTime(time) ?? 0) >= finished;
}

/**
 * The `status.reconciledAt` for a comparison that began before a sync ended: one second before that
 * end; undefined if it is earlier already. Times are whole seconds: clients (`argocd app wait`,
 * notifications) treat a comparison in the second of the end as a later one, and would report an
 * outdated state. Argo CD has this race too, but is slower and hits it less often.
 */
export function reconciledAtBeforeEnd(
  reconciledAt: string | undefined,
  state: OperationState | undefined,
): string | undefined {
  const [compared, finished] = [parseTime(reconciledAt), syncEndedAt(state)];
  return compared === undefined || finished === undefined || compared < finished
    ? undefined
    : kubeTime(finished - 1000);
}

export interface StatusEvent {
  readonly reason: 'ResourceUpdated';
  readonly message: string;
}

/** The Kubernetes Events for a change of status. */
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

const statusTooLargeMessage =
  'Application status exceeds the Kubernetes resource size limit and could not be persisted. The displayed status may be stale. ' +
  'Reduce the number of managed resources, set ApplyOutOfSyncOnly=true, lower spec.revisionHistoryLimit, or split the Application.';

/** The previous status with a condition that says why the server did not store the new one. */
export function unstoredStatus(
  before: ApplicationStatus | undefined,
  refusal: unknown,
  time: string,
): ApplicationStatus {
  const message = isTooLarge(refusal)
    ? statusTooLargeMessage
    : `The API server refused the status of the Application, so the displayed status may be stale: ${messageOf(refusal)}`;
  return withConditions(before ?? {}, [{ type: 'UnknownError', message }], ['UnknownError'], time);
}

/** The status with some condition types replaced. */
export function withConditions(
  status: ApplicationStatus,
  fresh: readonly ApplicationCondition[],
  evaluated: readonly ApplicationCondition['type'][],
  time: string,
): ApplicationStatus {
  const conditions = setConditions(status.conditions, fresh, evaluated, time);
  return conditions.length === 0 ? omit(status, 'conditions') : { ...status, conditions };
}

/**
 * The JSON patch that stores an operation's state; a final one clears `operation` and adds the
 * history entry in one write.
 */
export function operationStatePatch(
  app: Application,
  state: OperationState,
  history: readonly RevisionHistory[] | undefined,
): readonly JsonObject[] {
  const known = app.status?.operationState;
  const final = state.phase !== 'Running' && state.phase !== 'Terminating';
  const before = reconciledAtBeforeEnd(app.status?.reconciledAt, state);
  return [
    // The tests refuse a late write of ours that would hide a termination request, or replace a
    // newer state after another owner ended this operation and started the next, or after its end.
    ...(known === undefined && app.operation !== undefined
      ? [{ op: 'test', path: '/operation', value: jsonOf(app.operation) }]
      : []),
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

/**
 * Merge patch that ends an operation and stores the comparison after it, for the version `known`
 * only.
 */
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

/**
 * {@link operationStatePatch} as a merge patch, for an object without a status: a JSON patch cannot
 * create the path. For the version of `app` only.
 */
export function operationStateMerge(
  { metadata }: Pick<Application, 'metadata'>,
  state: OperationState,
  history: readonly RevisionHistory[] | undefined,
): JsonObject {
  const final = state.phase !== 'Running' && state.phase !== 'Terminating';
  return {
    metadata: { resourceVersion: metadata.resourceVersion ?? null },
    status: { operationState: jsonOf(state), ...(history === undefined ? {} : { history: jsonOf(history) }) },
    ...(final ? { operation: null } : {}),
  };
}

/**
 * The merge patch that normalizes a spec, and removes from the status what cannot be read;
 * undefined when nothing is to do. An empty project becomes
 * `default`; empty syncPolicy, helm, kustomize and directory blocks are removed (Argo CD:
 * NormalizeApplicationSpec).
 */
export function normalizationPatch(app: Application): JsonObject | undefined {
  const spec = jsonOf(app.spec) as JsonObject;
  const sources = app.spec.sources ?? [];
  const normalized: JsonObject = {
    ...spec,
    ...((app.spec.project ?? '') === '' ? { project: 'default' } : {}),
    ...(isZeroPolicy(spec['syncPolicy']) ? { syncPolicy: undefined } : {}),
    ...(sources.length > 0 ? { sources: sources.map((source) => normalizeSource(jsonOf(source) as JsonObject)) } : {}),
    ...(sources.length === 0 && app.spec.source !== undefined
      ? { source: normalizeSource(jsonOf(app.spec.source) as JsonObject) }
      : {}),
  };
  const patch = createMergePatch(spec, normalized);
  const repair = statusRepair(app);
  return patch === undefined ? repair : { spec: patch, ...repair };
}

function isZeroPolicy(policy: unknown): boolean {
  return (
    typeof policy === 'object' &&
    policy !== null &&
    Object.entries(policy).every(([key, value]) => key === 'syncOptions' && Array.isArray(value) && value.length === 0)
  );
}

function normalizeSource(source: JsonObject): JsonObject {
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

/** Applies a merge patch to an Application, like the API server. */
export function withMergePatch(app: Application, patch: JsonObject): Application {
  return applyMergePatch(asObject(app) as never, patch) as unknown as Application;
}

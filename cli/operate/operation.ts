import { compareIntegers, defined, isObject, parseGoInt, UsageError } from '#base';
import { hasMultipleSources, hasOperation, isAutomated, isCompleted, sourceOf } from '#model';
import type { Application, Operation, RevisionHistory, SyncOperation } from '#model';
import { nameOf, OperateError } from './errors.ts';
import { selectResources } from './resources.ts';

/** A sync that a user requests. */
export interface SyncRequest {
  /** Empty: that of the source. */
  readonly revision: string;
  readonly prune: boolean;
  readonly dryRun: boolean;
  /** `GROUP:KIND:NAME`; empty: all. */
  readonly resources: readonly string[];
  /** Empty: unknown. */
  readonly username: string;
}

export interface RollbackRequest {
  /** ID of an entry of `status.history`; undefined: the entry before the last. */
  readonly id: string | undefined;
  readonly prune: boolean;
  readonly dryRun: boolean;
  readonly username: string;
}

/**
 * The operation that Argo CD's API server writes for `argocd app sync`, except that the revision is
 * resolved by the controller.
 * @throws OperateError if the Application cannot be synced that way
 */
export function syncOperation(app: Application, request: SyncRequest): Operation {
  const { spec } = app;
  checkFree(app);
  const { revision, prune, dryRun } = request;
  if (revision !== '' && hasMultipleSources(spec))
    throw new OperateError(
      `Application ${nameOf(app)} has ${spec.sources?.length ?? 0} sources, and --revision names one: change targetRevision of the source`,
    );
  const target = sourceOf(spec).targetRevision ?? '';
  if (revision !== '' && isAutomated(spec) && !dryRun && revision !== (target === '' ? 'HEAD' : target))
    throw new OperateError(
      `cannot sync Application ${nameOf(app)} to ${revision}: automated sync follows ${target === '' ? 'HEAD' : target}, and would undo it; switch it off, or change targetRevision`,
    );
  const resources = selectResources(app, request.resources);
  return operationOf(app, request.username, {
    ...(revision === '' ? {} : { revision }),
    ...flags(prune, dryRun),
    syncStrategy: { hook: {} },
    ...(resources.length === 0 ? {} : { resources }),
    ...(hasMultipleSources(spec) ? {} : { source: sourceOf(spec) }),
    ...defined({ sources: spec.sources }),
  });
}

/**
 * The operation that Argo CD's API server writes for `argocd app rollback`: revisions and sources
 * of an entry of the history, without hooks.
 * @throws OperateError if there is no such entry, or automated sync would undo it
 */
export function rollbackOperation(app: Application, request: RollbackRequest): Operation {
  checkFree(app);
  if (isAutomated(app.spec))
    throw new OperateError(
      `cannot roll back Application ${nameOf(app)}: automated sync would undo it; remove spec.syncPolicy.automated first, or revert the commit`,
    );
  const { revision, revisions, source, sources } = entryOf(app, request.id);
  return operationOf(app, request.username, {
    ...defined({ revision, revisions }),
    ...flags(request.prune, request.dryRun),
    syncStrategy: { apply: {} },
    ...(isObject(source) ? { source } : {}),
    ...defined({ sources }),
  });
}

/** A terminating write, or why there is none to make. */
export type Termination =
  /** Remove the operation: no controller has begun it. */
  { readonly do: 'withdraw' } | { readonly do: 'terminate' };

/** @throws OperateError if no operation is in flight */
export function terminationOf(app: Application): Termination {
  if (!hasOperation(app))
    throw new OperateError(`Application ${nameOf(app)} has no operation in progress, so there is none to terminate`);
  const phase = app.status?.operationState?.phase;
  return { do: phase === undefined || isCompleted(phase) ? 'withdraw' : 'terminate' };
}

/** @throws OperateError if an operation is in progress, or the Application is being deleted */
function checkFree(app: Application): void {
  if (app.metadata.deletionTimestamp !== undefined)
    throw new OperateError(`Application ${nameOf(app)} is being deleted`);
  if (hasOperation(app)) throw anotherInProgress(app);
}

function anotherInProgress(app: Application): OperateError {
  const { operation, status } = app;
  const state = status?.operationState;
  const { initiatedBy = {} } = operation ?? state?.operation ?? {};
  const by =
    initiatedBy.automated === true ? ' by automated sync' : initiatedBy.username ? ` by ${initiatedBy.username}` : '';
  const how =
    state === undefined || isCompleted(state.phase) ? 'not begun yet' : `${state.phase} since ${state.startedAt}`;
  return new OperateError(
    `another operation is already in progress for Application ${nameOf(app)}: a sync${by}, ${how}; wait for it, or end it: driftless terminate ${nameOf(app)}`,
  );
}

function flags(prune: boolean, dryRun: boolean): Pick<SyncOperation, 'prune' | 'dryRun'> {
  return { ...(prune ? { prune } : {}), ...(dryRun ? { dryRun } : {}) };
}

function operationOf(app: Application, username: string, sync: SyncOperation): Operation {
  const { syncOptions, retry } = readPolicy(app);
  const isRollback = sync.syncStrategy?.apply !== undefined;
  return {
    sync: { ...sync, ...(syncOptions.length === 0 ? {} : { syncOptions }) },
    initiatedBy: username === '' ? {} : { username },
    retry: isRollback ? {} : retry,
  };
}

/** @throws OperateError for members of another type: Applications may be stored without a schema */
function readPolicy(app: Application): {
  readonly syncOptions: readonly string[];
  readonly retry: NonNullable<Operation['retry']>;
} {
  const { syncOptions, retry } = app.spec.syncPolicy ?? {};
  const options: unknown = syncOptions ?? [];
  if (!Array.isArray(options) || !options.every((option): option is string => typeof option === 'string'))
    throw wrongType(app, 'spec.syncPolicy.syncOptions', 'a list of texts');
  if (!isObject(retry ?? {})) throw wrongType(app, 'spec.syncPolicy.retry', 'an object');
  return { syncOptions: options, retry: retry ?? {} };
}

function entryOf(app: Application, id: string | undefined): RevisionHistory {
  const history: unknown = app.status?.history ?? [];
  if (!Array.isArray(history) || !history.every((entry) => isObject(entry)))
    throw wrongType(app, 'status.history', 'a list of objects');
  const entries = history as unknown as readonly RevisionHistory[];
  const entry = id === undefined ? entries.at(-2) : entries.find((each) => compareIntegers(each.id, idOf(id)) === 0);
  if (entry === undefined) throw new OperateError(noEntry(app, id, entries));
  const hasSource = isObject(entry.source) && entry.source.repoURL !== '';
  if (!hasSource && (entry.sources?.length ?? 0) === 0)
    throw new OperateError(
      `entry ${String(entry.id)} of the history of Application ${nameOf(app)} has no source: sync to its revision instead, with --revision ${entry.revision ?? ''}`,
    );
  return entry;
}

function idOf(text: string): number {
  const id = parseGoInt(text);
  if (id === undefined || id < 0) throw new UsageError(`the ID of a history entry is a whole number, not "${text}"`);
  return id;
}

function noEntry(app: Application, id: string | undefined, entries: readonly RevisionHistory[]): string {
  const known = entries.map((entry) => String(entry.id)).join(', ');
  const has = known === '' ? 'its history is empty' : `its history has ${known}`;
  return id === undefined
    ? `Application ${nameOf(app)} has no earlier deployment to roll back to: ${has}`
    : `Application ${nameOf(app)} has no deployment with ID ${id}: ${has}`;
}

function wrongType(app: Application, field: string, what: string): OperateError {
  return new OperateError(`${field} of Application ${nameOf(app)} is not ${what}: correct it first`);
}

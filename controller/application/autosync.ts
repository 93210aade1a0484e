import { asCount, deepEqual, defined, parseGoBool } from '#base';
import { equalSourceLists, equalSources } from '#compare';
import type { KindState } from '#live';
import {
  annotations,
  hasMultipleSources,
  isAutomated,
  isCompleted,
  keyOfRef,
  keyOfStatus,
  kindFinder,
  sourceOf,
} from '#model';
import type {
  Application,
  Operation,
  OperationState,
  ResourceKey,
  ResourceStatus,
  RetryStrategy,
  SyncOperation,
  SyncOperationResult,
  SyncStatus,
} from '#model';
import { isPrunePostponed } from '#sync';
import { parseTime } from '../shared/kube-time.ts';
import { deletionsRestMs } from './kept-objects.ts';
import type { KeptObjects } from './kept-objects.ts';

/** Delays between self-heal attempts. */
export interface SelfHealBackoff {
  /** Exponential mode: the first delay; 0 selects linear mode. */
  readonly backoffMs: number;
  readonly factor: number;
  readonly capMs: number;
  /** Linear mode: the delay before every attempt, including the first. */
  readonly timeoutMs: number;
}

export interface AutosyncFacts {
  readonly app: Application;
  readonly syncStatus: SyncStatus;
  readonly resources: readonly ResourceStatus[];
  /** False when the new revision's manifests are known to equal those of the last one. */
  readonly revisionsMayHaveChanges: boolean;
  readonly backoff: SelfHealBackoff;
  /** When an earlier comparison by this process last found it OutOfSync. */
  readonly driftSeenAt: number | undefined;
  /**
   * Some live objects could not be read: an operation would fail, and a failed one is not repeated.
   */
  readonly unread: boolean;
  /** Kinds whose live state is stale, and where: none of their objects there is pruned. */
  readonly stale: readonly KindState[];
  /** Nothing is pruned, because the sources may have rendered less than they should. */
  readonly pruneBlocked: boolean;
  /** Resources that require pruning, but that another Application declares too: not pruned. */
  readonly claimed: ReadonlySet<ResourceKey>;
  /** Resources that require pruning, but that a prune would not remove. */
  readonly kept: KeptObjects;
  /**
   * Objects that another writer fights over, and how long self-heal leaves them alone (0: it does
   * not). Syncs to new revisions do not wait.
   */
  readonly contested: ReadonlyMap<ResourceKey, number>;
  /** --retry-latest-revision; an annotation of the Application takes precedence. */
  readonly retryLatestRevision: boolean;
  readonly now: number;
}

/**
 * The action of automated sync after a comparison. Each but `refuse` clears the last SyncError.
 */
export type AutosyncDecision =
  | { readonly do: 'skip'; readonly reason: string }
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string }
  | { readonly do: 'refuse'; readonly message: string }
  | { readonly do: 'start'; readonly operation: Operation; readonly reason: string };

/** Reasons for which Argo CD's log has other words. */
export const onlyPruningLeft = 'only pruning is left, and pruning is off';
export const alreadySynced = 'this revision was already synced and self-heal is off';
/** A condition names the objects. */
export const onlyKeptLeft = 'only pruning is left, and it would not remove the objects';
const onlyUnknownLeft = 'it is unknown whether the other resources differ';
/** The beginning of the reason while the next self-heal attempt waits. */
export const healWaits = 'self-heal attempt ';

/**
 * The decision list of automated sync, in Argo CD's order (controller: autoSync,
 * alreadyAttemptedSync, selfHealRemainingBackoff).
 *
 * Differences: the self-heal counter restarts after a quiet time longer than the cap; Argo CD never
 * resets it, so a drift years later would wait for the cap. Sources are compared semantically, see
 * {@link equalSources}.
 */
export function decideAutosync(facts: AutosyncFacts): AutosyncDecision {
  const refusal = reasonToSkip(facts);
  if (refusal === onlyKeptLeft) return leaveKept(facts);
  if (refusal !== undefined) return { do: 'skip', reason: refusal };
  const revisions = revisionsOf(facts.syncStatus);
  const last = facts.app.status?.operationState;
  if (last === undefined || !hasAttempted(facts, last, revisions) || hasPrunesToResume(facts, last))
    return startOrRefuse(facts, undefined);
  if (last.phase !== 'Succeeded' && !isFailedHealOfLess(facts, last))
    return {
      do: 'refuse',
      message: `Failed last sync attempt to [${triedRevisions(facts, last)}]: ${last.message ?? ''}`,
    };
  if (facts.app.spec.syncPolicy?.automated?.selfHeal !== true) return { do: 'skip', reason: alreadySynced };
  return decideSelfHeal(facts, last);
}

/**
 * Whether the last operation was a self-heal that did not name all that differs now. In Argo CD a
 * namespace that is deleted with its objects stays gone: the first of them fails for good.
 */
function isFailedHealOfLess({ resources }: AutosyncFacts, { operation }: OperationState): boolean {
  const { sync, initiatedBy } = operation;
  if (initiatedBy?.automated !== true || sync?.autoHealAttemptsCount === undefined) return false;
  const named = new Set((sync.resources ?? []).map(keyOfStatus));
  return named.size > 0 && resources.some((resource) => isDrifted(resource) && !named.has(keyOfStatus(resource)));
}

function decideSelfHeal(facts: AutosyncFacts, last: OperationState): AutosyncDecision {
  const drifted = facts.resources.filter(isDrifted);
  // An operation without names would sync everything.
  if (drifted.length === 0 && facts.resources.some(isOpen)) return { do: 'skip', reason: onlyUnknownLeft };
  const healable = drifted.filter((resource) => pauseMs(facts, resource) === 0);
  const leaves = healable.length === 0 || reasonToLeave(facts, healable) !== undefined;
  if (drifted.length > healable.length && leaves) return afterContestPause(facts, drifted);
  const heal = nextSelfHeal(facts, last, healable);
  if (heal.waitMs > 0)
    return { do: 'wait', ms: heal.waitMs, reason: `${healWaits}${heal.attempt} waits for its backoff` };
  return startOrRefuse(facts, { attempt: heal.attempt, resources: healable });
}

/** Waits for running deletions before it gives up. */
function leaveKept({ kept, now }: AutosyncFacts): AutosyncDecision {
  const ms = deletionsRestMs([...kept.values()], now);
  if (ms === 0) return { do: 'skip', reason: onlyKeptLeft };
  return { do: 'wait', ms, reason: 'only pruning is left, and the objects are being deleted' };
}

/**
 * Difference: Argo CD also names Unknown resources. Such a resource may have an ignore rule that
 * cannot be read, and once the rule is repaired the operation would overwrite what it ignores.
 */
function isDrifted({ status }: ResourceStatus): boolean {
  return status === 'OutOfSync';
}

/** A finished hook has no sync status, and no sync would change that. */
function isOpen({ hook, status }: ResourceStatus): boolean {
  return hook !== true && status !== 'Synced';
}

function pauseMs({ contested }: AutosyncFacts, resource: ResourceStatus): number {
  return contested.get(keyOfStatus(resource)) ?? 0;
}

/** Everything that could be healed is contested. */
function afterContestPause(facts: AutosyncFacts, drifted: readonly ResourceStatus[]): AutosyncDecision {
  const pauses = drifted.map((resource) => pauseMs(facts, resource)).filter((ms) => ms > 0);
  const ms = Math.min(...pauses);
  if (ms === Number.POSITIVE_INFINITY)
    return { do: 'skip', reason: 'only pruning is left, and another controller recreates the objects' };
  return { do: 'wait', ms, reason: 'self-heal pauses, because another writer undoes it' };
}

/** A self-heal, and the resources that it names. */
interface SelfHeal {
  readonly attempt: number;
  readonly resources: readonly ResourceStatus[];
}

/** Refuses to prune everything; otherwise starts the operation. */
function startOrRefuse(facts: AutosyncFacts, heal: SelfHeal | undefined): AutosyncDecision {
  const revisions = revisionsOf(facts.syncStatus).join(' ');
  const automated = facts.app.spec.syncPolicy?.automated;
  if (automated?.prune === true && automated.allowEmpty !== true && facts.resources.every((r) => r.requiresPruning))
    return { do: 'refuse', message: `Skipping sync attempt to [${revisions}]: auto-sync will wipe out all resources` };
  return {
    do: 'start',
    operation: automatedOperation(facts, heal),
    reason: heal === undefined ? `new revision [${revisions}]` : `self-heal attempt ${heal.attempt}`,
  };
}

function reasonToSkip(facts: AutosyncFacts): string | undefined {
  const { app, syncStatus, resources, unread } = facts;
  if (!isAutomated(app.spec)) return 'automated sync is off';
  if (app.operation !== undefined) return 'another operation is in progress';
  if (app.metadata.deletionTimestamp !== undefined) return 'the application is being deleted';
  if (syncStatus.status !== 'OutOfSync') return `the application is ${syncStatus.status}`;
  if (unread) return 'the live state of some of its resources is unknown';
  return reasonToLeave(facts, resources.filter(isOpen));
}

/** Why a sync would not change any of these resources. */
function reasonToLeave(
  { app, claimed, kept, pruneBlocked }: AutosyncFacts,
  open: readonly ResourceStatus[],
): string | undefined {
  if (app.spec.syncPolicy?.automated?.prune !== true && open.every((resource) => resource.requiresPruning === true))
    return onlyPruningLeft;
  if (open.length > 0 && open.every((resource) => claimed.has(keyOfStatus(resource))))
    return 'only pruning is left, and other applications have the objects too';
  const hasNoEffect = (resource: ResourceStatus): boolean =>
    claimed.has(keyOfStatus(resource)) || kept.has(keyOfStatus(resource));
  if (open.length > 0 && open.every(hasNoEffect)) return onlyKeptLeft;
  if (pruneBlocked && open.length > 0 && open.every((resource) => resource.requiresPruning === true))
    return 'only pruning is left, and the API versions of the cluster are not fully known';
  return undefined;
}

export function revisionsOf(status: SyncStatus): readonly string[] {
  return (status.revisions?.length ?? 0) > 0 ? (status.revisions ?? []) : [status.revision ?? ''];
}

/** The revisions of the last attempt, which may be older than those of the comparison. */
export function triedRevisions({ app }: AutosyncFacts, { syncResult }: OperationState): string {
  return (hasMultipleSources(app.spec) ? (syncResult?.revisions ?? []) : [syncResult?.revision ?? '']).join(' ');
}

/** Whether the last operation already tried the same revisions (where they matter) and sources. */
function hasAttempted(facts: AutosyncFacts, last: OperationState, revisions: readonly string[]): boolean {
  const result = wholeResult(facts.app, last);
  if (result === undefined) return isCompleted(last.phase) && last.syncResult === undefined;
  const { spec } = facts.app;
  const multiple = hasMultipleSources(spec);
  // A failure at another revision says nothing about this one, although the spec names it exactly.
  const paths = facts.app.metadata.annotations?.[annotations.manifestGeneratePaths] ?? '';
  if (facts.revisionsMayHaveChanges || (last.phase !== 'Succeeded' && paths === '')) {
    const tried = multiple ? (result.revisions ?? []) : [result.revision];
    if (!deepEqual([...tried], [...revisions])) return false;
  }
  return multiple ? equalSourceLists(spec.sources, result.sources) : equalSources(sourceOf(spec), result.source);
}

/**
 * The last sync of all resources. A dry run, or a sync of resources that a user selected, says
 * nothing about the others; the history has the last successful sync of all.
 */
function wholeResult({ spec, status }: Application, last: OperationState): SyncOperationResult | undefined {
  const { sync } = last.operation;
  const isPartial = (sync?.resources?.length ?? 0) > 0 && sync?.autoHealAttemptsCount === undefined;
  const hasHistory = asCount(spec.revisionHistoryLimit, 1) > 0;
  if (last.syncResult === undefined || !hasHistory || (!isPartial && sync?.dryRun !== true)) return last.syncResult;
  const whole = status?.history?.at(-1);
  return whole === undefined ? undefined : { ...whole, revision: whole.revision ?? '' };
}

/**
 * Whether prunes that the last sync held back (stale kind, unknown API versions, another owner) are
 * possible now. Without this, they would wait for the next commit, while Argo CD would have pruned
 * at once.
 */
function hasPrunesToResume(facts: AutosyncFacts, last: OperationState): boolean {
  const { resources, stale, claimed, pruneBlocked, app } = facts;
  if (pruneBlocked || last.phase !== 'Succeeded' || app.spec.syncPolicy?.automated?.prune !== true) return false;
  const staleKindAt = kindFinder(stale);
  const skipped = (last.syncResult?.resources ?? []).filter(isPrunePostponed);
  return skipped.some(
    (ref) =>
      (staleKindAt(ref)?.state ?? 'polled') === 'polled' &&
      !claimed.has(keyOfRef(ref)) &&
      resources.some((row) => row.requiresPruning === true && keyOfStatus(row) === keyOfRef(ref)),
  );
}

function nextSelfHeal(
  facts: AutosyncFacts,
  last: OperationState,
  healable: readonly ResourceStatus[],
): { readonly attempt: number; readonly waitMs: number } {
  const finished = clampFutureTime(facts, parseTime(last.finishedAt));
  const sinceMs = finished === undefined ? 0 : facts.now - finished;
  const counted = isContestOfOthers(facts, last, healable) ? 0 : asCount(last.operation.sync?.autoHealAttemptsCount, 0);
  const attempts = finished !== undefined && hasBeenQuiet(facts, finished, counted) ? 0 : counted;
  return { attempt: attempts + 1, waitMs: Math.max(0, selfHealDelayMs(attempts, facts.backoff) - sinceMs) };
}

/** Whether the last attempts were about contested objects only: others do not wait for them. */
function isContestOfOthers(
  { contested }: AutosyncFacts,
  last: OperationState,
  healable: readonly ResourceStatus[],
): boolean {
  if (contested.size === 0) return false;
  const named = new Set((last.operation.sync?.resources ?? []).map(nameOf));
  return !healable.some((resource) => named.has(nameOf(resource)));
}

function nameOf({ group = '', kind = '', name = '' }: Pick<ResourceStatus, 'group' | 'kind' | 'name'>): string {
  return `${group}/${kind}/${name}`;
}

/** Treats a time further in the future than any delay (a skewed clock) as long past. */
function clampFutureTime({ backoff, now }: AutosyncFacts, time: number | undefined): number | undefined {
  const longest = Math.max(backoff.capMs, backoff.timeoutMs, backoff.backoffMs);
  return time !== undefined && time - now > longest ? now - longest - 1 : time;
}

/**
 * Whether there was no drift for longer than any delay. Only a Synced status counts: if waiting for
 * the backoff counted too, two rival writers would get new attempts after each longest delay.
 */
function hasBeenQuiet(
  { app, backoff, driftSeenAt = 0, now }: AutosyncFacts,
  finished: number,
  attempts: number,
): boolean {
  if (app.status?.sync?.status !== 'Synced') return false;
  const longest = Math.max(backoff.capMs, backoff.timeoutMs, selfHealDelayMs(attempts, backoff));
  return now - Math.max(finished, driftSeenAt) > longest;
}

/**
 * The delay before attempt `attempts + 1`, from the end of the last operation. Exponential mode:
 * none at first, then d·f^(n-1) up to the cap. Linear mode: always the timeout.
 */
export function selfHealDelayMs(attempts: number, backoff: SelfHealBackoff): number {
  if (backoff.backoffMs <= 0) return backoff.timeoutMs;
  if (attempts === 0) return 0;
  if (backoff.factor <= 0) return backoff.backoffMs;
  const delay = backoff.backoffMs * backoff.factor ** (attempts - 1);
  return backoff.capMs > 0 ? Math.min(backoff.capMs, delay) : delay;
}

function automatedOperation(facts: AutosyncFacts, heal: SelfHeal | undefined): Operation {
  const { spec } = facts.app;
  const sources: Partial<SyncOperation> = hasMultipleSources(spec)
    ? { sources: spec.sources ?? [], revisions: facts.syncStatus.revisions ?? [] }
    : { source: sourceOf(spec), revision: facts.syncStatus.revision ?? '' };
  const options = spec.syncPolicy?.syncOptions ?? [];
  return {
    sync: {
      ...sources,
      ...(spec.syncPolicy?.automated?.prune === true ? { prune: true } : {}),
      ...(options.length > 0 ? { syncOptions: options } : {}),
      ...(heal === undefined ? {} : { autoHealAttemptsCount: heal.attempt, resources: healedResources(facts, heal) }),
    },
    initiatedBy: { automated: true },
    retry: retryStrategy(facts, heal),
  };
}

/**
 * All resources that are not Synced, including hooks, without namespaces (Argo CD's shape), unless
 * the same name in another namespace is left alone.
 */
function healedResources(
  { contested, resources: all }: AutosyncFacts,
  { resources }: SelfHeal,
): NonNullable<SyncOperation['resources']> {
  const left = new Set(all.filter((resource) => (contested.get(keyOfStatus(resource)) ?? 0) > 0).map(nameOf));
  return resources.map((resource) => ({
    ...(resource.group === undefined || resource.group === '' ? {} : { group: resource.group }),
    kind: resource.kind ?? '',
    name: resource.name ?? '',
    ...(left.has(nameOf(resource)) ? defined({ namespace: resource.namespace }) : {}),
  }));
}

/**
 * The retry strategy of the spec. By option, retries of a full sync take the latest revision, so
 * that those of a broken commit do not delay its fix; a self-heal stays at its revision.
 */
function retryStrategy({ app, retryLatestRevision }: AutosyncFacts, heal: SelfHeal | undefined): RetryStrategy {
  const retry = app.spec.syncPolicy?.retry ?? { limit: 5 };
  const own = parseGoBool(app.metadata.annotations?.[annotations.retryLatestRevision]);
  return heal === undefined && (own ?? retryLatestRevision) ? { ...retry, refresh: true } : retry;
}

import { deepEqual } from '#base';
import { equalSourceLists, equalSources } from '#compare';
import { hasMultipleSources, isAutomated, isCompleted, keyOfRef, keyOfStatus, sourceOf } from '#model';
import type {
  Application,
  GroupKind,
  Operation,
  OperationState,
  ResourceKey,
  ResourceStatus,
  SyncOperation,
  SyncStatus,
} from '#model';
import { wasHeldBack } from '#sync';
import { parseTime } from './kube-time.ts';

/** How long to wait between self-heal attempts. */
export interface SelfHealBackoff {
  /** Exponential mode: the first delay; 0 switches to linear mode. */
  readonly backoffMs: number;
  readonly factor: number;
  readonly capMs: number;
  /** Linear mode: the delay of every attempt, the first one too. */
  readonly timeoutMs: number;
}

export interface AutosyncFacts {
  readonly app: Application;
  readonly syncStatus: SyncStatus;
  readonly resources: readonly ResourceStatus[];
  /** False when it is known that the manifests of the new revision equal those of the last one. */
  readonly revisionsMayHaveChanges: boolean;
  readonly backoff: SelfHealBackoff;
  /** When an earlier comparison of this process last found it OutOfSync. */
  readonly driftSeenAt: number | undefined;
  /** Some of its live objects could not be read: an operation would be refused, and a refused one is not tried again. */
  readonly unread: boolean;
  /** Kinds whose live state is not up to date: nothing of them is pruned. */
  readonly stale: readonly GroupKind[];
  /** What requires pruning and another application has, too: it is not pruned. */
  readonly claimed: ReadonlySet<ResourceKey>;
  readonly now: number;
}

/** What automated sync does about a comparison. `skip` also means that the last SyncError is over. */
export type AutosyncDecision =
  | { readonly do: 'skip'; readonly reason: string }
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string }
  | { readonly do: 'refuse'; readonly message: string }
  | { readonly do: 'start'; readonly operation: Operation; readonly reason: string };

/**
 * The decision list of automated sync, in Argo CD's order (controller: autoSync, alreadyAttemptedSync, selfHealRemainingBackoff).
 *
 * Differences: the self-heal counter starts again after a quiet time, longer than the cap and without any drift; Argo CD never resets it, so
 * that a drift years later would wait for the cap. Sources are compared by what they mean, see {@link equalSources}.
 */
export function decideAutosync(facts: AutosyncFacts): AutosyncDecision {
  const refusal = notNow(facts);
  if (refusal !== undefined) return { do: 'skip', reason: refusal };
  const revisions = revisionsOf(facts.syncStatus);
  const last = facts.app.status?.operationState;
  if (last === undefined || !alreadyAttempted(facts, last, revisions) || leftPrunes(facts, last))
    return begin(facts, undefined);
  if (last.phase !== 'Succeeded')
    return { do: 'refuse', message: `Failed last sync attempt to [${revisions.join(' ')}]: ${last.message ?? ''}` };
  if (facts.app.spec.syncPolicy?.automated?.selfHeal !== true)
    return { do: 'skip', reason: 'this revision was already synced and self-heal is off' };
  const heal = selfHeal(facts, last);
  if (heal.waitMs > 0)
    return { do: 'wait', ms: heal.waitMs, reason: `self-heal attempt ${heal.attempt} waits for its backoff` };
  return begin(facts, heal.attempt);
}

/** The last check, then the operation. */
function begin(facts: AutosyncFacts, healAttempt: number | undefined): AutosyncDecision {
  const revisions = revisionsOf(facts.syncStatus).join(' ');
  const automated = facts.app.spec.syncPolicy?.automated;
  if (automated?.prune === true && automated.allowEmpty !== true && facts.resources.every((r) => r.requiresPruning))
    return { do: 'refuse', message: `Skipping sync attempt to [${revisions}]: auto-sync will wipe out all resources` };
  return {
    do: 'start',
    operation: automatedOperation(facts, healAttempt),
    reason: healAttempt === undefined ? `new revision [${revisions}]` : `self-heal attempt ${healAttempt}`,
  };
}

function notNow({ app, syncStatus, resources, unread, claimed }: AutosyncFacts): string | undefined {
  if (!isAutomated(app.spec)) return 'automated sync is off';
  if (app.operation !== undefined && app.operation !== null) return 'another operation is in progress';
  if (app.metadata.deletionTimestamp !== undefined) return 'the application is being deleted';
  if (syncStatus.status !== 'OutOfSync') return `the application is ${syncStatus.status}`;
  if (unread) return 'the live state of some of its resources is not known';
  const open = resources.filter((resource) => resource.status !== 'Synced');
  if (app.spec.syncPolicy?.automated?.prune !== true && open.every((resource) => resource.requiresPruning === true))
    return 'only pruning is left, and pruning is off';
  if (open.length > 0 && open.every((resource) => claimed.has(keyOfStatus(resource))))
    return 'only pruning is left, of what other applications have, too';
  return undefined;
}

function revisionsOf(status: SyncStatus): readonly string[] {
  return (status.revisions?.length ?? 0) > 0 ? (status.revisions ?? []) : [status.revision ?? ''];
}

/** Whether the last operation already tried exactly this: same revisions (where they matter) and same sources. */
function alreadyAttempted(facts: AutosyncFacts, last: OperationState, revisions: readonly string[]): boolean {
  const result = last.syncResult;
  if (result === undefined) return isCompleted(last.phase);
  const { spec } = facts.app;
  const multiple = hasMultipleSources(spec);
  if (facts.revisionsMayHaveChanges) {
    const tried = multiple ? (result.revisions ?? []) : [result.revision];
    if (!deepEqual([...tried], [...revisions])) return false;
  }
  return multiple ? equalSourceLists(spec.sources, result.sources) : equalSources(sourceOf(spec), result.source);
}

/**
 * Something was not pruned only because its kind was not up to date then, or another application had it, and that is over now: it is not tried yet.
 * Otherwise it would stay until the next commit, where Argo CD, which knows no such reasons, would have pruned it.
 */
function leftPrunes({ resources, stale, claimed, app }: AutosyncFacts, last: OperationState): boolean {
  if (last.phase !== 'Succeeded' || app.spec.syncPolicy?.automated?.prune !== true) return false;
  const skipped = (last.syncResult?.resources ?? []).filter(wasHeldBack);
  return skipped.some(
    (ref) =>
      !stale.some((gk) => gk.group === ref.group && gk.kind === ref.kind) &&
      !claimed.has(keyOfRef(ref)) &&
      resources.some((row) => row.requiresPruning === true && keyOfStatus(row) === keyOfRef(ref)),
  );
}

function selfHeal(facts: AutosyncFacts, last: OperationState): { readonly attempt: number; readonly waitMs: number } {
  const finished = pastOf(facts, parseTime(last.finishedAt));
  const sinceMs = finished === undefined ? 0 : facts.now - finished;
  const counted = last.operation.sync?.autoHealAttemptsCount ?? 0;
  const attempts = finished !== undefined && wasQuiet(facts, finished, counted) ? 0 : counted;
  return { attempt: attempts + 1, waitMs: Math.max(0, selfHealDelayMs(attempts, facts.backoff) - sinceMs) };
}

/** Whoever ended the operation may have had a clock that was ahead: what lies further ahead than any delay was long ago. */
function pastOf({ backoff, now }: AutosyncFacts, time: number | undefined): number | undefined {
  const longest = Math.max(backoff.capMs, backoff.timeoutMs, backoff.backoffMs);
  return time !== undefined && time - now > longest ? now - longest - 1 : time;
}

/**
 * Nothing drifted for longer than any delay. The counter belongs to the application and its revision: a wait is no quiet time, or two who
 * write against us would get a new budget whenever they have waited for the longest delay.
 */
function wasQuiet({ app, backoff, driftSeenAt = 0, now }: AutosyncFacts, finished: number, attempts: number): boolean {
  if (app.status?.sync?.status !== 'Synced') return false;
  const longest = Math.max(backoff.capMs, backoff.timeoutMs, selfHealDelayMs(attempts, backoff));
  return now - Math.max(finished, driftSeenAt) > longest;
}

/**
 * The delay before attempt `attempts + 1`, since the end of the last operation. Exponential mode: none for the first, then d·f^(n-1) up to
 * the cap. Linear mode: always the timeout.
 */
export function selfHealDelayMs(attempts: number, backoff: SelfHealBackoff): number {
  if (backoff.backoffMs <= 0) return backoff.timeoutMs;
  if (attempts === 0) return 0;
  if (backoff.factor <= 0) return backoff.backoffMs;
  const delay = backoff.backoffMs * backoff.factor ** (attempts - 1);
  return backoff.capMs > 0 ? Math.min(backoff.capMs, delay) : delay;
}

function automatedOperation(facts: AutosyncFacts, healAttempt: number | undefined): Operation {
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
      ...(healAttempt === undefined
        ? {}
        : { autoHealAttemptsCount: healAttempt, resources: driftedResources(facts.resources) }),
    },
    initiatedBy: { automated: true },
    retry: spec.syncPolicy?.retry ?? { limit: 5 },
  };
}

/** Everything that is not Synced, hooks included, without namespaces (Argo CD's shape). */
function driftedResources(resources: readonly ResourceStatus[]): NonNullable<SyncOperation['resources']> {
  return resources
    .filter((resource) => resource.status !== 'Synced')
    .map(({ group, kind, name }) => ({
      ...(group === undefined || group === '' ? {} : { group }),
      kind: kind ?? '',
      name: name ?? '',
    }));
}

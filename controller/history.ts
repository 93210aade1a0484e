import type { Application, OperationState, RevisionHistory, SyncOperationResult } from '#model';
import { kubeTime } from './kube-time.ts';

/**
 * `status.history` after a sync that counts (not a dry run, not partial, succeeded), oldest first and cut to the limit. Undefined when
 * there is nothing to record. It is written together with the state that ends the operation, so that no operation is recorded twice; two
 * of one revision may well begin in one second.
 */
export function nextHistory(
  app: Application,
  state: OperationState,
  now: number,
): readonly RevisionHistory[] | undefined {
  const sync = state.operation.sync;
  const result = state.syncResult;
  if (state.phase !== 'Succeeded' || sync === undefined || result === undefined) return undefined;
  if (sync.dryRun === true || (sync.resources?.length ?? 0) > 0) return undefined;
  const history = app.status?.history ?? [];
  const limit = Math.max(0, app.spec.revisionHistoryLimit ?? 10);
  return limit === 0 ? [] : [...history, entry(history.at(-1), state, result, now)].slice(-limit);
}

function entry(
  last: RevisionHistory | undefined,
  state: OperationState,
  result: SyncOperationResult,
  now: number,
): RevisionHistory {
  const revision = revisionOf(result);
  return {
    id: last === undefined ? 0 : last.id + 1,
    ...(revision === undefined ? {} : { revision }),
    source: result.source,
    ...((result.sources?.length ?? 0) > 0 ? { sources: result.sources ?? [], revisions: result.revisions ?? [] } : {}),
    deployedAt: kubeTime(now),
    deployStartedAt: state.startedAt,
    initiatedBy: state.operation.initiatedBy ?? {},
  };
}

function revisionOf(result: SyncOperationResult): string | undefined {
  return result.revision === '' ? undefined : result.revision;
}

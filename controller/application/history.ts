import { asCount, defined, incrementInteger } from '#base';
import type { Application, OperationState, RevisionHistory, SyncOperationResult } from '#model';
import { kubeTime } from '../shared/kube-time.ts';

/**
 * `status.history` after a successful sync of all resources that is no dry run; oldest first, cut
 * to the limit. Undefined when there is nothing to record. Written together with the operation's
 * final state, so that no operation is recorded twice. A later check could not detect that: two
 * operations of one revision may start in the same second.
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
  const limit = Math.max(0, asCount(app.spec.revisionHistoryLimit, 10));
  return limit === 0 ? [] : [...history, historyEntry(history.at(-1), state, result, now)].slice(-limit);
}

function historyEntry(
  last: RevisionHistory | undefined,
  state: OperationState,
  result: SyncOperationResult,
  now: number,
): RevisionHistory {
  const revision = syncedRevision(result);
  return {
    id: last === undefined ? 0 : incrementInteger(last.id),
    ...defined({ revision }),
    source: result.source,
    ...((result.sources?.length ?? 0) > 0 ? { sources: result.sources ?? [], revisions: result.revisions ?? [] } : {}),
    deployedAt: kubeTime(now),
    deployStartedAt: state.startedAt,
    initiatedBy: state.operation.initiatedBy ?? {},
  };
}

function syncedRevision(result: SyncOperationResult): string | undefined {
  return result.revision === '' ? undefined : result.revision;
}

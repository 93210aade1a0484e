import { defined, omit } from '#base';
import type { BuiltTree, Comparison } from '#compare';
import { hasMultipleSources, sourcesOf } from '#model';
import type { Application, ApplicationCondition, ApplicationStatus } from '#model';
import type { AutosyncDecision } from '../application/autosync.ts';
import { compareLevel } from '../application/freshness.ts';
import type { DueRefresh } from '../application/freshness.ts';
import {
  nextHealth,
  shouldStampReconciledAt,
  statusChange,
  withConditions,
  withReconciledAt,
} from '../application/status-patch.ts';
import type { StatusChange } from '../application/status-patch.ts';
import { ownedConditions } from '../shared/conditions.ts';
import type { RefreshFacts } from './refresh-facts.ts';

/** The revision to compare each source at. Level 1 reuses those of the last comparison. */
export function revisionsToCompare(app: Application, refresh: DueRefresh): readonly string[] {
  const sync = app.status?.sync;
  const last = hasMultipleSources(app.spec) ? (sync?.revisions ?? []) : [sync?.revision ?? ''];
  return sourcesOf(app.spec).map((source, i) => {
    const recent = refresh.level === compareLevel.recent ? (last[i] ?? '') : '';
    return recent === '' ? (source.targetRevision ?? '') : recent;
  });
}

/** The result of a comparison, for the status. */
interface FoundState {
  readonly comparison: Comparison;
  readonly built: BuiltTree;
}

/** The status after a comparison. `status` has the conditions already. */
export function nextStatus(
  { before, refresh, isAsked, time, config }: RefreshFacts,
  status: ApplicationStatus,
  { comparison, built }: FoundState,
): StatusChange {
  const inline = comparison.resourceHealthSource === '';
  const rest = omit(status, 'resourceHealthSource', 'sourceType', 'sourceTypes', 'resources');
  const types = comparison.sourceTypes;
  const multiple = hasMultipleSources(before.spec);
  const next: ApplicationStatus = {
    ...rest,
    sync: comparison.syncStatus,
    health: nextHealth(status.health, comparison.health, { inline, time: time }),
    ...(comparison.resources.length === 0 ? {} : { resources: comparison.resources }),
    ...(inline ? {} : { resourceHealthSource: comparison.resourceHealthSource }),
    ...(multiple && types.length > 0 ? { sourceTypes: types } : {}),
    ...(multiple ? {} : defined({ sourceType: types[0] })),
    summary: built.summary,
    sourceHydrator: status.sourceHydrator ?? {},
    controllerNamespace: config.namespace,
  };
  const counts = status.reconciledAt === undefined || refresh.level >= compareLevel.latest;
  const written = shouldStampReconciledAt(before.status, { asked: isAsked, time: time });
  const change = statusChange(before.status, next);
  return counts && (written || change.patch !== undefined) ? withReconciledAt(change, time) : change;
}

/** The status for an invalid spec, whose conditions `status` has. */
export function invalidStatus(status: ApplicationStatus, time: string): ApplicationStatus {
  return {
    ...status,
    sync: { ...status.sync, status: 'Unknown' },
    health: nextHealth(status.health, { status: 'Unknown', message: '' }, { inline: true, time }),
  };
}

export function withSyncError(status: ApplicationStatus, decision: AutosyncDecision, time: string): ApplicationStatus {
  const fresh: readonly ApplicationCondition[] =
    decision.do === 'refuse' ? [{ type: 'SyncError', message: decision.message }] : [];
  return withConditions(status, fresh, ownedConditions.autosync, time);
}

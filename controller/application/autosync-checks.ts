import { asCount } from '#base';
import { hasOperation, isAutomated } from '#model';
import type { OperationPhase } from '#model';
import type { AutosyncDecision, AutosyncFacts } from './autosync.ts';

/**
 * Inputs of one decision about automated sync, in a few values: it is kept for each
 * Application, and described only when asked for.
 */
export interface AutosyncObservation {
  readonly at: number;
  /** Undefined: a sync window forbids it. */
  readonly decision: AutosyncDecision | undefined;
  readonly isAutomated: boolean;
  readonly prunes: boolean;
  readonly selfHeals: boolean;
  readonly allowsEmpty: boolean;
  readonly hasOperation: boolean;
  readonly isDeleting: boolean;
  readonly sync: string;
  readonly isUnread: boolean;
  readonly isPruneBlocked: boolean;
  /** Resources that are not Synced, and of these the ones that only need pruning. */
  readonly open: number;
  readonly toPrune: number;
  readonly total: number;
  readonly claimed: number;
  readonly kept: number;
  readonly contested: number;
  readonly revisions: readonly string[];
  readonly last: { readonly phase: OperationPhase; readonly attempts: number } | undefined;
}

export function observeAutosync(facts: AutosyncFacts, decision: AutosyncDecision | undefined): AutosyncObservation {
  const { app, syncStatus, resources } = facts;
  const automated = app.spec.syncPolicy?.automated;
  const last = app.status?.operationState;
  const open = resources.filter(({ status }) => status !== 'Synced');
  return {
    at: facts.now,
    decision: withoutOperation(decision),
    isAutomated: isAutomated(app.spec),
    prunes: automated?.prune === true,
    selfHeals: automated?.selfHeal === true,
    allowsEmpty: automated?.allowEmpty === true,
    hasOperation: hasOperation(app),
    isDeleting: app.metadata.deletionTimestamp !== undefined,
    sync: syncStatus.status,
    isUnread: facts.unread,
    isPruneBlocked: facts.pruneBlocked,
    open: open.length,
    toPrune: open.filter(({ requiresPruning }) => requiresPruning === true).length,
    total: resources.length,
    claimed: facts.claimed.size,
    kept: facts.kept.size,
    contested: facts.contested.size,
    revisions: syncStatus.revisions ?? [syncStatus.revision ?? ''],
    last:
      last === undefined
        ? undefined
        : { phase: last.phase, attempts: asCount(last.operation.sync?.autoHealAttemptsCount, 0) },
  };
}

/** The operation is in the Application itself. */
function withoutOperation(decision: AutosyncDecision | undefined): AutosyncDecision | undefined {
  return decision?.do === 'start' ? { ...decision, operation: {} } : decision;
}

export interface AutosyncCheck {
  readonly name: string;
  readonly passes: boolean;
  readonly message: string;
}

/** All conditions of an automated sync with their values, in the order of the decision. */
export function autosyncChecks(seen: AutosyncObservation): readonly AutosyncCheck[] {
  return [...stateChecks(seen), ...pruneChecks(seen), ...attemptChecks(seen)];
}

function check(name: string, passes: boolean, message: string): AutosyncCheck {
  return { name, passes, message };
}

function onOff(isOn: boolean): string {
  return isOn ? 'on' : 'off';
}

function stateChecks(seen: AutosyncObservation): readonly AutosyncCheck[] {
  const { hasOperation, isDeleting, isUnread } = seen;
  return [
    check('window', seen.decision !== undefined, windowText(seen)),
    check('enabled', seen.isAutomated, `spec.syncPolicy.automated is ${onOff(seen.isAutomated)}`),
    check('operation', !hasOperation, hasOperation ? 'an operation is in progress' : 'no operation runs'),
    check('deletion', !isDeleting, isDeleting ? 'the Application is being deleted' : 'not being deleted'),
    check('status', seen.sync === 'OutOfSync', `the Application is ${seen.sync}`),
    check('live-state', !isUnread, `the live state ${isUnread ? 'of some resources is unknown' : 'is known'}`),
  ];
}

function pruneChecks(seen: AutosyncObservation): readonly AutosyncCheck[] {
  const { open, toPrune, total, prunes, isPruneBlocked, claimed, kept, allowsEmpty } = seen;
  const mayPrune = prunes && !isPruneBlocked && claimed + kept < toPrune;
  const isLeft = open > 0 && open === toPrune && !mayPrune;
  const counts = `${open} of ${total} resources differ, ${toPrune} of them need pruning`;
  const wipesOut = prunes && !allowsEmpty && total === toPrune;
  return [
    check('prune', !isLeft, `${counts}; prune is ${onOff(prunes)}${pruneNotes(seen)}`),
    check('allow-empty', !wipesOut, `${total - toPrune} resources would remain; allowEmpty is ${onOff(allowsEmpty)}`),
  ];
}

function attemptChecks(seen: AutosyncObservation): readonly AutosyncCheck[] {
  const { decision, selfHeals, contested, open } = seen;
  return [
    check('attempted', decision?.do !== 'refuse', attemptText(seen)),
    check('self-heal', !isHealNeeded(seen) || selfHeals, `selfHeal is ${onOff(selfHeals)}`),
    check('backoff', decision?.do !== 'wait', backoffText(seen)),
    check(
      'contest',
      contested === 0 || contested < open,
      `another writer fights over ${contested} of ${open} resources that differ`,
    ),
  ];
}

function windowText({ decision }: AutosyncObservation): string {
  return decision === undefined
    ? 'a sync window of the project forbids automated syncs now, or a window cannot be parsed'
    : 'sync windows permit automated syncs';
}

function pruneNotes({ isPruneBlocked, claimed, kept }: AutosyncObservation): string {
  const blocked = isPruneBlocked ? ', but the API versions of the cluster are not fully known' : '';
  const left = kept === 0 ? blocked : `${blocked}; a prune would not remove ${kept} of them`;
  return claimed === 0 ? left : `${left}; other Applications declare ${claimed} of them`;
}

function attemptText({ decision, last, revisions }: AutosyncObservation): string {
  if (decision?.do === 'refuse') return decision.message;
  const attempt = last === undefined ? 'there was no sync' : `the last sync ended as ${last.phase}`;
  return `revisions [${revisions.join(' ')}]; ${attempt}`;
}

/** The revisions were synced with success, and the Application differs again. */
function isHealNeeded({ decision, last, sync }: AutosyncObservation): boolean {
  return decision?.do === 'skip' && sync === 'OutOfSync' && last?.phase === 'Succeeded';
}

function backoffText({ decision, last }: AutosyncObservation): string {
  const attempts = `${last?.attempts ?? 0} self-heal attempts so far`;
  return decision?.do === 'wait' ? `${decision.reason}, ${Math.round(decision.ms / 1000)} s; ${attempts}` : attempts;
}

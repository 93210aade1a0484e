import { messageOf } from '#base';
import { unreadConditions } from '#compare';
import type { Comparison } from '#compare';
import {
  annotationOf,
  annotations,
  asObject,
  hasMultipleSources,
  hasSyncOption,
  keyOf,
  refOf,
  resourceKey,
  sourceOf,
} from '#model';
import type {
  Application,
  KubeObject,
  OperationState,
  ResourceKey,
  ResourceRef,
  RevisionHistory,
  SyncOperation,
  SyncOperationResult,
} from '#model';
import type { BoundApplication } from '../admission/bound.ts';
import { nextHistory } from '../application/history.ts';
import { endPass, redactedState } from '../application/operation-state.ts';
import type { ComparedApplication } from '../comparison/comparer.ts';
import { runningHooks } from '../report/waits.ts';
import { formatConditions } from '../shared/conditions.ts';
import { parseTime } from '../shared/kube-time.ts';

/** The state after a step, and the history entry that goes with it. */
export interface StepResult {
  readonly state: OperationState;
  readonly history: readonly RevisionHistory[] | undefined;
}

/** How a pass ends: `after` is the state that its step left, `begun` what the step ran with. */
export function endStep(
  { state: before, timedOut = false }: { readonly state: OperationState; readonly timedOut?: boolean },
  begun: Application,
  after: OperationState,
  now: number,
): StepResult {
  const state = endPass({ state: after, wasTerminating: before.phase === 'Terminating', timedOut, now });
  return { state, history: nextHistory(begun, state, now) };
}

/**
 * The next action of a step. `compare`: compare at the revisions of `state`, then decide again with
 * the result. `run`: run a wave as `user`, or end a terminating operation. `end`: nothing is left.
 */
export type StepDecision =
  | { readonly do: 'compare' | 'end'; readonly state: OperationState }
  | { readonly do: 'run'; readonly state: OperationState; readonly user: string | undefined };

/**
 * Decides a step, first without and then with a comparison. Pure, except that sync windows are
 * evaluated at the current time. The controller and replays decide with it.
 */
export function decideStep(
  { app, windows, gate, identity }: BoundApplication,
  state: OperationState,
  compared?: ComparedApplication,
): StepDecision {
  const { sync } = state.operation;
  if (sync === undefined) return ended(state, 'Error', 'Invalid operation request: no operation specified');
  const terminating = state.phase === 'Terminating';
  if (compared === undefined) {
    const blocked = terminating ? undefined : windows.blocks(state);
    if (blocked !== undefined) return { do: 'end', state: { ...state, message: blocked } };
    const started = withResult(app, state, sync);
    // Check the destination again: the condition in the status may be outdated or edited by a user.
    const { misplaced } = gate;
    if (misplaced === undefined || terminating) return { do: 'compare', state: started };
    return ended(started, 'Error', formatConditions([{ type: 'InvalidSpecError', message: misplaced }]));
  }
  const pinned = pinRevisions(state, compared);
  const refusal = terminating ? undefined : refusalOf(app, sync, compared.comparison);
  if (refusal !== undefined) return ended(pinned, refusal.phase, refusal.message);
  try {
    // As for a deletion: a missing service account must not let hooks run on.
    return { do: 'run', state: pinned, user: terminating ? identity.deletes() : identity.syncs() };
  } catch (error) {
    return ended(pinned, 'Error', messageOf(error));
  }
}

function ended(state: OperationState, phase: 'Error' | 'Failed', message: string): StepDecision {
  return { do: 'end', state: { ...state, phase, message } };
}

/** The state after a step that failed with an error of the Application. */
export function failedStep(state: OperationState, error: unknown): OperationState {
  const doubt = state.phase === 'Terminating' ? hooksMayRun(state) : '';
  return redactedState({ ...state, phase: 'Error', message: `${messageOf(error)}${doubt}` });
}

/** Hooks are left to run if they cannot be ended: the project is gone, or the destination. */
export function hooksMayRun({ syncResult }: OperationState): string {
  const [hook, ...others] = runningHooks(syncResult?.resources ?? []);
  if (hook === undefined) return '';
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `; its hook ${hook.kind} ${hook.namespace}/${hook.name}${more} may still run`;
}

/** The first step records the sources and revisions of this operation. */
function withResult(app: Application, state: OperationState, sync: SyncOperation): OperationState {
  if (state.syncResult !== undefined) return state;
  const named = sync.source !== undefined || (sync.sources?.length ?? 0) > 0;
  const sources = named ? (sync.sources ?? []) : hasMultipleSources(app.spec) ? (app.spec.sources ?? []) : [];
  const source = named ? sync.source : hasMultipleSources(app.spec) ? undefined : sourceOf(app.spec);
  return {
    ...state,
    syncResult: {
      revision: sync.revision ?? '',
      source: source ?? { repoURL: '' },
      ...(sources.length > 0 ? { sources, revisions: sync.revisions ?? [] } : {}),
    },
  };
}

export function requestedRevisions(result: SyncOperationResult | undefined, multiple: boolean): readonly string[] {
  if (!multiple) return [nonEmpty(result?.revision) ?? result?.source.targetRevision ?? ''];
  const revisions = result?.revisions ?? [];
  return (result?.sources ?? []).map((source, i) => nonEmpty(revisions[i]) ?? source.targetRevision ?? '');
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** Pins the operation to the resolved commits, for later passes and other replicas. */
function pinRevisions(state: OperationState, { revisions }: ComparedApplication): OperationState {
  const result = state.syncResult;
  if (result === undefined || revisions.length === 0) return state;
  const pinned = (result.sources?.length ?? 0) > 0 ? { revisions } : { revision: revisions[0] ?? '' };
  return { ...state, syncResult: { ...result, ...pinned } };
}

function refusalOf(
  app: Application,
  sync: SyncOperation,
  comparison: Comparison,
): { readonly phase: 'Error' | 'Failed'; readonly message: string } | undefined {
  const shared = comparison.conditions.find((condition) => condition.type === 'SharedResourceWarning');
  if (shared !== undefined && hasSyncOption(sync.syncOptions, 'FailOnSharedResource=true'))
    return { phase: 'Failed', message: `Shared resource found: ${shared.message}` };
  const invalid = (app.status?.conditions ?? []).filter((condition) => condition.type === 'InvalidSpecError');
  const fresh = comparison.conditions.filter(({ type }) => type === 'ComparisonError' || type === 'InvalidSpecError');
  const untouched = new Set([
    ...untouchedConditions(sync, comparison),
    ...comparison.refusals.map(({ message }) => message),
  ]);
  const errors = [
    ...fresh.filter(({ message }) => !untouched.has(message)),
    ...invalid.filter((old) => !fresh.some((condition) => condition.message === old.message)),
  ];
  return errors.length === 0 ? undefined : { phase: 'Error', message: formatConditions(errors) };
}

/**
 * Messages about unread objects that this operation may ignore, because it names none of them. If
 * it names any, it is refused as a whole, as in Argo CD: its waves could not be kept in order.
 */
function untouchedConditions(sync: SyncOperation, comparison: Comparison): ReadonlySet<string> {
  if (comparison.unread.some((ref) => isNamed(sync, ref))) return new Set();
  return new Set(unreadConditions(comparison.unread).map(({ message }) => message));
}

/** A user confirmed the prunes of this operation: the annotation is not older than its start. */
export function isApproved(app: Application, startedAt: number): boolean {
  const approved = parseTime(annotationOf(asObject(app), annotations.deletionApproved));
  return approved !== undefined && approved >= startedAt;
}

export function differingKeys({ pairs }: Comparison): ReadonlySet<ResourceKey> {
  return new Set(pairs.filter(({ diff }) => diff.modified).map(({ key }) => key));
}

/**
 * The objects that this operation touches: those it names, except unread ones and copies that carry
 * the tracking of another object.
 */
export function selectedBy(
  sync: SyncOperation,
  comparison: Comparison,
  namespace: string,
): (object: KubeObject) => boolean {
  const needed = neededNamespaces(sync, comparison, namespace);
  const foreign = new Set(comparison.pairs.filter((pair) => !pair.own).map((pair) => pair.key));
  const unread = new Set(comparison.unread.map(({ key }) => key));
  return (object) => {
    const key = keyOf(object);
    return !foreign.has(key) && !unread.has(key) && (needed.has(key) || isNamed(sync, refOf(object)));
  };
}

/** Missing Namespaces of the objects that a self-heal names: they may be deleted after it began. */
function neededNamespaces(sync: SyncOperation, { pairs }: Comparison, namespace: string): ReadonlySet<ResourceKey> {
  if (sync.autoHealAttemptsCount === undefined) return new Set();
  const targets = pairs.flatMap(({ target }) => (target !== null && isNamed(sync, refOf(target)) ? [target] : []));
  const wanted = new Set(
    targets.map(({ metadata }) => resourceKey('', 'Namespace', '', metadata.namespace ?? namespace)),
  );
  return new Set(
    pairs.flatMap(({ key, target, live }) => (target !== null && live === null && wanted.has(key) ? [key] : [])),
  );
}

/** An operation without a resource list names all. */
function isNamed(sync: SyncOperation, { group, kind, namespace, name }: ResourceRef): boolean {
  const named = sync.resources ?? [];
  return (
    named.length === 0 ||
    named.some(
      (r) =>
        r.kind === kind &&
        r.name === name &&
        (r.group ?? '') === group &&
        ((r.namespace ?? '') === '' || r.namespace === namespace),
    )
  );
}

import type { Application, ApplicationOperation, Condition, OperationBlocker } from '../application-types.ts';
import { joined } from './explanation.ts';
import type { Verdict } from './explanation.ts';
import { blockerText, objectText } from './object-text.ts';
import type { RelativeTimes } from './times.ts';

/** Whether an Application works, and the most important fact if it does not. */
export interface ApplicationVerdict {
  readonly verdict: Verdict;
  readonly reason?: string;
  /** One line; absent: the reason itself says what to do, or there is nothing to do. */
  readonly advice?: string;
  /** The condition that the reason repeats. */
  readonly condition?: Condition;
}

type Finding = Omit<ApplicationVerdict, 'verdict'> & { readonly reason: string };

export function verdictOf(app: Application, times: RelativeTimes): ApplicationVerdict {
  const broken = brokenBecause(app, times);
  if (broken !== undefined) return { verdict: 'broken', ...broken };
  const waiting = waitsBecause(app, times);
  return waiting === undefined ? { verdict: 'healthy' } : { verdict: 'waiting', ...waiting };
}

/** Conditions other than errors that stay until a user acts. */
const lastingWarnings = ['ContestedResourceWarning', 'UnownedClusterWarning'];

function brokenBecause(app: Application, times: RelativeTimes): Finding | undefined {
  if (app.owner === '') return withoutOwner(app, times);
  const [degraded] = app.degraded;
  if (degraded !== undefined) {
    const { subject, message, since, until, advice } = degraded;
    return { reason: joined([`${subject}: ${message}`, times.since(since), times.until(until)]), advice };
  }
  const condition = app.conditions.find(({ type }) => type.endsWith('Error') || lastingWarnings.includes(type));
  if (condition !== undefined) {
    const { type, message, since } = condition;
    return { reason: joined([`${type}: ${message}`, times.since(since)]), condition };
  }
  return brokenState(app, times);
}

function withoutOwner({ ownership, shard }: Application, times: RelativeTimes): Finding {
  const { pinnedTo, unownedSince } = ownership;
  const home = shard === undefined ? 'a shard that has its cluster' : `shard ${shard}`;
  const why = pinnedTo === undefined ? '' : ', to which its cluster Secret pins it';
  return {
    reason: joined([`no replica holds ${home}${why}`, times.since(unownedSince)]),
    advice:
      pinnedTo === undefined
        ? 'Start the missing replica; driftless shards shows the shard of each cluster'
        : 'Start the replica of that shard, or change shard in the cluster Secret',
  };
}

function brokenState(app: Application, times: RelativeTimes): Finding | undefined {
  const { operation, lastOperation, health, healthDetails, sync } = app;
  if (operation === 'Failed' || operation === 'Error')
    return {
      reason: joined([
        `the last operation ended with ${operation}: ${lastOperation?.message ?? ''}`,
        times.ago(lastOperation?.finishedAt),
      ]),
      advice: `Correct the cause, then run argocd app sync ${app.name}`,
    };
  // Before its first sync, an Application waits for that sync.
  const isMissing = health === 'Missing' && sync !== 'OutOfSync' && !isUnderWay(app);
  if (health === 'Degraded' || isMissing)
    return { reason: decisiveResource(healthDetails, health), ...healthAdvice(healthDetails) };
  return sync === 'Unknown' ? { reason: 'it could not be compared' } : undefined;
}

/** The resource that decides the health, with the object that is to blame. */
export function decisiveResource({ decidedBy, message }: Application['healthDetails'], health: string): string {
  if (decidedBy === undefined) return joined([health, message], ': ');
  return joined([`${objectText(decidedBy)} is ${decidedBy.status}`, decidedBy.message], ': ');
}

function healthAdvice({ decidedBy }: Application['healthDetails']): { readonly advice?: string } {
  return decidedBy === undefined ? {} : { advice: describeCommand(decidedBy.culprit ?? decidedBy) };
}

function describeCommand({ kind, namespace, name }: NonNullable<OperationBlocker['object']>): string {
  return `kubectl${namespace === '' ? '' : ` -n ${namespace}`} describe ${kind.toLowerCase()} ${name}`;
}

function waitsBecause(app: Application, times: RelativeTimes): Finding | undefined {
  const { lastOperation, waiting } = app;
  if (waiting?.queue !== undefined)
    return { reason: joined([waiting.what, times.since(waiting.since)]), advice: queueAdvice(app, waiting.queue.name) };
  const blocker = lastOperation?.blockedBy;
  if (lastOperation !== undefined && blocker !== undefined && isUnderWay(app))
    return { reason: blockerText(lastOperation, blocker, times), ...blockerAdvice(app, lastOperation, blocker) };
  if (waiting !== undefined)
    return { reason: joined([waiting.what, times.since(waiting.since), times.until(waiting.until)]) };
  if (isUnderWay(app)) return { reason: `the operation is ${app.operation}` };
  if (app.isDeleting) return { reason: 'it is being deleted' };
  if (app.sync === '') return { reason: 'its first comparison' };
  if (app.sync === 'OutOfSync') return automationReason(app, times);
  const isCalm = app.health === 'Healthy' || app.health === '';
  return isCalm ? undefined : { reason: decisiveResource(app.healthDetails, app.health) };
}

function queueAdvice({ owner }: Application, queue: string): string {
  const flag = queue.includes('operation') ? '--operation-processors' : '--status-processors';
  return `See driftless explain replica ${owner}; if it lasts, raise ${flag} or add replicas`;
}

function blockerAdvice(
  { name, project }: Application,
  { retries }: ApplicationOperation,
  { type, object, culprit }: OperationBlocker,
): { readonly advice?: string } {
  const end = `argocd app terminate-op ${name} ends the sync`;
  if (type === 'window') return { advice: `Wait, or change spec.syncWindows of AppProject ${project}; ${end}` };
  if (type === 'retry') return { advice: `Correct the cause${retries > 0 ? ' before the retry' : ''}; ${end}` };
  const subject = culprit ?? object;
  return subject === undefined ? {} : { advice: `${describeCommand(subject)}; ${end}` };
}

function automationReason({ automatedSync, isAutomated, name, project }: Application, times: RelativeTimes): Finding {
  const { decision, reason, until, checks } = automatedSync;
  if (!isAutomated)
    return {
      reason: 'a sync by a user: automated sync is switched off',
      advice: `argocd app sync ${name}, or switch it on: spec.syncPolicy.automated`,
    };
  if (decision === 'none') return { reason: 'automated sync' };
  const isHeld = checks.some((check) => check.name === 'window' && !check.passes);
  return {
    reason: joined([reason, times.until(until)]),
    ...(isHeld ? { advice: `Wait, or change spec.syncWindows of AppProject ${project}` } : {}),
  };
}

export function isUnderWay({ operation }: Pick<Application, 'operation'>): boolean {
  return operation === 'Running' || operation === 'Terminating';
}

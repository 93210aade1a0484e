import type { ApplicationHealth, ApplicationOperation, OperationBlocker } from '../application-types.ts';
import type { ObjectName } from '../types.ts';
import { joined } from './explanation.ts';
import type { RelativeTimes } from './times.ts';

/** `Deployment default/web`, with the group where it is not one of Kubernetes' own. */
export function objectText({ group, kind, namespace, name }: ObjectName): string {
  const type = group === '' || group === 'apps' || group === 'batch' ? kind : `${kind}.${group}`;
  return `${type} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** The blocker of an operation, with the times when it began and when it ends. */
export function blockerText(operation: ApplicationOperation, blocker: OperationBlocker, times: RelativeTimes): string {
  const { since, until } = blocker;
  return joined([blockerReason(operation, blocker), times.since(since), times.until(until)]);
}

/** The blocker of an operation, without times. */
export function blockerReason(operation: ApplicationOperation, blocker: OperationBlocker): string {
  const { type, message, object } = blocker;
  const subject = object === undefined || message.includes(object.name) ? undefined : objectText(object);
  const attempt = type === 'retry' ? retryText(operation) : undefined;
  const wait = message.replace(/^waiting for /, '');
  if (attempt !== undefined) return `${attempt}, after: ${message}`;
  return joined([joined([subject, wait], ': '), isEndless(blocker) ? 'without a time limit' : undefined]);
}

function isEndless({ type, until }: OperationBlocker): boolean {
  return until === undefined && (type === 'hook' || type === 'health');
}

/** The resource that decides the health, with the object that is to blame. */
export function decisiveResource({ decidedBy, message }: ApplicationHealth, health: string): string {
  if (decidedBy === undefined) return joined([health, message], ': ');
  return joined([`${objectText(decidedBy)} is ${decidedBy.status}`, decidedBy.message], ': ');
}

/** `retry 2 of 5`; undefined before the first one. */
export function retryText({ retries, retryLimit }: ApplicationOperation): string | undefined {
  if (retries === 0) return undefined;
  return `retry ${retries}${retryLimit === undefined || retryLimit < 0 ? '' : ` of ${retryLimit}`}`;
}

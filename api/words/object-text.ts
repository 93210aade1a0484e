import type { ApplicationOperation, OperationBlocker } from '../application-types.ts';
import type { ObjectName } from '../types.ts';
import { joined } from './explanation.ts';
import type { RelativeTimes } from './times.ts';

/** `Deployment default/web`, with the group where it is not one of Kubernetes' own. */
export function objectText({ group, kind, namespace, name }: ObjectName): string {
  const type = group === '' || group === 'apps' || group === 'batch' ? kind : `${kind}.${group}`;
  return `${type} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** What blocks an operation, since when, and until when. */
export function blockerText(
  operation: ApplicationOperation,
  { type, message, object, since, until }: OperationBlocker,
  times: RelativeTimes,
): string {
  const subject = object === undefined || message.includes(object.name) ? undefined : objectText(object);
  const attempt = type === 'retry' ? retryText(operation) : undefined;
  const wait = message.replace(/^waiting for /, '');
  const what = attempt === undefined ? joined([subject, wait], ': ') : `${attempt}, after: ${message}`;
  const isEndless = until === undefined && (type === 'hook' || type === 'health');
  return joined([what, times.since(since), isEndless ? 'without a time limit' : times.until(until)]);
}

/** `retry 2 of 5`; undefined before the first one. */
export function retryText({ retries, retryLimit }: ApplicationOperation): string | undefined {
  if (retries === 0) return undefined;
  return `retry ${retries}${retryLimit === undefined || retryLimit < 0 ? '' : ` of ${retryLimit}`}`;
}

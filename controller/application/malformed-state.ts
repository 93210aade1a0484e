import type { OperationState } from '#model';
import { parseTime } from '../shared/kube-time.ts';

/**
 * The first field that keeps a step from reading the state of a running operation, and its type.
 * Anyone who may write an Application may write its state, and not every installation has a schema.
 */
export function malformedField(state: OperationState): string | undefined {
  const { operation, startedAt, finishedAt, syncResult } = state as unknown as Readonly<Record<string, unknown>>;
  if (!isMap(operation)) return 'operation is not an object';
  if (!isMapOrAbsent(operation['sync'])) return 'operation.sync is not an object';
  if (!isTime(startedAt)) return 'startedAt is not a time';
  if (finishedAt !== undefined && !isTime(finishedAt)) return 'finishedAt is not a time';
  if (syncResult === undefined) return undefined;
  if (!isMap(syncResult)) return 'syncResult is not an object';
  for (const name of ['resources', 'sources'])
    if (!isListOf(syncResult[name], isMap)) return `syncResult.${name} is not a list of objects`;
  if (!isListOf(syncResult['revisions'], isText)) return 'syncResult.revisions is not a list of strings';
  return isMap(syncResult['source']) ? undefined : 'syncResult.source is not an object';
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMapOrAbsent(value: unknown): boolean {
  return value === undefined || isMap(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTime(value: unknown): boolean {
  return isText(value) && parseTime(value) !== undefined;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isItem));
}

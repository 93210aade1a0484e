import { deepEqual } from '#base';
import { annotationOf, annotations, asObject, jsonOf } from '#model';
import type { Application } from '#model';
import type { AskedRefresh } from './freshness.ts';

/** How an Application is written. */
export interface Manner {
  /** What it becomes if nobody else changes it. */
  readonly expected: Application;
  /** Asked when the writes before it have been answered; throws where this one must not follow them. */
  readonly check?: () => void;
}

/** A sync has ended since something was compared that is to be written. */
export class SyncEnded extends Error {
  readonly app: Application;

  constructor(app: Application) {
    super('a sync has ended meanwhile');
    this.app = app;
  }
}

/**
 * The informer drops the event of a change that our own write overtook: what someone else changed between our read and our write shows
 * only in the answer to our write.
 */
export function changedByOthers(before: Application, after: Application): boolean {
  return (
    !deepEqual(jsonOf(before.spec), jsonOf(after.spec)) ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    ((before.operation ?? undefined) === undefined) !== ((after.operation ?? undefined) === undefined) ||
    before.status?.operationState?.phase !== after.status?.operationState?.phase ||
    requestOf(before) !== requestOf(after)
  );
}

export function lastRun(app: Application): string {
  const state = app.status?.operationState;
  return `${state?.phase ?? ''} ${state?.startedAt ?? ''} ${state?.finishedAt ?? ''}`;
}

export function requestOf(app: Application): string {
  const object = asObject(app);
  return `${annotationOf(object, annotations.refresh) ?? ''} ${annotationOf(object, annotations.refreshTimestamp) ?? ''}`;
}

export function requestText({ value, timestamp = '' }: AskedRefresh): string {
  return `${value} ${timestamp}`;
}

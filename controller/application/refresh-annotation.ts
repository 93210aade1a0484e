import { formatPointer, omit } from '#base';
import type { JsonObject } from '#base';
import { annotationOf, annotations, asObject } from '#model';
import type { Application } from '#model';

/** A user's or webhook's refresh request, as found in the annotations. */
export interface RefreshAnnotation {
  readonly type: 'normal' | 'hard';
  /** The exact value, tested before it is removed. */
  readonly value: string;
  readonly timestamp: string | undefined;
  /** A pass that has read the request added {@link inProgressMark}. */
  readonly marked: boolean;
}

/**
 * Suffix of a refresh annotation without a timestamp while its refresh runs. Otherwise an identical
 * request made meanwhile would be a no-op for the API server, and be lost.
 */
const inProgressMark = '-in-progress';

/**
 * The request in the annotations; any value other than `hard` means normal. The only reader of
 * both annotations.
 */
export function refreshAnnotation(app: Application): RefreshAnnotation | undefined {
  const value = annotationOf(asObject(app), annotations.refresh);
  if (value === undefined) return undefined;
  const marked = value.endsWith(inProgressMark);
  const type = (marked ? value.slice(0, -inProgressMark.length) : value) === 'hard' ? 'hard' : 'normal';
  return { type, value, timestamp: annotationOf(asObject(app), annotations.refreshTimestamp), marked };
}

/** Whether both are the same request, marked as in progress or not. */
export function isSameRequest(a: RefreshAnnotation | undefined, b: RefreshAnnotation | undefined): boolean {
  return a?.value === b?.value && a?.timestamp === b?.timestamp;
}

/** Whether `now` is the request `then`, which a pass may have marked in the meantime. */
export function isStillPending(then: RefreshAnnotation, now: RefreshAnnotation | undefined): boolean {
  return now?.value === then.value || now?.value === `${then.value}${inProgressMark}`;
}

/** The Application without its refresh request. */
export function withoutRefreshAnnotation(app: Application): Application {
  const { annotations: all = {}, ...metadata } = app.metadata;
  return { ...app, metadata: { ...metadata, annotations: omit(all, annotations.refresh) } };
}

/** The Application without any of the annotations of a refresh request. */
export function withoutRefreshRequest(app: Application): Application {
  const { annotations: all = {}, ...metadata } = app.metadata;
  const others = omit(all, annotations.refresh, annotations.refreshTimestamp);
  return { ...app, metadata: { ...metadata, annotations: others } };
}

/**
 * Whether an identical request made while this one is answered would change nothing in the API
 * server, and so go unnoticed.
 */
export function canHideAnother({ timestamp, marked }: RefreshAnnotation): boolean {
  return timestamp === undefined && !marked;
}

/**
 * The JSON patch that marks a request as in progress; undefined when that is not necessary. A
 * normal refresh costs little when nothing has changed, so it is repeated afterwards instead.
 */
export function markRefreshPatch(request: RefreshAnnotation): readonly JsonObject[] | undefined {
  const { type, value } = request;
  if (type === 'normal' || !canHideAnother(request)) return undefined;
  const path = annotationPointer(annotations.refresh);
  return [
    { op: 'test', path, value },
    { op: 'replace', path, value: `${value}${inProgressMark}` },
  ];
}

/** The JSON patch that removes exactly this request; a newer one stays, with its time. */
export function removeRequestPatch(
  kind: 'refresh' | 'hydrate',
  { value, timestamp }: Pick<RefreshAnnotation, 'value' | 'timestamp'>,
): readonly JsonObject[] {
  const [path, timePath] = [annotationPointer(annotations[kind]), annotationPointer(annotations[`${kind}Timestamp`])];
  const timed = [
    { op: 'test', path: timePath, value: timestamp ?? '' },
    { op: 'remove', path: timePath },
  ];
  return [{ op: 'test', path, value }, ...(timestamp === undefined ? [] : timed), { op: 'remove', path }];
}

/** Removes any request, as the annotations of a merge patch. */
export const noRefreshAnnotations = { [annotations.refresh]: null, [annotations.refreshTimestamp]: null };

function annotationPointer(annotation: string): string {
  return formatPointer(['metadata', 'annotations', annotation]);
}

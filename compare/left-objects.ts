import { omit, valueAt } from '#base';
import type { JsonObject } from '#base';
import {
  annotationOf,
  annotations,
  controllerOf,
  isLabelledByUs,
  isNamedBy,
  isTrackable,
  keyOf,
  keyOfRef,
  keyOfStatus,
  labelOf,
  otherInstallation,
  parseTrackingId,
  projectOf,
  refOf,
} from '#model';
import type { Application, ApplicationCondition, KubeObject, ResourceKey, ResourceStatus } from '#model';
import { namedInWarning } from './resource-warnings.ts';
import { identityInStatus } from './row.ts';
import type { CompareFacts, LeftObject } from './types.ts';

/** Objects that a condition names. */
const maxNamedObjects = 5;
/** Between the clocks of the hub and of the cluster. */
const clockSkewMs = 10_000;

/**
 * Finds what would stay in the cluster without a word: objects that the project no longer permits,
 * or that have the mark of another installation ID. The record of the Application must name the
 * object, and the object must carry its mark: anyone may set a mark, and a record may be old.
 */
export function leftObjects(facts: CompareFacts): ReadonlyMap<ResourceKey, LeftObject> {
  const left = new Map<ResourceKey, LeftObject>();
  const recorded = recordedResources(facts.app);
  if (recorded.size === 0 || facts.rendered.failed) return left;
  const targets = new Set(facts.rendered.targets.map(keyOf));
  for (const [key, object] of facts.live.objects) {
    if (targets.has(key) || !recorded.has(key) || !isMarked(object, facts)) continue;
    const reason = reasonToLeave(object, facts);
    if (reason === undefined) continue;
    left.set(key, { ref: refOf(object), status: statusOf(object), text: `${namedInWarning(object)} (${reason})` });
  }
  return left;
}

/** The objects, except hooks, that the last comparison or sync of the Application had. */
export function recordedResources({ status }: Application): ReadonlySet<ResourceKey> {
  const compared = (status?.resources ?? []).filter(({ hook }) => hook !== true).map(keyOfStatus);
  const synced = (status?.operationState?.syncResult?.resources ?? []).filter(({ hookType }) => hookType === undefined);
  return new Set([...compared, ...synced.map(keyOfRef)]);
}

/** By the tracking annotation, or by the label as this controller has set it: charts set it too. */
function isMarked(object: KubeObject, { instance, settings: { tracking } }: CompareFacts): boolean {
  if (!isTrackable(object) || controllerOf(object) !== undefined) return false;
  if (object.metadata.deletionTimestamp !== undefined) return false;
  const id = parseTrackingId(annotationOf(object, annotations.trackingId) ?? '');
  if (id !== undefined && tracking.method !== 'label') return id.app === instance && isNamedBy(id, object);
  return labelOf(object, tracking.labelKey) === instance && isLabelledByUs(object, tracking.labelKey);
}

function reasonToLeave(object: KubeObject, { app, permitted, settings }: CompareFacts): string | undefined {
  const installation = otherInstallation(object, settings.tracking);
  if (installation !== undefined && isMarkedSince(object, lastSyncOf(app))) return undefined;
  if (installation === '') return 'marked by an installation without an ID';
  if (installation !== undefined) return `marked by the installation "${installation}"`;
  return permitted(object) ? undefined : `the project ${projectOf(app)} does not permit it`;
}

/** Whether the mark was set after our last sync: then it is another installation's. */
function isMarkedSince({ metadata }: KubeObject, syncedAt: number): boolean {
  const marks = [annotations.trackingId, annotations.installationId];
  return (metadata.managedFields ?? []).some((entry) => {
    const notes = valueAt(entry, 'fieldsV1', 'f:metadata', 'f:annotations');
    return marks.some((mark) => valueAt(notes, `f:${mark}`) !== undefined) && timeOf(entry) > syncedAt + clockSkewMs;
  });
}

/** NaN: unknown. */
function timeOf({ time }: JsonObject): number {
  return typeof time === 'string' ? Date.parse(time) : Number.NaN;
}

/** 0: never. */
function lastSyncOf({ status }: Application): number {
  const ends = [status?.operationState?.finishedAt, status?.history?.at(-1)?.deployedAt];
  return Math.max(0, ...ends.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)));
}

function statusOf(object: KubeObject): ResourceStatus {
  return { ...identityInStatus(object), status: 'OutOfSync', requiresPruning: true };
}

export function leftConditions(left: readonly LeftObject[]): readonly ApplicationCondition[] {
  if (left.length === 0) return [];
  const shown = left.slice(0, maxNamedObjects).map(({ text }) => text);
  const more = left.length > maxNamedObjects ? `, and ${left.length - maxNamedObjects} more` : '';
  const message = `Left in the cluster, although the sources no longer have them: ${shown.join(', ')}${more}. Delete them, or remove their tracking annotation or label to keep them`;
  return [{ type: 'KeptResourceWarning', message }];
}

/**
 * The object without its marks as a hook, which the record of the Application contradicts.
 */
export function withoutHookMarks(object: KubeObject): KubeObject {
  const { annotations: given } = object.metadata;
  if (given === undefined) return object;
  return {
    ...object,
    metadata: { ...object.metadata, annotations: omit(given, annotations.hook, annotations.helmHook) },
  };
}

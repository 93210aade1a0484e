import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, clientSideManager, fieldManager as controllerManager } from '#model';
import type { KubeObject, TrackingSettings } from '#model';
import { shapeForManagedFields } from '../field-ownership/known-shape.ts';
import { fieldsOwned, managedDifferences } from '../field-ownership/managed-fields.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { ignoredInDiff, repeatUntilNoNewFault } from '../ignore/ignored.ts';
import { normalizeSecret } from '../normalize/normalize.ts';
import { lastApplied } from '../applied/read-last-applied.ts';
import { schemaOf } from '../schema/schema.ts';
import { markPaths, noMarks, removeMarked } from '../shared/removal.ts';
import type { RemovalMarks } from '../shared/removal.ts';
import { asJson, asKube, textOf } from '../shared/values.ts';
import { mergeIgnored } from './merge.ts';
import type { RespectMethod, MergePosition } from './merge.ts';

/**
 * Returns what to send instead of `target` so that ignored fields keep live's values
 * (RespectIgnoreDifferences): an ignored field takes live's value, or is dropped if live has none.
 * Identity, server-side metadata and tracking marks are never ignored. Returns `target` itself when
 * nothing changes; shares parts with both arguments.
 *
 * An ignored value is left out of the request where `method` then leaves live alone: with
 * client-side apply, if it was not applied before; with server-side apply, if we do not own it, or
 * others do too. So neither last-applied nor our managed fields claim what others decide.
 *
 * Argo CD: controller/sync.go normalizeTargetResources. Differences: values are left out as above;
 * lists of custom resources merge item by item (by equal content, then name, then order), where
 * upstream sends live's whole list; a new list item is as in the manifest; `stringData` of a Secret
 * counts as `data`; live's uid, resourceVersion and managed fields are never sent.
 */
export function respectIgnored(
  target: KubeObject,
  live: KubeObject,
  rules: DiffRules,
  method: RespectMethod,
): KubeObject {
  const ignored = ignoredInDiff(target, rules);
  const [wanted, present] = [folded(asJson(target)), asJson(live)];
  const managed = managedDifferences(wanted, present, ignored.managers, () =>
    shapeForManagedFields(target, present, rules),
  );
  const marks = repeatUntilNoNewFault(ignored, () => {
    const fresh = { target: noMarks(), live: noMarks() };
    markPaths(fresh.target, managed.target);
    markPaths(fresh.live, managed.live);
    ignored.mark(wanted, fresh.target);
    ignored.mark(present, fresh.live);
    return fresh;
  });
  protect(marks.target, wanted, rules.settings.tracking);
  protect(marks.live, present, rules.settings.tracking);
  if (removeMarked(wanted, marks.target) === wanted && removeMarked(present, marks.live) === present) return target;
  const position = {
    method,
    type: schemaOf(target),
    mergeKey: undefined,
    whole: false,
    lastApplied: lastApplied(live),
    ...splitOwners(present, rules),
  };
  const complete = method === 'client' ? withAnnotationsMap(wanted) : wanted;
  return asKube(mergeIgnored({ target: complete, live: present }, marks, position));
}

/** Only a core Secret has two fields for one value. */
function folded(target: JsonObject): JsonObject {
  const isSecret = ownMember(target, 'apiVersion') === 'v1' && ownMember(target, 'kind') === 'Secret';
  return isSecret && ownMember(target, 'stringData') !== undefined ? normalizeSecret(target) : target;
}

/** kubectl always sends `annotations`, so client-side apply never removes the map. */
function withAnnotationsMap(target: JsonObject): JsonObject {
  const metadata = ownMember(target, 'metadata');
  if (!isObject(metadata) || isObject(ownMember(metadata, 'annotations'))) return target;
  return { ...target, metadata: { ...metadata, annotations: {} } };
}

const kubectlManagers = new Set([clientSideManager, 'kubectl']);

function splitOwners(
  live: JsonObject,
  { fieldManager = controllerManager }: OwnManager,
): Pick<MergePosition, 'ours' | 'theirs'> {
  const isOurs = (entry: JsonObject): boolean => {
    const name = textOf(ownMember(entry, 'manager'));
    return name === fieldManager || kubectlManagers.has(name);
  };
  return { ours: fieldsOwned(live, isOurs), theirs: fieldsOwned(live, (entry) => !isOurs(entry)) };
}

/** Metadata that no rule can change: the object's identity, and what only the API server writes. */
const serverMetadata = [
  'name',
  'namespace',
  'generateName',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

function protect(marks: RemovalMarks, object: JsonObject, tracking: TrackingSettings): void {
  keep(marks, ['apiVersion', 'kind']);
  const metadata = ownMember(object, 'metadata');
  const inner = spread(marks, 'metadata', metadata);
  if (inner === undefined || !isObject(metadata)) return;
  keep(inner, serverMetadata);
  const notes = spread(inner, 'annotations', ownMember(metadata, 'annotations'));
  if (notes !== undefined) keep(notes, [annotations.lastApplied, annotations.trackingId]);
  const labels = spread(inner, 'labels', ownMember(metadata, 'labels'));
  if (labels !== undefined && tracking.method !== 'annotation') keep(labels, [tracking.labelKey]);
}

function keep(marks: RemovalMarks, keys: readonly string[]): void {
  for (const key of keys) marks.children.delete(key);
}

/** Returns the marks of a map after moving a mark on the map itself to each of its members. */
function spread(marks: RemovalMarks, key: string, value: Json | undefined): RemovalMarks | undefined {
  const inner = marks.children.get(key);
  if (inner?.remove !== true || !isObject(value)) return inner;
  inner.remove = false;
  for (const member of Object.keys(value)) inner.children.set(member, { remove: true, children: new Map() });
  return inner;
}

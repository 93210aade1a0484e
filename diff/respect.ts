import { isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, refOf } from '#model';
import type { KubeObject, TrackingSettings } from '#model';
import { asJson, asKube, lastApplied } from './client-side-apply.ts';
import { shapeForManagers } from './known-shape.ts';
import { fieldsOwned, managedDifferences } from './managed-fields.ts';
import { normalizeSecret } from './normalize.ts';
import { markAll, noMarks, prune } from './remove.ts';
import type { Marks } from './remove.ts';
import { mergeMaps } from './respect-merge.ts';
import type { ApplyMethod, Place } from './respect-merge.ts';
import { ignoredInDiff, untilSettled } from './rules.ts';
import { schemaOf } from './schema.ts';
import type { DiffRules } from './types.ts';
import { textOf } from './values.ts';

/**
 * What to send instead of `target`, so that everything that the rules ignore stays as it is in `live` (RespectIgnoreDifferences). What is
 * ignored gets live's value, or goes where live has none; all else is the target's. Known fields of the API server and the marks of
 * tracking are never ignored. The same reference when nothing changes; neither argument is changed; parts are shared with both.
 *
 * `method` is how it will be sent. An ignored value is left out altogether where that leaves live alone: with client-side apply, what was
 * not applied before; with server-side apply, what we do not own, or others own as well. So last-applied does not come to hold, nor do we
 * come to own, what somebody else decides.
 *
 * Argo CD: controller/sync.go normalizeTargetResources. Differences: the values that are left out, above; lists of custom resources are
 * merged item by item (with equal rest, then by name, then by place), where upstream sends live's whole list; a new item of a list
 * is as in the manifest; `stringData` of a Secret counts as `data`; live's uid, version and managed fields are never sent.
 */
export function respectIgnored(
  target: KubeObject,
  live: KubeObject,
  rules: DiffRules,
  method: ApplyMethod,
): KubeObject {
  const ignored = ignoredInDiff(refOf(target), rules);
  const [wanted, present] = [folded(asJson(target)), asJson(live)];
  const managed = managedDifferences(wanted, present, ignored.managers, () => shapeForManagers(target, present, rules));
  const marks = untilSettled(ignored, () => {
    const fresh = { target: noMarks(), live: noMarks() };
    markAll(fresh.target, managed.target);
    markAll(fresh.live, managed.live);
    ignored.mark(wanted, fresh.target);
    ignored.mark(present, fresh.live);
    return fresh;
  });
  protect(marks.target, wanted, rules.settings.tracking);
  protect(marks.live, present, rules.settings.tracking);
  if (prune(wanted, marks.target) === wanted && prune(present, marks.live) === present) return target;
  const place = {
    method,
    type: schemaOf(target),
    mergeKey: undefined,
    whole: false,
    applied: lastApplied(live),
    ...ownershipOf(present),
  };
  const complete = method === 'client' ? withAnnotations(wanted) : wanted;
  return asKube(mergeMaps({ target: complete, live: present }, marks, place));
}

/** Only a core Secret has two places for one value. */
function folded(target: JsonObject): JsonObject {
  const isSecret = own(target, 'apiVersion') === 'v1' && own(target, 'kind') === 'Secret';
  return isSecret && own(target, 'stringData') !== undefined ? normalizeSecret(target) : target;
}

/** kubectl always sends the map of annotations, so it never goes as a whole. */
function withAnnotations(target: JsonObject): JsonObject {
  const metadata = own(target, 'metadata');
  if (!isObject(metadata) || isObject(own(metadata, 'annotations'))) return target;
  return { ...target, metadata: { ...metadata, annotations: {} } };
}

const ourManagers = new Set(['argocd-controller', 'kubectl-client-side-apply', 'kubectl']);

function ownershipOf(live: JsonObject): Pick<Place, 'ours' | 'theirs'> {
  const isOurs = (entry: JsonObject): boolean => ourManagers.has(textOf(own(entry, 'manager')));
  return { ours: fieldsOwned(live, isOurs), theirs: fieldsOwned(live, (entry) => !isOurs(entry)) };
}

/** What no rule can take from a manifest, or carry over from live: an object's identity, and what the API server alone writes. */
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

function protect(marks: Marks, object: JsonObject, tracking: TrackingSettings): void {
  keep(marks, ['apiVersion', 'kind']);
  const metadata = own(object, 'metadata');
  const inner = spread(marks, 'metadata', metadata);
  if (inner === undefined || !isObject(metadata)) return;
  keep(inner, serverMetadata);
  const notes = spread(inner, 'annotations', own(metadata, 'annotations'));
  if (notes !== undefined) keep(notes, [annotations.lastApplied, annotations.trackingId]);
  const labels = spread(inner, 'labels', own(metadata, 'labels'));
  if (labels !== undefined && tracking.method !== 'annotation') keep(labels, [tracking.labelKey]);
}

function keep(marks: Marks, keys: readonly string[]): void {
  for (const key of keys) marks.children.delete(key);
}

/** The marks of a map, with a mark on the map itself moved to each of its members. */
function spread(marks: Marks, key: string, value: Json | undefined): Marks | undefined {
  const inner = marks.children.get(key);
  if (inner?.remove !== true || !isObject(value)) return inner;
  inner.remove = false;
  for (const member of Object.keys(value)) inner.children.set(member, { remove: true, children: new Map() });
  return inner;
}

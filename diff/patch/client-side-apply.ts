import { deepEqual, goJson, isObject, ownMember, parseJson, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { asStored } from '../normalize/defaults.ts';
import { schemaOf } from '../schema/schema.ts';
import { asJson, asKube } from '../shared/values.ts';
import { applyJsonPatch, threeWayJsonPatch } from './json-merge.ts';
import { applyStrategic, strategicPatch } from './strategic.ts';

/**
 * The body of a PATCH and its content type: application/strategic-merge-patch+json or
 * application/merge-patch+json.
 */
export interface ApplyPatch {
  readonly type: 'strategic' | 'merge';
  readonly body: JsonObject;
}

/**
 * Returns the patch that kubectl's client-side apply would send (k8s.io/kubectl apply.go,
 * patcher.go): three-way with live's last-applied annotation, two-way without one; strategic for
 * built-in kinds, a JSON merge patch for others. It includes the new annotation. Undefined when
 * nothing would change.
 *
 * Difference: a patch that the API server's own defaults would undo counts as no change.
 */
export function clientSideApplyPatch(target: KubeObject, live: KubeObject): ApplyPatch | undefined {
  const [wanted, present] = [withOwnLastApplied(asJson(target)), asJson(live)];
  const type = schemaOf(target);
  const original = lastApplied(live);
  if (type === undefined) {
    const body = threeWayJsonPatch(original, wanted, present, 'exact');
    return body === undefined ? undefined : { type: 'merge', body };
  }
  const body = strategicPatch({ original, target: wanted, live: present }, type);
  if (body === undefined) return undefined;
  const after = applyStrategic(present, body, type);
  return deepEqual(asStored(after, type), asStored(present, type)) ? undefined : { type: 'strategic', body };
}

/**
 * Predicts the live object after {@link clientSideApplyPatch}, before the API server fills in
 * defaults. Shares parts with `live`.
 */
export function predictApply(target: KubeObject, live: KubeObject): KubeObject {
  const patch = clientSideApplyPatch(target, live);
  const type = schemaOf(target);
  if (patch === undefined) return live;
  const present = asJson(live);
  const after =
    patch.type === 'merge' || type === undefined
      ? applyJsonPatch(present, patch.body)
      : applyStrategic(present, patch.body, type);
  return asKube(after);
}

/** Parses the last-applied annotation; undefined if it is missing or not a JSON object. */
export function lastApplied(live: KubeObject): JsonObject | undefined {
  const text = lastAppliedText(live);
  return text === undefined ? undefined : parseLastApplied(text);
}

export function lastAppliedText(live: KubeObject): string | undefined {
  const all = live.metadata.annotations;
  const text =
    all !== undefined && Object.hasOwn(all, annotations.lastApplied) ? all[annotations.lastApplied] : undefined;
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

/** Undefined if the text is not a JSON object. */
export function parseLastApplied(text: string): JsonObject | undefined {
  try {
    const parsed = parseJson(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sets kubectl's last-applied annotation: the object as Go JSON without that annotation, with
 * `annotations` even if empty, and a newline.
 *
 * Difference (T-SEC-3): for core Secrets the annotation has the keys without values, because
 * readers of annotations must not see the values. A three-way merge, also by kubectl or Argo CD,
 * needs only the keys to delete what Git drops.
 */
export function withLastApplied(target: KubeObject): KubeObject {
  return asKube(withOwnLastApplied(asJson(target)));
}

function withOwnLastApplied(target: JsonObject): JsonObject {
  return withLastAppliedText(target, `${goJson(withoutSecretValues(withLastAppliedText(target, undefined)))}\n`);
}

function withoutSecretValues(target: JsonObject): JsonObject {
  if (ownMember(target, 'apiVersion') !== 'v1' || ownMember(target, 'kind') !== 'Secret') return target;
  const bare: MutableJsonObject = {};
  for (const [key, value] of Object.entries(target))
    setOwnMember(bare, key, (key === 'data' || key === 'stringData' ? emptiedValues(value) : value) as MutableJson);
  return bare;
}

/** Anything but a map is an invalid Secret, and has no keys. */
function emptiedValues(values: Json | undefined): Json {
  if (!isObject(values)) return null;
  const keys: MutableJsonObject = {};
  for (const [key, value] of Object.entries(values)) setOwnMember(keys, key, value === null ? null : '');
  return keys;
}

function withLastAppliedText(object: JsonObject, text: string | undefined): JsonObject {
  const metadata = ownMember(object, 'metadata');
  const before = isObject(metadata) ? ownMember(metadata, 'annotations') : undefined;
  const after: MutableJsonObject = {};
  for (const [key, value] of Object.entries(isObject(before) ? before : {}))
    if (key !== annotations.lastApplied) setOwnMember(after, key, value as MutableJson);
  if (text !== undefined) setOwnMember(after, annotations.lastApplied, text);
  return { ...object, metadata: { ...(isObject(metadata) ? metadata : {}), annotations: after } };
}

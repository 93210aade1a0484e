import { deepEqual, goJson, isObject, own, parseJson, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { asStored } from './defaults.ts';
import { applyJsonPatch, threeWayJsonPatch } from './json-merge.ts';
import { schemaOf } from './schema.ts';
import { applyStrategic, strategicPatch } from './strategic.ts';

/** The body of one PATCH, and with which content type: application/strategic-merge-patch+json or application/merge-patch+json. */
export interface ApplyPatch {
  readonly type: 'strategic' | 'merge';
  readonly body: JsonObject;
}

/**
 * The patch that kubectl's client-side apply would send for `target` over `live`: three-way with what live's last-applied annotation
 * says, two-way without one; strategic for the built-in kinds, a JSON merge patch for the others; the annotation is part of it.
 * Undefined when it would change nothing. Neither argument is changed. (k8s.io/kubectl apply.go, patcher.go.)
 *
 * Differences: a patch that the API server would undo by its own defaults counts as no change.
 */
export function clientSideApplyPatch(target: KubeObject, live: KubeObject): ApplyPatch | undefined {
  const [wanted, present] = [annotated(asJson(target)), asJson(live)];
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

/** What the live object would be after {@link clientSideApplyPatch}, before the API server fills in defaults. Shares parts with `live`. */
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

/** What was applied last, undefined when there is no such annotation or it is not an object. */
export function lastApplied(live: KubeObject): JsonObject | undefined {
  const all = live.metadata.annotations;
  const text =
    all !== undefined && Object.hasOwn(all, annotations.lastApplied) ? all[annotations.lastApplied] : undefined;
  if (typeof text !== 'string' || text.trim() === '') return undefined;
  try {
    const parsed = parseJson(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The object with kubectl's annotation: its own Go JSON without that annotation, `annotations` present even when empty, a newline.
 *
 * Difference (T-SEC-3): of a core Secret the annotation has the keys without their values. A three-way merge asks it only which keys were applied, so
 * that kubectl, Argo CD and we go on deleting what Git drops; the values are nobody's business who may read annotations.
 */
export function withLastApplied(target: KubeObject): KubeObject {
  return asKube(annotated(asJson(target)));
}

function annotated(target: JsonObject): JsonObject {
  return withAnnotations(target, `${goJson(withoutValues(withAnnotations(target, undefined)))}\n`);
}

function withoutValues(target: JsonObject): JsonObject {
  if (own(target, 'apiVersion') !== 'v1' || own(target, 'kind') !== 'Secret') return target;
  const bare: MutableJsonObject = {};
  for (const [key, value] of Object.entries(target))
    setOwn(bare, key, (key === 'data' || key === 'stringData' ? keysOf(value) : value) as MutableJson);
  return bare;
}

/** What is no map, and no Secret therefore, is no key either. */
function keysOf(values: Json | undefined): Json {
  if (!isObject(values)) return null;
  const keys: MutableJsonObject = {};
  for (const [key, value] of Object.entries(values)) setOwn(keys, key, value === null ? null : '');
  return keys;
}

function withAnnotations(object: JsonObject, text: string | undefined): JsonObject {
  const metadata = own(object, 'metadata');
  const before = isObject(metadata) ? own(metadata, 'annotations') : undefined;
  const after: MutableJsonObject = {};
  for (const [key, value] of Object.entries(isObject(before) ? before : {}))
    if (key !== annotations.lastApplied) setOwn(after, key, value as MutableJson);
  if (text !== undefined) setOwn(after, annotations.lastApplied, text);
  return { ...object, metadata: { ...(isObject(metadata) ? metadata : {}), annotations: after } };
}

/** A Kubernetes object is a JSON object; only its static type says more. */
export function asJson(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}

export function asKube(object: JsonObject): KubeObject {
  return object as unknown as KubeObject;
}

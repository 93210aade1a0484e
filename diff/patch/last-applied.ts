import { goJson, isObject, ownMember, parseJson, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { foldStringData } from '../normalize/secret.ts';
import { asJson, asKube } from '../shared/values.ts';

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
  return asKube(withOwnLastApplied(foldStringData(asJson(target))));
}

function withOwnLastApplied(target: JsonObject): JsonObject {
  return withLastAppliedOf(target, target);
}

/** Sets on `object` the annotation of `target`. */
export function withLastAppliedOf(target: JsonObject, object: JsonObject): JsonObject {
  return withLastAppliedText(object, `${goJson(withoutSecretValues(withLastAppliedText(target, undefined)))}\n`);
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

import { valueAt, cloneJson, isObject } from '#base';
import type { JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import { asJsonObject, asKubeObject, fieldAt, stringOrEmpty } from '../fields.ts';
import type { ServedKind } from '../discovery/registry.ts';
import { badRequestError, invalidError } from '../status.ts';

/** The autoscaling/v1 Scale view of an object. */
export function readScale(kind: ServedKind, object: KubeObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const paths = kind.scaleSubresource;
  const replicas = numberAt(object, paths?.specReplicasPath);
  const selector = selectorText(kind, object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: name ?? '',
      ...(namespace === undefined ? {} : { namespace }),
      uid: uid ?? '',
      resourceVersion: resourceVersion ?? '',
      creationTimestamp: creationTimestamp ?? null,
    },
    // Go omits a zero value.
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, paths?.statusReplicasPath) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

/** The object with the replicas and the precondition of a Scale. @throws SimError 400 */
export function writeScale(kind: ServedKind, live: KubeObject, scale: JsonObject): KubeObject {
  const given = stringOrEmpty(scale['kind']);
  if (given !== '' && given !== 'Scale') {
    const version = stringOrEmpty(scale['apiVersion']).split('/').at(-1) ?? '';
    throw badRequestError(
      `${given} in version "${version}" cannot be handled as a Scale: ` +
        `converting (${version}.${given}) to (autoscaling.Scale): unknown conversion`,
    );
  }
  const replicas = valueAt(scale, 'spec', 'replicas') ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas)) {
    const found = typeof replicas === 'number' ? `number ${replicas}` : typeof replicas;
    throw badRequestError(
      'Scale in version "v1" cannot be handled as a Scale: ' +
        `json: cannot unmarshal ${found} into Go struct field ScaleSpec.spec.replicas of type int32`,
    );
  }
  checkReplicas(kind, live.metadata.name ?? '', replicas);
  const result = cloneJson(asJsonObject(live)) as MutableJsonObject;
  setAt(result, pathSteps(kind.scaleSubresource?.specReplicasPath), replicas);
  const revision = valueAt(scale, 'metadata', 'resourceVersion');
  if (typeof revision === 'string' && revision !== '' && isObject(result['metadata']))
    result['metadata']['resourceVersion'] = revision;
  return asKubeObject(result);
}

/** For a custom kind the error is about the object, for a built-in kind about the Scale. */
function checkReplicas(kind: ServedKind, name: string, replicas: number): void {
  if (replicas >= 0) return;
  const who = kind.custom ? kind : { group: 'autoscaling', kind: 'Scale' };
  const why = kind.custom ? 'should be a non-negative integer' : 'must be greater than or equal to 0';
  const field = kind.custom ? (kind.scaleSubresource?.specReplicasPath ?? '') : 'spec.replicas';
  throw invalidError(who, name, [{ type: 'FieldValueInvalid', field, message: `Invalid value: ${replicas}: ${why}` }]);
}

function pathSteps(path: string | undefined): string[] {
  return (path ?? '').split('.').filter((step) => step !== '');
}

function numberAt(object: KubeObject, path: string | undefined): number | undefined {
  const value = fieldAt(object, ...pathSteps(path));
  return typeof value === 'number' ? value : undefined;
}

function setAt(target: MutableJsonObject, path: readonly string[], value: MutableJson): void {
  const [first, ...rest] = path;
  if (first === undefined) return;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const next = target[first];
  const inner: MutableJsonObject = typeof next === 'object' && next !== null && !Array.isArray(next) ? next : {};
  target[first] = inner;
  setAt(inner, rest, value);
}

/**
 * The pod selector as text: built-in kinds have an object in spec, custom kinds a text at the path
 * of their CRD.
 */
function selectorText(kind: ServedKind, object: KubeObject): string {
  if (kind.custom) {
    const value = fieldAt(object, ...pathSteps(kind.scaleSubresource?.labelSelectorPath));
    return typeof value === 'string' ? value : '';
  }
  const selector = fieldAt(object, 'spec', 'selector');
  if (!isObject(selector)) return '';
  return selectorString(kind.kind === 'ReplicationController' ? { matchLabels: selector } : selector);
}

/** A LabelSelector in the text form of query parameters. */
export function selectorString(selector: JsonObject): string {
  const labels = isObject(selector['matchLabels']) ? Object.entries(selector['matchLabels']) : [];
  const expressions = Array.isArray(selector['matchExpressions']) ? selector['matchExpressions'].filter(isObject) : [];
  const parts = labels.map(([key, value]) => ({ key, text: `${key}=${stringOrEmpty(value)}` }));
  for (const { key, operator, values } of expressions) {
    const name = stringOrEmpty(key);
    const list = Array.isArray(values) ? values.map(stringOrEmpty).sort().join(',') : '';
    const texts: Record<string, string> = {
      In: `${name} in (${list})`,
      NotIn: `${name} notin (${list})`,
      Exists: name,
      DoesNotExist: `!${name}`,
    };
    parts.push({ key: name, text: texts[stringOrEmpty(operator)] ?? '' });
  }
  return parts
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((part) => part.text)
    .join(',');
}

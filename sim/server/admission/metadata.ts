import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { FieldError } from '../../types.ts';
import { asJsonObject, objectItemsOf, stringOrEmpty } from '../fields.ts';
import type { ServedKind } from '../discovery/registry.ts';

/**
 * The rules of `metadata` for all kinds: names, labels, annotations, finalizers, owners, and
 * immutable members (apimachinery: pkg/api/validation/objectmeta.go, pkg/util/validation).
 */
interface NameRule {
  readonly shape: RegExp;
  readonly longest: number;
  readonly text: string;
}

const subdomainRule: NameRule = {
  shape: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  longest: 253,
  text:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
    "alphanumeric character (e.g. 'example.com', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
};
const labelRule: NameRule = {
  shape: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  longest: 63,
  text:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
    "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
};

/** Kinds whose names are not DNS subdomains. */
const nameRules: Readonly<Record<string, NameRule | 'segment'>> = {
  '/Namespace': labelRule,
  '/Service': labelRule,
  'rbac.authorization.k8s.io/Role': 'segment',
  'rbac.authorization.k8s.io/RoleBinding': 'segment',
  'rbac.authorization.k8s.io/ClusterRole': 'segment',
  'rbac.authorization.k8s.io/ClusterRoleBinding': 'segment',
};

function invalidValue(field: string, value: Json | undefined, why: string): FieldError {
  return { type: 'FieldValueInvalid', field, message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}` };
}

/** Errors of the name alone. */
export function nameErrors(kind: ServedKind, name: string): FieldError[] {
  const rule = nameRules[kind.groupKind] ?? subdomainRule;
  if (rule === 'segment') return segmentErrors(name);
  const errors: FieldError[] = [];
  if (name.length > rule.longest)
    errors.push(invalidValue('metadata.name', name, `must be no more than ${rule.longest} characters`));
  if (rule === labelRule && name.includes('.'))
    errors.push(invalidValue('metadata.name', name, 'must not contain dots'));
  else if (!rule.shape.test(name)) errors.push(invalidValue('metadata.name', name, rule.text));
  return errors;
}

function segmentErrors(name: string): FieldError[] {
  if (name === '.' || name === '..') return [invalidValue('metadata.name', name, `may not be '${name}'`)];
  const bad = ['/', '%'].filter((character) => name.includes(character));
  return bad.map((character) => invalidValue('metadata.name', name, `may not contain '${character}'`));
}

/** Errors of the metadata of a new object, or of an update of `old`. */
export function metadataErrors(kind: ServedKind, object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const meta = asJsonObject(object.metadata);
  const name = object.metadata.name ?? '';
  const errors: FieldError[] = [];
  if (name === '')
    errors.push({
      type: 'FieldValueRequired',
      field: 'metadata.name',
      message: 'Required value: name or generateName is required',
    });
  else if (old === undefined) errors.push(...nameErrors(kind, name));
  errors.push(...labelErrors(meta['labels']), ...annotationErrors(meta['annotations']), ...ownerErrors(meta));
  errors.push(...finalizerErrors(kind, object.metadata.finalizers ?? []));
  if (old !== undefined) errors.push(...updateErrors(object, old));
  return errors;
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

/** Custom kinds and the API extension kinds have weaker rules. */
function isExtension({ custom, group }: ServedKind): boolean {
  return custom || group === 'apiextensions.k8s.io' || group === 'apiregistration.k8s.io';
}

function finalizerErrors(kind: ServedKind, finalizers: readonly string[]): FieldError[] {
  return finalizers.flatMap((finalizer, i) => {
    const errors = qualifiedNameErrors(finalizer).map((why) => invalidValue('metadata.finalizers', finalizer, why));
    if (isExtension(kind) || finalizer.includes('/') || standardFinalizers.includes(finalizer)) return errors;
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    return [...errors, invalidValue(`metadata.finalizers[${i}]`, finalizer, why)];
  });
}

function labelErrors(labels: Json | undefined): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries((labels ?? {}) as JsonObject)) {
    for (const why of qualifiedNameErrors(key))
      errors.push(invalidValue('metadata.labels', key, why.replace('a qualified name', 'a valid label key')));
    for (const why of labelValueErrors(stringOrEmpty(value))) errors.push(invalidValue('metadata.labels', value, why));
  }
  return errors;
}

const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const namePartText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
  "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const qualifiedText =
  "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an " +
  "optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

function labelValueErrors(value: string): string[] {
  const errors = value.length > 63 ? ['must be no more than 63 characters'] : [];
  return /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(value) ? errors : [...errors, valueText];
}

function qualifiedNameErrors(key: string): string[] {
  const parts = key.split('/');
  if (parts.length > 2) return [qualifiedText];
  const errors: string[] = [];
  const [prefix, name] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : [undefined, parts[0] ?? ''];
  if (prefix === '') errors.push('prefix part must be non-empty');
  else if (prefix !== undefined && !subdomainRule.shape.test(prefix)) errors.push(`prefix part ${subdomainRule.text}`);
  if (name === '') errors.push('name part must be non-empty');
  else if (name.length > 63) errors.push('name part must be no more than 63 characters');
  if (!/^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/.test(name)) errors.push(namePartText);
  return errors;
}

const annotationBytes = 256 * 1024;

function annotationErrors(annotations: Json | undefined): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries((annotations ?? {}) as JsonObject)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(stringOrEmpty(value));
    for (const why of qualifiedNameErrors(key.toLowerCase()))
      errors.push(invalidValue('metadata.annotations', key, why));
  }
  if (bytes > annotationBytes)
    errors.push({
      type: 'FieldValueTooLong',
      field: 'metadata.annotations',
      message: `Too long: may not be more than ${annotationBytes} bytes`,
    });
  return errors;
}

function ownerErrors(meta: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const owners = objectItemsOf(meta['ownerReferences']);
  const path = 'metadata.ownerReferences';
  for (const owner of owners) {
    if (stringOrEmpty(owner['apiVersion']) === '')
      errors.push(invalidValue(`${path}.apiVersion`, owner['apiVersion'] ?? '', 'version must not be empty'));
    for (const member of ['kind', 'name', 'uid'])
      if (stringOrEmpty(owner[member]) === '') errors.push(invalidValue(`${path}.${member}`, '', 'must not be empty'));
  }
  for (const owner of owners) {
    if (stringOrEmpty(owner['kind']) !== 'Event' || stringOrEmpty(owner['apiVersion']) !== 'v1') continue;
    errors.push(invalidValue(path, owner, '/v1, Kind=Event is disallowed from being an owner'));
  }
  const controllers = owners.filter((owner) => owner['controller'] === true);
  if (controllers.length > 1) {
    const [first, second] = controllers.map(
      (owner) => `${stringOrEmpty(owner['kind'])}/${stringOrEmpty(owner['name'])}`,
    );
    const why =
      'Only one reference can have Controller set to true. Found "true" in references for ' +
      `${first ?? ''} and ${second ?? ''}`;
    errors.push(invalidValue(path, owners, why));
  }
  return errors;
}

function updateErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const member of ['name', 'namespace', 'uid', 'creationTimestamp'] as const) {
    const value = object.metadata[member];
    if (value !== old.metadata[member]) errors.push(invalidValue(`metadata.${member}`, value, 'field is immutable'));
  }
  if (old.metadata.deletionTimestamp === undefined) return errors;
  const added = (object.metadata.finalizers ?? []).filter((name) => !(old.metadata.finalizers ?? []).includes(name));
  if (added.length > 0) {
    const list = added.map((name) => JSON.stringify(name)).join(', ');
    errors.push({
      type: 'FieldValueForbidden',
      field: 'metadata.finalizers',
      message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    });
  }
  return errors;
}

const emptyableMembers = ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'];

/** Metadata as the server stores it: without selfLink, empty maps and lists, and nulls. */
export function storedMetadata(metadata: KubeObject['metadata']): KubeObject['metadata'] {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(metadata) as [string, Json | undefined][]) {
    if (value === undefined || value === null || key === 'selfLink') continue;
    if (emptyableMembers.includes(key) && typeof value === 'object' && Object.keys(value).length === 0) continue;
    result[key] = value;
  }
  return result;
}

import { applyMergePatch, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError } from '../errors.ts';

/** The fields of a source, which an override file may write in any letter case. */
const members = new Map(
  [
    ...[
      'repoURL',
      'path',
      'targetRevision',
      'tagPrefix',
      'chart',
      'ref',
      'name',
      'helm',
      'kustomize',
      'directory',
      'plugin',
    ],
    ...['valueFiles', 'parameters', 'value', 'forceString', 'releaseName', 'values', 'fileParameters', 'version'],
    ...[
      'passCredentials',
      'ignoreMissingValueFiles',
      'skipCrds',
      'valuesObject',
      'namespace',
      'kubeVersion',
      'apiVersions',
    ],
    ...['skipTests', 'skipSchemaValidation', 'namePrefix', 'nameSuffix', 'images', 'commonLabels', 'commonAnnotations'],
    ...[
      'forceCommonLabels',
      'forceCommonAnnotations',
      'commonAnnotationsEnvsubst',
      'replicas',
      'count',
      'patches',
      'patch',
    ],
    ...[
      'target',
      'group',
      'kind',
      'labelSelector',
      'annotationSelector',
      'options',
      'components',
      'labelWithoutSelector',
    ],
    ...['labelIncludeTemplates', 'ignoreMissingComponents', 'recurse', 'jsonnet', 'extVars', 'tlas', 'code', 'libs'],
    ...['exclude', 'include', 'disableExtensionFilter', 'env', 'string', 'map', 'array'],
  ].map((name) => [name.toLowerCase(), name]),
);

/** Fields with arbitrary keys: their keys keep their letter case. */
const open = new Set(['valuesObject', 'commonLabels', 'commonAnnotations', 'options', 'map']);
const objects = new Set([...open, 'helm', 'kustomize', 'directory', 'plugin', 'jsonnet', 'target']);
const lists = new Set([
  ...['valueFiles', 'parameters', 'fileParameters', 'apiVersions', 'images', 'replicas', 'patches', 'components'],
  ...['extVars', 'tlas', 'libs', 'env', 'array'],
]);

/**
 * Applies an override file like Argo CD: as a merge patch, whose result is decoded over the
 * original source. So field names match in any letter case, `null` removes a value only inside
 * `valuesObject`, and the items of a list merge with those at the same index. A field that the file
 * writes in other letters than the source stands beside it: the later one in byte order wins.
 * @throws DesiredError if a field has the wrong kind: a list, an object or a scalar
 */
export function mergeOverride(source: JsonObject, patch: JsonObject): JsonObject {
  checkKinds(patch, '');
  return decodeOver(source, applyMergePatch(source, patch), '') as JsonObject;
}

function checkKinds(value: Json | undefined, path: string): void {
  if (Array.isArray(value)) for (const member of value as readonly Json[]) checkKinds(member, path);
  if (!isObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    const name = members.get(key.toLowerCase());
    if (name === undefined) continue;
    checkKind(name, member, `${path}${name}`);
    if (!open.has(name)) checkKinds(member, `${path}${name}.`);
  }
}

function checkKind(name: string, value: Json | undefined, at: string): void {
  if (value === null || value === undefined) return;
  const found = Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : 'a value';
  const wanted = lists.has(name) ? 'a list' : objects.has(name) ? 'an object' : 'a value';
  if (found !== wanted) throw new DesiredError('DESIRED_SOURCE', `${at} must be ${wanted}, not ${found}`);
}

function decodeOver(before: Json | undefined, after: Json | undefined, name: string): Json {
  if (after === null || after === undefined) return before ?? null;
  if (name === 'valuesObject') return after;
  if (Array.isArray(after)) {
    const old = Array.isArray(before) ? (before as readonly Json[]) : [];
    return (after as readonly Json[]).map((member, index) =>
      isObject(member) ? decodeOver(old[index], member, '') : member,
    );
  }
  if (!isObject(after)) return after;
  const decoded = new Map<string, Json>(isObject(before) ? (Object.entries(before) as [string, Json][]) : []);
  for (const key of Object.keys(after).sort()) {
    const field = open.has(name) ? key : (members.get(key.toLowerCase()) ?? key);
    decoded.set(field, decodeOver(decoded.get(field), ownMember(after, key), field));
  }
  return Object.fromEntries(decoded);
}

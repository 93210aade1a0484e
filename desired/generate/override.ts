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
 * `valuesObject`, and the items of a list merge with those at the same index.
 * @throws DesiredError if a field has the wrong kind: a list, an object or a scalar
 */
export function mergeOverride(source: JsonObject, patch: JsonObject): JsonObject {
  return mergeOver(source, applyMergePatch(source, withKnownNames(patch, '')), '') as JsonObject;
}

function withKnownNames(value: Json | undefined, path: string): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((member) => withKnownNames(member, path));
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = members.get(key.toLowerCase());
      const at = `${path}${name ?? key}`;
      if (name !== undefined) checkKind(name, member, at);
      return [name ?? key, name === undefined || open.has(name) ? (member ?? null) : withKnownNames(member, `${at}.`)];
    }),
  );
}

function checkKind(name: string, value: Json | undefined, at: string): void {
  if (value === null || value === undefined) return;
  const found = Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : 'a value';
  const wanted = lists.has(name) ? 'a list' : objects.has(name) ? 'an object' : 'a value';
  if (found !== wanted) throw new DesiredError('DESIRED_SOURCE', `${at} must be ${wanted}, not ${found}`);
}

function mergeOver(before: Json | undefined, after: Json | undefined, name: string): Json {
  if (name === 'valuesObject' || before === undefined) return after ?? null;
  if (Array.isArray(after)) {
    const old = Array.isArray(before) ? (before as readonly Json[]) : [];
    return (after as readonly Json[]).map((member, index) =>
      isObject(member) ? mergeOver(old[index], member, '') : member,
    );
  }
  if (after === null || after === undefined) return before;
  if (!isObject(after) || !isObject(before)) return after;
  const read = Object.entries(after).map(([key, member]): [string, Json] => [
    key,
    mergeOver(ownMember(before, key), member, key),
  ]);
  return { ...before, ...Object.fromEntries(read) };
}

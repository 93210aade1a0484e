import { applyMergePatch, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError } from '../errors.ts';

/** The members of a source, whatever letters an override file writes them in. */
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

/** Members whose own members are anybody's. */
const open = new Set(['valuesObject', 'commonLabels', 'commonAnnotations', 'options', 'map']);
const objects = new Set([...open, 'helm', 'kustomize', 'directory', 'plugin', 'jsonnet', 'target']);
const lists = new Set([
  ...['valueFiles', 'parameters', 'fileParameters', 'apiVersions', 'images', 'replicas', 'patches', 'components'],
  ...['extVars', 'tlas', 'libs', 'env', 'array'],
]);

/**
 * A source with an override file over it, as Argo CD has it: a merge patch whose result is read over the source that was there. So names count
 * in any letters, `null` takes something away only within `valuesObject`, and the members of a list lie over those at their places.
 * @throws DesiredError when a member is a list, an object or neither, and should not be
 */
export function overridden(source: JsonObject, patch: JsonObject): JsonObject {
  return over(source, applyMergePatch(source, named(patch, '')), '') as JsonObject;
}

function named(value: Json | undefined, path: string): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((member) => named(member, path));
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = members.get(key.toLowerCase());
      const at = `${path}${name ?? key}`;
      if (name !== undefined) checkKind(name, member, at);
      return [name ?? key, name === undefined || open.has(name) ? (member ?? null) : named(member, `${at}.`)];
    }),
  );
}

function checkKind(name: string, value: Json | undefined, at: string): void {
  if (value === null || value === undefined) return;
  const found = Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : 'a value';
  const wanted = lists.has(name) ? 'a list' : objects.has(name) ? 'an object' : 'a value';
  if (found !== wanted) throw new DesiredError('DESIRED_SOURCE', `${at} must be ${wanted}, not ${found}`);
}

function over(before: Json | undefined, after: Json | undefined, name: string): Json {
  if (name === 'valuesObject' || before === undefined) return after ?? null;
  if (Array.isArray(after)) {
    const old = Array.isArray(before) ? (before as readonly Json[]) : [];
    return (after as readonly Json[]).map((member, index) =>
      isObject(member) ? over(old[index], member, '') : member,
    );
  }
  if (after === null || after === undefined) return before;
  if (!isObject(after) || !isObject(before)) return after;
  const read = Object.entries(after).map(([key, member]): [string, Json] => [key, over(own(before, key), member, key)]);
  return { ...before, ...Object.fromEntries(read) };
}

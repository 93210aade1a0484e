import { applyMergePatch, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';

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

/**
 * A source with an override file over it, as Argo CD has it: a merge patch whose result is read over the source that was there. So names count
 * in any letters, `null` takes something away only within `valuesObject`, and the members of a list lie over those at their places.
 */
export function overridden(source: JsonObject, patch: JsonObject): JsonObject {
  return over(source, applyMergePatch(source, named(patch)), '') as JsonObject;
}

function named(value: Json | undefined): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(named);
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = members.get(key.toLowerCase()) ?? key;
      return [name, open.has(name) ? member : named(member)];
    }),
  );
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

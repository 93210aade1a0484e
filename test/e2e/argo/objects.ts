import { loadAll } from 'js-yaml';

/** An object of a manifest. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** How Argo CD marks what it manages (`application.resourceTrackingMethod` of argocd-cm). */
export type MarkMethod = 'annotation' | 'label' | 'annotation+label';

const clusterScoped = new Set(['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'ClusterRoleBinding']);

export function isClusterScoped({ kind }: ManifestObject): boolean {
  return clusterScoped.has(kind);
}

export function groupOf({ apiVersion }: ManifestObject): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

export function versionOf({ apiVersion }: ManifestObject): string {
  return apiVersion.split('/').at(-1) ?? '';
}

/** The documents of all files, in order of file names. */
export function manifestsOf(files: Readonly<Record<string, string>>): ManifestObject[] {
  return Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, text]) => loadAll(text) as (ManifestObject | null | undefined)[])
    .filter((document) => document !== null && document !== undefined);
}

export interface MarkTarget {
  /** Instance name of the Application in tracking metadata. */
  readonly instance: string;
  readonly namespace: string;
}

/**
 * A rendered object as Argo CD 3.6 applies it: namespaced objects get the destination's namespace,
 * all but CRDs get tracking metadata. Tracking ids of cluster-scoped objects contain the
 * destination's namespace.
 */
export function asArgoSends(
  object: ManifestObject,
  { instance, namespace }: MarkTarget,
  method: MarkMethod,
): ManifestObject {
  const placed = isClusterScoped(object) ? object : { ...object, metadata: { namespace, ...object.metadata } };
  return object.kind === 'CustomResourceDefinition' ? placed : withMark(placed, { instance, namespace }, method);
}

/** Adds tracking metadata to any kind: earlier versions of Driftless tracked CRDs too. */
export function withMark(
  object: ManifestObject,
  { instance, namespace }: MarkTarget,
  method: MarkMethod,
): ManifestObject {
  const { metadata } = object;
  const id = `${instance}:${groupOf(object)}/${object.kind}:${metadata.namespace ?? namespace}/${metadata.name}`;
  const annotations = { ...metadata.annotations, 'argocd.argoproj.io/tracking-id': id };
  const labels = { ...metadata.labels, 'app.kubernetes.io/instance': instance };
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(method === 'label' ? {} : { annotations }),
      ...(method === 'annotation' ? {} : { labels }),
    },
  };
}

export function isHook({ metadata }: ManifestObject): boolean {
  return metadata.annotations?.['argocd.argoproj.io/hook'] !== undefined;
}

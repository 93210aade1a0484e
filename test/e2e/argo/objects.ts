import { loadAll } from 'js-yaml';

/** An object of a manifest, as loose as YAML is. */
export interface Manifest {
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
export type Method = 'annotation' | 'label' | 'annotation+label';

const clusterScoped = new Set(['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'ClusterRoleBinding']);

export function isClusterScoped({ kind }: Manifest): boolean {
  return clusterScoped.has(kind);
}

export function groupOf({ apiVersion }: Manifest): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

export function versionOf({ apiVersion }: Manifest): string {
  return apiVersion.split('/').at(-1) ?? '';
}

/** The documents of some files, in the order of the files' names. */
export function manifestsOf(files: Readonly<Record<string, string>>): Manifest[] {
  return Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, text]) => loadAll(text) as (Manifest | null | undefined)[])
    .filter((document) => document !== null && document !== undefined);
}

export interface Place {
  /** The Application's name, as tracking says it. */
  readonly instance: string;
  readonly namespace: string;
}

/**
 * What Argo CD 3.6 sends for a rendered object: namespaced objects get the destination's namespace, everything but a CustomResourceDefinition
 * gets its mark. Cluster-scoped objects carry the destination's namespace in the id.
 */
export function asArgoSends(object: Manifest, { instance, namespace }: Place, method: Method): Manifest {
  const placed = isClusterScoped(object) ? object : { ...object, metadata: { namespace, ...object.metadata } };
  return object.kind === 'CustomResourceDefinition' ? placed : withMark(placed, { instance, namespace }, method);
}

/** Marks an object of whatever kind: earlier versions of Driftless marked CustomResourceDefinitions too. */
export function withMark(object: Manifest, { instance, namespace }: Place, method: Method): Manifest {
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

export function isHook({ metadata }: Manifest): boolean {
  return metadata.annotations?.['argocd.argoproj.io/hook'] !== undefined;
}

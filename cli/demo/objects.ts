import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { finalizers, labels } from '#model';
import { fleetNumber } from './repositories.ts';
import type { DemoTools } from './demo-tools.ts';

/** Namespace of the demo's controller. */
export const controllerNamespace = 'argocd';

export interface DemoPlan {
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly repository: (name: string) => string;
  /** Samples for the first cluster whose programs were found. */
  readonly toolSamples: DemoTools['samples'];
  /** Number of small Applications besides the samples. */
  readonly fleetSize: number;
}

/** The hub's initial objects, in creation order. */
export function hubObjects(plan: DemoPlan): KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: controllerNamespace } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'argocd-cm', namespace: controllerNamespace, labels: { [labels.partOf]: 'argocd' } },
      data: {},
    },
    ...plan.clusters.map(clusterSecret),
    defaultProject(),
    ...applications(plan),
  ];
}

function clusterSecret(cluster: { readonly name: string; readonly url: string }): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `cluster-${cluster.name}`,
      namespace: controllerNamespace,
      labels: { [labels.secretType]: 'cluster' },
    },
    type: 'Opaque',
    stringData: { name: cluster.name, server: cluster.url, config: '{"tlsClientConfig":{"insecure":false}}' },
  };
}

function defaultProject(): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default', namespace: controllerNamespace },
    spec: {
      sourceRepos: ['*'],
      destinations: [{ server: '*', namespace: '*' }],
      clusterResourceWhitelist: [{ group: '*', kind: '*' }],
    },
  };
}

/** Each sample on each cluster, then the small Applications spread over all clusters. */
function applications(plan: DemoPlan): KubeObject[] {
  const samples = plan.clusters.flatMap(({ name }) =>
    ['guestbook', 'waves', 'platform'].map((sample) =>
      application(
        `${sample}-${name}`,
        [{ repoURL: plan.repository(sample), path: '.', targetRevision: 'main', directory: { recurse: true } }],
        { name, namespace: sample },
      ),
    ),
  );
  const fleet = Array.from({ length: plan.fleetSize }, (_, i) => {
    const number = fleetNumber(i);
    const cluster = plan.clusters[i % plan.clusters.length];
    return application(
      `tiny-${number}`,
      [{ repoURL: plan.repository('fleet'), path: `app-${number}`, targetRevision: 'main' }],
      { name: cluster?.name ?? '', namespace: `tiny-${number}` },
    );
  });
  const [first] = plan.clusters;
  const rendered = plan.toolSamples.map((sample) =>
    application(
      `${sample.name}-${first?.name ?? ''}`,
      [{ repoURL: plan.repository(sample.name), path: sample.path, targetRevision: 'main' }],
      { name: first?.name ?? '', namespace: sample.name },
    ),
  );
  const multi = application(`multi-${first?.name ?? ''}`, twoSources(plan), {
    name: first?.name ?? '',
    namespace: 'multi',
  });
  return [...samples, ...rendered, multi, ...fleet];
}

/**
 * Plain manifests and values from one repository with the chart of another; without helm, the
 * guestbook replaces the chart.
 */
function twoSources(plan: DemoPlan): readonly JsonObject[] {
  const targetRevision = 'main';
  const values = { repoURL: plan.repository('multi'), path: 'config', ref: 'values', targetRevision };
  const helm = { releaseName: 'multi', valueFiles: ['$values/values.yaml'] };
  const hasHelm = plan.toolSamples.some(({ tool }) => tool === 'helm');
  return [
    values,
    {
      repoURL: plan.repository(hasHelm ? 'chart' : 'guestbook'),
      path: '.',
      targetRevision,
      ...(hasHelm ? { helm } : {}),
    },
  ];
}

function application(
  name: string,
  sources: readonly JsonObject[],
  destination: { readonly name: string; readonly namespace: string },
): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: controllerNamespace, finalizers: [finalizers.resources] },
    spec: {
      project: 'default',
      ...(sources.length === 1 ? { source: sources[0] } : { sources }),
      destination,
      syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] },
    },
  };
}

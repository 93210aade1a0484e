import type { KubeObject } from '#model';

/** The AppProject `default`, which permits everything. */
export function openProject(more: Readonly<Record<string, unknown>> = {}): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default', namespace: 'argocd' },
    spec: {
      sourceRepos: ['*'],
      destinations: [{ server: '*', namespace: '*' }],
      clusterResourceWhitelist: [{ group: '*', kind: '*' }],
      ...more,
    },
  };
}

import type { JsonObject } from '#base';
import { argoNamespace } from './side.ts';

function project(name: string, spec: JsonObject): JsonObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name, namespace: argoNamespace },
    spec: { sourceRepos: ['*'], destinations: [{ namespace: '*', server: '*' }], ...spec },
  };
}

/** The AppProjects of the worlds, beside `default`. */
export const projects: readonly JsonObject[] = [
  project('rules', {
    clusterResourceWhitelist: [{ group: '', kind: 'Namespace' }],
    namespaceResourceBlacklist: [{ group: 'batch', kind: 'CronJob' }],
  }),
  project('window', {
    clusterResourceWhitelist: [{ group: '*', kind: '*' }],
    syncWindows: [
      { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*-a1', '*-a4'], manualSync: true },
      { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*-a2'], manualSync: false },
    ],
  }),
];

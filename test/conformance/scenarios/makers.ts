import { deployment, post } from '../scenario.ts';
import type { ScenarioCall } from '../scenario.ts';

/** Requests that create objects of the kinds of several scenarios. */

export const secrets = '/api/v1/namespaces/{ns}/secrets';
export const services = '/api/v1/namespaces/{ns}/services';
export const pods = '/api/v1/namespaces/{ns}/pods';
export const claims = '/api/v1/namespaces/{ns}/persistentvolumeclaims';

/** The path of a namespaced resource, from `group/version/resource`. */
export const apis = (path: string): string => {
  const [group = '', version = '', resource = ''] = path.split('/');
  return `/apis/${group}/${version}/namespaces/{ns}/${resource}`;
};

export const secret = (name: string, more: object): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  ...more,
});
export const service = (name: string, spec: object): ScenarioCall =>
  post(services, { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec });
export const pod = (name: string, spec: object, container: object = {}): ScenarioCall =>
  post(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'x', ...container }], ...spec },
  });
export const claim = (name: string, spec: object): ScenarioCall =>
  post(claims, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
const make =
  (path: string, apiVersion: string, kind: string) =>
  (name: string, spec: unknown, more: object = {}): ScenarioCall =>
    post(apis(path), { apiVersion, kind, metadata: { name }, ...(spec === undefined ? {} : { spec }), ...more });

export const job = make('batch/v1/jobs', 'batch/v1', 'Job');
export const cronJob = make('batch/v1/cronjobs', 'batch/v1', 'CronJob');
export const ingress = make('networking.k8s.io/v1/ingresses', 'networking.k8s.io/v1', 'Ingress');
export const autoscaler = make('autoscaling/v2/horizontalpodautoscalers', 'autoscaling/v2', 'HorizontalPodAutoscaler');
export const budget = make('policy/v1/poddisruptionbudgets', 'policy/v1', 'PodDisruptionBudget');
export const role = make('rbac.authorization.k8s.io/v1/roles', 'rbac.authorization.k8s.io/v1', 'Role');
export const binding = make('rbac.authorization.k8s.io/v1/rolebindings', 'rbac.authorization.k8s.io/v1', 'RoleBinding');
export const policy = make('networking.k8s.io/v1/networkpolicies', 'networking.k8s.io/v1', 'NetworkPolicy');
export const lease = make('coordination.k8s.io/v1/leases', 'coordination.k8s.io/v1', 'Lease');
export const statefulSet = (name: string, spec: object = {}): ScenarioCall =>
  post(apis('apps/v1/statefulsets'), { ...deployment(name, spec), kind: 'StatefulSet' });
export const daemonSet = (name: string, spec: object = {}): ScenarioCall =>
  post(apis('apps/v1/daemonsets'), { ...deployment(name, spec), kind: 'DaemonSet' });

/** Creates an object of a cluster-wide kind. */
export const clusterWide = (path: string, kind: string, name: string, more: object): ScenarioCall => {
  const [group = '', version = '', resource = ''] = path.split('/');
  const isCore = group === '';
  const apiVersion = isCore ? version : `${group}/${version}`;
  const body = { apiVersion, kind, metadata: { name }, ...more };
  return post(`${isCore ? '/api' : '/apis'}/${apiVersion}/${resource}`, body);
};

/** A Job that never restarts its pods. */
export const runOnce = (more: object = {}): object => ({
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] } },
  ...more,
});

/** One rule with one path. */
export const ingressPath = (backend: object, path: object = { path: '/', pathType: 'Prefix' }): object => ({
  http: { paths: [{ ...path, backend }] },
});

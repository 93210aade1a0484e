import { configMap, configMaps, deployment, deployments, get, post, quietly, scenario } from '../scenario.ts';
import type { ConformanceScenario } from '../scenario.ts';
import {
  autoscaler,
  binding,
  clusterWide,
  job,
  pod,
  policy,
  role,
  runOnce,
  secret,
  secrets,
  service,
} from './makers.ts';

type Body = Record<string, unknown>;
const spec = (body: Body): unknown => (body['kind'] === 'Status' ? body : body['spec']);
/** A pod's spec without what admission plugins add. */
const podSpec = (body: Body): unknown => {
  const added = new Set(['preemptionPolicy', 'priority', 'tolerations']);
  return Object.fromEntries(Object.entries(body['spec'] as Body).filter(([key]) => !added.has(key)));
};
const ranges = ({ spec }: Body): unknown => {
  const { podCIDR, podCIDRs } = spec as Body;
  return { podCIDR, podCIDRs };
};
const shown = <T extends object>(call: T): T => ({ ...call, show: spec });
const withoutToken = { automountServiceAccountToken: false };
const images = ['nginx', 'nginx:latest', 'nginx:1', 'host:5000/nginx', 'host:5000/nginx:1', 'nginx@sha256:0000'];

/** Defaults, and values that the server stores in another form than was sent. */
export const defaults: readonly ConformanceScenario[] = [
  scenario('members of pods', [
    ...[
      pod('host', { ...withoutToken, hostNetwork: true }, { ports: [{ containerPort: 80 }] }),
      pod('account', { ...withoutToken, serviceAccountName: 'default' }),
      pod('probes', withoutToken, { livenessProbe: { httpGet: { port: 80 } } }),
      pod('images', { ...withoutToken, containers: images.map((image, i) => ({ name: `c${i}`, image })) }),
      pod('flags', { ...withoutToken, hostNetwork: false }),
    ].map((call) => ({ ...call, show: podSpec })),
  ]),
  scenario('members of other kinds', [
    shown(job('parallel', runOnce({ parallelism: 3 }))),
    shown(policy('egress', { podSelector: {}, egress: [{}] })),
    shown(
      autoscaler('behaved', {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
        behavior: { scaleUp: { stabilizationWindowSeconds: 5 } },
      }),
    ),
    shown(service('sticky', { ports: [{ port: 80 }], sessionAffinity: 'ClientIP' })),
    role('empty', undefined, { rules: null }),
    binding('user', undefined, { roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'User', name: 'u' }] }),
    shown(
      post('/api/v1/namespaces/{ns}/limitranges', {
        apiVersion: 'v1',
        kind: 'LimitRange',
        metadata: { name: 'maximum' },
        spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] },
      }),
    ),
    post('/api/v1/namespaces/{ns}/endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'e' },
      subsets: [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 1 }] }],
    }),
    clusterWide('storage.k8s.io/v1/storageclasses', 'StorageClass', 'd-class', { provisioner: 'p' }),
    clusterWide('scheduling.k8s.io/v1/priorityclasses', 'PriorityClass', 'd-priority', { value: 1 }),
    clusterWide('networking.k8s.io/v1/ingressclasses', 'IngressClass', 'd-ingress', {
      spec: { controller: 'example.com/c', parameters: { kind: 'K', name: 'n' } },
    }),
    shown(
      clusterWide('/v1/persistentvolumes', 'PersistentVolume', 'd-volume', {
        spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/d' } },
      }),
    ),
    ...[{ podCIDR: '10.1.0.0/24' }, { podCIDRs: ['10.2.0.0/24'] }].map((spec, i) => ({
      ...clusterWide('/v1/nodes', 'Node', `d-node${i}`, { spec }),
      show: ranges,
    })),
    clusterWide(
      'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      'ValidatingWebhookConfiguration',
      'd',
      {
        webhooks: [
          { name: 'a.b.c', clientConfig: { url: 'https://x/' }, sideEffects: 'None', admissionReviewVersions: ['v1'] },
        ],
      },
    ),
  ]),
  scenario('values of the wrong type', [
    ...[
      { replicas: '1' },
      { replicas: 1.5 },
      { replicas: 3_000_000_000 },
      { template: { spec: { containers: {} } } },
      { template: { spec: { containers: [{ name: 'c', imagePullPolicy: 1 }] } } },
      { template: { spec: { containers: [{ name: 'c', env: [{ name: 'A', value: 1 }] }] } } },
      { template: { spec: { containers: [{ name: 'c', resources: { limits: { cpu: 'much' } } }] } } },
    ].map((wrong) => post(deployments, deployment('x', wrong))),
    post(deployments, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: [] }),
    post(configMaps, configMap('x', {}, { labels: { a: 1 } })),
    post(configMaps, configMap('x', {}, { annotations: { a: true } })),
    post(configMaps, configMap('x', {}, { deletionTimestamp: 'soon' })),
    pod('x', { hostNetwork: 'yes' }),
    service('x', { ports: [{ port: 1, targetPort: true }] }),
    post(secrets, secret('x', { data: { a: '@@@@' } })),
    post(secrets, secret('x', { data: { a: 'YWJjZA' } })),
  ]),
  scenario('unknown members in lists and definitions', [
    post(
      `${deployments}?fieldValidation=Strict`,
      deployment('x', { foo: 1 }, { foo: 1, ports: [{ containerPort: 1, bar: 2 }] }),
    ),
    post(`${deployments}?fieldValidation=Strict`, { ...deployment('x'), metadata: { name: 'x', foo: 1 }, foo: 1 }),
    post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'as.example.com' },
      spec: {
        versions: [
          {
            name: 'v1',
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { a: { type: 'array', items: { type: 'string', oops: 1 } } },
              },
            },
          },
        ],
      },
    }),
  ]),
  scenario('values in the notation of Go', [
    post(configMaps, { ...configMap('nulls'), data: { a: null }, metadata: { name: 'nulls', labels: {} } }),
    post(configMaps, configMap('time', {}, { creationTimestamp: null, annotations: {}, ownerReferences: null })),
    quietly(post(deployments, deployment('zero', { replicas: 0 }))),
    get(`${deployments}/zero`, { show: (body) => (body['spec'] as { replicas: number }).replicas }),
  ]),
];

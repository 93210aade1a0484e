import { configMap, configMaps, deployment, deployments, patch, post, quietly, scenario } from '../scenario.ts';
import type { ScenarioCall, ConformanceScenario } from '../scenario.ts';
import {
  apis,
  autoscaler,
  binding,
  claim,
  claims,
  clusterWide,
  cronJob,
  daemonSet,
  ingress,
  ingressPath,
  job,
  lease,
  pod,
  pods,
  policy,
  role,
  runOnce,
  secret,
  secrets,
  service,
  services,
  statefulSet,
} from './makers.ts';

const outcome = ({ kind, reason, message }: Record<string, unknown>): unknown => ({ kind, reason, message });
const change = (path: string, body: object): ScenarioCall => patch('merge', path, body, { show: outcome });
const template = (labels: object | undefined, spec: object = {}, annotations: object = {}): object => ({
  template: { metadata: { labels, annotations }, spec: { containers: [{ name: 'c', image: 'x' }], ...spec } },
});
const nightly = (more: object): object => ({ schedule: '0 0 * * *', jobTemplate: { spec: runOnce() }, ...more });
const variable = (more: object): object => ({ name: 'A', valueFrom: more });

/** Objects and changes that are refused because of one member. */
export const refusals: readonly ConformanceScenario[] = [
  scenario('a pod with a bad member', [
    ...[
      { os: {} },
      { securityContext: { seccompProfile: {} } },
      { initContainers: [{ name: 'c', image: 'x' }] },
      { volumes: [{ emptyDir: {} }] },
      { volumes: [{ name: 'v', emptyDir: {}, secret: { secretName: 's' } }] },
      { volumes: [{ name: 'v', secret: {} }] },
      { volumes: [{ name: 'v', persistentVolumeClaim: {} }] },
      { volumes: [{ name: 'v', ephemeral: {} }] },
      {
        volumes: [
          {
            name: 'v',
            ephemeral: {
              volumeClaimTemplate: { spec: { accessModes: [], resources: { requests: { storage: '1Gi' } } } },
            },
          },
        ],
      },
      { activeDeadlineSeconds: 0 },
      { nodeSelector: { a: 'b c' } },
      { tolerations: [{ value: 'x' }] },
      { tolerations: [{ key: 'a', effect: 'No' }] },
      { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' }] },
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{}] } } },
    ].map((spec) => pod('x', spec)),
  ]),
  scenario('a container with a bad member', [
    ...[
      { image: '' },
      { image: 'x ' },
      { securityContext: { seccompProfile: {} } },
      { lifecycle: { preStop: {} } },
      { lifecycle: { postStart: { httpGet: { path: '/' } } } },
      { terminationMessagePolicy: 'x' },
      { ports: [{ containerPort: 65536 }] },
      { ports: [{ containerPort: 1, hostPort: -1 }] },
      { ports: [{ containerPort: 1, name: '123' }] },
      { ports: [{ containerPort: 1, name: 'abcdefghijklmnop' }] },
      { ports: [1, 2].map((containerPort) => ({ containerPort, name: 'x' })) },
      { env: [{ value: '1' }] },
      { env: [variable({})] },
      { env: [variable({ secretKeyRef: { name: 's', key: 'k' }, configMapKeyRef: { name: 's', key: 'k' } })] },
      { env: [variable({ secretKeyRef: { name: 's' } })] },
      { livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } },
      { livenessProbe: { httpGet: { port: 0 } } },
      { readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: -1 } },
    ].map((container) => pod('x', {}, container)),
    pod('x', { volumes: [{ name: 'v' }] }, { volumeMounts: ['v', 'v'].map((name) => ({ name, mountPath: '/v' })) }),
  ]),
  scenario('a workload with a bad member', [
    ...[
      template({ 'a b': 'x' }),
      template({ app: 'x' }, {}, { a: 'x'.repeat(262_144) }),
      { strategy: { rollingUpdate: { maxSurge: 'lots' } } },
      { minReadySeconds: 10, progressDeadlineSeconds: 10 },
      { selector: { matchExpressions: [{ key: 'app', operator: 'In' }] } },
    ].map((spec) => post(deployments, deployment('x', spec))),
    statefulSet('x', { selector: { matchExpressions: [{ key: 'zz', operator: 'Is' }] } }),
    statefulSet('x', { selector: {} }),
    daemonSet('x', template(undefined)),
    job('x', { template: { spec: { restartPolicy: 'Always', containers: [{ name: 'c', image: 'x' }] } } }),
    job('x', runOnce({ parallelism: -1 })),
    job('x', runOnce({ completionMode: 'x' })),
    job('x', runOnce({ completionMode: 'Indexed', completions: 1, successPolicy: {} })),
    ...['', '* *', '61 * * * *', '@never'].map((schedule) => cronJob('x', nightly({ schedule }))),
    cronJob('x', nightly({ concurrencyPolicy: 'x' })),
    cronJob('a'.repeat(53), nightly({})),
    autoscaler('x', { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: '' } }),
    autoscaler('x', {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
      behavior: { scaleUp: { policies: [] } },
    }),
    post('/api/v1/namespaces/{ns}/replicationcontrollers', {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'x' },
      spec: { template: { spec: { containers: [{ name: 'c', image: 'x' }] } } },
    }),
  ]),
  scenario('data and network objects with a bad member', [
    service('x', { ports: [{ port: 0, targetPort: 80 }] }),
    service('x', { ports: [{ port: 1, name: 'a' }, { port: 2 }] }),
    service('x', { ports: ['a', 'b'].map((name) => ({ port: 1, name })) }),
    service('x', { ports: [{ port: 1, targetPort: 'A!' }] }),
    service('x', { ports: [{ port: 1 }], sessionAffinity: 'x' }),
    service('x', { ports: [{ port: 1 }], type: 'NodePort', clusterIP: 'None' }),
    post(configMaps, configMap('x', { 'a/b': 'x' })),
    post(configMaps, { ...configMap('x'), binaryData: { a: 'MQ==' } }),
    post(configMaps, configMap('x', { b: 'x'.repeat(2 ** 20 + 1) })),
    post(secrets, secret('x', { data: { '..a': 'MQ==' } })),
    post(secrets, secret('x', { data: { a: btoa('x'.repeat(2 ** 20 + 1)) } })),
    post(secrets, secret('x', { type: 'kubernetes.io/tls', data: { 'tls.crt': 'MQ==' } })),
    post(secrets, secret('x', { type: 'kubernetes.io/dockerconfigjson' })),
    ...[
      { accessModes: null },
      { accessModes: ['All'] },
      { resources: null },
      { resources: { requests: { storage: '0' } } },
    ].map((spec) => claim('x', spec)),
    ...[{ capacity: { storage: '1Gi' } }, { hostPath: { path: '/d' } }].map((spec) =>
      clusterWide('/v1/persistentvolumes', 'PersistentVolume', 'x', {
        spec: { accessModes: ['ReadWriteOnce'], ...spec },
      }),
    ),
    ingress('x', { rules: [ingressPath({ service: { name: 's' } })] }),
    ingress('x', { rules: [ingressPath({})] }),
    ingress('x', { rules: [{ host: 'A_b' }] }),
    ...[{ from: [{}] }, { from: [{ ipBlock: { cidr: 'x' } }] }, { ports: [{ port: 5, endPort: 4 }] }].map((rule) =>
      policy('x', { podSelector: {}, ingress: [rule] }),
    ),
    post(apis('discovery.k8s.io/v1/endpointslices'), {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'x' },
      endpoints: [],
    }),
  ]),
  scenario('rights and classes with a bad member', [
    role('x', undefined, { rules: [{ verbs: ['get'], resources: ['pods'] }] }),
    role('x', undefined, { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] }),
    binding('x', undefined, { roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'Robot', name: 'a' }] }),
    clusterWide('rbac.authorization.k8s.io/v1/clusterrolebindings', 'ClusterRoleBinding', 'x', {
      roleRef: { kind: 'ClusterRole', name: 'r' },
      subjects: [{ kind: 'ServiceAccount', name: 'a' }],
    }),
    clusterWide('storage.k8s.io/v1/storageclasses', 'StorageClass', 'x', {}),
    clusterWide('scheduling.k8s.io/v1/priorityclasses', 'PriorityClass', 'x', { value: 2_000_000_000 }),
    lease('x', { leaseDurationSeconds: 0 }),
  ]),
  scenario('changes that are refused', [
    quietly(daemonSet('set')),
    change(apis('apps/v1/daemonsets/set'), {
      spec: { selector: { matchLabels: { b: 'c' } }, template: { metadata: { labels: { b: 'c' } } } },
    }),
    quietly(job('job', runOnce())),
    change(apis('batch/v1/jobs/job'), { spec: { completions: 5 } }),
    quietly(post(secrets, secret('frozen', { immutable: true }))),
    change(`${secrets}/frozen`, { data: { b: 'MQ==' } }),
    change(`${secrets}/frozen`, { immutable: false }),
    quietly(claim('data', {})),
    change(`${claims}/data`, { spec: { volumeMode: 'Block' } }),
    quietly(
      clusterWide('/v1/persistentvolumes', 'PersistentVolume', 'c-volume', {
        spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/d' } },
      }),
    ),
    change('/api/v1/persistentvolumes/c-volume', { spec: { hostPath: { path: '/other' } } }),
    quietly(clusterWide('storage.k8s.io/v1/storageclasses', 'StorageClass', 'c-class', { provisioner: 'p' })),
    ...[{ parameters: { a: 'b' } }, { provisioner: 'q' }, { reclaimPolicy: 'Retain' }].map((body) =>
      change('/apis/storage.k8s.io/v1/storageclasses/c-class', body),
    ),
    quietly(clusterWide('scheduling.k8s.io/v1/priorityclasses', 'PriorityClass', 'c-priority', { value: 1 })),
    change('/apis/scheduling.k8s.io/v1/priorityclasses/c-priority', { value: 2 }),
    quietly(clusterWide('/v1/nodes', 'Node', 'c-node', { spec: { podCIDRs: ['10.1.0.0/24'] } })),
    change('/api/v1/nodes/c-node', { spec: { podCIDRs: ['10.2.0.0/24'] } }),
    quietly(pod('pod', {})),
    change(`${pods}/pod`, { spec: { containers: ['a', 'b'].map((name) => ({ name, image: 'x' })) } }),
    change(`${pods}/pod`, { spec: { nodeSelector: { a: 'b' } } }),
  ]),
  scenario('changes that are accepted', [
    quietly(pod('pod', {})),
    change(`${pods}/pod`, { spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } }),
    quietly(statefulSet('set')),
    change(apis('apps/v1/statefulsets/set'), {
      spec: { replicas: 3, template: { spec: { terminationGracePeriodSeconds: 1 } } },
    }),
    quietly(job('job', runOnce())),
    change(apis('batch/v1/jobs/job'), { spec: { parallelism: 2 } }),
    quietly(post(secrets, secret('plain', {}))),
    change(`${secrets}/plain`, { data: { b: 'MQ==' }, immutable: true }),
    quietly(service('service', { ports: [{ port: 80 }] })),
    change(`${services}/service`, { spec: { type: 'ExternalName', externalName: 'a.b', clusterIP: '' } }),
  ]),
];

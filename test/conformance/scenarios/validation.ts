import { configMap, configMaps, deployment, deployments, get, patch, post, quietly, scenario } from '../scenario.ts';
import type { ConformanceScenario } from '../scenario.ts';
import {
  apis,
  autoscaler,
  binding,
  budget,
  claim,
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

const backend = { service: { name: 's', port: { number: 80 } } };
const others = { app: 'other' };
const otherSelector = {
  selector: { matchLabels: others },
  template: { metadata: { labels: others }, spec: { containers: [{ name: 'c', image: 'nginx:1' }] } },
};

/** Defaults, and errors of invalid objects. */
export const validation: readonly ConformanceScenario[] = [
  scenario('secrets', [
    post(secrets, secret('plain', { stringData: { a: 'text', b: 'ünï' }, data: { a: 'b3RoZXI=', c: 'eA==' } })),
    get(`${secrets}/plain`),
    patch('merge', `${secrets}/plain`, { stringData: { d: 'new' } }),
    patch('strategic', `${secrets}/plain`, { stringData: { d: 'newer' } }),
    post(secrets, secret('bad', { data: { a: 'not base64!' } })),
    post(secrets, secret('bad', { data: { 'bad key': '' } })),
    post(secrets, secret('bad', { type: 'kubernetes.io/tls', data: {} })),
    post(secrets, secret('bad', { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': 'x' } })),
    post(secrets, secret('bad', { type: 'kubernetes.io/basic-auth' })),
    post(secrets, secret('bad', { type: 'kubernetes.io/service-account-token' })),
    patch('apply', `${secrets}/applied?fieldManager=m`, secret('applied', { stringData: { a: 'text' } })),
    patch('apply', `${secrets}/applied?fieldManager=m`, secret('applied', { data: { a: 'dGV4dA==' } })),
  ]),
  // A forced apply tries this before it deletes anything (controller/write/recreate.ts).
  scenario('a dry-run creation under a name that is taken', [
    quietly(post(deployments, deployment('web'))),
    post(`${deployments}?dryRun=All`, deployment('web', otherSelector)),
    post(`${deployments}?dryRun=All`, deployment('web', { selector: otherSelector.selector })),
    get(`${deployments}/web`, { show: ({ spec }) => (spec as { selector: unknown }).selector }),
  ]),
  scenario('a deployment is filled in', [
    post(deployments, deployment('web')),
    post(
      deployments,
      deployment(
        'full',
        { replicas: 0, strategy: { rollingUpdate: { maxSurge: 1 } } },
        {
          ports: [{ containerPort: 80 }],
          livenessProbe: { httpGet: { path: '/', port: 80 } },
          env: [{ name: 'P', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          resources: { requests: { cpu: '0.5', memory: '1024Mi' }, limits: { cpu: '1000m', memory: '1Gi' } },
          imagePullPolicy: 'Never',
        },
      ),
    ),
    post(
      deployments,
      deployment('vols', {
        template: {
          metadata: { labels: { app: 'vols' } },
          spec: {
            containers: [{ name: 'c', image: 'x:latest', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
            volumes: [
              { name: 'v', configMap: { name: 'one' } },
              { name: 's', secret: { secretName: 's' } },
              { name: 'e', emptyDir: {} },
              { name: 'h', hostPath: { path: '/' } },
              { name: 'd', downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
              { name: 'p', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
            ],
            initContainers: [
              { name: 'i', image: 'y@sha256:0000000000000000000000000000000000000000000000000000000000000000' },
            ],
          },
        },
      }),
    ),
  ]),
  scenario('workloads are filled in', [
    statefulSet('sts', {
      serviceName: 's',
      volumeClaimTemplates: [
        {
          metadata: { name: 'd' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    }),
    daemonSet('ds'),
    post(apis('apps/v1/replicasets'), { ...deployment('rs'), kind: 'ReplicaSet' }),
    cronJob('cj', {
      schedule: '*/5 * * * *',
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'c', image: 'x' }] } } },
      },
    }),
    job('jb', runOnce()),
    autoscaler('hpa', { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 3 }),
    budget('pdb', { minAvailable: 1, selector: { matchLabels: { a: 'b' } } }),
    ingress('ing', { rules: [{ host: 'a.example.com', ...ingressPath(backend) }] }),
    policy('np', { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] }),
    role('r', undefined, { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }),
    binding('rb', undefined, {
      roleRef: { kind: 'Role', name: 'r', apiGroup: 'rbac.authorization.k8s.io' },
      subjects: [
        { kind: 'ServiceAccount', name: 'a', namespace: 'b' },
        { kind: 'User', name: 'u' },
      ],
    }),
    lease('l', { holderIdentity: 'me', leaseDurationSeconds: 15 }),
    claim('pvc', {}),
    post('/api/v1/namespaces/{ns}/serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'sa' },
    }),
    post('/api/v1/namespaces/{ns}/resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q' },
      spec: { hard: { pods: '10', 'requests.cpu': '1000m' } },
    }),
    post('/api/v1/namespaces/{ns}/limitranges', {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'lr' },
      spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] },
    }),
  ]),
  scenario('a pod is filled in', [
    pod('p', {}, { resources: { limits: { cpu: '0.1', memory: '64Mi' } } }),
    get(`${pods}/p`, { show: ({ status }) => status }),
    patch(
      'strategic',
      `${pods}/p`,
      { spec: { containers: [{ name: 'c', image: 'new' }] } },
      {
        show: ({ spec, metadata }) => ({
          containers: (spec as { containers: object[] }).containers.map((one) => (one as { image: string }).image),
          generation: (metadata as { generation?: number }).generation,
        }),
      },
    ),
    patch('strategic', `${pods}/p`, { spec: { containers: [{ name: 'c', command: ['x'] }] } }),
    patch(
      'merge',
      `${pods}/p`,
      { spec: { serviceAccountName: 'other' } },
      { show: ({ reason, code }) => ({ reason, code }) },
    ),
  ]),
  scenario('services are filled in', [
    service('a', { selector: { x: 'y' }, ports: [{ port: 80 }] }),
    service('b', { type: 'NodePort', ports: [{ name: 'h', port: 80, targetPort: 'web' }] }),
    service('c', { clusterIP: 'None', ports: [{ port: 80 }] }),
    service('d', { type: 'ExternalName', externalName: 'example.com' }),
    service('e', { type: 'LoadBalancer', ports: [{ name: 'u', port: 53, protocol: 'UDP' }] }),
    service('f', { ports: [{ port: 80 }, { port: 81 }] }),
    service('g', { ports: [] }),
    service('h', { ports: [{ port: 70000 }] }),
    service('i', { ports: [{ port: 80, protocol: 'ICMP' }] }),
    service('j', { type: 'Odd', ports: [{ port: 80 }] }),
    service('k', { type: 'ExternalName' }),
    service('l', { clusterIP: 'not-an-ip', ports: [{ port: 80 }] }),
    service('m', { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] }),
    service('n', { ports: [{ name: 'Upper', port: 80 }] }),
    service('o', {
      ports: [
        { name: 'x', port: 80 },
        { name: 'x', port: 81 },
      ],
    }),
    patch('merge', `${services}/a`, { spec: { type: 'ExternalName', externalName: 'e.example.com' } }),
  ]),
  scenario('pods that are refused', [
    post(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: {} }),
    post(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } }),
    pod('x', { containers: [{ name: 'c' }] }),
    pod('x', { containers: [{ image: 'x' }] }),
    pod('x', { containers: [{ name: 'C_', image: 'x' }] }),
    pod('x', {
      containers: [
        { name: 'c', image: 'x' },
        { name: 'c', image: 'y' },
      ],
    }),
    pod('x', { restartPolicy: 'Sometimes' }),
    pod('x', { dnsPolicy: 'Odd' }),
    pod('x', { volumes: [{ name: 'v' }, { name: 'v', emptyDir: {} }] }),
    pod('x', {}, { volumeMounts: [{ name: 'absent', mountPath: '/x' }] }),
    pod('x', {}, { ports: [{ containerPort: 0 }] }),
    pod('x', {}, { ports: [{ containerPort: 80, protocol: 'X' }] }),
    pod('x', {}, { imagePullPolicy: 'Maybe' }),
    pod('x', {}, { env: [{ name: '' }] }),
    pod('x', {}, { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
    pod('x', {}, { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    pod('x', {}, { resources: { requests: { cpu: '-1' } } }),
    pod('x', {}, { resources: { requests: { cpu: 'lots' } } }),
    pod('x', {}, { livenessProbe: {} }),
    pod('x', {}, { livenessProbe: { httpGet: { port: 80 }, exec: { command: ['a'] } } }),
    pod('x', { serviceAccountName: 'absent' }),
    pod('x', { priorityClassName: 'absent' }),
    pod('x', { nodeSelector: { 'bad key': 'x' } }),
    pod('x', { hostNetwork: 'yes' }),
  ]),
  scenario('workloads that are refused', [
    post(deployments, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: {} }),
    post(deployments, deployment('x', { selector: {} })),
    post(deployments, deployment('x', { selector: { matchLabels: { other: 'x' } } })),
    post(deployments, deployment('x', { replicas: -1 })),
    post(deployments, deployment('x', { strategy: { type: 'Odd' } })),
    post(deployments, deployment('x', { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } })),
    post(deployments, deployment('x', { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } })),
    post(
      deployments,
      deployment('x', {
        template: {
          metadata: { labels: { app: 'x' } },
          spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] },
        },
      }),
    ),
    post(deployments, deployment('x', { template: { metadata: { labels: { app: 'x' } }, spec: { containers: [] } } })),
    statefulSet('x', { podManagementPolicy: 'Odd' }),
    daemonSet('x', { selector: { matchLabels: { a: 'b' } } }),
    job('x', { template: { spec: { containers: [{ name: 'c', image: 'x' }] } } }),
    job('x', {}),
    job('x', runOnce({ backoffLimit: -1, completions: -2 })),
    cronJob('x', { schedule: 'often', jobTemplate: { spec: runOnce() } }),
    ingress('x', {}),
    ingress('x', { rules: [{ host: 'UPPER', ...ingressPath(backend, { path: 'relative', pathType: 'Prefix' }) }] }),
    ingress('x', { rules: [ingressPath(backend, { path: '/' })] }),
    autoscaler('x', { maxReplicas: 0, scaleTargetRef: { kind: 'Deployment', name: 'x' } }),
    autoscaler('x', { minReplicas: 5, maxReplicas: 1, scaleTargetRef: { kind: 'Deployment', name: 'x' } }),
    budget('x', { minAvailable: 1, maxUnavailable: 1 }),
    budget('x', { minAvailable: 'half' }),
    role('x', undefined, { rules: [{ apiGroups: [''], resources: ['pods'] }] }),
    binding('x', undefined, { roleRef: { kind: 'Odd', name: 'r', apiGroup: 'rbac.authorization.k8s.io' } }),
    binding('x', undefined, {
      roleRef: { kind: 'Role', name: '', apiGroup: 'rbac.authorization.k8s.io' },
      subjects: [{ kind: 'ServiceAccount', name: 'a' }],
    }),
    policy('x', { podSelector: {}, policyTypes: ['Sideways'] }),
  ]),
  scenario('unknown fields', [
    post(`${deployments}?fieldValidation=Strict`, deployment('x', { replcas: 2 }, { imagee: 'y' })),
    post(`${deployments}?fieldValidation=Warn`, deployment('warned', { replcas: 2 }, { imagee: 'y' }), {
      show: ({ kind }) => kind,
    }),
    post(`${deployments}?fieldValidation=Ignore`, deployment('ignored', { replcas: 2 }), { show: ({ kind }) => kind }),
    post(deployments, deployment('unsaid', { replcas: 2 }), { show: ({ kind }) => kind }),
    post(
      `${configMaps}?fieldValidation=Strict`,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}',
    ),
    post(
      `${configMaps}?fieldValidation=Warn`,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}',
    ),
    post(`${configMaps}?fieldValidation=Strict`, { ...configMap('case'), Data: { b: '2' } }),
    post(`${configMaps}?fieldValidation=Maybe`, configMap('odd')),
    post(`${configMaps}?pretty=true&unknownOption=1`, configMap('query')),
  ]),
  scenario(
    'quantities',
    [
      ...['1000m', '0.5', '1024Ki', '1e3', '1.5Gi', '100M', '0', '1E', '128974848', '1.0', '500000u', '.5', '5.']
        .map((cpu, i) => pod(`q${i}`, {}, { resources: { limits: { memory: cpu } } }))
        .map((call) => ({
          ...call,
          show: (body: Record<string, unknown>) =>
            body['kind'] === 'Status'
              ? body
              : (body['spec'] as { containers: { resources: unknown }[] }).containers[0]?.resources,
        })),
      ...['', 'x', '1 Gi', '1GiB', '--1', '1e'].map((memory) => pod('bad', {}, { resources: { limits: { memory } } })),
      pod('number', {}, { resources: { limits: { memory: 128 } } }),
    ].map((call) => ({
      ...call,
      show: (body: Record<string, unknown>) =>
        body['kind'] === 'Status'
          ? body
          : (body['spec'] as { containers: { resources: unknown }[] }).containers[0]?.resources,
    })),
  ),
  scenario('deprecated versions warn', [
    post(
      '/api/v1/namespaces/{ns}/endpoints',
      { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'e' } },
      { show: ({ kind }) => kind },
    ),
    get('/api/v1/namespaces/{ns}/endpoints', { show: ({ kind }) => kind }),
    get('/api/v1/componentstatuses', { show: ({ kind }) => kind }),
    quietly(post(configMaps, configMap('one'))),
  ]),
];

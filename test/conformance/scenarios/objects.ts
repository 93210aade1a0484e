import {
  configMap,
  configMaps,
  deployment,
  deployments,
  get,
  metadataOf,
  patch,
  post,
  put,
  quietly,
  remove,
  scenario,
  versionOf,
} from '../scenario.ts';
import type { ConformanceScenario } from '../scenario.ts';
import { binding, claim, job, pods, runOnce, secret, secrets, service, services, statefulSet } from './makers.ts';

const one = `${configMaps}/one`;
const pod = (name: string, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'nginx:1' }], ...spec },
});

/** Create, read, replace and delete objects; rejected writes. */
export const objects: readonly ConformanceScenario[] = [
  scenario('create read replace delete', [
    post(configMaps, configMap('one', { b: '2', a: '1' }, { labels: { x: 'y' }, annotations: { n: 'v' } })),
    get(one),
    post(configMaps, configMap('one')),
    put(one, configMap('one', { a: 'changed' })),
    put(one, configMap('one', { a: 'changed' })),
    remove(one),
    get(one),
    remove(one),
    put(`${configMaps}/absent`, configMap('absent')),
    put(`${configMaps}/absent`, (seen: Parameters<typeof versionOf>[0]) =>
      configMap('absent', {}, { resourceVersion: versionOf(seen, 0) }),
    ),
    patch('merge', `${configMaps}/nowhere`, { data: {} }),
  ]),
  scenario('names that are refused', [
    post(configMaps, configMap('Upper_Case')),
    post(configMaps, configMap('')),
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }),
    post(configMaps, configMap('a'.repeat(254))),
    post(services, { apiVersion: 'v1', kind: 'Service', metadata: { name: '1st' }, spec: { ports: [{ port: 80 }] } }),
    post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'with.dot' } }),
    post(configMaps, configMap('x', { 'bad key': '1' })),
    post(configMaps, configMap('x', {}, { labels: { 'a/b/c': 'd' } })),
    post(configMaps, configMap('x', {}, { labels: { a: 'not ok!' } })),
    post(configMaps, configMap('x', {}, { annotations: { 'a b': 'd' } })),
    post(configMaps, configMap('x', {}, { finalizers: ['nope'] })),
    post(configMaps, configMap('x', {}, { annotations: { a: 'x'.repeat(262_144) } })),
    post(configMaps, configMap('x', {}, { selfLink: '/x', uid: 'mine' })),
  ]),
  scenario('bodies that do not fit', [
    post(configMaps, '{"kind":'),
    post(configMaps, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {a: "1"}\n', {
      contentType: 'application/yaml',
    }),
    post(configMaps, configMap('x'), { contentType: 'text/plain' }),
    post(configMaps, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }),
    post(configMaps, { apiVersion: 'apps/v1', kind: 'ConfigMap', metadata: { name: 'x' } }),
    post(configMaps, { metadata: { name: 'without-kind' }, data: {} }),
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'other' } }),
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 1 } }),
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: 'text' }),
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: 'x' }),
    post(deployments, deployment('x', { replicas: 'two' })),
    put(`${configMaps}/other-name`, configMap('this-name')),
    post(configMaps, []),
    post(configMaps, ''),
  ]),
  scenario('what is not there', [
    get('/apis/nothing.example.com/v1/things'),
    get('/api/v1/namespaces/{ns}/nothings'),
    get('/api/v1/nothings'),
    get('/apis/apps/v2/deployments'),
    get('/nothing'),
    get('/api/v1/namespaces/c-absent'),
    get('/api/v1/namespaces/c-absent/configmaps', { show: ({ items }) => items }),
    post('/api/v1/namespaces/c-absent/configmaps', configMap('x')),
    put(configMaps, configMap('x')),
    post(`${configMaps}/one`, configMap('one')),
    patch('merge', configMaps, {}),
    remove('/api/v1/namespaces'),
    post('/api/v1/configmaps', configMap('x')),
  ]),
  scenario('generated names', [
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' } }),
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-', name: 'given' } }),
    post(
      configMaps,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'Not Ok ' } },
      { show: ({ reason, code }) => ({ reason, code }) },
    ),
  ]),
  scenario('resource versions', [
    post(configMaps, configMap('one')),
    put(one, configMap('one', { a: '2' })),
    put(one, (seen: Parameters<typeof versionOf>[0]) =>
      configMap('one', { a: '3' }, { resourceVersion: versionOf(seen, 0) }),
    ),
    put(one, configMap('one', { a: '3' }, { resourceVersion: 'words' })),
    put(one, configMap('one', { a: '3' }, { uid: '00000000-0000-0000-0000-000000000000' })),
    patch('merge', one, (seen: Parameters<typeof versionOf>[0]) => ({
      metadata: { resourceVersion: versionOf(seen, 0) },
      data: { a: '4' },
    })),
    patch('merge', one, { metadata: { uid: '00000000-0000-0000-0000-000000000000' } }),
    post(configMaps, configMap('two', {}, { resourceVersion: '7' })),
    get(`${one}?resourceVersion=0`, { show: ({ data }) => data }),
  ]),
  scenario('dry run', [
    post(`${configMaps}?dryRun=All`, configMap('one')),
    get(one),
    post(`${configMaps}?dryRun=Some`, configMap('one')),
    quietly(post(configMaps, configMap('one'))),
    post(`${configMaps}?dryRun=All`, configMap('one')),
    put(`${one}?dryRun=All`, configMap('one', { a: '2' })),
    patch('merge', `${one}?dryRun=All`, { data: { a: '3' } }),
    patch('apply', `${one}?dryRun=All&fieldManager=m&force=true`, configMap('one', { a: '4' })),
    remove(`${one}?dryRun=All`),
    remove(one, { dryRun: ['All'] }),
    get(one),
  ]),
  scenario('preconditions of delete', [
    post(configMaps, configMap('one')),
    remove(one, { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } }),
    remove(one, { preconditions: { resourceVersion: '1' } }),
    remove(one, { propagationPolicy: 'Sideways' }),
    remove(one, { propagationPolicy: 'Foreground', orphanDependents: true }),
    remove(one, { gracePeriodSeconds: -1 }, { show: ({ status, message }) => ({ status, message }) }),
    quietly(post(configMaps, configMap('two'))),
    remove(`${configMaps}/two?propagationPolicy=Background`, (seen: Parameters<typeof versionOf>[0]) => ({
      preconditions: { uid: metadataOf(seen)['uid'] },
    })),
  ]),
  scenario('finalizers', [
    post(configMaps, configMap('one', {}, { finalizers: ['example.com/hold', 'example.com/second'] })),
    remove(one),
    remove(one),
    patch('merge', one, { data: { still: 'writable' } }),
    patch('merge', one, { metadata: { finalizers: ['example.com/hold', 'example.com/third'] } }),
    patch('json', one, [{ op: 'remove', path: '/metadata/finalizers/0' }]),
    patch('merge', one, { metadata: { finalizers: null } }),
    get(one),
    quietly(post(configMaps, configMap('two'))),
    remove(`${configMaps}/two`, { propagationPolicy: 'Orphan' }),
  ]),
  scenario('foreground deletion waits', [
    quietly(post(configMaps, configMap('owner', {}, { finalizers: ['example.com/hold'] }))),
    remove(
      `${configMaps}/owner`,
      { propagationPolicy: 'Foreground' },
      { show: ({ metadata }) => (metadata as { finalizers: string[] }).finalizers.includes('example.com/hold') },
    ),
  ]),
  scenario('deletion of pods takes its grace', [
    quietly(post(pods, pod('unplaced'))),
    remove(`${pods}/unplaced`, undefined, {
      show: ({ kind, status, metadata }) => ({ kind, phase: (status as { phase?: string }).phase, metadata }),
    }),
    get(`${pods}/unplaced`),
    quietly(post(pods, pod('placed', { nodeName: 'somewhere', terminationGracePeriodSeconds: 7 }))),
    remove(`${pods}/placed`, undefined, { show: ({ metadata }) => metadata }),
    remove(`${pods}/placed`, { gracePeriodSeconds: 0 }, { show: ({ metadata }) => metadata }),
    get(`${pods}/placed`),
  ]),
  scenario('deletion of a Job keeps its pods', [
    quietly(job('j', runOnce())),
    remove('/apis/batch/v1/namespaces/{ns}/jobs/j', undefined, { show: ({ kind }) => kind }),
  ]),
  scenario('delete a collection', [
    ...['one', 'two'].map((name) => quietly(post(configMaps, configMap(name, {}, { labels: { set: 'a' } })))),
    quietly(post(configMaps, configMap('three', {}, { labels: { set: 'b' }, finalizers: ['example.com/hold'] }))),
    remove(`${configMaps}?labelSelector=set%3Da`, undefined, {
      show: ({ kind, items, status }) => ({
        kind,
        status,
        items: (items as { metadata: { name: string } }[] | undefined)?.map(({ metadata }) => metadata.name),
      }),
    }),
    get(`${configMaps}?labelSelector=set`, {
      show: ({ items }) => (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name),
    }),
    remove(`${configMaps}?labelSelector=set%3Db`, undefined, {
      show: ({ items }) => (items as { metadata: object }[]).map(({ metadata }) => Object.keys(metadata).sort()),
    }),
    patch('merge', `${configMaps}/three`, { metadata: { finalizers: [] } }, { show: ({ kind }) => kind }),
  ]),
  scenario('immutable fields', [
    post(deployments, deployment('web')),
    put(
      `${deployments}/web`,
      deployment('web', {
        selector: { matchLabels: { app: 'other' } },
        template: { metadata: { labels: { app: 'other' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
      }),
    ),
    service('svc', { ports: [{ port: 80 }] }),
    patch('merge', `${services}/svc`, { spec: { clusterIP: '10.96.77.77' } }),
    post('/api/v1/namespaces/{ns}/configmaps', { ...configMap('fixed'), immutable: true }),
    patch('merge', `${configMaps}/fixed`, { data: { a: '2' } }),
    patch('merge', `${configMaps}/fixed`, { immutable: false }),
    post(secrets, secret('s', { type: 'Opaque' })),
    patch('merge', '/api/v1/namespaces/{ns}/secrets/s', { type: 'other' }),
    claim('p', {}),
    patch('merge', '/api/v1/namespaces/{ns}/persistentvolumeclaims/p', { spec: { accessModes: ['ReadWriteMany'] } }),
    job('j', runOnce()),
    patch('strategic', '/apis/batch/v1/namespaces/{ns}/jobs/j', {
      spec: { template: { spec: { containers: [{ name: 'c', image: 'y' }] } } },
    }),
    statefulSet('sts', { serviceName: 'a' }),
    patch('merge', '/apis/apps/v1/namespaces/{ns}/statefulsets/sts', { spec: { serviceName: 'b' } }),
    binding('rb', undefined, {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [{ kind: 'ServiceAccount', name: 'a' }],
    }),
    patch('merge', '/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/rb', {
      roleRef: { name: 'other' },
    }),
    patch('merge', `${configMaps}/fixed`, { metadata: { name: 'renamed' } }),
    patch(
      'merge',
      `${configMaps}/fixed`,
      { metadata: { creationTimestamp: '2020-01-01T00:00:00Z' } },
      {
        show: ({ metadata }) =>
          (metadata as { creationTimestamp?: string }).creationTimestamp?.startsWith('2020') ?? 'refused',
      },
    ),
  ]),
  scenario('generations', [
    post(deployments, deployment('web'), { show: ({ metadata }) => (metadata as { generation: number }).generation }),
    ...[
      { metadata: { labels: { a: 'b' } } },
      { spec: { replicas: 1 } },
      { spec: { replicas: 2 } },
      { status: { replicas: 3 } },
    ].map((change) =>
      patch('merge', `${deployments}/web`, change, {
        show: ({ metadata, status }) => ({ generation: (metadata as { generation: number }).generation, status }),
      }),
    ),
    patch(
      'merge',
      `${deployments}/web/status`,
      { status: { replicas: 3 }, spec: { replicas: 9 } },
      {
        show: ({ metadata, spec, status }) => ({
          generation: (metadata as { generation: number }).generation,
          replicas: (spec as { replicas: number }).replicas,
          status,
        }),
      },
    ),
    post(configMaps, configMap('one'), { show: ({ metadata }) => 'generation' in (metadata as object) }),
    post(
      services,
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'svc' }, spec: { ports: [{ port: 80 }] } },
      { show: ({ metadata }) => 'generation' in (metadata as object) },
    ),
    quietly(post(pods, pod('p'))),
    get(`${pods}/p`, { show: ({ metadata }) => (metadata as { generation?: number }).generation ?? null }),
  ]),
  scenario('owner references', [
    post(configMaps, configMap('owned', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o' }] })),
    post(
      configMaps,
      configMap(
        'owned',
        {},
        {
          ownerReferences: [1, 2].map((n) => ({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: `o${n}`,
            uid: `0000000${n}-0000-0000-0000-000000000000`,
            controller: true,
          })),
        },
      ),
    ),
    post(
      configMaps,
      configMap('owned', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'o', uid: 'x' }] }),
    ),
  ]),
  scenario('namespaces', [
    get('/api/v1/namespaces/{ns}'),
    post('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'c-held', finalizers: ['example.com/hold'] },
    }),
    remove('/api/v1/namespaces/c-held', undefined, { show: ({ kind, status, spec }) => ({ kind, status, spec }) }),
    post('/api/v1/namespaces/c-held/configmaps', configMap('late')),
    patch('merge', '/api/v1/namespaces/c-held', { metadata: { finalizers: null } }, { show: ({ kind }) => kind }),
    remove('/api/v1/namespaces/default'),
    remove('/api/v1/namespaces/kube-system'),
  ]),
];

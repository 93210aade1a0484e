import { configMap, configMaps, deployment, deployments, patch, post, put, quietly, scenario } from '../scenario.ts';
import type { ConformanceScenario } from '../scenario.ts';
import { secret, secrets, services } from './makers.ts';

const one = `${configMaps}/one`;
const web = `${deployments}/web`;
const spec = (body: Record<string, unknown>): unknown => (body['kind'] === 'Status' ? body : body['spec']);
const data = (body: Record<string, unknown>): unknown => (body['kind'] === 'Status' ? body : body['data']);
const service = (parts: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'svc' },
  spec: parts,
});
const portsOf = (body: Record<string, unknown>): unknown =>
  body['kind'] === 'Status' ? body : (body['spec'] as { readonly ports: unknown }).ports;
const affinityOf = (body: Record<string, unknown>): unknown => {
  const { sessionAffinity, sessionAffinityConfig } = body['spec'] as Record<string, unknown>;
  return { sessionAffinity, sessionAffinityConfig };
};
const podOf = (body: Record<string, unknown>): unknown =>
  body['kind'] === 'Status' ? body : (body['spec'] as { readonly template: { readonly spec: unknown } }).template.spec;
const args = '/spec/template/spec/containers/0/args';
const podSpec = (parts: object): object => ({ spec: { template: { spec: parts } } });
const withAccount = deployment('web', {
  template: {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'nginx:1' }], serviceAccountName: 'a' },
  },
});
const containers = (...list: readonly object[]): object => ({ spec: { template: { spec: { containers: list } } } });

/** JSON, merge and strategic merge patches, and errors of invalid ones. */
export const patches: readonly ConformanceScenario[] = [
  scenario('json patches', [
    quietly(post(configMaps, configMap('one', { a: '1' }, { annotations: { 'x/y': '2' } }))),
    patch('json', one, [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'replace', path: '/metadata/annotations/x~1y', value: 'slash' },
      { op: 'add', path: '/data/-', value: 'minus' },
      { op: 'copy', from: '/data/a', path: '/data/copied' },
      { op: 'move', from: '/data/b', path: '/data/moved' },
    ]),
    patch('json', one, []),
    patch('json', one, [{ op: 'add', path: '/metadata/labels', value: { l: 'v' } }], {
      show: ({ metadata }) => metadata,
    }),
  ]),
  scenario('json patches that fail', [
    quietly(post(configMaps, configMap('one'))),
    patch('json', one, [{ op: 'test', path: '/data/a', value: '2' }]),
    patch('json', one, [{ op: 'remove', path: '/data/absent' }]),
    patch('json', one, [{ op: 'replace', path: '/data/absent', value: '1' }]),
    patch('json', one, [{ op: 'replace', path: '/nothing/here', value: '1' }]),
    patch('json', one, [{ op: 'add', path: '/nothing/here', value: '1' }]),
    patch('json', one, [{ op: 'move', from: '/data/absent', path: '/data/b' }]),
    patch('json', one, [{ op: 'copy', from: '/data/absent', path: '/data/b' }]),
    patch('json', one, [{ op: 'jump', path: '/data/a' }]),
    patch('json', one, [{ path: '/data/a' }]),
    patch('json', one, [{ op: 'add', path: '/data/a' }]),
    patch('json', one, [{ op: 'add', path: 'data/a', value: '1' }]),
    patch('json', one, [{ op: 'add', path: '/data/a', value: 1 }]),
    patch('json', one, { op: 'add' }),
    patch('json', one, '[{'),
    patch('json', one, [{ op: 'replace', path: '/kind', value: 'Secret' }]),
    patch('json', one, [{ op: 'replace', path: '/apiVersion', value: 'v2' }]),
    patch('json', one, [{ op: 'replace', path: '/metadata/name', value: 'two' }]),
    patch('json', one, [{ op: 'remove', path: '/metadata' }]),
    patch('json', one, [{ op: 'add', path: '/unknown', value: 1 }]),
    patch('json', `${one}?fieldValidation=Strict`, [{ op: 'add', path: '/unknown', value: 1 }]),
    patch('json', one, [{ op: 'test', path: '/metadata/absent', value: null }], { show: ({ kind }) => kind }),
  ]),
  scenario('json patches of lists', [
    quietly(post(deployments, deployment('web', {}, { args: ['a', 'b'] }))),
    patch('json', web, [{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: 'z' }], { show: spec }),
    patch('json', web, [{ op: 'add', path: '/spec/template/spec/containers/0/args/0', value: 'first' }], {
      show: spec,
    }),
    patch('json', web, [{ op: 'add', path: '/spec/template/spec/containers/0/args/9', value: 'far' }]),
    patch('json', web, [{ op: 'remove', path: '/spec/template/spec/containers/0/args/9' }]),
    patch('json', web, [{ op: 'replace', path: '/spec/template/spec/containers/0/args/x', value: 'word' }]),
    patch('json', web, [{ op: 'add', path: `${args}/4`, value: 'last' }], { show: spec }),
    patch('json', web, [{ op: 'move', from: `${args}/0`, path: `${args}/2` }], { show: spec }),
    patch(
      'json',
      web,
      [{ op: 'add', path: '', value: { ...deployment('web'), metadata: { name: 'web', namespace: '{ns}' } } }],
      { show: spec },
    ),
    patch('json', web, [{ op: 'remove', path: '/spec/template/spec/containers/-1' }]),
    patch('json', web, [{ op: 'replace', path: '/spec/replicas', value: 'many' }]),
  ]),
  scenario('merge patches', [
    quietly(post(configMaps, configMap('one', { a: '1', b: '2' }))),
    patch('merge', one, { data: { a: null, c: '3' } }),
    patch('merge', one, {}),
    patch('merge', one, { data: null }),
    patch('merge', one, '{'),
    patch('merge', one, []),
    patch('merge', one, 'null'),
    patch('merge', one, { data: { a: 1 } }),
    patch('merge', one, { data: 'text' }),
    patch('merge', one, { unknown: 'x', metadata: { labels: { a: 'b' } } }),
    patch('merge', `${one}?fieldValidation=Warn`, { unknown: 'x' }),
    patch('merge', `${one}?fieldValidation=Strict`, { unknown: 'x', metadata: { alien: 1 } }),
    patch('merge', `${one}?fieldValidation=Odd`, {}),
    patch('merge', one, { kind: 'Secret' }),
    patch('merge', one, { apiVersion: 'v9' }),
    patch('merge', one, { metadata: { namespace: 'other' } }),
    patch('merge', `${one}?force=true`, {}),
    patch('merge', one, {}, { contentType: 'application/json' }),
    patch('merge', one, {}, { contentType: 'application/xml' }),
  ]),
  scenario('strategic merge patches', [
    quietly(
      post(
        deployments,
        deployment(
          'web',
          {},
          {
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
            ports: [{ containerPort: 80 }],
          },
        ),
      ),
    ),
    patch(
      'strategic',
      web,
      containers({
        name: 'c',
        env: [
          { name: 'B', value: 'two' },
          { name: 'C', value: '3' },
        ],
      }),
      { show: spec },
    ),
    patch('strategic', web, containers({ name: 'c', env: [{ name: 'A', $patch: 'delete' }] }), { show: spec }),
    patch('strategic', web, containers({ name: 'side', image: 'busybox' }), { show: spec }),
    patch(
      'strategic',
      web,
      { spec: { template: { spec: { '$setElementOrder/containers': [{ name: 'side' }, { name: 'c' }] } } } },
      { show: spec },
    ),
    patch('strategic', web, containers({ $patch: 'replace' }, { name: 'only', image: 'x' }), { show: spec }),
    patch('strategic', web, { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } }, { show: spec }),
    patch(
      'strategic',
      web,
      { metadata: { labels: { $patch: 'replace', only: 'this' } } },
      { show: ({ metadata }) => (metadata as { labels: object }).labels },
    ),
    patch('strategic', web, containers({ image: 'nameless' })),
    patch('strategic', web, { spec: { replicas: 'many' } }),
    patch('strategic', web, { spec: { template: { spec: { containers: 'words' } } } }),
    patch('strategic', web, { spec: 7 }),
    patch('strategic', web, containers({ name: 'only', $patch: 'bend' })),
    patch('strategic', `${web}?fieldValidation=Strict`, { spec: { replcas: 2 } }),
    patch('strategic', web, '{'),
  ]),
  scenario('strategic merges of a pod template', [
    quietly(post(deployments, deployment('web', {}, { command: ['x', 'y'] }))),
    ...[
      { containers: [{ name: 'c', ports: ['TCP', 'UDP'].map((protocol) => ({ containerPort: 80, protocol })) }] },
      { containers: [{ name: 'c', ports: [{ containerPort: 80, name: 'y' }] }] },
      { containers: [{ name: 'c', command: ['z'] }] },
      { containers: [{ name: 'c', command: null }] },
      { tolerations: ['a', 'b'].map((key) => ({ key, operator: 'Exists' })) },
      { tolerations: [{ key: 'c', operator: 'Exists' }] },
      { nodeSelector: { a: 'b' } },
      { nodeSelector: { $patch: 'eat' } },
      { nodeSelector: { $patch: 'delete' } },
      { volumes: [{ name: 'v', emptyDir: {} }], securityContext: { fsGroup: 1 } },
      { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] },
      { volumes: [{ name: 'v', $retainKeys: ['name'], emptyDir: {} }] },
      { volumes: null, securityContext: { runAsUser: null, fsGroup: 2 } },
      { containers: ['t', 's', 'b'].map((name) => ({ name, image: 'x' })) },
      { '$setElementOrder/containers': ['c', 'b'].map((name) => ({ name })), containers: [] },
      { '$setElementOrder/containers': 1 },
      { containers: [{ name: 'b', $patch: 'delete' }] },
      { containers: [{ name: 'c', $patch: 'merge' }] },
      { containers: ['x'] },
    ].map((parts) => patch('strategic', web, podSpec(parts), { show: podOf })),
    patch('strategic', web, []),
  ]),
  scenario('strategic merge of simple lists', [
    quietly(post(configMaps, configMap('one', {}, { finalizers: ['example.com/a', 'example.com/b'] }))),
    patch(
      'strategic',
      one,
      { metadata: { finalizers: ['example.com/c'] } },
      { show: ({ metadata }) => (metadata as { finalizers: unknown }).finalizers },
    ),
    patch(
      'strategic',
      one,
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } },
      { show: ({ metadata }) => (metadata as { finalizers: unknown }).finalizers },
    ),
    patch(
      'strategic',
      one,
      {
        metadata: {
          '$setElementOrder/finalizers': ['example.com/d', 'example.com/b'],
          '$deleteFromPrimitiveList/finalizers': ['example.com/c'],
          finalizers: ['example.com/d'],
        },
      },
      { show: ({ metadata }) => (metadata as { finalizers: unknown }).finalizers },
    ),
    patch('strategic', one, { data: { a: null, b: 'x' } }, { show: data }),
    patch('strategic', one, { data: null }, { show: data }),
  ]),
  scenario('a replaced list with equal merge keys', [
    quietly(post(services, service({ ports: [{ name: 'a', port: 53, protocol: 'UDP' }] }))),
    patch(
      'strategic',
      `${services}/svc`,
      {
        spec: {
          ports: [
            { name: 'a', port: 53, protocol: 'UDP' },
            { name: 'b', port: 53, protocol: 'TCP' },
            { $patch: 'replace' },
          ],
        },
      },
      { show: portsOf },
    ),
    quietly(post(deployments, deployment('web', {}, { env: [{ name: 'A', value: '1' }] }))),
    patch(
      'strategic',
      web,
      containers({ name: 'c', env: [{ name: 'B', value: '1' }, { name: 'B', value: '2' }, { $patch: 'replace' }] }),
      { show: spec },
    ),
  ]),
  scenario('equal merge keys in a replaced object', [
    quietly(post(deployments, deployment('web', {}, { env: [{ name: 'A', value: '1' }] }))),
    put(
      web,
      deployment(
        'web',
        {},
        {
          env: [
            { name: 'B', value: '1' },
            { name: 'C', value: '3' },
            { name: 'B', value: '2' },
          ],
        },
      ),
      { show: spec },
    ),
    patch('strategic', web, containers({ name: 'c', env: [{ name: 'B', value: '4' }] }), { show: spec }),
  ]),
  scenario('a Service without its session affinity', [
    quietly(
      post(
        services,
        service({
          ports: [{ port: 80 }],
          sessionAffinity: 'ClientIP',
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
        }),
      ),
    ),
    patch('merge', `${services}/svc`, { spec: { sessionAffinity: null } }, { show: affinityOf }),
    patch('merge', `${services}/svc`, { spec: { sessionAffinity: 'ClientIP' } }, { show: affinityOf }),
    patch('merge', `${services}/svc`, { spec: { sessionAffinity: 'None' } }, { show: affinityOf }),
  ]),
  scenario('a pod template without its service account', [
    quietly(post(deployments, withAccount)),
    patch('strategic', web, podSpec({ serviceAccountName: null }), { show: spec }),
    patch('strategic', web, podSpec({ serviceAccountName: null, serviceAccount: null }), { show: spec }),
  ]),
  scenario('a Secret whose stringData loses a key', [
    quietly(post(secrets, secret('s', { stringData: { a: 'x', b: 'y' } }))),
    patch('strategic', `${secrets}/s`, { stringData: { b: null } }, { show: data }),
    patch('strategic', `${secrets}/s`, { data: { b: null } }, { show: data }),
  ]),
];

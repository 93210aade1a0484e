import {
  configMap,
  configMaps,
  deployment,
  deployments,
  get,
  patch,
  post,
  put,
  quietly,
  scenario,
} from '../scenario.ts';
import type { ScenarioCall, ConformanceScenario, SeenAnswers } from '../scenario.ts';
import { secret, secrets, services } from './makers.ts';

const one = `${configMaps}/one`;
const web = `${deployments}/web`;
const apply = (path: string, manager: string, body: unknown, query = ''): ScenarioCall =>
  patch('apply', `${path}?fieldManager=${manager}${query}`, body);

const withAccount = (more: object): object =>
  deployment('web', {
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'nginx:1' }], ...more },
    },
  });
const applyService = (manager: string, spec: object): ScenarioCall =>
  apply(`${services}/svc`, manager, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'svc' }, spec });
const named = deployment(
  'web',
  { replicas: 2 },
  {
    env: [{ name: 'A', value: '1' }],
    ports: [{ containerPort: 80, name: 'http' }],
  },
);

/** A part of the Deployment: members of its pod template, and metadata. */
const part = (pod: object | undefined, metadata: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', ...metadata },
  ...(pod === undefined ? {} : { spec: { template: { spec: pod } } }),
});
const entryOf = (seen: SeenAnswers): object =>
  (seen.at(-1)?.body?.['metadata'] as { readonly managedFields: readonly object[] }).managedFields[0] ?? {};

/** Server-side apply: ownership, conflicts, force, removal. */
export const applies: readonly ConformanceScenario[] = [
  scenario('apply creates and owns', [
    apply(one, 'first', configMap('one', { a: '1', b: '2' })),
    apply(one, 'first', configMap('one', { a: '1', b: '2' })),
    apply(one, 'first', configMap('one', { a: '1' })),
    apply(one, 'second', configMap('one', { c: '3' })),
    apply(one, 'second', configMap('one', { a: '1', c: '3' })),
    apply(one, 'first', configMap('one', {})),
  ]),
  scenario('apply conflicts', [
    quietly(apply(one, 'first', configMap('one', { a: '1', b: '2' }))),
    apply(one, 'second', configMap('one', { a: 'other' })),
    apply(one, 'second', configMap('one', { a: 'other', b: 'other' })),
    apply(one, 'second', configMap('one', { a: 'other' }), '&force=true'),
    apply(one, 'first', configMap('one', { a: '1', b: '2' })),
    quietly(put(`${one}?fieldManager=editor`, configMap('one', { a: 'edited', b: 'edited' }))),
    apply(one, 'first', configMap('one', { a: '1', b: '2' })),
    apply(one, 'third', configMap('one', { a: 'x', b: 'y' })),
  ]),
  scenario('apply of nested lists', [
    apply(web, 'first', named),
    apply(
      web,
      'second',
      part({
        containers: [
          { name: 'c', env: [{ name: 'B', value: '2' }] },
          { name: 'side', image: 'busybox' },
        ],
      }),
    ),
    apply(web, 'second', { ...part(undefined), spec: { replicas: 5 } }),
    quietly(patch('merge', `${web}/scale?fieldManager=scaler`, { spec: { replicas: 7 } })),
    apply(web, 'first', named),
    apply(web, 'first', deployment('web', {}, { env: [{ name: 'A', value: '1' }] })),
    get(web, { show: ({ metadata, spec }) => ({ metadata, spec }) }),
  ]),
  scenario('apply gives up what it leaves out', [
    quietly(apply(web, 'first', deployment('web'))),
    ...[
      part({}),
      part({}, { labels: { x: '1' } }),
      part({}, { annotations: { x: '1' } }),
      part({}, { finalizers: ['example.com/x'] }),
      part({ containers: [{ name: 'side', image: 'x' }] }),
      part({ containers: [{ name: 'c', env: [{ name: 'E', value: '1' }] }] }),
      part({ tolerations: [{ key: 'k', operator: 'Exists' }] }),
    ].flatMap((config) => [apply(web, 'second', config), apply(web, 'second', part(undefined))]),
  ]),
  scenario('apply merges items by their keys, in its own order', [
    quietly(apply(web, 'first', deployment('web'))),
    apply(web, 'second', part({ containers: [{ name: 'c', ports: [{ containerPort: 53 }] }] })),
    apply(web, 'third', part({ containers: [{ name: 'c', ports: [{ containerPort: 53, protocol: 'UDP' }] }] })),
    apply(web, 'fourth', part({ containers: ['p', 'q', 'r'].map((name) => ({ name, image: 'x' })) })),
    apply(web, 'fifth', part({ containers: ['r', 'n', 'q'].map((name) => ({ name, image: 'x' })) })),
    ...[1, 2].map(() =>
      apply('/apis/apps/v1/namespaces/{ns}/statefulsets/filled', 'first', {
        ...deployment('filled', { ordinals: {} }),
        kind: 'StatefulSet',
      }),
    ),
  ]),
  scenario('who takes over from whom', [
    quietly(
      post(`${configMaps}?fieldManager=kubectl-client-side-apply`, {
        ...configMap(
          'one',
          { a: '1' },
          {
            annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(configMap('one')) },
          },
        ),
      }),
    ),
    apply(one, 'other', configMap('one', { a: '2' })),
    apply(one, 'kubectl', configMap('one', { a: '2' })),
    patch('merge', `${one}?fieldManager=rewriter`, (seen: SeenAnswers) => ({
      metadata: { managedFields: [{ ...entryOf(seen), manager: 'new' }] },
    })),
    patch('merge', `${one}?fieldManager=rewriter`, { metadata: { managedFields: [{}] } }),
    patch('merge', `${one}?fieldManager=rewriter`, { data: { a: '3' } }),
    apply(one, 'applier', configMap('one', { a: '4' })),
  ]),
  scenario('apply that is refused', [
    patch('apply', one, configMap('one')),
    apply(one, '', configMap('one')),
    apply(one, 'm', configMap('two')),
    apply(one, 'm', { kind: 'ConfigMap', metadata: { name: 'one' } }),
    apply(one, 'm', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' } }),
    apply(one, 'm', { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'one' } }),
    apply(one, 'm', { ...configMap('one'), unknown: 1 }),
    apply(one, 'm', { ...configMap('one'), data: { a: 1 } }),
    apply(one, 'm', '{'),
    apply(one, 'm', '- list\n'),
    apply(
      one,
      'm',
      configMap(
        'one',
        {},
        {
          managedFields: [{ manager: 'x', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }],
        },
      ),
    ),
    apply(one, 'm', configMap('one', {}, { namespace: 'other' })),
    apply(one, 'm', configMap('one', {}, { uid: '00000000-0000-0000-0000-000000000000' })),
    apply(one, 'm', configMap('one', {}, { resourceVersion: '5' })),
    apply(web, 'm', deployment('web', { replicas: 'many' })),
    apply(web, 'm', deployment('web', { replcas: 1 })),
    apply(
      web,
      'm',
      deployment(
        'web',
        {},
        {
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
        },
      ),
    ),
    apply(web, 'm', deployment('web', {}, { env: [{ value: '1' }] })),
    apply(
      web,
      'm',
      deployment('web', {
        template: { metadata: { labels: { app: 'other' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
      }),
    ),
    apply(one, 'a'.repeat(129), configMap('one')),
    apply(one, 'm', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {yaml: "yes"}\n'),
    apply(one, 'm', configMap('one'), '&fieldValidation=Strict'),
  ]),
  scenario('apply and update share an object', [
    post(`${configMaps}?fieldManager=creator`, configMap('one', { a: '1', b: '2' })),
    apply(one, 'applier', configMap('one', { a: '1' })),
    apply(one, 'applier', configMap('one', { b: '2' })),
    patch('merge', `${one}?fieldManager=patcher`, { data: { c: '3', a: null } }),
    patch('json', `${one}?fieldManager=patcher`, [{ op: 'remove', path: '/data/c' }]),
    patch('merge', one, { metadata: { managedFields: [{}] } }),
    get(one),
    apply(one, 'applier', configMap('one', { d: '4' })),
  ]),
  scenario('who writes without a name', [
    post(configMaps, configMap('one'), { headers: { 'user-agent': 'robot/v1.2 (x)' } }),
    patch('merge', one, { data: { b: '2' } }, { headers: { 'user-agent': 'other robot' } }),
    patch('merge', `${deployments}/absent`, {}),
  ]),
  scenario('apply of status', [
    quietly(apply(web, 'main', deployment('web'))),
    patch(
      'apply',
      `${web}/status?fieldManager=prober`,
      { ...part(undefined), status: { replicas: 3, observedGeneration: 1 } },
      { show: ({ metadata, status }) => ({ metadata, status }) },
    ),
    patch(
      'apply',
      `${web}/status?fieldManager=prober`,
      { ...part(undefined), status: {}, spec: { replicas: 9 } },
      { show: (body) => (body['kind'] === 'Status' ? body : { metadata: body['metadata'], status: body['status'] }) },
    ),
    patch('apply', `${deployments}/absent/status?fieldManager=prober`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'absent' },
      status: {},
    }),
  ]),
  scenario('apply of ports and volumes', [
    applyService('first', {
      selector: { app: 'x' },
      ports: [
        { name: 'a', port: 80, protocol: 'TCP' },
        { name: 'b', port: 81, protocol: 'TCP' },
      ],
    }),
    applyService('first', { selector: { app: 'x' }, ports: [{ name: 'b', port: 81, protocol: 'TCP' }] }),
    applyService('second', { ports: [{ name: 'c', port: 82 }] }),
    applyService('first', { ports: ['x', 'y'].map((name) => ({ name, port: 90, protocol: 'TCP' })) }),
  ]),
  scenario('apply of nulls in maps', [
    apply(one, 'first', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { a: '1', zz: null } }),
    apply(one, 'first', configMap('one', { a: '1' })),
    apply(one, 'first', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one', labels: { l: null }, annotations: { n: null } },
    }),
  ]),
  scenario('apply of a Secret whose stringData loses a key', [
    apply(`${secrets}/s`, 'first', secret('s', { stringData: { a: 'x', b: 'y' } })),
    apply(`${secrets}/s`, 'first', secret('s', { stringData: { a: 'x' } })),
  ]),
  scenario('apply of a pod template without its service account', [
    quietly(apply(web, 'first', withAccount({ serviceAccountName: 'a' }))),
    apply(web, 'first', withAccount({})),
    apply(web, 'first', withAccount({ serviceAccount: '' })),
    apply(web, 'first', withAccount({})),
  ]),
];

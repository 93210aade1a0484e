import {
  compact,
  configMap,
  configMaps,
  deployment,
  deployments,
  get,
  metadataOf,
  patch,
  post,
  quietly,
  remove,
  scenario,
  versionOf,
  watch,
  watchInVain,
} from '../scenario.ts';
import type { ScenarioCall, ConformanceScenario } from '../scenario.ts';
import { pod, pods, secret as secretWith, secrets } from './makers.ts';

const secret = (name: string, labels: object = {}): object => secretWith(name, { metadata: { name, labels } });
const names = (body: Record<string, unknown>): unknown =>
  body['kind'] === 'Status'
    ? body
    : (body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
const page = (body: Record<string, unknown>): unknown =>
  body['kind'] === 'Status' ? body : { metadata: body['metadata'], names: names(body) };
const select = (selector: string): ScenarioCall =>
  get(`${secrets}?labelSelector=${encodeURIComponent(selector)}`, { show: names });
const field = (path: string, selector: string): ScenarioCall =>
  get(`${path}?fieldSelector=${encodeURIComponent(selector)}`, { show: names });
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const five = ['a', 'b', 'c', 'd', 'e'].map((name) => quietly(post(secrets, secret(name))));
const token = (seen: Parameters<typeof metadataOf>[0], index = -1): string =>
  encodeURIComponent(metadataOf(seen, index)['continue'] ?? '');

/** Lists: selectors, pages, versions, tables; and watches. */
export const lists: readonly ConformanceScenario[] = [
  scenario('label selectors', [
    quietly(post(secrets, secret('a', { tier: 'web', env: 'prod' }))),
    quietly(post(secrets, secret('b', { tier: 'web', env: 'test' }))),
    quietly(post(secrets, secret('c', { tier: 'db' }))),
    quietly(post(secrets, secret('d', { n: '5' }))),
    ...[
      'tier=web',
      'tier==web',
      'tier!=web',
      'tier in (web,db)',
      'tier notin (web)',
      'tier',
      '!tier',
      'tier=web,env!=prod',
      'env in ()',
      'tier=',
      'a b',
      'tier=we!b',
      'tier in web',
      'tier>5',
      'x y z',
      ',',
      'tier=web,',
      'n>4',
      'n<5',
    ].map(select),
  ]),
  scenario('field selectors', [
    quietly(post(secrets, secret('a'))),
    quietly(post(secrets, { ...secret('b'), type: 'example.com/t' })),
    field(secrets, 'metadata.name=a'),
    field(secrets, 'metadata.name!=a'),
    field(secrets, 'metadata.namespace={ns}'),
    field(secrets, 'type=example.com/t'),
    field(secrets, 'spec.nothing=a'),
    field(secrets, 'metadata.name'),
    field(configMaps, 'data.a=1'),
    quietly(pod('p', {})),
    field(pods, 'status.phase=Pending'),
    field(pods, 'spec.nodeName='),
    field(pods, 'spec.restartPolicy!=Always,status.phase=Pending'),
    field('/apis/apps/v1/namespaces/{ns}/deployments', 'spec.replicas=1'),
  ]),
  scenario('pages', [
    ...five,
    get(`${secrets}?limit=2`, { show: page }),
    get((seen) => `${secrets}?limit=2&continue=${token(seen)}`, { show: page }),
    get((seen) => `${secrets}?limit=2&continue=${token(seen)}`, { show: page }),
    get(`${secrets}?limit=2&labelSelector=x%21%3Dy`, { show: page }),
    get(`${secrets}?limit=5`, { show: page }),
    get(`${secrets}?limit=9`, { show: page }),
    get(`${secrets}?limit=0`, { show: page }),
    get(`${secrets}?limit=-1`, { show: page }),
    get(`${secrets}?limit=many`),
    get(`${secrets}?continue=nonsense`),
    get((seen) => `${secrets}?continue=${token(seen, 5)}&resourceVersion=1`),
    get(`${secrets}?limit=2&resourceVersion=0`, { show: (body) => names(body) }),
  ]),
  scenario('pages of one snapshot', [
    ...five,
    get(`${secrets}?limit=2`, { show: page }),
    quietly(remove(`${secrets}/d`)),
    quietly(patch('merge', `${secrets}/c`, { data: { changed: 'MQ==' } })),
    quietly(post(secrets, secret('cc'))),
    get((seen) => `${secrets}?limit=9&continue=${token(seen, 5)}`),
  ]),
  scenario('lists at a version', [
    ...five,
    get(secrets, { show: page }),
    get((seen) => `${secrets}?resourceVersion=${versionOf(seen)}&resourceVersionMatch=Exact&limit=1`, { show: page }),
    get((seen) => `${secrets}?resourceVersion=${versionOf(seen, 5)}&resourceVersionMatch=NotOlderThan`, {
      show: names,
    }),
    get(`${secrets}?resourceVersionMatch=Exact`),
    get(`${secrets}?resourceVersionMatch=NotOlderThan`),
    get(`${secrets}?resourceVersion=0&resourceVersionMatch=Exact`),
    get(`${secrets}?resourceVersion=1&resourceVersionMatch=Sometimes`),
    get(`${secrets}?resourceVersion=words`),
    get(`${secrets}?resourceVersion=999999999`),
  ]),
  scenario('history that is gone', [
    ...five,
    get(`${secrets}?limit=2`, { show: page }),
    quietly(post(secrets, secret('f'))),
    compact,
    get((seen) => `${secrets}?limit=2&continue=${token(seen, 5)}`, {
      show: page,
      until: ({ status }) => status === 410,
    }),
    get((seen) => `${secrets}?limit=9&continue=${token(seen)}`, { show: page }),
    get((seen) => `${secrets}?resourceVersion=${versionOf(seen, 5)}&resourceVersionMatch=Exact`, {
      until: ({ status }) => status === 410,
    }),
    get((seen) => `${secrets}?resourceVersion=${versionOf(seen, 5)}&resourceVersionMatch=NotOlderThan`, {
      show: names,
    }),
    watch((seen) => `${secrets}?watch=true&resourceVersion=${versionOf(seen, 5)}`, 1),
  ]),
  scenario('tables', [
    quietly(post(deployments, deployment('web', { replicas: 2 }))),
    quietly(post(configMaps, configMap('one', { a: '1', b: '2' }, { labels: { t: 'x' } }))),
    quietly(post(secrets, secret('s', { t: 'x' }))),
    get(deployments, { accept: table }),
    get(`${deployments}/web`, { accept: table }),
    get(`${configMaps}?labelSelector=t%3Dx`, { accept: table }),
    get(`${secrets}?includeObject=None`, { accept: table }),
    get(`${secrets}?includeObject=Object`, { accept: table }),
    get(`${secrets}?includeObject=Everything`, { accept: table }),
    get(`${secrets}/absent`, { accept: table }),
    get('/api/v1/namespaces/{ns}', { accept: table }),
    get(secrets, { accept: partial }),
    get(`${secrets}/s`, { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' }),
    get(secrets, { accept: 'application/json;as=Chair;v=v1;g=meta.k8s.io' }),
    get(secrets, { accept: 'image/png' }),
    get(secrets, { accept: `${table},application/json`, show: ({ kind }) => kind }),
    get(secrets, { accept: 'application/yaml', show: (body) => typeof body }),
  ]),
  scenario('tables of the kinds of the demo', [
    ...[
      '/api/v1/namespaces/{ns}/services',
      '/api/v1/namespaces/{ns}/pods',
      '/api/v1/namespaces/{ns}/serviceaccounts',
      '/api/v1/namespaces/{ns}/persistentvolumeclaims',
      '/apis/apps/v1/namespaces/{ns}/deployments',
      '/apis/apps/v1/namespaces/{ns}/statefulsets',
      '/apis/apps/v1/namespaces/{ns}/daemonsets',
      '/apis/apps/v1/namespaces/{ns}/replicasets',
      '/apis/batch/v1/namespaces/{ns}/jobs',
      '/apis/batch/v1/namespaces/{ns}/cronjobs',
    ].map((path) => get(path, { accept: table, show: ({ columnDefinitions }) => columnDefinitions })),
  ]),
  scenario('watches', [
    quietly(post(secrets, secret('a'))),
    watch((seen) => `${secrets}?watch=true&resourceVersion=${versionOf(seen, 0)}`, 3, [
      quietly(post(secrets, secret('b', { l: 'v' }))),
      quietly(patch('merge', `${secrets}/b`, { metadata: { labels: { l: 'w' } } })),
      quietly(remove(`${secrets}/b`)),
    ]),
    watch(`${secrets}?watch=true`, 1),
    watch(`${secrets}?watch=true&resourceVersion=0`, 1),
    watch(`${secrets}?watch=true&fieldSelector=metadata.name%3Da`, 1),
    watch(`/api/v1/watch/namespaces/{ns}/secrets`, 1),
    watch((seen) => `${secrets}?watch=true&labelSelector=l%3Dx&resourceVersion=${versionOf(seen)}`, 4, [
      quietly(post(secrets, secret('c', { l: 'x' }))),
      quietly(patch('merge', `${secrets}/c`, { metadata: { labels: { l: 'y' } } })),
      quietly(patch('merge', `${secrets}/c`, { metadata: { labels: { l: 'x' } } })),
      quietly(remove(`${secrets}/c`)),
    ]),
  ]),
  scenario('watches that are refused or end', [
    quietly(post(secrets, secret('a'))),
    watch(`${secrets}?watch=true&resourceVersion=1`, 1),
    watch(`${secrets}?watch=true&resourceVersion=words`, 1),
    watch(`${secrets}?watch=true&limit=5&timeoutSeconds=1`, 9),
    watch(`${secrets}?watch=true&timeoutSeconds=1`, 9),
    watch(`${secrets}?watch=true&labelSelector=a%20b`, 1),
    watch(`${secrets}?watch=true&sendInitialEvents=true`, 1),
    watch(`${secrets}?watch=true&resourceVersionMatch=NotOlderThan`, 1),
    watch(`${secrets}?watch=true&continue=x`, 1),
  ]),
  scenario('a list that is streamed', [
    quietly(post(secrets, secret('a'))),
    quietly(post(secrets, secret('b'))),
    get(secrets),
    watch(`${secrets}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`, 3),
    watchInVain(`${secrets}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`, 3),
    watch(`${secrets}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`, 3),
  ]),
];

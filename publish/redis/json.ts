import { goJson } from '#base';
import type { Json } from '#base';
import type { HealthStatus } from '#model';
import type {
  ApplicationTree,
  ClusterReport,
  HostInfo,
  ManagedResource,
  NetworkingInfo,
  NodeRef,
  TreeNode,
} from '../types.ts';

/**
 * The JSON texts that Argo CD's API server, CLI and UI decode: its field names, in the order of its types, empty ones left out, `<`, `>` and `&`
 * escaped, a line break at the end. Texts come in pieces, so that a big tree does not hold the event loop up.
 * Source: Argo CD pkg/apis/application/v1alpha1/types.go (ApplicationTree, ResourceNode, ResourceDiff, ClusterInfo), util/cache/client.go.
 */

/** What one key holds. Its pieces, one after the other, are the text. */
export interface Part {
  readonly pieces: Iterable<string>;
}

/**
 * A tree as one part, or with a shard size as parts of so many items: nodes, then orphans, then machines. The first part says how many there
 * are; readers fetch the others by number.
 */
export function treeParts(tree: ApplicationTree, shardSize: number): readonly Part[] {
  const items = [
    ...tree.nodes.map((node): Item => ({ list: 'nodes', node })),
    ...tree.orphanedNodes.map((node): Item => ({ list: 'orphanedNodes', node })),
    ...(tree.hosts ?? []).map((host): Item => ({ list: 'hosts', host })),
  ];
  if (shardSize < 1) return [{ pieces: treePieces(items, 0) }];
  const count = Math.max(1, Math.ceil(items.length / shardSize));
  return Array.from({ length: count }, (_, i) => ({
    pieces: treePieces(items.slice(i * shardSize, (i + 1) * shardSize), i === 0 ? count : 0),
  }));
}

type Item =
  | { readonly list: 'nodes' | 'orphanedNodes'; readonly node: TreeNode }
  | { readonly list: 'hosts'; readonly host: HostInfo };

function* treePieces(items: readonly Item[], shardsCount: number): Generator<string> {
  let open: Item['list'] | undefined;
  yield '{';
  for (const item of items) {
    const separator = open === item.list ? ',' : `${open === undefined ? '' : '],'}"${item.list}":[`;
    open = item.list;
    yield separator + (item.list === 'hosts' ? host(item.host) : node(item.node));
  }
  const count = shardsCount > 0 ? `${open === undefined ? '' : ','}"shardsCount":${shardsCount}` : '';
  yield `${open === undefined ? '' : ']'}${count}}\n`;
}

function node(value: TreeNode): string {
  return object([
    ...refMembers(value),
    ['parentRefs', list(value.parentRefs, (parent) => object(refMembers(parent)))],
    ['info', list(value.info, (item) => object([text('name', item.name), text('value', item.value)]))],
    ['networkingInfo', value.networkingInfo === undefined ? undefined : networking(value.networkingInfo)],
    text('resourceVersion', value.resourceVersion),
    ['images', list(value.images, goJson)],
    ['health', value.health === undefined ? undefined : health(value.health)],
    text('createdAt', value.createdAt),
  ]);
}

function refMembers(ref: NodeRef): Member[] {
  return [
    text('group', ref.group),
    text('version', ref.version),
    text('kind', ref.kind),
    text('namespace', ref.namespace),
    text('name', ref.name),
    text('uid', ref.uid),
  ];
}

function networking(value: NetworkingInfo): string {
  return object([
    ['targetLabels', map(value.targetLabels)],
    ['targetRefs', list(value.targetRefs, (ref) => object(refMembers(ref)))],
    ['labels', map(value.labels)],
    ['ingress', list(value.ingress, (at) => object([text('ip', at.ip), text('hostname', at.hostname)]))],
    ['externalURLs', list(value.externalURLs, goJson)],
  ]);
}

function health({ status, message }: HealthStatus): string {
  return object([text('status', status), text('message', message)]);
}

function host(value: HostInfo): string {
  return object([
    text('name', value.name),
    [
      'resourcesInfo',
      list(value.resourcesInfo, (resource) =>
        object([
          text('resourceName', resource.resourceName),
          number('requestedByApp', resource.requestedByApp),
          number('requestedByNeighbors', resource.requestedByNeighbors),
          number('capacity', resource.capacity),
        ]),
      ),
    ],
    ['systemInfo', goJson(value.systemInfo)],
    ['labels', map(value.labels)],
  ]);
}

/** The text of `app|managed-resources|…`. A state that is absent is the text `null`. */
export function managedResourcesPart(resources: readonly ManagedResource[]): Part {
  return { pieces: managedPieces(resources) };
}

function* managedPieces(resources: readonly ManagedResource[]): Generator<string> {
  let separator = '[';
  for (const resource of resources) {
    yield separator + managedResource(resource);
    separator = ',';
  }
  yield resources.length === 0 ? '[]\n' : ']\n';
}

function managedResource(value: ManagedResource): string {
  const state = (name: string, whole: ManagedResource['liveState']): Member => [name, goJson(goJson(whole as Json))];
  return object([
    text('group', value.group),
    text('kind', value.kind),
    text('namespace', value.namespace),
    text('name', value.name),
    state('targetState', value.targetState),
    state('liveState', value.liveState),
    ['hook', value.hook ? 'true' : undefined],
    state('normalizedLiveState', value.normalizedLiveState),
    state('predictedLiveState', value.predictedLiveState),
    text('resourceVersion', value.resourceVersion),
    ['modified', value.modified ? 'true' : undefined],
  ]);
}

/** The text of `cluster|info|…`. Connection state and cache info are there even when empty. */
export function clusterInfoPart(report: ClusterReport): Part {
  const { connectionState: state, cacheInfo: cache } = report;
  const whole = object([
    [
      'connectionState',
      object([
        ['status', goJson(state.status)],
        ['message', goJson(state.message)],
        ['attemptedAt', goJson(state.attemptedAt)],
      ]),
    ],
    text('serverVersion', report.serverVersion),
    [
      'cacheInfo',
      object([
        number('resourcesCount', cache.resourcesCount),
        number('apisCount', cache.apisCount),
        text('lastCacheSyncTime', cache.lastCacheSyncTime),
      ]),
    ],
    ['applicationsCount', String(report.applicationsCount)],
    ['apiVersions', list(report.apiVersions, goJson)],
  ]);
  return { pieces: [`${whole}\n`] };
}

/** Name and JSON text; without a text the member is left out. */
type Member = readonly [name: string, json: string | undefined];

function object(members: readonly Member[]): string {
  const parts = members.flatMap(([name, json]) => (json === undefined ? [] : [`"${name}":${json}`]));
  return `{${parts.join(',')}}`;
}

function text(name: string, value: string | undefined): Member {
  return [name, value === undefined || value === '' ? undefined : goJson(value)];
}

function number(name: string, value: number | undefined): Member {
  return [name, value === undefined || value === 0 ? undefined : goJson(value)];
}

function list<T>(values: readonly T[] | undefined, json: (value: T) => string): string | undefined {
  return values === undefined || values.length === 0 ? undefined : `[${values.map((value) => json(value)).join(',')}]`;
}

function map(values: Readonly<Record<string, string>> | undefined): string | undefined {
  return values === undefined || Object.keys(values).length === 0 ? undefined : goJson(values);
}

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
import { itemList, runsOf } from './runs.ts';
import type { ItemList, NamedItem, DocumentPart } from './runs.ts';

/**
 * JSON as Argo CD's API server, CLI and UI decode it: its field names in the order of its types,
 * empty fields omitted, `<`, `>` and `&` escaped, a trailing newline. Built in runs of items, so
 * that a big tree does not block the event loop and a change costs one run. Source: Argo CD
 * pkg/apis/application/v1alpha1/types.go (ApplicationTree, ResourceNode, ResourceDiff,
 * ClusterInfo), util/cache/client.go.
 */

/**
 * Approximate items per run: balances the cost of a change with memory and compression overhead.
 */
const nodesPerRun = 32;
const resourcesPerRun = 16;

/**
 * A tree as one part, or as parts of `shardSize` items: nodes, orphans, hosts. The first part has
 * their number; readers fetch the others by index.
 */
export function treeParts(tree: ApplicationTree, shardSize: number): readonly DocumentPart[] {
  const { nodes, orphanedNodes, hosts = [] } = tree;
  const length = nodes.length + orphanedNodes.length + hosts.length;
  if (shardSize < 1) return [treePart(tree, 0)];
  const count = Math.max(1, Math.ceil(length / shardSize));
  return Array.from({ length: count }, (_, i) => {
    const slice = <T>(items: readonly T[], before: number): readonly T[] =>
      items.slice(Math.max(0, i * shardSize - before), Math.max(0, (i + 1) * shardSize - before));
    const part = {
      nodes: slice(nodes, 0),
      orphanedNodes: slice(orphanedNodes, nodes.length),
      hosts: slice(hosts, nodes.length + orphanedNodes.length),
    };
    return treePart(part, i === 0 ? count : 0);
  });
}

function treePart({ nodes, orphanedNodes, hosts = [] }: ApplicationTree, shardsCount: number): DocumentPart {
  let open = '{';
  const named = <T extends NamedItem>(name: string, items: readonly T[], json: (item: T) => string): ItemList => {
    const before = `${open}"${name}":[`;
    if (items.length > 0) open = '],';
    return itemList(before, items, json);
  };
  const lists = [named('nodes', nodes, node), named('orphanedNodes', orphanedNodes, node), named('hosts', hosts, host)];
  const isEmpty = open === '{';
  const shards = shardsCount > 0 ? `${isEmpty ? '' : ','}"shardsCount":${shardsCount}` : '';
  return { runs: runsOf(lists, nodesPerRun, `${isEmpty ? '{' : ']'}${shards}}\n`) };
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

function refMembers(ref: NodeRef): JsonMember[] {
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

/** Text of `app|managed-resources|…`. A missing state is the text `null`. */
export function managedResourcesPart(resources: readonly ManagedResource[]): DocumentPart {
  const list = itemList('[', resources, managedResource);
  return { runs: runsOf([list], resourcesPerRun, resources.length === 0 ? '[]\n' : ']\n') };
}

function managedResource(value: ManagedResource): string {
  const state = (name: string, whole: ManagedResource['liveState']): JsonMember => [
    name,
    goJson(goJson(whole as Json)),
  ];
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

/** Text of `cluster|info|…`. Includes connection state and cache info even when empty. */
export function clusterInfoPart(report: ClusterReport): DocumentPart {
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
  return { runs: [{ lists: [], after: `${whole}\n`, marks: [], seams: '' }] };
}

/** Name and JSON text; a member without a text is omitted. */
type JsonMember = readonly [name: string, json: string | undefined];

function object(members: readonly JsonMember[]): string {
  const parts = members.flatMap(([name, json]) => (json === undefined ? [] : [`"${name}":${json}`]));
  return `{${parts.join(',')}}`;
}

function text(name: string, value: string | undefined): JsonMember {
  return [name, value === undefined || value === '' ? undefined : goJson(value)];
}

function number(name: string, value: number | undefined): JsonMember {
  return [name, value === undefined || value === 0 ? undefined : goJson(value)];
}

function list<T>(values: readonly T[] | undefined, json: (value: T) => string): string | undefined {
  return values === undefined || values.length === 0 ? undefined : `[${values.map((value) => json(value)).join(',')}]`;
}

function map(values: Readonly<Record<string, string>> | undefined): string | undefined {
  return values === undefined || Object.keys(values).length === 0 ? undefined : goJson(values);
}

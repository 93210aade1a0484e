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
import { listOf, runsOf } from './runs.ts';
import type { List, Named, Part } from './runs.ts';

/**
 * The JSON texts that Argo CD's API server, CLI and UI decode: its field names, in the order of its types, empty ones left out, `<`, `>` and `&`
 * escaped, a line break at the end. Texts come in runs of items, so that a big tree does not hold the event loop up, and a change costs the run that it is in.
 * Source: Argo CD pkg/apis/application/v1alpha1/types.go (ApplicationTree, ResourceNode, ResourceDiff, ClusterInfo), util/cache/client.go.
 */

/** Items in a run, about: what one change costs, against what more runs take in memory and in compression. */
const nodesInRun = 32;
const resourcesInRun = 16;

/**
 * A tree as one part, or with a shard size as parts of so many items: nodes, then orphans, then machines. The first part says how many there
 * are; readers fetch the others by number.
 */
export function treeParts(tree: ApplicationTree, shardSize: number): readonly Part[] {
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

function treePart({ nodes, orphanedNodes, hosts = [] }: ApplicationTree, shardsCount: number): Part {
  let open = '{';
  const named = <T extends Named>(name: string, items: readonly T[], json: (item: T) => string): List => {
    const before = `${open}"${name}":[`;
    if (items.length > 0) open = '],';
    return listOf(before, items, json);
  };
  const lists = [named('nodes', nodes, node), named('orphanedNodes', orphanedNodes, node), named('hosts', hosts, host)];
  const isEmpty = open === '{';
  const shards = shardsCount > 0 ? `${isEmpty ? '' : ','}"shardsCount":${shardsCount}` : '';
  return { runs: runsOf(lists, nodesInRun, `${isEmpty ? '{' : ']'}${shards}}\n`) };
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
  const list = listOf('[', resources, managedResource);
  return { runs: runsOf([list], resourcesInRun, resources.length === 0 ? '[]\n' : ']\n') };
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
  return { runs: [{ lists: [], after: `${whole}\n`, marks: [], seams: '' }] };
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

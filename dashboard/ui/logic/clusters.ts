import type { ClustersResponse, ClusterSummary, OwnedCluster, OwnershipResponse } from '../../../api/types.ts';
import { sortedBy } from './sorting.ts';
import type { SortOrder } from './sorting.ts';

export const clusterColumns = [
  { sort: 'name', text: 'Cluster' },
  { sort: 'state', text: 'State' },
  { sort: 'replica', text: 'Replica' },
  { sort: 'applications', text: 'Applications' },
  { sort: 'objects', text: 'Objects' },
  { sort: 'kinds', text: 'Kinds' },
  { sort: 'events', text: 'Events' },
  { sort: 'silent', text: 'Silent for' },
  { sort: 'version', text: 'Version' },
] as const;
export type ClusterColumn = (typeof clusterColumns)[number]['sort'];

/** The clusters in the table: those that a replica watches, and those that none does. */
export interface ListedCluster {
  readonly server: string;
  readonly name: string;
  readonly watched: ClusterSummary | undefined;
  readonly owned: OwnedCluster | undefined;
}

export interface ClusterFilters extends SortOrder<ClusterColumn> {
  readonly text: string;
}

export function parseClusterFilters(query: URLSearchParams): ClusterFilters {
  return {
    text: query.get('text') ?? '',
    sort: clusterColumns.find(({ sort }) => sort === query.get('sort'))?.sort ?? 'state',
    descending: query.get('order') === 'desc',
  };
}

export function formatClusterFilters({ text, sort, descending }: ClusterFilters): string {
  const query = new URLSearchParams();
  if (text !== '') query.set('text', text);
  if (sort !== 'state') query.set('sort', sort);
  if (descending) query.set('order', 'desc');
  return query.toString();
}

/** While a cluster moves, no replica reports about it: only its ownership is known. */
export function listedClusters(
  { items }: ClustersResponse,
  ownership: OwnershipResponse | undefined,
): readonly ListedCluster[] {
  const owned = new Map((ownership?.clusters ?? []).map((cluster) => [cluster.server, cluster]));
  const reported = new Set(items.map(({ server }) => server));
  return [
    ...items.map((watched) => ({
      server: watched.server,
      name: watched.name,
      watched,
      owned: owned.get(watched.server),
    })),
    ...[...owned.values()]
      .filter(({ server }) => !reported.has(server))
      .map((cluster) => ({
        server: cluster.server,
        name: cluster.names[0] ?? cluster.server,
        watched: undefined,
        owned: cluster,
      })),
  ];
}

type SortKey = (cluster: ListedCluster) => string | number;

const stateUrgency: Readonly<Record<string, number>> = { failed: 1, connecting: 2, synced: 4 };

/** Without an owner first, then what fails, then degraded kinds. */
function urgencyOf({ watched }: ListedCluster): number {
  if (watched === undefined) return 0;
  return watched.state === 'synced' && watched.degradedKinds > 0 ? 3 : (stateUrgency[watched.state] ?? 2);
}

const sortKeys: Readonly<Record<Exclude<ClusterColumn, 'name'>, SortKey>> = {
  state: urgencyOf,
  replica: ({ watched }) => watched?.replica ?? '',
  applications: ({ watched }) => watched?.applications ?? -1,
  objects: ({ watched }) => watched?.objects ?? -1,
  kinds: ({ watched }) => watched?.kinds ?? -1,
  events: ({ watched }) => watched?.eventsPerSecond ?? -1,
  silent: ({ watched }) => watched?.silentMs ?? -1,
  version: ({ watched }) => watched?.serverVersion ?? '',
};

/** The clusters whose name, URL, replica or version has the text, in the order of a column. */
export function selectClusters(
  clusters: readonly ListedCluster[],
  { text, sort, descending }: ClusterFilters,
): readonly ListedCluster[] {
  const wanted = text.trim().toLowerCase();
  const found = clusters
    .filter(({ server, name, watched }) =>
      [name, server, watched?.replica, watched?.serverVersion].join('\n').toLowerCase().includes(wanted),
    )
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  return sort === 'name' ? (descending ? found.reverse() : found) : sortedBy(found, sortKeys[sort], descending);
}

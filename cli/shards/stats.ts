import { messageOf, omit, outsideText } from '#base';
import type { Json, JsonObject } from '#base';
import { clusterKey } from '#sharding';
import { table } from '../process/output.ts';
import type { ApiReader } from '../read-api/api-reader.ts';
import { standIns } from './layout.ts';
import type { TableLayout } from './layout.ts';
import { listIn } from './measured-load.ts';
import { distinctParts } from './source.ts';
import type { FleetSource } from './source.ts';

/** The report of a replica about a cluster. */
export interface WatchedCluster {
  readonly server: string;
  readonly replica: string;
  readonly connection: ConnectionStatus;
  readonly resources: number;
}

/** As `argocd cluster list` shows it. */
export type ConnectionStatus = 'Successful' | 'Failed' | 'Unknown';

/** The clusters as their replicas watch them; undefined: no replica answers. */
export interface WatchedFleet {
  readonly clusters: readonly WatchedCluster[];
  /** Shard by replica. */
  readonly shards: ReadonlyMap<string, number>;
  /** Replicas that did not answer, with the reason. */
  readonly missing: readonly string[];
}

/** Reads all clusters from the read API. */
export async function readWatchedFleet(reader: ApiReader): Promise<WatchedFleet> {
  const [clusters, replicas] = [await reader.get('/clusters'), await reader.get('/replica')];
  const shards = listIn(replicas, 'items').flatMap(({ name, shard }) =>
    typeof name === 'string' && typeof shard === 'number' ? [[name, shard] as const] : [],
  );
  return {
    clusters: listIn(clusters, 'items').flatMap(watchedCluster),
    shards: new Map(shards),
    missing: listIn(clusters, 'incomplete').map(({ replica, reason }) => `${textOf(replica)}: ${textOf(reason)}`),
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? outsideText('rpc', value).replaceAll('\n', ' ') : '';
}

function watchedCluster({ server, replica, state, objects }: JsonObject): readonly WatchedCluster[] {
  if (typeof server !== 'string' || typeof replica !== 'string') return [];
  const connection = state === 'synced' ? 'Successful' : state === 'failed' ? 'Failed' : 'Unknown';
  return [{ server, replica, connection, resources: typeof objects === 'number' ? objects : 0 }];
}

/** One cluster on one shard: a split cluster may have several rows. */
export interface StatsRow {
  readonly server: string;
  readonly name: string;
  readonly shard: number;
  /** The shard that stands in now, because `shard` has no replica. */
  readonly standIn?: number;
  readonly connection: ConnectionStatus;
  readonly namespaces: number;
  readonly applications: number;
  /** Undefined: no replica of the shard reports it. */
  readonly resources: number | undefined;
}

/** Rows by shard, then as listed. */
export function statsRows(
  source: FleetSource,
  layout: TableLayout,
  fleet: WatchedFleet | undefined,
): readonly StatsRow[] {
  const substitutes = layout.origin === 'published' ? standIns(source) : new Map<string, number>();
  const places = byPlace(fleet);
  const rows = new Map<string, StatsRow & { readonly within: ReadonlySet<string> }>();
  for (const { cluster, key } of distinctParts(source.clusters)) {
    const shard = layout.shards.get(key) ?? 0;
    const standIn = substitutes.get(key);
    const id = `${shard} ${standIn ?? ''} ${clusterKey(cluster.server)}`;
    const before = rows.get(id);
    const within = new Set([...(before?.within ?? []), ...(source.namespaces.get(key) ?? [])]);
    const watched = places.get(`${clusterKey(cluster.server)} ${standIn ?? shard}`);
    rows.set(id, {
      server: cluster.server,
      name: cluster.name,
      shard,
      ...(standIn === undefined ? {} : { standIn }),
      connection: watched?.connection ?? 'Unknown',
      namespaces: within.size,
      applications: (before?.applications ?? 0) + (source.applications.get(key) ?? 0),
      resources: watched?.resources,
      within,
    });
  }
  return [...rows.values()].map((row) => omit(row, 'within')).sort((a, b) => a.shard - b.shard);
}

/** By URL and shard. */
function byPlace(fleet: WatchedFleet | undefined): ReadonlyMap<string, WatchedCluster> {
  const { clusters = [], shards } = fleet ?? {};
  return new Map(clusters.map((each) => [`${clusterKey(each.server)} ${shards?.get(each.replica) ?? ''}`, each]));
}

export interface ShardSum {
  readonly shard: number;
  readonly resources: number;
  /** Null if there are no resources. */
  readonly percentOfTotal: number | null;
  readonly percentOfAverage: number | null;
}

/** Clusters by shard: one whose shard has no replica counts for the stand-in. */
export function shardSums(rows: readonly StatsRow[], replicas: number): readonly ShardSum[] {
  const sums = new Array<number>(replicas).fill(0);
  for (const { shard, standIn, resources = 0 } of rows) {
    const at = standIn ?? shard;
    sums[at] = (sums[at] ?? 0) + resources;
  }
  const total = sums.reduce((a, b) => a + b, 0);
  const percent = (part: number, whole: number): number | null =>
    whole === 0 ? null : Math.round((100 * part) / whole);
  return sums.map((resources, shard) => ({
    shard,
    resources,
    percentOfTotal: percent(resources, total),
    percentOfAverage: percent(resources, total / replicas),
  }));
}

export interface StatsTables {
  readonly rows: readonly StatsRow[];
  readonly sums: readonly ShardSum[];
}

/** Contract of `driftless shards stats -o json`. */
export function statsJson({ rows, sums }: StatsTables): JsonObject {
  return {
    replicas: sums.length,
    clusters: rows.map(({ resources = null, ...row }) => ({ ...row, resources })),
    shards: sums.map((sum) => ({ ...sum })),
  };
}

/** The tables of `argocd admin cluster stats` and `argocd admin cluster shards`. */
export function statsLines({ rows, sums }: StatsTables): readonly string[] {
  const clusters = rows.map(({ server, shard, standIn, connection, namespaces, applications, resources }) => [
    ...[outsideText('url', server), `${shard}${standIn === undefined ? '' : ` (now with ${standIn})`}`, connection],
    ...[String(namespaces), String(applications), resources === undefined ? '-' : String(resources)],
  ]);
  const total = sums.reduce((sum, { resources }) => sum + resources, 0);
  const average = Math.floor(total / Math.max(1, sums.length));
  const shown = (value: number | null): string => (value === null ? '-' : `${value}%`);
  return [
    ...table(['server', 'shard', 'connection', 'namespaces count', 'apps count', 'resources count'], clusters),
    '',
    ...table(
      ['shard', 'resources count', '% of total', `% of avg per shard (${average})`],
      sums.map(({ shard, resources, percentOfTotal, percentOfAverage }) => [
        ...[String(shard), String(resources), shown(percentOfTotal), shown(percentOfAverage)],
      ]),
    ),
  ];
}

/** Notes for the user about replicas that did not answer. */
export function missingNotes(fleet: WatchedFleet | Error): readonly string[] {
  if (fleet instanceof Error)
    return [`connections and resources are unknown: ${outsideText('field', messageOf(fleet)).replaceAll('\n', ' ')}`];
  return fleet.missing.map((each) => `connections and resources are incomplete, without ${each}`);
}

import type {
  ClusterPart,
  ClustersResponse,
  ClusterSummary,
  OwnershipResponse,
  QueuesResponse,
  ReplicaInfo,
  ReplicaResponse,
} from '../../../api/types.ts';
import type { ListedApplication } from './filters.ts';

/** A part of a cluster, as the fleet shows it. */
export interface FleetCluster {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly part: number;
  readonly parts: number;
  readonly slot: number;
  readonly home: number;
  readonly waitsFor: readonly number[];
  readonly applications: number;
  readonly summary: ClusterSummary | undefined;
}

export interface FleetQueue {
  readonly depth: number;
  readonly running: number;
  readonly workers: number;
  readonly oldestSince: string | undefined;
  readonly stalled: string | undefined;
}

/** One shard and the replica that holds it. */
export interface FleetShard {
  readonly slot: number;
  readonly holder: string | undefined;
  readonly renewedAt: string | undefined;
  readonly leaseMs: number | undefined;
  readonly isForeign: boolean;
  readonly replica: ReplicaInfo | undefined;
  readonly clusters: readonly FleetCluster[];
  readonly queue: FleetQueue | undefined;
}

export interface UnownedCluster {
  readonly server: string;
  readonly name: string;
  readonly since: string;
}

export interface Fleet {
  readonly shards: readonly FleetShard[];
  readonly standbys: readonly ReplicaInfo[];
  readonly unowned: readonly UnownedCluster[];
}

export interface FleetPages {
  readonly ownership: OwnershipResponse;
  readonly replicas: ReplicaResponse | undefined;
  readonly clusters: ClustersResponse | undefined;
  readonly queues: QueuesResponse | undefined;
  readonly applications: readonly ListedApplication[];
}

/** Joins the pages of the API into what the fleet shows. */
export function fleetOf({ ownership, replicas, clusters, queues, applications }: FleetPages): Fleet {
  const infos = new Map((replicas?.items ?? []).map((info) => [info.name, info]));
  const summaries = new Map((clusters?.items ?? []).map((item) => [`${item.server} ${item.replica}`, item]));
  const counts = countApplications(applications);
  const parts = ownership.clusters.flatMap(({ server, names, parts: list }) =>
    list.map((part): FleetCluster => ({
      ...placeOf(part),
      id: `${server} ${part.part}`,
      server,
      name: names[0] ?? server,
      parts: list.length,
      applications: counts.get(`${server} ${list.length > 1 ? part.slot : ''}`) ?? 0,
      summary: summaries.get(`${server} ${part.owner ?? ''}`),
    })),
  );
  const shards = ownership.slots.map(({ slot, holder, renewedAt, leaseMs, isForeign }): FleetShard => ({
    slot,
    holder,
    renewedAt,
    leaseMs,
    isForeign,
    replica: infos.get(holder ?? ''),
    clusters: parts.filter((part) => part.slot === slot),
    queue: queueOf(queues, holder),
  }));
  const holders = new Set(ownership.slots.map(({ holder }) => holder));
  return {
    shards,
    standbys: [...infos.values()].filter(({ name, shard }) => shard === undefined && !holders.has(name)),
    unowned: ownership.clusters.flatMap(({ server, names, unownedSince }) =>
      unownedSince === undefined ? [] : [{ server, name: names[0] ?? server, since: unownedSince }],
    ),
  };
}

function placeOf({
  part,
  slot,
  home,
  waitsFor,
}: ClusterPart): Pick<FleetCluster, 'part' | 'slot' | 'home' | 'waitsFor'> {
  return { part, slot, home, waitsFor };
}

/** By server, and by server and shard for clusters that are split. */
function countApplications(applications: readonly ListedApplication[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { app } of applications)
    for (const key of [`${app.server} `, `${app.server} ${app.shard ?? ''}`])
      counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function queueOf(queues: QueuesResponse | undefined, holder: string | undefined): FleetQueue | undefined {
  const own = (queues?.items ?? []).filter(({ replica }) => replica === holder);
  if (own.length === 0) return undefined;
  const oldest = own.flatMap((queue) => queue.oldest?.since ?? []).sort();
  return {
    depth: own.reduce((sum, { depth }) => sum + depth, 0),
    running: own.reduce((sum, { running }) => sum + running, 0),
    workers: own.reduce((sum, { workers }) => sum + workers, 0),
    oldestSince: oldest[0],
    stalled: own.find(({ stalled }) => stalled !== undefined)?.stalled,
  };
}

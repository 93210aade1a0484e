import { seededRandom } from '#base';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import { algorithms } from '../distribution.ts';
import type { ShardingAlgorithm } from '../distribution.ts';
import type { Member } from '../member.ts';
import type { Instant } from '../member-types.ts';
import { clusterKey } from '../parts.ts';
import type { View } from '../view.ts';

/** A process in steps; each yields how long until the next. */
export type Steps<T> = Generator<number, T>;

export interface Write {
  readonly key: AppKey;
  readonly goesTo: string;
  readonly until: number;
}

export interface Replica {
  readonly name: string;
  readonly member: Member;
  fixedSlot: number | undefined;
  readonly rate: number;
  readonly origin: number;
  skew: number;
  alive: boolean;
  leaving: boolean;
  pausedUntil: number;
  cutUntil: number;
  /** Undefined: nobody says. */
  desired: number | undefined;
  readonly clusters: Map<string, Cluster>;
  readonly apps: Map<AppKey, Application>;
  loaded: boolean;
  view: View | undefined;
  writes: Write[];
  steps: Steps<void> | undefined;
}

export interface Scenario {
  readonly seed: number;
  readonly dynamic: boolean;
  readonly algorithm: ShardingAlgorithm;
  /** Some replicas die in the end and nobody replaces them. */
  readonly shorthanded: boolean;
  /** Beside the rest: ConfigMaps that are emptied, controllers of Argo CD, a replica count that nobody says, a cluster without an id. */
  readonly hostile: boolean;
}

export function scenarioOf(seed: number): Scenario {
  const random = seededRandom(seed ^ 0x5eed);
  const algorithm = algorithms[Math.floor(random.next() * algorithms.length)] ?? 'legacy';
  const dynamic = random.next() < 0.5;
  return { seed, dynamic, algorithm, shorthanded: random.next() < 0.3, hostile: random.next() < 0.5 };
}

/** As `settings` resolves a destination. */
export function resolve(
  clusters: ReadonlyMap<string, Cluster>,
  { server = '', name = '' }: ApplicationDestination,
): Cluster | undefined {
  if ((server === '') === (name === '')) return undefined;
  const found = [...clusters.values()].filter((cluster) =>
    server === '' ? cluster.name === name : clusterKey(cluster.server) === clusterKey(server),
  );
  return server === '' && found.length !== 1 ? undefined : found[0];
}

/** What troubles and promises see and do to the simulated fleet. */
export interface Fleet {
  readonly scenario: Scenario;
  readonly replicas: readonly Replica[];
  readonly clusters: ReadonlyMap<string, Cluster>;
  addCluster(id: string, extra?: Partial<Cluster>): void;
  setCluster(cluster: Cluster): void;
  removeCluster(id: string): void;
  addApp(name: string, destination: ApplicationDestination): void;
  scale(replicas: number): void;
  kill(replica: Replica): void;
  pause(replica: Replica, ms: number): void;
  cut(replica: Replica, ms: number): void;
  lose(which: 'slots' | 'table', how: 'deleted' | 'spoilt' | 'restored' | 'emptied' | 'blanked' | 'unkeyed'): void;
  intrude(slot: number, ms: number): void;
  relist(replica: Replica): void;
  matchReplicas(violent: boolean): void;
  instant(replica: Replica): Instant;
  /** The server that the replica writes to for the Application; undefined when it may not. */
  writesFor(replica: Replica, key: AppKey): string | undefined;
  note(line: string): void;
  chance(): number;
  below(n: number): number;
  pick<T>(list: readonly T[]): T | undefined;
}

import { seededRandom } from '#base';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import { algorithms } from '../distribution.ts';
import type { ShardingAlgorithm } from '../distribution.ts';
import { clusterKey } from '../parts.ts';
import type { Ownership } from '../types.ts';
import type { Line } from './simulated-hub.ts';
import type { MachineClock } from './virtual-time.ts';

/** A request to a managed cluster that has been sent: it is done at `landsAt`, whatever becomes of its sender. */
export interface Write {
  readonly key: AppKey;
  readonly goesTo: string;
  readonly landsAt: number;
}

export interface Replica {
  readonly name: string;
  readonly ownership: Ownership;
  readonly clock: MachineClock;
  readonly line: Line;
  readonly heartbeatMs: number;
  alive: boolean;
  leaving: boolean;
  readonly leave: () => void;
  readonly clusters: Map<string, Cluster>;
  readonly apps: Map<AppKey, Application>;
  loaded: boolean;
  writes: readonly Write[];
  /** All clocks of its machine stood still until then, and no answer of the hub since then has told it so: nobody can ask it to know. */
  pausedUntil: number | undefined;
  /** Until when it may have written at all, as far as has been seen. */
  leaseEndsAt: number;
}

export interface Scenario {
  readonly seed: number;
  readonly dynamic: boolean;
  readonly algorithm: ShardingAlgorithm;
  /** Some replicas die in the end and nobody replaces them. */
  readonly shorthanded: boolean;
  /** Replicas have different heartbeats. */
  readonly mixed: boolean;
  /** Replicas fill caches before they get what is to be theirs. */
  readonly prepares: boolean;
  /** Replicas at most. */
  readonly most: number;
}

export function scenarioOf(seed: number, most = 12): Scenario {
  const random = seededRandom(seed ^ 0x5eed);
  const algorithm = algorithms[Math.floor(random.next() * algorithms.length)] ?? 'legacy';
  const dynamic = random.next() < 0.5;
  const [shorthanded, mixed] = [random.next() < 0.3, random.next() < 0.4];
  return { seed, dynamic, algorithm, shorthanded, mixed, prepares: random.next() < 0.6, most };
}

export function clusterOf(id: string, extra: Partial<Cluster>): Cluster {
  const server = extra.server ?? `https://${id}`;
  const connection = { server, insecure: false, credentials: {} };
  const rest = { namespaces: [], clusterResources: false, labels: {}, annotations: {}, connection };
  return { id, server, name: id, ...rest, ...extra };
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

export type Loss = 'deleted' | 'spoilt' | 'restored' | 'emptied' | 'blanked' | 'unkeyed';

/** What troubles and promises see and do to the simulated fleet. */
export interface Fleet {
  readonly scenario: Scenario;
  readonly replicas: readonly Replica[];
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly apps: ReadonlyMap<AppKey, Application>;
  addCluster(id: string, extra?: Partial<Cluster>): void;
  setCluster(cluster: Cluster): void;
  removeCluster(id: string): void;
  addApp(name: string, destination: ApplicationDestination): void;
  scale(replicas: number): void;
  /** Nobody says any more how many replicas there should be. */
  forgetScale(): void;
  kill(replica: Replica): void;
  stop(replica: Replica, ms: number): void;
  suspend(replica: Replica, ms: number): void;
  /** As a suspended machine, but all its clocks stand still. */
  pause(replica: Replica, ms: number): void;
  cut(replica: Replica, ms: number, what: Line['cut']): void;
  lose(which: 'slots' | 'table', how: Loss): void;
  intrude(slot: number, ms: number): void;
  relist(replica: Replica): void;
  matchReplicas(violent: boolean): void;
  /** The server that the replica writes to for the Application; undefined when it may not. */
  writesFor(replica: Replica, key: AppKey): string | undefined;
  note(line: string): void;
  chance(): number;
  below(n: number): number;
  pick<T>(list: readonly T[]): T | undefined;
}

/** The number in the name of a StatefulSet's pod. */
export function ordinal(replica: Replica): number {
  return Number(replica.name.slice('ctl-'.length));
}

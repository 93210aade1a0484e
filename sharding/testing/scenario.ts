import { seededRandom } from '#base';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import { algorithms } from '../distribution/distribution.ts';
import type { ShardingAlgorithm } from '../distribution/distribution.ts';
import { clusterKey } from '../distribution/parts.ts';
import type { Ownership } from '../ownership/types.ts';
import type { NetworkLine, SimulatedHub } from './simulated-hub.ts';
import type { MachineClock } from './virtual-time.ts';

/**
 * A request sent to a managed cluster: it is carried out at `landsAt`, whatever happens to its
 * sender.
 */
export interface SimulatedWrite {
  readonly key: AppKey;
  readonly goesTo: string;
  readonly landsAt: number;
}

export interface SimulatedReplica {
  readonly name: string;
  readonly ownership: Ownership;
  readonly clock: MachineClock;
  readonly line: NetworkLine;
  readonly heartbeatMs: number;
  alive: boolean;
  leaving: boolean;
  readonly leave: () => void;
  readonly clusters: Map<string, Cluster>;
  readonly apps: Map<AppKey, Application>;
  loaded: boolean;
  writes: readonly SimulatedWrite[];
  /** All its clocks stood still until then, and no response of the hub has revealed it yet. */
  pausedUntil: number | undefined;
  /** Upper bound of its right to write, as observed. */
  leaseEndsAt: number;
}

export interface FleetScenario {
  readonly seed: number;
  readonly dynamic: boolean;
  readonly algorithm: ShardingAlgorithm;
  /** Some replicas die in the end and are not replaced. */
  readonly shorthanded: boolean;
  /** Replicas have different heartbeats. */
  readonly mixed: boolean;
  /** Replicas fill caches before they get new parts. */
  readonly prepares: boolean;
  /** Replicas split clusters by their number. */
  readonly splits: boolean;
  /** Maximum number of replicas. */
  readonly most: number;
}

export function scenarioOf(seed: number, most = 12): FleetScenario {
  const random = seededRandom(seed ^ 0x5eed);
  const algorithm = algorithms[Math.floor(random.next() * algorithms.length)] ?? 'legacy';
  const dynamic = random.next() < 0.5;
  const [shorthanded, mixed] = [random.next() < 0.3, random.next() < 0.4];
  const [prepares, splits] = [random.next() < 0.6, random.next() < 0.3];
  return { seed, dynamic, algorithm, shorthanded, mixed, prepares, splits, most };
}

export function clusterOf(id: string, extra: Partial<Cluster>): Cluster {
  const server = extra.server ?? `https://${id}`;
  const connection = { server, insecure: false, credentials: {} };
  const rest = { namespaces: [], clusterResources: false, labels: {}, annotations: {}, connection };
  return { id, server, name: id, ...rest, ...extra };
}

export function appOf(name: string, destination: ApplicationDestination): Application {
  const metadata = { namespace: 'argocd', name };
  return { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata, spec: { destination } };
}

/** Resolves a destination like `settings`. */
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

export type ConfigMapLoss = 'deleted' | 'spoilt' | 'restored' | 'emptied' | 'blanked' | 'unkeyed';

/** The simulated fleet as faults and promises use it. */
export interface SimulatedFleet {
  readonly scenario: FleetScenario;
  readonly hub: SimulatedHub;
  readonly replicas: readonly SimulatedReplica[];
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly apps: ReadonlyMap<AppKey, Application>;
  addCluster(id: string, extra?: Partial<Cluster>): void;
  setCluster(cluster: Cluster): void;
  removeCluster(id: string): void;
  addApp(name: string, destination: ApplicationDestination): void;
  scale(replicas: number): void;
  start(name: string, controllerName?: string): void;
  /** Makes the desired number of replicas unknown. */
  forgetScale(): void;
  kill(replica: SimulatedReplica): void;
  stop(replica: SimulatedReplica, ms: number): void;
  suspend(replica: SimulatedReplica, ms: number): void;
  /** Like a suspended machine, but all its clocks stop. */
  pause(replica: SimulatedReplica, ms: number): void;
  cut(replica: SimulatedReplica, ms: number, what: NetworkLine['cut']): void;
  lose(which: 'slots' | 'table', how: ConfigMapLoss): void;
  intrude(slot: number, ms: number): void;
  relist(replica: SimulatedReplica): void;
  matchReplicas(violent: boolean): void;
  /** Server that the replica writes to for the Application; undefined when it may not. */
  writesFor(replica: SimulatedReplica, key: AppKey): string | undefined;
  note(line: string): void;
  chance(): number;
  below(n: number): number;
  pick<T>(list: readonly T[]): T | undefined;
}

/** Ordinal in a StatefulSet pod's name. */
export function ordinal(replica: SimulatedReplica): number {
  return Number(replica.name.slice('ctl-'.length));
}

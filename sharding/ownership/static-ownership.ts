import { untilAborted, OwnershipLost } from '#base';
import type { Clock } from '#base';
import type { AppKey, Application, Cluster } from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import { OwnershipConditions } from './conditions.ts';
import type { ShardingAlgorithm } from '../distribution/distribution.ts';
import { outOfRangePinsMessage, standbyMessage } from './findings.ts';
import { shardFromHostname, unknownShardError } from './identity.ts';
import { registerMetrics } from './metrics.ts';
import { clusterKey, partKey } from '../distribution/parts.ts';
import type { DefaultParts } from '../distribution/parts.ts';
import { nextTable } from '../protocol/plan.ts';
import type { SlotRecord } from '../documents/slots-document.ts';
import { unresolvedDestination } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';
import type {
  OwnedParts,
  OwnedPlace,
  Ownership,
  OwnershipChange,
  OwnershipCondition,
  OwnershipFacts,
  ShardIdentity,
} from './types.ts';
import { ClusterView } from './view.ts';
import type { ClusterWeighting } from '../load/weights.ts';

export interface StaticOwnershipDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  readonly algorithm: ShardingAlgorithm;
  readonly hostname: string;
  /** ARGOCD_CONTROLLER_SHARD; negative or undefined: from the host name. */
  readonly shard?: number | undefined;
  /** ARGOCD_CONTROLLER_REPLICAS. Below 1 means one replica, which has shard 0 whatever its name. */
  readonly replicas: number;
  /** For clusters without the annotation driftless.io/split. Absent: 1, not split. */
  readonly defaultParts?: DefaultParts;
  readonly weighting?: ClusterWeighting;
}

/**
 * Ownership computed from the shard number, the number of shards and the distribution. It does not
 * use the hub, so two replicas that see different clusters may both own one. Therefore it never
 * allows writes.
 * @throws UsageError if there are several replicas and this replica's shard is unknown.
 */
export function createStaticOwnership(deps: StaticOwnershipDeps): Ownership {
  return new StaticOwnership(deps);
}

class StaticOwnership implements Ownership {
  readonly name = 'ownership';
  readonly #deps: StaticOwnershipDeps;
  readonly #replicas: number;
  readonly #slot: number;
  readonly #conditions: OwnershipConditions;
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  #view: ClusterView | undefined;
  #table: TableDocument | undefined;
  #owned: ReadonlyMap<string, OwnedParts> = new Map();

  constructor(deps: StaticOwnershipDeps) {
    this.#deps = deps;
    this.#replicas = Math.max(1, deps.replicas);
    const ordinal = ordinalOf(deps);
    if (this.#replicas > 1 && ordinal === undefined) throw unknownShardError(deps);
    this.#slot = this.#replicas === 1 ? 0 : (ordinal ?? 0);
    this.#conditions = new OwnershipConditions(deps.clock, deps.logger);
    registerMetrics(deps.metrics, {
      ownership: this,
      ownedClusters: () => this.#owned.size,
      load: () => this.#load(),
      unowned: () => new Map(),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal);
  }

  identity(): ShardIdentity {
    return { shard: this.#slot < this.#replicas ? this.#slot : undefined, replicas: this.#replicas };
  }

  ownsCluster(server: string): boolean {
    return this.#owned.has(clusterKey(server));
  }

  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean {
    if (this.#view === undefined || this.#table === undefined) return false;
    if (cluster !== undefined && this.#view.isSkipped(cluster.server)) return false;
    const place = this.#view.placeOf(key, cluster, this.#table);
    return place !== undefined && this.#table.entries.get(place.server)?.shards[place.part] === this.#slot;
  }

  assertOwns(server: string, app?: AppKey): void {
    throw new OwnershipLost(app === undefined ? `cluster ${server}` : `application ${app} of cluster ${server}`);
  }

  writing<T>(server: string | undefined, app: AppKey | undefined): Promise<T> {
    return Promise.reject(new OwnershipLost(`cluster ${server ?? ''} for application ${app ?? ''}`));
  }

  leaseLeftMs(): number {
    return 0;
  }

  ownedParts(server: string): OwnedParts | undefined {
    return this.#owned.get(clusterKey(server));
  }

  gaining(): ReadonlyMap<string, OwnedParts> {
    return new Map();
  }

  prepared(): void {
    // Nothing is handed over.
  }

  unowned(): ReadonlyMap<string, number> {
    return new Map();
  }

  isUnowned(): boolean {
    return false;
  }

  settled(): boolean {
    return true;
  }

  update(clusters: readonly Cluster[], apps: Iterable<Application>): void {
    const { algorithm, defaultParts = 1, weighting = 'applications', hostname } = this.#deps;
    const replicas = this.#replicas;
    const view = new ClusterView(clusters, apps, { algorithm, defaultParts, weighting });
    this.#view = view;
    const live = Array.from({ length: replicas }, (_, slot) => slot);
    const noHolders = {
      settled: () => true,
      holders: [],
      absent: new Set<number>(),
      epochFloor: 0,
      longestLeaseMs: 0,
      nonce: 0,
      now: 0,
    };
    this.#table = nextTable(undefined, view.inputs(replicas, undefined), { ...noHolders, replicas, live });
    const standby = { hostname, wanted: this.#slot, numbered: true, replicas, holders: new Map() };
    this.#conditions.set('Standby', this.#slot < replicas ? undefined : standbyMessage(standby));
    this.#conditions.set('InvalidSplit', view.problems.length === 0 ? undefined : view.problems.join('; '));
    this.#conditions.set('PinOutOfRange', outOfRangePinsMessage(view.clusters, replicas));
    this.#announce(this.#shareOf(view));
  }

  measure(): void {
    // Event weights need the measurements of other replicas, which are not read here.
  }

  onChange(listener: (change: OwnershipChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[] {
    const entries = [...(this.#table?.entries ?? [])].filter(([server]) => server !== unresolvedDestination);
    return entries.flatMap(([server, { names, shards }]) =>
      shards.map((shard) => ({ server, name: names[0] ?? '', shard })),
    );
  }

  conditions(): readonly OwnershipCondition[] {
    return this.#conditions.all();
  }

  facts(): OwnershipFacts {
    const entries = [...(this.#table?.entries ?? [])].filter(([server]) => server !== unresolvedDestination);
    return {
      epoch: undefined,
      epochSince: undefined,
      algorithm: this.#deps.algorithm,
      shards: this.#replicas,
      holders: new Map([[this.#slot, this.#ownRecord()]]),
      entries: new Map(entries),
      handOvers: [],
      unowned: new Map(),
    };
  }

  /** Display only: nothing is claimed in the hub. */
  #ownRecord(): SlotRecord {
    const { hostname, clock } = this.#deps;
    const times = { renewals: 0, acked: 0, heartbeat: clock.now() };
    return { slot: this.#slot, holder: hostname, incarnation: `${hostname}/static`, ...times };
  }

  placeOf(key: AppKey, cluster: Cluster | undefined): OwnedPlace | undefined {
    return this.#table === undefined ? undefined : this.#view?.slotOf(key, cluster, this.#table);
  }

  #shareOf(view: ClusterView): ReadonlyMap<string, OwnedParts> {
    const share = new Map<string, OwnedParts>();
    for (const [server, { shards }] of this.#table?.entries ?? []) {
      if (server === unresolvedDestination || view.isSkipped(server)) continue;
      const owned = shards.flatMap((shard, part) => (shard === this.#slot ? [part] : []));
      if (owned.length > 0) share.set(server, { of: shards.length, owned });
    }
    return share;
  }

  #announce(owned: ReadonlyMap<string, OwnedParts>): void {
    const text = (parts: OwnedParts | undefined): string => `${parts?.of ?? 0}: ${parts?.owned.join() ?? ''}`;
    const before = this.#owned;
    const changed = [...new Set([...before.keys(), ...owned.keys()])].filter(
      (server) => text(before.get(server)) !== text(owned.get(server)),
    );
    this.#owned = owned;
    if (changed.length === 0) return;
    const gained = changed.filter((server) => owned.has(server));
    const lost = changed.filter((server) => before.has(server));
    for (const listener of this.#listeners) listener({ gained, lost });
  }

  #load(): number {
    const weights = this.#view?.inputs(this.#replicas, undefined).weights;
    let load = 0;
    for (const [server, { of, owned }] of this.#owned)
      for (const part of owned) load += weights?.get(partKey(server, part, of)) ?? 0;
    return load;
  }
}

function ordinalOf({ shard, hostname }: Pick<StaticOwnershipDeps, 'shard' | 'hostname'>): number | undefined {
  return shard !== undefined && shard >= 0 ? shard : shardFromHostname(hostname);
}

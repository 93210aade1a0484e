import { OwnershipLost, withChild } from '#base';
import type { Clock, Random, Timer } from '#base';
import { KubeApiError, KubeConnectionError, KubeCredentialError, KubeRequestError } from '#kube';
import type { KubeClient } from '#kube';
import type { AppKey, Application, Cluster } from '#model';
import type { Logger, Metrics } from '#telemetry';
import { Conditions } from './conditions.ts';
import { Coordinator } from './coordinator.ts';
import type { ShardingAlgorithm } from './distribution.ts';
import { EventRateBook } from './event-rates.ts';
import type { EventRates } from './event-rates.ts';
import { foreignHolders, outOfRangePins, unownedClusters, whyStandby } from './findings.ts';
import type { Waiting } from './findings.ts';
import { hubHints } from './hub-hints.ts';
import { shardFromHostname, unknownShard } from './identity.ts';
import { Member } from './member.ts';
import type { Instant, World } from './member-types.ts';
import { registerMetrics } from './metrics.ts';
import { clusterKey, partKey } from './parts.ts';
import type { PlanInputs } from './plan.ts';
import { ReplicaCount } from './replica-count.ts';
import { unresolvedDestination } from './table-document.ts';
import type { TableDocument } from './table-document.ts';
import { timingOf } from './timing.ts';
import type { Timing } from './timing.ts';
import type { Ownership, OwnedParts, OwnershipChange, OwnershipCondition, ShardIdentity } from './types.ts';
import { View } from './view.ts';
import { withEvents } from './weights.ts';
import type { Weighting } from './weights.ts';

export interface OwnershipDeps {
  /** The hub. */
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'list' | 'watch' | 'server'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly algorithm: ShardingAlgorithm;
  /** --dynamic-cluster-distribution-enabled: any free shard, not that of the host name. */
  readonly dynamic: boolean;
  readonly hostname: string;
  /** ARGOCD_CONTROLLER_SHARD; negative or undefined: from the host name. Not used with dynamic distribution. */
  readonly shard?: number | undefined;
  /** ARGOCD_CONTROLLER_REPLICAS; 0: as many as the workload has. */
  readonly replicas: number;
  /** ARGOCD_APPLICATION_CONTROLLER_NAME. */
  readonly controllerName: string;
  /** ARGOCD_CONTROLLER_HEARTBEAT_TIME, in milliseconds. */
  readonly heartbeatMs: number;
  /** For clusters without the annotation driftless.io/split; 1: whole. */
  readonly defaultParts?: number;
  /** What a cluster counts for, under consistent hashing; default: its Applications. */
  readonly weighting?: Weighting;
}

/** After giving something away: time for writes that were checked but not wrapped in `writing`. */
const drainMs = 100;

/**
 * Ownership that replicas hand over to each other through two ConfigMaps of the hub: who holds which shard (Argo CD's own, with its JSON),
 * and the table of clusters, published by one and obeyed by all. Never two owners, whatever order events come in; rules and proof are in
 * docs/adr/0010-ownership-handover.md.
 *
 * Nothing is owned before the first `update`. Runs until aborted, then gives its shard back; never rejects because of the hub.
 * @throws UsageError when the identity is static and nothing says which shard this replica is.
 */
export function createOwnership(deps: OwnershipDeps): Ownership {
  return new LeasedOwnership(deps);
}

interface Write {
  readonly server: string;
  readonly app: AppKey | undefined;
  /** While it runs: for ever. After it ended without an answer: as long as it may still be on its way. */
  landsUntil: number;
}

class LeasedOwnership implements Ownership {
  readonly name = 'ownership';
  readonly #deps: OwnershipDeps;
  readonly #timing: Timing;
  readonly #member: Member;
  readonly #coordinator: Coordinator;
  readonly #replicaCount: ReplicaCount;
  readonly #conditions: Conditions;
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  readonly #writes = new Set<Write>();
  readonly #rates = new EventRateBook();
  #view: View | undefined;
  #weighed: { readonly base: PlanInputs; readonly rates: EventRates; readonly inputs: PlanInputs } | undefined;
  #clusters: readonly Cluster[] = [];
  #byServer: ReadonlyMap<string, Cluster> = new Map();
  #owned: ReadonlySet<string> = new Set();
  #tablelessSince: number | undefined;
  #epoch: number | undefined;
  #takingUpSince: number | undefined;
  #lastLoss = Number.NEGATIVE_INFINITY;
  #leaseEnd: Timer | undefined;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
    const { client, namespace, clock, random, logger, hostname } = deps;
    this.#timing = timingOf(deps.heartbeatMs);
    if (!deps.dynamic && deps.replicas > 1 && ordinalOf(deps) === undefined) throw unknownShard(deps);
    this.#member = new Member({ name: hostname, process: random.uuid(), timing: this.#timing });
    this.#conditions = new Conditions(clock, logger);
    this.#coordinator = new Coordinator({
      ...{ client, namespace, clock, random, logger, member: this.#member },
      world: (leaving) => this.#world(leaving),
      onObservation: () => this.#announce(),
      onTurn: () => this.#onTurn(),
      report: (type, message) => this.#conditions.set(type, message),
    });
    this.#replicaCount = new ReplicaCount({
      ...{ client, namespace, clock, random, logger },
      kind: deps.dynamic ? 'Deployment' : 'StatefulSet',
      name: deps.controllerName,
      configured: deps.replicas,
      onChange: () => this.#coordinator.wake(),
    });
    registerMetrics(deps.metrics, {
      ownership: this,
      ownedClusters: () => serversOf([...this.#ownedParts()]).length,
      load: () => this.#load(),
      unowned: () => this.#unowned(),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // The hints outlive the coordinator's work, but not it.
    await withChild(signal, async (inner) => {
      const { client, namespace, clock, random, logger } = this.#deps;
      const hints = hubHints({
        ...{ client, namespace, clock, random, logger },
        onSlots: (slots) => this.#member.notice(slots, this.#now()),
        onNews: (what) => this.#coordinator.hint(what),
      });
      await Promise.all([this.#coordinator, this.#replicaCount, ...hints].map((each) => each.run(inner)));
    }).finally(() => this.#leaseEnd?.cancel());
  }

  identity(): ShardIdentity {
    return { shard: this.#member.slot(this.#now()), replicas: this.#published()?.replicas ?? 1 };
  }

  ownsCluster(server: string): boolean {
    const key = clusterKey(server);
    if (this.#view?.knows(key) !== true || this.#view.isSkipped(key)) return false;
    return this.#member.leaseLeft(this.#now()) > 0 && (this.#member.taken().get(key)?.size ?? 0) > 0;
  }

  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean {
    const table = this.#member.table();
    if (table === undefined || this.#view === undefined) return false;
    if (cluster !== undefined && this.#view.isSkipped(cluster.server)) return false;
    const place = this.#view.placeOf(key, cluster, table);
    return place !== undefined && this.#member.mayWrite(place.server, place.part, this.#now());
  }

  assertOwns(server: string, app?: AppKey): void {
    if (app === undefined ? this.ownsCluster(server) : this.#ownsAppAt(server, app)) return;
    throw new OwnershipLost(app === undefined ? `cluster ${server}` : `application ${app} of cluster ${server}`);
  }

  async writing<T>(server: string | undefined, app: AppKey | undefined, send: () => Promise<T>): Promise<T> {
    this.assertOwns(server ?? unresolvedDestination, app);
    const write: Write = { server: server ?? unresolvedDestination, app, landsUntil: Number.POSITIVE_INFINITY };
    this.#writes.add(write);
    try {
      const answer = await send();
      this.#writes.delete(write);
      return answer;
    } catch (error) {
      if (cannotLand(error)) this.#writes.delete(write);
      else write.landsUntil = this.#now().monotonic + this.#timing.marginMs;
      throw error;
    }
  }

  ownedParts(server: string): OwnedParts | undefined {
    if (!this.ownsCluster(server)) return undefined;
    const key = clusterKey(server);
    const of = this.#member.table()?.entries.get(key)?.shards.length ?? 1;
    return { of, owned: [...(this.#member.taken().get(key) ?? [])].sort((a, b) => a - b) };
  }

  unowned(): ReadonlyMap<string, number> {
    return this.#member.reportsUnowned(this.#now()) ? this.#unowned() : new Map();
  }

  settled(): boolean {
    const since = this.#takingUpSince;
    return since === undefined || this.#now().monotonic - since > this.#timing.leaseMs;
  }

  leaseLeftMs(): number {
    return this.#member.leaseLeft(this.#now());
  }

  update(clusters: readonly Cluster[], apps: Iterable<Application>): void {
    const { algorithm, defaultParts = 1, weighting = 'applications' } = this.#deps;
    const first = this.#view === undefined;
    this.#view = new View(clusters, apps, { algorithm, defaultParts, weighting });
    this.#conditions.set('InvalidSplit', this.#view.problems.length === 0 ? undefined : this.#view.problems.join('; '));
    const changed = first || clusters !== this.#clusters;
    // Of several with one URL the first in the list is meant.
    if (changed) this.#byServer = new Map([...clusters].reverse().map((each) => [clusterKey(each.server), each]));
    this.#clusters = clusters;
    // Others see the same and need not hurry: the planner publishes, and the watch wakes them.
    if (changed && (first || this.#member.plans(this.#now()))) this.#coordinator.wake();
    this.#announce();
  }

  measure(events: ReadonlyMap<string, number>): void {
    this.#rates.measure(events, this.#now().monotonic);
  }

  onChange(listener: (change: OwnershipChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[] {
    const entries = [...(this.#published()?.entries ?? [])].filter(([server]) => server !== unresolvedDestination);
    return entries.flatMap(([server, { names, shards }]) =>
      shards.map((shard) => ({ server, name: names[0] ?? '', shard })),
    );
  }

  conditions(): readonly OwnershipCondition[] {
    return this.#conditions.all();
  }

  #ownsAppAt(server: string, app: AppKey): boolean {
    if (server === unresolvedDestination) return this.ownsApp(app, undefined);
    const cluster = this.#byServer.get(clusterKey(server));
    return cluster !== undefined && this.ownsApp(app, cluster);
  }

  #now(): Instant {
    return this.#coordinator.instant();
  }

  #published(): TableDocument | undefined {
    return this.#member.table() ?? this.#member.published();
  }

  #world(leaving: boolean): World {
    const replicas = this.#replicaCount.count();
    return {
      inputs: this.#inputs(),
      replicas,
      fixedSlot: this.#fixedSlot(),
      drained: this.#isDrained(leaving),
      leaving,
      ...(this.#deps.weighting === 'measured' ? { load: this.#rates.own() } : {}),
    };
  }

  /**
   * The shard that the name gives to this replica. A single one has shard 0 whatever its name. A name without an ordinal has to share that
   * shard: one works, the others stand by.
   */
  #fixedSlot(): number | undefined {
    if (this.#deps.dynamic) return undefined;
    const asBefore = this.#replicaCount.isMissing() ? (this.#published()?.replicas ?? 1) : undefined;
    const replicas = this.#replicaCount.count() ?? asBefore;
    return replicas !== undefined && replicas <= 1 ? 0 : (ordinalOf(this.#deps) ?? 0);
  }

  /** What the view says, and how busy clusters are; the same object while neither has changed. */
  #inputs(): PlanInputs | undefined {
    const base = this.#view?.inputs;
    if (base === undefined || this.#deps.weighting !== 'measured') return base;
    const rates = this.#rates.known();
    if (this.#weighed?.base !== base || this.#weighed.rates !== rates) {
      const inputs = { ...base, weights: withEvents(base.weights, base.clusters, rates) };
      this.#weighed = { base, rates, inputs };
    }
    return this.#weighed.inputs;
  }

  /** Nothing is on its way any more to what was given away. */
  #isDrained(leaving: boolean): boolean {
    const now = this.#now().monotonic;
    if (now - this.#lastLoss < drainMs) return false;
    for (const write of this.#writes) if (write.landsUntil <= now) this.#writes.delete(write);
    if (leaving) return this.#writes.size === 0;
    return [...this.#writes].every(({ server, app }) =>
      app === undefined ? this.ownsCluster(server) : this.#ownsAppAt(server, app),
    );
  }

  #onTurn(): void {
    this.#takingUpSince = this.#member.isTakingUp() ? (this.#takingUpSince ?? this.#now().monotonic) : undefined;
    this.#rates.hear(this.#member.holders(), this.#now().monotonic);
    this.#announce();
    const left = this.leaseLeftMs();
    this.#leaseEnd?.cancel();
    this.#leaseEnd = left > 0 ? this.#deps.clock.timer(left + 1, () => this.#announce()) : undefined;
    this.#report();
  }

  #report(): void {
    const problem = this.#replicaCount.problem();
    const { replicas } = this.#published() ?? {};
    const standby = this.#view !== undefined && this.identity().shard === undefined;
    const foreign = this.#member.foreign();
    const findings: readonly (readonly [OwnershipCondition['type'], string | undefined])[] = [
      ['ReplicasMismatch', problem?.type === 'ReplicasMismatch' ? problem.message : undefined],
      ['ReplicasUnknown', problem?.type === 'ReplicasUnknown' ? problem.message : undefined],
      ['Standby', standby ? whyStandby(this.#waiting(replicas ?? 1)) : undefined],
      ['ForeignHolder', foreignHolders(foreign)],
      [
        'PinOutOfRange',
        outOfRangePins(replicas === undefined ? [] : (this.#view?.inputs.clusters ?? []), replicas ?? 1),
      ],
      ['ClusterUnowned', unownedClusters(this.#unowned().keys())],
    ];
    for (const [type, message] of findings) this.#conditions.set(type, message);
  }

  #waiting(replicas: number): Waiting {
    const { hostname } = this.#deps;
    const numbered = ordinalOf(this.#deps) !== undefined;
    return { hostname, wanted: this.#fixedSlot(), numbered, replicas, holders: this.#member.holders() };
  }

  /** Tells listeners what changed since they were told last. */
  #announce(): void {
    const owned = this.#ownedParts();
    const gained = [...owned].filter((part) => !this.#owned.has(part));
    const lost = [...this.#owned].filter((part) => !owned.has(part));
    const epoch = this.#member.table()?.epoch;
    // Under a new table names may mean something else: Applications change hands though no cluster does.
    if (gained.length === 0 && lost.length === 0 && epoch === this.#epoch) return;
    this.#epoch = epoch;
    if (lost.length > 0) this.#lastLoss = this.#now().monotonic;
    this.#owned = owned;
    const change = { gained: serversOf(gained), lost: serversOf(lost) };
    if (gained.length + lost.length > 0)
      this.#logChange(change, { partsGained: gained.length, partsLost: lost.length });
    for (const listener of this.#listeners) listener(change);
  }

  #logChange(change: OwnershipChange, parts: Readonly<Record<string, number>>): void {
    this.#deps.logger.info('cluster ownership changed', {
      ...{ shard: this.identity().shard, epoch: this.#epoch, ...parts },
      ...{ gained: change.gained.length, lost: change.lost.length },
    });
  }

  /** `<server> <part>` of everything that is ours. */
  #ownedParts(): ReadonlySet<string> {
    const owned = new Set<string>();
    if (this.#view === undefined || this.leaseLeftMs() === 0) return owned;
    for (const [server, parts] of this.#member.taken()) {
      if (server !== unresolvedDestination && !this.ownsCluster(server)) continue;
      for (const part of parts) owned.add(`${server} ${part}`);
    }
    return owned;
  }

  #load(): number {
    const { weights } = this.#inputs() ?? { weights: new Map<string, number>() };
    const entries = this.#member.table()?.entries;
    let load = 0;
    for (const owned of this.#ownedParts()) {
      const [server = '', part = ''] = owned.split(' ');
      load += weights.get(partKey(server, Number(part), entries?.get(server)?.shards.length ?? 1)) ?? 0;
    }
    return load;
  }

  /** Clusters that nobody has looked after for more than two leases, with the time since. */
  #unowned(): ReadonlyMap<string, number> {
    const now = this.#now().monotonic;
    const since = this.#published() === undefined ? this.#tableless(now) : this.#member.unowned();
    if (this.#published() !== undefined) this.#tablelessSince = undefined;
    const ages = [...since].map(([server, at]) => [server, now - at] as const);
    const isMissed = (server: string): boolean =>
      server !== unresolvedDestination && this.#view?.isSkipped(server) !== true;
    return new Map(ages.filter(([server, age]) => age > 2 * this.#timing.leaseMs && isMissed(server)));
  }

  /** While there is no table, everybody's clusters are nobody's. */
  #tableless(now: number): ReadonlyMap<string, number> {
    const { clusters } = this.#view?.inputs ?? { clusters: [] };
    if (clusters.length > 0) this.#tablelessSince ??= now;
    return new Map(clusters.map(({ server }) => [clusterKey(server), this.#tablelessSince ?? now]));
  }
}

/**
 * The server has answered, or has never seen the request. Anything else (a reset, a deadline, an abort) says nothing: the request may be on
 * its way, or be carried out at this moment.
 */
function cannotLand(error: unknown): boolean {
  // An API server that answers 5xx may have passed the write on to its store, which ends it in its own time.
  if (error instanceof KubeApiError) return error.status < 500;
  if (error instanceof KubeRequestError || error instanceof KubeCredentialError) return true;
  return error instanceof KubeConnectionError && error.neverSent;
}

/** The ordinal that a replica of a StatefulSet has; undefined when nothing tells. */
function ordinalOf({ shard, hostname }: OwnershipDeps): number | undefined {
  return shard !== undefined && shard >= 0 ? shard : shardFromHostname(hostname);
}

function serversOf(parts: readonly string[]): readonly string[] {
  const servers = parts.map((part) => part.slice(0, part.lastIndexOf(' ')));
  return [...new Set(servers)].filter((server) => server !== unresolvedDestination);
}

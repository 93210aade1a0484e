import { OwnershipLost, withChild } from '#base';
import type { Clock, Random, Timer } from '#base';
import type { KubeClient } from '#kube';
import type { AppKey, Application, Cluster } from '#model';
import type { Logger, Metrics } from '#telemetry';
import { Announcements } from './announcements.ts';
import { Conditions } from './conditions.ts';
import { Coordinator } from './coordinator.ts';
import type { ShardingAlgorithm } from './distribution.ts';
import { EventRateBook } from './event-rates.ts';
import type { Home } from './home.ts';
import { hubHints } from './hub-hints.ts';
import type { HubTime } from './hub-time.ts';
import { unknownShard } from './identity.ts';
import { Member } from './member.ts';
import type { Instant, World } from './member-types.ts';
import { registerLeaseMetrics, registerMetrics } from './metrics.ts';
import type { LeaseMeters } from './metrics.ts';
import { OwnershipReport } from './ownership-report.ts';
import { ordinalOf, OwnershipWorld } from './ownership-world.ts';
import { clusterKey } from './parts.ts';
import { ReplicaCount } from './replica-count.ts';
import { Rights, serversOf } from './rights.ts';
import { SuspendDetector } from './suspend-detector.ts';
import { unresolvedDestination } from './table-document.ts';
import { timingOf } from './timing.ts';
import type { Timing } from './timing.ts';
import type { Ownership, OwnedParts, OwnershipChange, OwnershipCondition, ShardIdentity } from './types.ts';
import type { Weighting } from './weights.ts';
import { WritesUnderWay } from './writes-under-way.ts';

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
  /** A clock that goes on while the machine is suspended, in milliseconds (CLOCK_BOOTTIME); undefined: there is none. */
  readonly bootMs?: () => number;
  /** The hub's clock by its answers, for machines all of whose clocks stood still; undefined: nobody listens to it. */
  readonly hubTime?: Pick<HubTime, 'losses' | 'answeredAt'>;
  /** Where this process runs: its successor there need not wait for the lease. Undefined: it does. */
  readonly home?: Home;
  /** Whether somebody calls `prepared` when caches are filled; default: no, and clusters come without notice. */
  readonly prepares?: boolean;
  /** For clusters without the annotation driftless.io/split; 1: whole. */
  readonly defaultParts?: number;
  /** What a cluster counts for, under consistent hashing; default: its Applications. */
  readonly weighting?: Weighting;
}

/** After giving something away: time for writes that were checked but not wrapped in `writing`. */
const drainMs = 100;
/** When the hub has not answered for so long, a write asks it meanwhile what time it is: all clocks of this machine may have stood still. */
const quietMs = 1000;

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

class LeasedOwnership implements Ownership {
  readonly name = 'ownership';
  readonly #deps: OwnershipDeps;
  readonly #timing: Timing;
  readonly #member: Member;
  readonly #coordinator: Coordinator;
  readonly #replicaCount: ReplicaCount;
  readonly #rights: Rights;
  readonly #world: OwnershipWorld;
  readonly #writes: WritesUnderWay;
  readonly #announcements: Announcements;
  readonly #report: OwnershipReport;
  readonly #conditions: Conditions;
  readonly #suspends: SuspendDetector;
  readonly #rates = new EventRateBook();
  readonly #meters: LeaseMeters;
  #tableSeen: { readonly epoch: number; readonly at: number } | undefined;
  #takingUpSince: number | undefined;
  #lastLoss = Number.NEGATIVE_INFINITY;
  #suspensions = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #prepared: ReadonlySet<string> = new Set();
  #leaseEnd: Timer | undefined;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
    const { client, namespace, clock, random, logger, hostname, dynamic, weighting = 'applications' } = deps;
    const ordinal = ordinalOf(deps);
    if (!dynamic && deps.replicas > 1 && ordinal === undefined) throw unknownShard(deps);
    const timing = timingOf(deps.heartbeatMs);
    const member = new Member({
      name: hostname,
      process: random.uuid(),
      timing,
      ...(deps.home === undefined ? {} : { home: deps.home }),
    });
    const now = (): Instant => this.#now();
    const conditions = new Conditions(clock, logger);
    const rights = new Rights(member, now);
    const replicaCount = new ReplicaCount({
      client,
      namespace,
      clock,
      random,
      logger,
      kind: dynamic ? 'Deployment' : 'StatefulSet',
      name: deps.controllerName,
      configured: deps.replicas,
      onChange: () => this.#coordinator.wake(),
    });
    const world = new OwnershipWorld({ rights, rates: this.#rates, replicaCount, dynamic, ordinal, weighting });
    const numbered = ordinal !== undefined;
    [this.#timing, this.#member, this.#rights, this.#replicaCount] = [timing, member, rights, replicaCount];
    [this.#conditions, this.#world] = [conditions, world];
    const monotonic = (): number => clock.monotonic();
    this.#suspends = new SuspendDetector({ monotonic, boot: deps.bootMs ?? monotonic, hub: deps.hubTime });
    this.#writes = new WritesUnderWay(timing.marginMs, () => this.#now().monotonic);
    this.#announcements = new Announcements(logger);
    const reported = { member, rights, world, replicaCount, conditions, timing, now, hostname, numbered };
    this.#report = new OwnershipReport(reported);
    this.#meters = this.#registerMetrics(deps.metrics);
    this.#coordinator = new Coordinator({
      client,
      namespace,
      clock,
      random,
      logger,
      member,
      meters: this.#meters,
      world: (leaving) => this.#worldNow(leaving),
      suspensions: () => {
        this.#wasSuspended();
        return this.#suspensions;
      },
      onObservation: () => this.#announce(),
      onTurn: () => this.#onTurn(),
      report: (type, message) => conditions.set(type, message),
    });
  }

  #registerMetrics(metrics: Metrics): LeaseMeters {
    const owned = (): readonly string[] => serversOf(this.#rights.ownedParts());
    registerMetrics(metrics, {
      ownership: this,
      ownedClusters: () => owned().length,
      load: () => this.#world.load(),
      unowned: () => this.#report.unowned(),
    });
    const hub = this.#member.hub();
    return registerLeaseMetrics(metrics, {
      leaseLeftMs: () => this.leaseLeftMs(),
      plans: () => this.#member.plans(this.#now()),
      epoch: () => hub.published()?.epoch,
      tableAgeMs: () => this.#now().monotonic - (this.#tableSeen?.at ?? this.#now().monotonic),
      offTable: () => this.#report.offTable().size,
      shard: () => this.identity().shard,
      owned,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // The hints outlive the coordinator's work, but not it.
    await withChild(signal, async (inner) => {
      const { client, namespace, clock, random, logger } = this.#deps;
      const hints = hubHints({
        client,
        namespace,
        clock,
        random,
        logger,
        onSlots: (slots) => this.#member.notice(slots, this.#now()),
        onNews: (what) => this.#coordinator.hint(what),
      });
      await Promise.all([this.#coordinator, this.#replicaCount, ...hints].map((each) => each.run(inner)));
    }).finally(() => this.#leaseEnd?.cancel());
  }

  identity(): ShardIdentity {
    return { shard: this.#member.slot(this.#now()), replicas: this.#rights.table()?.replicas ?? 1 };
  }

  ownsCluster(server: string): boolean {
    return this.#rights.ownsCluster(server);
  }

  ownsApp(key: AppKey, cluster: Cluster | undefined): boolean {
    return this.#rights.ownsApp(key, cluster);
  }

  assertOwns(server: string, app?: AppKey): void {
    if (!this.#wasSuspended() && this.#rights.mayWriteTo(server, app)) return;
    throw new OwnershipLost(app === undefined ? `cluster ${server}` : `application ${app} of cluster ${server}`);
  }

  async writing<T>(server: string | undefined, app: AppKey | undefined, send: () => Promise<T>): Promise<T> {
    const write = { server: server ?? unresolvedDestination, app };
    this.assertOwns(write.server, app);
    this.#askTheTime();
    return this.#writes.run(write, send);
  }

  ownedParts(server: string): OwnedParts | undefined {
    return this.#rights.ownedPartsOf(server);
  }

  gaining(): ReadonlyMap<string, OwnedParts> {
    return this.#rights.coming('announced', 'given');
  }

  prepared(servers: Iterable<string>): void {
    const before = this.#isWarm();
    this.#prepared = new Set([...servers].map(clusterKey));
    if (!before && this.#isWarm()) this.#coordinator.wake();
  }

  unowned(): ReadonlyMap<string, number> {
    if (this.#member.reportsUnowned(this.#now())) return this.#report.unowned();
    return this.#member.hub().presence.foreign().size > 0 ? new Map() : this.#report.unseen();
  }

  settled(): boolean {
    const since = this.#takingUpSince;
    return since === undefined || this.#now().monotonic - since > this.#timing.leaseMs;
  }

  leaseLeftMs(): number {
    return this.#rights.leaseLeft();
  }

  update(clusters: readonly Cluster[], apps: Iterable<Application>): void {
    const { algorithm, defaultParts = 1, weighting = 'applications' } = this.#deps;
    const change = this.#rights.update(clusters, apps, { algorithm, defaultParts, weighting });
    const problems = this.#rights.view()?.problems ?? [];
    this.#conditions.set('InvalidSplit', problems.length === 0 ? undefined : problems.join('; '));
    // Others see the same and need not hurry: the planner publishes, and the watch wakes them.
    if (change === 'first' || (change === 'other' && this.#member.plans(this.#now()))) this.#coordinator.wake();
    this.#announce();
  }

  measure(events: ReadonlyMap<string, number>): void {
    this.#rates.measure(events, this.#now().monotonic);
  }

  onChange(listener: (change: OwnershipChange) => void): () => void {
    return this.#announcements.onChange(listener);
  }

  table(): readonly { readonly server: string; readonly name: string; readonly shard: number }[] {
    const entries = [...(this.#rights.table()?.entries ?? [])].filter(([server]) => server !== unresolvedDestination);
    return entries.flatMap(([server, { names, shards }]) =>
      shards.map((shard) => ({ server, name: names[0] ?? '', shard })),
    );
  }

  conditions(): readonly OwnershipCondition[] {
    return this.#conditions.all();
  }

  #now(): Instant {
    return this.#coordinator.instant();
  }

  #wasSuspended(): boolean {
    if (!this.#suspends.wasSuspended()) return false;
    this.#suspensions += 1;
    this.#member.distrust();
    this.#deps.logger.warn('the machine was suspended: writing nothing before the table of clusters was read again');
    this.#coordinator.wake();
    this.#announce();
    return true;
  }

  #askTheTime(): void {
    const { monotonic } = this.#now();
    const answeredAt = this.#deps.hubTime?.answeredAt() ?? monotonic;
    if (monotonic - Math.max(answeredAt, this.#askedAt) < quietMs) return;
    this.#askedAt = monotonic;
    this.#coordinator.wake();
  }

  #worldNow(leaving: boolean): World {
    const warm = this.#deps.prepares === true ? this.#isWarm() : undefined;
    return this.#world.world({ leaving, drained: this.#isDrained(leaving), warm });
  }

  #isWarm(): boolean {
    return [...this.#rights.coming('announced').keys()].every((server) => this.#prepared.has(server));
  }

  /** Nothing is on its way any more to what was given away. */
  #isDrained(leaving: boolean): boolean {
    if (this.#now().monotonic - this.#lastLoss < drainMs) return false;
    const writes = this.#writes.all();
    return leaving ? writes.length === 0 : writes.every(({ server, app }) => this.#rights.mayWriteTo(server, app));
  }

  #onTurn(): void {
    const { monotonic } = this.#now();
    const since = this.#takingUpSince;
    this.#takingUpSince = this.#member.isTakingUp() ? (since ?? monotonic) : undefined;
    if (since !== undefined && this.#takingUpSince === undefined) this.#meters.tookUp(monotonic - since);
    const epoch = this.#member.hub().published()?.epoch;
    if (epoch !== this.#tableSeen?.epoch) this.#tableSeen = epoch === undefined ? undefined : { epoch, at: monotonic };
    this.#rates.hear(this.#member.hub().holders(), this.#now().monotonic);
    this.#announce();
    const left = this.leaseLeftMs();
    this.#leaseEnd?.cancel();
    this.#leaseEnd = left > 0 ? this.#deps.clock.timer(left + 1, () => this.#announce()) : undefined;
    this.#report.refresh();
  }

  #announce(): void {
    const owned = {
      parts: this.#rights.ownedParts(),
      epoch: this.#member.table()?.epoch,
      shard: this.identity().shard,
    };
    if (this.#announcements.announce(owned)) this.#lastLoss = this.#now().monotonic;
  }
}

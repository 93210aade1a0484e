import { defined, newAbortController, OwnershipLost, Shutdown } from '#base';
import type { Clock, RandomSource, RequestOutcome } from '#base';
import type { KubeClient } from '#kube';
import type { AppKey, Application, Cluster } from '#model';
import type { Logger, MetricRegistry } from '#telemetry';
import { OwnershipAnnouncer } from './announcements.ts';
import { OwnershipConditions } from './conditions.ts';
import type { HubClient } from './config-maps.ts';
import { HubCoordinator } from './coordinator.ts';
import type { ShardingAlgorithm } from '../distribution/distribution.ts';
import { EventRateBook } from '../load/event-rates.ts';
import type { ApiAddress, LandingWrites } from '../documents/slots-document.ts';
import { ForeignController } from './foreign-controller.ts';
import type { ForeignStatusWrite } from './foreign-controller.ts';
import { unreachedClustersMessage } from './findings.ts';
import { HandOverLog } from './hand-over-log.ts';
import type { ProcessLocation } from '../documents/process-location.ts';
import { hubNews } from './hub-news.ts';
import type { HubTime } from '../timing/hub-time.ts';
import { unknownShardError } from './identity.ts';
import { ProtocolMember } from '../protocol/member.ts';
import type { ClusterReach, LocalInstant, LocalState } from '../protocol/member-types.ts';
import { registerLeaseMetrics, registerMetrics } from './metrics.ts';
import type { LeaseMeters } from './metrics.ts';
import { OwnershipReport } from './ownership-report.ts';
import { ordinalOf, OwnershipWorld } from './ownership-world.ts';
import { clusterDigest, clusterKey } from '../distribution/parts.ts';
import type { DefaultParts } from '../distribution/parts.ts';
import { ReplicaCount } from '../load/replica-count.ts';
import { shardsOf } from '../protocol/plan.ts';
import { OwnershipRights, serversOf } from './rights.ts';
import { SuspendDetector } from '../timing/suspend-detector.ts';
import { unresolvedDestination } from '../documents/table-document.ts';
import type { TableEntry } from '../documents/table-document.ts';
import { timingOf } from '../timing/timing.ts';
import type { ProtocolTiming, TimingOptions } from '../timing/timing.ts';
import type {
  Ownership,
  OwnedParts,
  OwnedPlace,
  OwnershipChange,
  OwnershipCondition,
  OwnershipFacts,
  ShardIdentity,
} from './types.ts';
import type { ClusterWeighting } from '../load/weights.ts';
import { WritePauses } from './write-pauses.ts';
import { InFlightWrites } from './writes-under-way.ts';

export interface OwnershipDeps extends TimingOptions {
  /** Client of the hub. */
  readonly client: HubClient & Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  readonly algorithm: ShardingAlgorithm;
  /**
   * --dynamic-cluster-distribution-enabled: claim any free shard instead of that of the host name.
   */
  readonly dynamic: boolean;
  readonly hostname: string;
  /**
   * ARGOCD_CONTROLLER_SHARD; negative or undefined: from the host name. Ignored with dynamic
   * distribution.
   */
  readonly shard?: number | undefined;
  /** ARGOCD_CONTROLLER_REPLICAS; 0: replicas of the workload. */
  readonly replicas: number;
  /** ARGOCD_APPLICATION_CONTROLLER_NAME. */
  readonly controllerName: string;
  /** ARGOCD_CONTROLLER_HEARTBEAT_TIME, in milliseconds. */
  readonly heartbeatMs: number;
  /** Interval of reads of a hub that cannot be watched. Undefined: it is watched. */
  readonly pollMs?: number | undefined;
  /**
   * A clock in milliseconds that advances during suspends (CLOCK_BOOTTIME); undefined: not
   * available.
   */
  readonly bootMs?: () => number;
  /**
   * The hub's clock from its responses, for machines whose clocks all stopped; undefined: not used.
   */
  readonly hubTime?: Pick<HubTime, 'losses' | 'answeredAt'>;
  /**
   * Where this process runs: a successor there need not wait for the lease. Undefined: it waits.
   */
  readonly home?: ProcessLocation;
  /** Where the read API of this replica answers; undefined: nowhere. */
  readonly api?: ApiAddress | undefined;
  /**
   * True if the caller calls `prepared` once caches are filled. Default: false; parts are then
   * handed over without waiting for caches.
   */
  readonly prepares?: boolean;
  /** For clusters without the annotation driftless.io/split. Absent: 1, not split. */
  readonly defaultParts?: DefaultParts;
  /** True: reports application controllers that run beside us and share no protocol. */
  readonly findsOthers?: boolean;
  /** How clusters are weighed under consistent hashing; default: by Applications. */
  readonly weighting?: ClusterWeighting;
}

/**
 * Delay between giving a part away and acknowledging that, for writes that were checked but not
 * wrapped in `writing`.
 */
const drainDelayMs = 100;
/** How long a replica that ends waits for the answers of its last writes. */
const abandonDelayMs = 1000;
/**
 * If the hub was silent for this long, a write also reads the hub to learn its time: all clocks of
 * this machine may have stopped.
 */
const hubSilenceMs = 1000;

/**
 * Ownership that replicas hand over through two ConfigMaps of the hub: the holders of shards (Argo
 * CD's own ConfigMap and JSON), and the table of clusters, which one replica publishes and all
 * obey. No cluster or part ever has two owners, whatever the order of events; rules and proof:
 * docs/adr/0010-ownership-handover.md. Nothing is owned before the first `update`. Runs until
 * aborted, then releases its shard; never rejects because of the hub.
 * @throws UsageError if the identity is static and this replica's shard is unknown.
 */
export function createOwnership(deps: OwnershipDeps): Ownership {
  return new LeasedOwnership(deps);
}

class LeasedOwnership implements Ownership {
  readonly name = 'ownership';
  readonly #deps: OwnershipDeps;
  readonly #timing: ProtocolTiming;
  readonly #member: ProtocolMember;
  readonly #coordinator: HubCoordinator;
  readonly #replicaCount: ReplicaCount;
  readonly #rights: OwnershipRights;
  readonly #world: OwnershipWorld;
  readonly #writes: InFlightWrites;
  #stopSignal: AbortSignal | undefined;
  readonly #announcements: OwnershipAnnouncer;
  readonly #report: OwnershipReport;
  readonly #conditions: OwnershipConditions;
  readonly #foreign: ForeignController;
  readonly #suspends: SuspendDetector;
  readonly #rates = new EventRateBook();
  readonly #handOvers = new HandOverLog();
  readonly #meters: LeaseMeters;
  readonly #pauses: WritePauses;
  #tableSeen: { readonly epoch: number; readonly at: number } | undefined;
  #takingUpSince: number | undefined;
  #lastLoss = Number.NEGATIVE_INFINITY;
  #suspensions = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #leavingSince: number | undefined;
  #prepared: ReadonlySet<string> = new Set();
  #reach: ClusterReach | undefined;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
    const { client, namespace, clock, random, logger, hostname, dynamic, weighting = 'applications' } = deps;
    const ordinal = ordinalOf(deps);
    if (!dynamic && deps.replicas > 1 && ordinal === undefined) throw unknownShardError(deps);
    const timing = timingOf(deps.heartbeatMs, deps);
    const member = new ProtocolMember({
      name: hostname,
      process: random.uuid(),
      timing,
      ...defined({ home: deps.home, api: deps.api }),
    });
    const now = (): LocalInstant => this.#now();
    const conditions = new OwnershipConditions(clock, logger);
    const rights = new OwnershipRights(member, now);
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
    this.#writes = new InFlightWrites(timing.marginMs, () => this.#now().monotonic);
    this.#announcements = new OwnershipAnnouncer(logger);
    this.#foreign = new ForeignController({ client, namespace, clock, ownWorkload: deps.controllerName });
    const foreign = this.#foreign;
    const reported = { member, rights, world, replicaCount, foreign, conditions, timing, now, hostname, numbered };
    this.#report = new OwnershipReport(reported);
    this.#meters = this.#registerMetrics(deps.metrics);
    this.#pauses = new WritePauses({ clock, timing, conditions, lapsed: (reason) => this.#meters.lapsed(reason) });
    this.#coordinator = new HubCoordinator({
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
      drainMs: () => this.#drainMs(),
      onTurn: () => this.#onTurn(),
      report: (type, message) => conditions.set(type, message),
    });
  }

  #registerMetrics(metrics: MetricRegistry): LeaseMeters {
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
    this.#stopSignal = signal;
    // The hints live as long as the coordinator, which releases the slot after the abort.
    const hinting = newAbortController();
    const { client, namespace, clock, random, logger, pollMs } = this.#deps;
    const hints = hubNews({
      client,
      namespace,
      clock,
      random,
      logger,
      pollMs,
      onSlots: (slots, object) => {
        this.#member.notice(slots, this.#now());
        this.#coordinator.watched(slots, object);
      },
      onNews: (what) => this.#coordinator.hint(what),
    });
    const looks = this.#deps.findsOthers === true ? [this.#foreign] : [];
    await Promise.all([
      this.#coordinator.run(signal).finally(() => hinting.abort(new Shutdown())),
      ...[this.#replicaCount, ...looks].map((each) => each.run(signal)),
      ...hints.map((each) => each.run(hinting.signal)),
    ]).finally(() => this.#pauses.close());
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
    this.#assertOwns(server, app, { isOver: false });
  }

  #assertOwns(server: string, app: AppKey | undefined, outcome: RequestOutcome): void {
    if (!this.#wasSuspended() && this.#rights.mayWriteTo(server, app)) return;
    const what = app === undefined ? `cluster ${server}` : `application ${app} of cluster ${server}`;
    throw new OwnershipLost(what, outcome);
  }

  async writing<T>(
    server: string | undefined,
    app: AppKey | undefined,
    send: (check: () => void, abandoned: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const write = { server: server ?? unresolvedDestination, app };
    this.assertOwns(write.server, app);
    this.#askTheTime();
    let isSent = false;
    const check = (): void => {
      this.#assertOwns(write.server, app, { isOver: !isSent });
      isSent = true;
    };
    return this.#writes.run(write, (abandoned) => send(check, abandoned));
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

  isUnowned(key: AppKey, cluster: Cluster): boolean {
    const server = clusterKey(cluster.server);
    return this.unowned().has(server) && this.#report.isUnowned(server, this.placeOf(key, cluster)?.part);
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
    // Only the planner acts on this now. The watch wakes the other replicas when the new table is
    // published.
    if (change === 'first' || (change === 'other' && this.#member.plans(this.#now()))) this.#coordinator.wake();
    this.#announce();
  }

  measure(events: ReadonlyMap<string, number>): void {
    this.#rates.measure(events, this.#now().monotonic);
  }

  onChange(listener: (change: OwnershipChange) => void): () => void {
    return this.#announcements.onChange(listener);
  }

  offered(): ReadonlySet<string> {
    const own = this.#member.slot(this.#now());
    const hub = this.#member.hub();
    const holders = [...hub.holders().values()].filter(
      ({ slot, unreached }) => slot !== own && unreached !== undefined,
    );
    if (holders.length === 0) return new Set();
    const offers = new Map(holders.map(({ slot, unreached }) => [slot, new Set(unreached)]));
    const isOffered = ([server, { shards }]: readonly [string, TableEntry]): boolean =>
      shards.some((shard) => offers.get(shard)?.has(clusterDigest(server)) === true);
    return new Set([...(hub.published()?.entries ?? [])].filter(isOffered).map(([server]) => server));
  }

  reportReach(reach: ClusterReach): void {
    const isNew = JSON.stringify(reach) !== JSON.stringify(this.#reach);
    this.#reach = reach;
    this.#conditions.set('ClustersUnreached', unreachedClustersMessage(reach.unreached));
    if (isNew) this.#coordinator.wake();
  }

  noteForeignWrite(write: ForeignStatusWrite): void {
    this.#foreign.noteWrite(write);
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

  facts(): OwnershipFacts {
    const table = this.#rights.table();
    const entries = [...(table?.entries ?? [])].filter(([server]) => server !== unresolvedDestination);
    return {
      next: () => {
        const inputs = this.#world.inputs();
        if (table === undefined || inputs === undefined) return undefined;
        return { ...inputs, current: { ...table, shards: shardsOf(table) } };
      },
      epoch: table?.epoch,
      epochSince: this.#handOvers.epochSince,
      algorithm: table?.algorithm ?? this.#deps.algorithm,
      shards: table?.replicas ?? this.identity().replicas,
      holders: this.#member.hub().holders(),
      entries: new Map(entries),
      handOvers: this.#handOvers.newestFirst(),
      unowned: this.unowned(),
    };
  }

  placeOf(key: AppKey, cluster: Cluster | undefined): OwnedPlace | undefined {
    const table = this.#rights.table();
    return table === undefined ? undefined : this.#rights.view()?.slotOf(key, cluster, table);
  }

  #now(): LocalInstant {
    return this.#coordinator.instant();
  }

  #wasSuspended(): boolean {
    if (!this.#suspends.wasSuspended()) return false;
    this.#suspensions += 1;
    this.#pauses.stop();
    this.#member.expireLease();
    this.#deps.logger.warn('the machine was suspended: no writes until the table of clusters was read again');
    this.#coordinator.wake();
    this.#announce();
    return true;
  }

  #askTheTime(): void {
    const { monotonic } = this.#now();
    const answeredAt = this.#deps.hubTime?.answeredAt() ?? monotonic;
    if (monotonic - Math.max(answeredAt, this.#askedAt) < hubSilenceMs) return;
    this.#askedAt = monotonic;
    this.#coordinator.wake();
  }

  #worldNow(leaving: boolean): LocalState {
    const warm = this.#deps.prepares === true ? this.#isWarm() : undefined;
    const landing = leaving ? this.#landing() : undefined;
    return this.#world.world({ leaving, drained: this.#isDrained(leaving), landing, warm, reach: this.#reach });
  }

  /** Waits a moment for answers at the end, then gives up requests that still run. */
  #landing(): LandingWrites | undefined {
    const { monotonic } = this.#now();
    this.#leavingSince ??= monotonic;
    if (monotonic - Math.max(this.#lastLoss, this.#leavingSince) < drainDelayMs) return undefined;
    if (monotonic - this.#leavingSince >= abandonDelayMs) this.#writes.abandon();
    return this.#writes.landing();
  }

  #isWarm(): boolean {
    return [...this.#rights.coming('announced').keys()].every((server) => this.#prepared.has(server));
  }

  #drainMs(): number {
    return Math.max(0, this.#lastLoss + drainDelayMs - this.#now().monotonic);
  }

  /** Reports whether no write to a part that was given away is in flight. */
  #isDrained(leaving: boolean): boolean {
    if (this.#drainMs() > 0) return false;
    const writes = this.#writes.all();
    return leaving ? writes.length === 0 : writes.every(({ server, app }) => this.#rights.mayWriteTo(server, app));
  }

  #onTurn(): void {
    const { monotonic } = this.#now();
    const since = this.#takingUpSince;
    this.#takingUpSince = this.#member.isTakingUp() ? (since ?? monotonic) : undefined;
    if (since !== undefined && this.#takingUpSince === undefined) this.#meters.tookUp(monotonic - since);
    const published = this.#member.hub().published();
    const epoch = published?.epoch;
    this.#handOvers.observe(published, this.#now().wall);
    if (epoch !== this.#tableSeen?.epoch) this.#tableSeen = epoch === undefined ? undefined : { epoch, at: monotonic };
    this.#rates.recordReports(this.#member.hub().holders(), this.#now().monotonic);
    this.#announce();
    const left = this.leaseLeftMs();
    const isLeaving = this.#stopSignal?.aborted === true;
    if (left > 0 && !isLeaving) this.#pauses.renewed(this.identity().shard, left, () => this.#announce());
    else this.#pauses.stop();
    // A replica that releases its shard is not on standby.
    if (!isLeaving) this.#report.refresh();
  }

  #announce(): void {
    const { shard } = this.identity();
    const owned = { parts: this.#rights.ownedParts(), epoch: this.#member.table()?.epoch, shard };
    if (this.#announcements.announce(owned)) this.#lastLoss = this.#now().monotonic;
  }
}

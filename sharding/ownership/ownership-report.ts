import type { OwnershipConditions } from './conditions.ts';
import type { ForeignController } from './foreign-controller.ts';
import { foreignHoldersMessage, outOfRangePinsMessage, unownedClustersMessage, standbyMessage } from './findings.ts';
import type { ProtocolMember } from '../protocol/member.ts';
import type { LocalInstant } from '../protocol/member-types.ts';
import type { OwnershipWorld } from './ownership-world.ts';
import { clusterKey } from '../distribution/parts.ts';
import type { ReplicaCount } from '../load/replica-count.ts';
import type { OwnershipRights } from './rights.ts';
import { unresolvedDestination } from '../documents/table-document.ts';
import type { ProtocolTiming } from '../timing/timing.ts';
import type { OwnershipCondition } from './types.ts';

export interface OwnershipReportDeps {
  readonly member: ProtocolMember;
  readonly rights: OwnershipRights;
  readonly world: OwnershipWorld;
  readonly replicaCount: Pick<ReplicaCount, 'problem'>;
  readonly foreign: Pick<ForeignController, 'message'>;
  readonly conditions: OwnershipConditions;
  readonly timing: ProtocolTiming;
  readonly now: () => LocalInstant;
  readonly hostname: string;
  readonly numbered: boolean;
}

/** Effect: conditions and warnings about the fleet as this replica sees it. */
export class OwnershipReport {
  readonly #deps: OwnershipReportDeps;
  #tablelessSince: number | undefined;
  #slotlessSince: number | undefined;
  /** Clusters that this replica sees and the table lacks, and since when. */
  #offTable: ReadonlyMap<string, number> = new Map();

  constructor(deps: OwnershipReportDeps) {
    this.#deps = deps;
  }

  /** Updates the conditions. */
  refresh(): void {
    const { member, rights, conditions, replicaCount, foreign } = this.#deps;
    const problem = replicaCount.problem();
    const { replicas } = rights.table() ?? {};
    const view = rights.view();
    const findings: readonly (readonly [OwnershipCondition['type'], string | undefined])[] = [
      ['ReplicasMismatch', problem?.type === 'ReplicasMismatch' ? problem.message : undefined],
      ['ReplicasUnknown', problem?.type === 'ReplicasUnknown' ? problem.message : undefined],
      ['Standby', this.#standsBy() ? this.#whyStandby(replicas ?? 1) : undefined],
      ['ForeignController', foreign.message()],
      ['ForeignHolder', foreignHoldersMessage(member.hub().presence.foreign())],
      ['PinOutOfRange', outOfRangePinsMessage(replicas === undefined ? [] : (view?.clusters ?? []), replicas ?? 1)],
      ['ClusterUnowned', unownedClustersMessage(this.unowned().keys())],
    ];
    for (const [type, message] of findings) conditions.set(type, message);
  }

  /** Clusters unattended for more than two leases, and for how long; includes {@link unseen}. */
  unowned(): ReadonlyMap<string, number> {
    const { member, rights, timing } = this.#deps;
    const now = this.#deps.now().monotonic;
    const since = rights.table() === undefined ? this.#tableless(now) : member.hub().unowned();
    if (rights.table() !== undefined) this.#tablelessSince = undefined;
    const ages = [...since].map(([server, parts]) => [server, now - Math.min(...parts)] as const);
    const isMissed = (server: string): boolean =>
      server !== unresolvedDestination && rights.view()?.isSkipped(server) !== true;
    return new Map([...ages.filter(([server, age]) => age > 2 * timing.leaseMs && isMissed(server)), ...this.unseen()]);
  }

  /** Whether a part of one of the {@link unowned} clusters is unattended, and not only another. */
  isUnowned(server: string, part: number | undefined): boolean {
    const { member, rights, timing } = this.#deps;
    const since = rights.table() === undefined ? undefined : member.hub().unowned().get(server);
    const at = since === undefined || part === undefined ? undefined : since[part];
    return at === undefined || this.#deps.now().monotonic - at > 2 * timing.leaseMs;
  }

  /**
   * Clusters that this replica sees and the published table lacks, and for how long: the planner
   * does not see them.
   */
  offTable(): ReadonlyMap<string, number> {
    const now = this.#deps.now().monotonic;
    const clusters = this.#deps.rights.view()?.clusters ?? [];
    const entries = this.#deps.rights.table()?.entries;
    const missing = clusters.map(({ server }) => clusterKey(server)).filter((server) => entries?.has(server) === false);
    this.#offTable = new Map(missing.map((server) => [server, this.#offTable.get(server) ?? now]));
    return new Map([...this.#offTable].map(([server, since]) => [server, now - since]));
  }

  /**
   * The clusters of {@link offTable} after more than two leases. Every replica that sees them
   * reports them, because the planner cannot.
   */
  unseen(): ReadonlyMap<string, number> {
    const isMissed = ([server, age]: readonly [string, number]): boolean =>
      age > 2 * this.#deps.timing.leaseMs && this.#deps.rights.view()?.isSkipped(server) !== true;
    return new Map([...this.offTable()].filter(isMissed));
  }

  /**
   * Reports whether this replica has no shard and is not about to get one. At a normal start its
   * shard is free, so standby is reported only if claiming the shard takes longer than a lease.
   */
  #standsBy(): boolean {
    const { member, rights, world, timing } = this.#deps;
    const now = this.#deps.now();
    if (rights.view() === undefined || member.slot(now) !== undefined) {
      this.#slotlessSince = undefined;
      return false;
    }
    this.#slotlessSince ??= now.monotonic;
    if (now.monotonic - this.#slotlessSince > timing.leaseMs) return true;
    const { replicas } = rights.table() ?? {};
    const holders = member.hub().holders();
    const wanted = world.fixedSlot();
    if (wanted !== undefined) return holders.has(wanted) || wanted >= (replicas ?? Number.POSITIVE_INFINITY);
    return holders.size >= (replicas ?? 1);
  }

  #whyStandby(replicas: number): string {
    const { hostname, numbered, member, world } = this.#deps;
    return standbyMessage({ hostname, numbered, replicas, wanted: world.fixedSlot(), holders: member.hub().holders() });
  }

  /** Without a table no cluster has an owner. */
  #tableless(now: number): ReadonlyMap<string, readonly number[]> {
    const clusters = this.#deps.rights.view()?.clusters ?? [];
    if (clusters.length > 0) this.#tablelessSince ??= now;
    return new Map(clusters.map(({ server }) => [clusterKey(server), [this.#tablelessSince ?? now]]));
  }
}

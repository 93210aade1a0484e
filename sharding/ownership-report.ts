import type { Conditions } from './conditions.ts';
import { foreignHolders, outOfRangePins, unownedClusters, whyStandby } from './findings.ts';
import type { Member } from './member.ts';
import type { Instant } from './member-types.ts';
import type { OwnershipWorld } from './ownership-world.ts';
import { clusterKey } from './parts.ts';
import type { ReplicaCount } from './replica-count.ts';
import type { Rights } from './rights.ts';
import { unresolvedDestination } from './table-document.ts';
import type { Timing } from './timing.ts';
import type { OwnershipCondition } from './types.ts';

export interface OwnershipReportDeps {
  readonly member: Member;
  readonly rights: Rights;
  readonly world: OwnershipWorld;
  readonly replicaCount: Pick<ReplicaCount, 'problem'>;
  readonly conditions: Conditions;
  readonly timing: Timing;
  readonly now: () => Instant;
  readonly hostname: string;
  readonly numbered: boolean;
}

/** Effect: what people are told of the fleet as this replica sees it. */
export class OwnershipReport {
  readonly #deps: OwnershipReportDeps;
  #tablelessSince: number | undefined;
  #slotlessSince: number | undefined;
  /** Clusters that this replica sees and the table does not have, and since when. */
  #offTable: ReadonlyMap<string, number> = new Map();

  constructor(deps: OwnershipReportDeps) {
    this.#deps = deps;
  }

  /** Brings the conditions up to date. */
  refresh(): void {
    const { member, rights, conditions, replicaCount } = this.#deps;
    const problem = replicaCount.problem();
    const { replicas } = rights.table() ?? {};
    const view = rights.view();
    const findings: readonly (readonly [OwnershipCondition['type'], string | undefined])[] = [
      ['ReplicasMismatch', problem?.type === 'ReplicasMismatch' ? problem.message : undefined],
      ['ReplicasUnknown', problem?.type === 'ReplicasUnknown' ? problem.message : undefined],
      ['Standby', this.#standsBy() ? this.#whyStandby(replicas ?? 1) : undefined],
      ['ForeignHolder', foreignHolders(member.hub().presence.foreign())],
      ['PinOutOfRange', outOfRangePins(replicas === undefined ? [] : (view?.inputs.clusters ?? []), replicas ?? 1)],
      ['ClusterUnowned', unownedClusters(this.unowned().keys())],
    ];
    for (const [type, message] of findings) conditions.set(type, message);
  }

  /** Clusters that nobody has looked after for more than two leases, with the time since. */
  unowned(): ReadonlyMap<string, number> {
    const { member, rights, timing } = this.#deps;
    const now = this.#deps.now().monotonic;
    const since = rights.table() === undefined ? this.#tableless(now) : member.hub().unowned();
    if (rights.table() !== undefined) this.#tablelessSince = undefined;
    const ages = [...since].map(([server, at]) => [server, now - at] as const);
    const isMissed = (server: string): boolean =>
      server !== unresolvedDestination && rights.view()?.isSkipped(server) !== true;
    return new Map([...ages.filter(([server, age]) => age > 2 * timing.leaseMs && isMissed(server)), ...this.unseen()]);
  }

  /** Clusters of the own view that the published table does not have: whoever plans does not see them. With the time since. */
  offTable(): ReadonlyMap<string, number> {
    const now = this.#deps.now().monotonic;
    const { clusters } = this.#deps.rights.view()?.inputs ?? { clusters: [] };
    const entries = this.#deps.rights.table()?.entries;
    const missing = clusters.map(({ server }) => clusterKey(server)).filter((server) => entries?.has(server) === false);
    this.#offTable = new Map(missing.map((server) => [server, this.#offTable.get(server) ?? now]));
    return new Map([...this.#offTable].map(([server, since]) => [server, now - since]));
  }

  /** Those of them that nobody has looked after for more than two leases: every replica that sees them tells, since the planner cannot. */
  unseen(): ReadonlyMap<string, number> {
    const isMissed = ([server, age]: readonly [string, number]): boolean =>
      age > 2 * this.#deps.timing.leaseMs && this.#deps.rights.view()?.isSkipped(server) !== true;
    return new Map([...this.offTable()].filter(isMissed));
  }

  /**
   * It has no shard, and none is about to be its own. At a normal start its shard is free: nobody has to know that it is being claimed, unless that
   * takes longer than a lease.
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
    return whyStandby({ hostname, numbered, replicas, wanted: world.fixedSlot(), holders: member.hub().holders() });
  }

  /** While there is no table, everybody's clusters are nobody's. */
  #tableless(now: number): ReadonlyMap<string, number> {
    const { clusters } = this.#deps.rights.view()?.inputs ?? { clusters: [] };
    if (clusters.length > 0) this.#tablelessSince ??= now;
    return new Map(clusters.map(({ server }) => [clusterKey(server), this.#tablelessSince ?? now]));
  }
}

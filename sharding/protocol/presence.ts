import { hasReached } from '../documents/bounds.ts';
import { isForeign, unknownHolder } from '../documents/slots-document.ts';
import type { SlotRecord, SlotHolders } from '../documents/slots-document.ts';
import { longestLeaseMs } from '../timing/timing.ts';
import type { ProtocolTiming } from '../timing/timing.ts';

/** Lease of Argo CD, and ours with the default heartbeat. */
const usualLeaseMs = 30_000;

interface ObservedRecord {
  /** While the record stays unchanged, its holder is silent. */
  readonly record: SlotRecord;
  readonly firstSeen: number;
}

/** One read of the holders: when it was sent and answered. */
export interface HoldersSeen {
  readonly slots: SlotHolders;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** How many slots should be held. */
  readonly replicas: number;
  /** Epoch of the published table. */
  readonly epoch: number;
}

interface UnpreparedHolder {
  readonly incarnation: string;
  readonly since: number;
}

interface LaggingHolder {
  readonly acked: string;
  readonly since: number;
}

/**
 * Observation: which holders are alive, by our monotonic clock and their renewals; clocks of others
 * are never trusted. A holder whose record is unchanged for a lease is gone.
 */
export class HolderPresence {
  readonly #timing: ProtocolTiming;
  readonly #observed = new Map<number, ObservedRecord>();
  #longest: number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #holders: SlotHolders = new Map();
  #expired: ReadonlySet<number> = new Set();
  #idle: ReadonlyMap<number, number> = new Map();
  /** Live holders that have not acknowledged the table, and since when they make no progress. */
  #behind: ReadonlyMap<number, LaggingHolder> = new Map();
  /** Live holders that fill caches for announced parts, and since when. */
  #cold: ReadonlyMap<number, UnpreparedHolder> = new Map();
  /** Slots whose last holder died. */
  readonly #dead = new Set<number>();

  constructor(timing: ProtocolTiming) {
    this.#timing = timing;
    this.#longest = timing.leaseMs;
  }

  observe({ slots, sentAt, answeredAt, replicas, epoch }: HoldersSeen): void {
    // We were disconnected too, so restart every holder's silence timer.
    const wasAway = sentAt - this.#lookedAt > this.#timing.validMs;
    this.#lookedAt = answeredAt;
    if (wasAway) this.#observed.clear();
    const expired = new Set<number>();
    for (const [slot, record] of slots) {
      const known = this.#observed.get(slot);
      if (known === undefined || hasRenewed(known.record, record))
        this.#observed.set(slot, { record, firstSeen: answeredAt });
      else if (sentAt - known.firstSeen > this.#leaseOf(record)) expired.add(slot);
      this.#longest = Math.max(this.#longest, this.#leaseOf(record));
    }
    for (const slot of this.#observed.keys()) if (!slots.has(slot)) this.#observed.delete(slot);
    this.#holders = slots;
    this.#expired = expired;
    for (const slot of expired) this.#dead.add(slot);
    for (const slot of slots.keys()) if (this.isLive(slot)) this.#dead.delete(slot);
    const idle = Array.from({ length: replicas }, (_, slot) => slot).filter((slot) => !this.isLive(slot));
    this.#idle = new Map(idle.map((slot) => [slot, this.#idle.get(slot) ?? answeredAt]));
    const behind = [...slots].filter(([slot, { acked }]) => this.isLive(slot) && !hasReached(acked, epoch));
    this.#behind = new Map(
      behind.map(([slot, record]) => {
        const acked = `${record.incarnation} ${record.acked}`;
        const before = this.#behind.get(slot);
        return [slot, { acked, since: before?.acked === acked ? before.since : answeredAt }];
      }),
    );
    const cold = [...slots].filter(([slot, { warm = epoch }]) => this.isLive(slot) && !hasReached(warm, epoch));
    this.#cold = new Map(
      cold.map(([slot, { incarnation }]) => {
        const before = this.#cold.get(slot);
        return [slot, { incarnation, since: before?.incarnation === incarnation ? before.since : answeredAt }];
      }),
    );
  }

  /** Holders that still fill their caches for announced parts, and have time left to do so. */
  cold(now: number): ReadonlySet<number> {
    const { warmUpMs } = this.#timing;
    return new Set([...this.#cold].filter(([, { since }]) => now < since + warmUpMs).map(([slot]) => slot));
  }

  /**
   * Reports whether a holder may take over a part from another holder: if its caches are filled,
   * filling them took too long, or it does not report them. It cannot have prepared for a part that
   * is not announced. A slot without a live holder is not ready, also before it counts as absent.
   */
  isReady(slot: number, isAnnounced: boolean, now: number): boolean {
    if (!this.isLive(slot)) return false;
    if (this.#holders.get(slot)?.warm === undefined) return true;
    const since = this.#cold.get(slot)?.since;
    if (since !== undefined) return now >= since + this.#timing.warmUpMs;
    return isAnnounced;
  }

  /**
   * Takes in renewals from the watch, between reads. A late one only delays the expiry of its
   * holder; nothing else is derived from it.
   */
  notice(slots: SlotHolders, now: number): void {
    for (const [slot, record] of slots) {
      const known = this.#observed.get(slot)?.record;
      if (known === undefined || hasRenewed(known, record)) this.#observed.set(slot, { record, firstSeen: now });
    }
  }

  /** Reports whether the holder was silent for a lease. It writes nothing any more. */
  isExpired(slot: number): boolean {
    return this.#expired.has(slot);
  }

  expired(): ReadonlySet<number> {
    return this.#expired;
  }

  isLive(slot: number): boolean {
    const record = this.#holders.get(slot);
    return record !== undefined && record.holder !== unknownHolder && !this.#expired.has(slot);
  }

  /** Slots with a live holder, ascending. */
  live(): readonly number[] {
    return [...this.#holders.keys()].filter((slot) => this.isLive(slot)).sort((a, b) => a - b);
  }

  /** Slots without a live holder, and since when that is known. */
  idle(): ReadonlyMap<number, number> {
    return this.#idle;
  }

  /**
   * Slots whose clusters are unattended, and since when: no live holder, or one that does not obey
   * the table.
   */
  unattended(): ReadonlyMap<number, number> {
    return new Map([...this.#idle, ...[...this.#behind].map(([slot, { since }]) => [slot, since] as const)]);
  }

  /** Live holders that are replicas of Argo CD itself, by slot. */
  foreign(): ReadonlyMap<number, string> {
    const live = [...this.#holders].filter(([slot, record]) => this.isLive(slot) && isForeign(record));
    return new Map(live.map(([slot, { holder }]) => [slot, holder]));
  }

  /**
   * Slots that others should stand in for. A released slot (rolling update) will soon be held
   * again, so others wait `successorMs`. After a death a lease has passed already, so they wait
   * only `standInMs`.
   */
  absent(now: number): ReadonlySet<number> {
    return new Set([...this.#absences()].filter(([, since]) => now >= since).map(([slot]) => slot));
  }

  /** When others should begin to stand in for each slot. */
  *#absences(): Iterable<readonly [number, number]> {
    const { successorMs, standInMs } = this.#timing;
    for (const [slot, since] of this.#idle)
      if (!this.#holders.has(slot)) yield [slot, since + (this.#dead.has(slot) ? standInMs : successorMs)];
  }

  /**
   * Reports whether the holder was silent for half of its lease. It is dead or in trouble, so
   * another replica plans.
   */
  isSilent(record: SlotRecord, now: number): boolean {
    const seen = this.#observed.get(record.slot)?.firstSeen ?? Number.NEGATIVE_INFINITY;
    const leaseMs = record.leaseMs ?? usualLeaseMs;
    return now - seen > Math.max(this.#timing.leaseMs, leaseMs) / 2;
  }

  longestOf(records: Iterable<SlotRecord>): number {
    return Math.max(this.#timing.leaseMs, ...[...records].map((record) => this.#leaseOf(record)));
  }

  /** Longest lease of any holder that this replica has seen. */
  longestLease(): number {
    return this.#longest;
  }

  /**
   * Silence after which a holder is gone: the longer of its recorded lease and ours. Older releases
   * do not record one: assume the longest.
   */
  #leaseOf(record: SlotRecord): number {
    return Math.max(this.#timing.leaseMs, record.leaseMs ?? (isForeign(record) ? usualLeaseMs : longestLeaseMs));
  }

  /** When live holders will expire, unless they renew. */
  expiries(): readonly number[] {
    return [...this.#observed].flatMap(([slot, { firstSeen }]) =>
      this.#expired.has(slot) ? [] : [firstSeen + this.#leaseAt(slot) + 1],
    );
  }

  #leaseAt(slot: number): number {
    const record = this.#holders.get(slot);
    return record === undefined ? this.#timing.leaseMs : this.#leaseOf(record);
  }

  /** When others should begin to stand in. */
  absences(now: number): readonly number[] {
    return [...this.#absences()].map(([, since]) => since).filter((since) => since > now);
  }

  /** When the time runs out for holders that still fill their caches. */
  warmUps(now: number): readonly number[] {
    return [...this.#cold.values()].map(({ since }) => since + this.#timing.warmUpMs).filter((at) => at > now);
  }

  /** One more than the highest held slot, unknown holders included. */
  slotCount(): number {
    return Math.max(0, ...[...this.#observed.keys()].map((slot) => slot + 1));
  }
}

function hasRenewed(known: SlotRecord, seen: SlotRecord): boolean {
  return known !== seen && (known.renewals !== seen.renewals || known.incarnation !== seen.incarnation);
}

import { isForeign, unknownHolder } from './slots-document.ts';
import type { SlotRecord, Slots } from './slots-document.ts';
import { longestLeaseMs } from './timing.ts';
import type { Timing } from './timing.ts';

/** Argo CD's, and ours, unless somebody has changed the heartbeat. */
const usualLeaseMs = 30_000;

interface Observation {
  /** A holder that has not moved has a record that says the same. */
  readonly record: SlotRecord;
  readonly firstSeen: number;
}

/** One look at the holders: when the read was sent and when it was answered. */
export interface HoldersSeen {
  readonly slots: Slots;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** How many slots should be held. */
  readonly replicas: number;
  /** Of the published table. */
  readonly epoch: number;
}

interface Cold {
  readonly incarnation: string;
  readonly since: number;
}

interface Behind {
  readonly acked: string;
  readonly since: number;
}

/**
 * Who is there, by this replica's own monotonic clock and the holders' renewals: clocks of others are never trusted. A holder whose record
 * has not changed for a lease is gone.
 */
export class Presence {
  readonly #timing: Timing;
  readonly #observed = new Map<number, Observation>();
  #longest: number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #holders: Slots = new Map();
  #expired: ReadonlySet<number> = new Set();
  #idle: ReadonlyMap<number, number> = new Map();
  /** Live holders that have not acknowledged the table, and since when they have not moved towards it. */
  #behind: ReadonlyMap<number, Behind> = new Map();
  /** Live holders that fill their caches for what the table will give to them, and since when. */
  #cold: ReadonlyMap<number, Cold> = new Map();
  /** Slots whose last holder died. */
  readonly #dead = new Set<number>();

  constructor(timing: Timing) {
    this.#timing = timing;
    this.#longest = timing.leaseMs;
  }

  observe({ slots, sentAt, answeredAt, replicas, epoch }: HoldersSeen): void {
    // Who could not look for so long knows nothing of others' silence: what kept it away may have kept them away, too.
    const wasAway = sentAt - this.#lookedAt > this.#timing.validMs;
    this.#lookedAt = answeredAt;
    if (wasAway) this.#observed.clear();
    const expired = new Set<number>();
    for (const [slot, record] of slots) {
      const known = this.#observed.get(slot);
      if (known === undefined || hasMoved(known.record, record))
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
    const behind = [...slots].filter(([slot, { acked }]) => this.isLive(slot) && acked < epoch);
    this.#behind = new Map(
      behind.map(([slot, record]) => {
        const acked = `${record.incarnation} ${record.acked}`;
        const before = this.#behind.get(slot);
        return [slot, { acked, since: before?.acked === acked ? before.since : answeredAt }];
      }),
    );
    const cold = [...slots].filter(([slot, { warm = epoch }]) => this.isLive(slot) && warm < epoch);
    this.#cold = new Map(
      cold.map(([slot, { incarnation }]) => {
        const before = this.#cold.get(slot);
        return [slot, { incarnation, since: before?.incarnation === incarnation ? before.since : answeredAt }];
      }),
    );
  }

  /** Holders that have not filled their caches for all that the published table will give to them, and may take longer. */
  cold(now: number): ReadonlySet<number> {
    const { warmUpMs } = this.#timing;
    return new Set([...this.#cold].filter(([, { since }]) => now < since + warmUpMs).map(([slot]) => slot));
  }

  /**
   * Whether a holder may get a part that another one has: it has filled its caches, took too long, or says nothing of that. What the published table
   * does not announce, it cannot have prepared for.
   */
  isReady(slot: number, isAnnounced: boolean, now: number): boolean {
    if (this.#holders.get(slot)?.warm === undefined) return true;
    const since = this.#cold.get(slot)?.since;
    if (since !== undefined) return now >= since + this.#timing.warmUpMs;
    return isAnnounced;
  }

  /** Signs of life that came by the watch, between looks. Late ones only make us more patient; nothing else is believed on their word. */
  notice(slots: Slots, now: number): void {
    for (const [slot, record] of slots) {
      const known = this.#observed.get(slot)?.record;
      if (known === undefined || hasMoved(known, record)) this.#observed.set(slot, { record, firstSeen: now });
    }
  }

  /** The holder was silent for a lease: it writes nothing any more. */
  isExpired(slot: number): boolean {
    return this.#expired.has(slot);
  }

  /** All of them. */
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

  /** Slots whose clusters nobody looks after, and since when: without a live holder, or with one that does not obey the table. */
  unattended(): ReadonlyMap<number, number> {
    return new Map([...this.#idle, ...[...this.#behind].map(([slot, { since }]) => [slot, since] as const)]);
  }

  /** The holders that are replicas of Argo CD itself, by slot. */
  foreign(): ReadonlyMap<number, string> {
    const live = [...this.#holders].filter(([slot, record]) => this.isLive(slot) && isForeign(record));
    return new Map(live.map(([slot, { holder }]) => [slot, holder]));
  }

  /**
   * Slots that others should stand in for. One that was given back in order (a rolling update) will be held again soon, so that its clusters
   * stay where they are for a lease; one whose holder died has cost a lease already.
   */
  absent(now: number): ReadonlySet<number> {
    return new Set([...this.#absences()].filter(([, since]) => now >= since).map(([slot]) => slot));
  }

  /** From when on others should stand in for a slot. */
  *#absences(): Iterable<readonly [number, number]> {
    const { leaseMs, standInMs } = this.#timing;
    for (const [slot, since] of this.#idle)
      if (!this.#holders.has(slot)) yield [slot, since + (this.#dead.has(slot) ? standInMs : leaseMs)];
  }

  /** The holder of a slot has not moved for half of its lease: it is dead, or in trouble, and leaves planning to others. */
  isSilent(record: SlotRecord, now: number): boolean {
    const seen = this.#observed.get(record.slot)?.firstSeen ?? Number.NEGATIVE_INFINITY;
    const leaseMs = record.leaseMs ?? usualLeaseMs;
    return now - seen > Math.max(this.#timing.leaseMs, leaseMs) / 2;
  }

  longestOf(records: Iterable<SlotRecord>): number {
    return Math.max(this.#timing.leaseMs, ...[...records].map((record) => this.#leaseOf(record)));
  }

  /** The longest lease that any holder may have had as far as this replica has seen. */
  longestLease(): number {
    return this.#longest;
  }

  /**
   * How long a holder must have been silent: by its own record, and by what this replica takes for enough. A replica of an older release does
   * not say: it may have the longest one.
   */
  #leaseOf(record: SlotRecord): number {
    return Math.max(this.#timing.leaseMs, record.leaseMs ?? (isForeign(record) ? usualLeaseMs : longestLeaseMs));
  }

  /** When holders that are live now will be gone, unless they move. */
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

  /** When those who still fill their caches will have taken too long. */
  warmUps(now: number): readonly number[] {
    return [...this.#cold.values()].map(({ since }) => since + this.#timing.warmUpMs).filter((at) => at > now);
  }

  /** One more than the highest slot that has a holder, known or not. */
  slotCount(): number {
    return Math.max(0, ...[...this.#observed.keys()].map((slot) => slot + 1));
  }
}

function hasMoved(known: SlotRecord, seen: SlotRecord): boolean {
  return known !== seen && (known.renewals !== seen.renewals || known.incarnation !== seen.incarnation);
}

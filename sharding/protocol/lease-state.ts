import type { HubKnowledge } from './hub-knowledge.ts';
import type { LocalInstant, HubObservation } from './member-types.ts';
import { isFinerSplit } from '../distribution/parts.ts';
import { hasReached, isNewerEpoch } from '../documents/bounds.ts';
import type { SlotRecord } from '../documents/slots-document.ts';
import { unresolvedDestination } from '../documents/table-document.ts';
import type { TableDocument, TableEntry } from '../documents/table-document.ts';
import type { ProtocolTiming } from '../timing/timing.ts';
import { releasePredecessors } from './release-order.ts';

export interface SlotLease {
  readonly slot: number;
  readonly incarnation: string;
  /** From the record that was written last. */
  readonly renewals: number;
  /** On our clocks: writes are allowed before both. */
  readonly until: LocalInstant;
  readonly renewedAt: number;
  /** Only tables read after this moment may be obeyed. */
  readonly claimedAt: number;
}

/** Parts that the obeyed table gives to others, and that are not released yet. */
interface PendingRelease {
  readonly epoch: number;
  /** Slots that must acknowledge that epoch first. */
  readonly predecessors: readonly number[];
  readonly since: number;
}

/** Parts by server. */
export type PartsByServer = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * Effect: the rights of this replica: its lease, the table it obeys, and the parts it has taken up.
 */
export class LeaseState {
  readonly #timing: ProtocolTiming;
  #lease: SlotLease | undefined;
  #table: TableDocument | undefined;
  #acked = 0;
  #taken: PartsByServer = new Map();
  #pendingRelease: PendingRelease | undefined;
  #open = false;

  constructor(timing: ProtocolTiming) {
    this.#timing = timing;
  }

  lease(): SlotLease | undefined {
    return this.#lease;
  }

  /** How long this replica may write without a renewal. 0: not at all. */
  leaseLeft(now: LocalInstant): number {
    if (this.#lease === undefined) return 0;
    const { until } = this.#lease;
    return Math.max(0, Math.min(until.monotonic - now.monotonic, until.wall - now.wall));
  }

  /** The table that is obeyed. */
  table(): TableDocument | undefined {
    return this.#table;
  }

  /** Highest epoch acknowledged in the present lease. */
  acked(): number {
    return this.#acked;
  }

  /** Parts taken up, by server; valid only while {@link leaseLeft} is above 0. */
  taken(): PartsByServer {
    return this.#taken;
  }

  /** Reports whether the table gives us parts that could not be taken up yet. */
  isOpen(): boolean {
    return this.#open;
  }

  /** Reports whether parts that the obeyed table gives to others are not released yet. */
  isReleasing(): boolean {
    return this.#pendingRelease !== undefined;
  }

  /** Reports whether the obeyed table is acknowledged. */
  hasAcked(): boolean {
    return this.#table !== undefined && this.#acked === this.#table.epoch;
  }

  /**
   * Drops all rights when the lease ran out by our clock: a renewal counts as a new claim, which
   * must read the table again.
   */
  dropLapsedLease(now: LocalInstant): void {
    if (this.#lease !== undefined && this.leaseLeft(now) === 0) this.resetLease();
  }

  /**
   * Takes in a successful write of our record, sent at `sent` and answered at `now`. `stood`: our
   * claim was in the slots before.
   */
  renewed(record: SlotRecord, sent: LocalInstant, now: LocalInstant, stood: boolean): void {
    const fresh = this.#lease === undefined || this.leaseLeft(now) === 0 || !stood;
    if (fresh) this.resetLease();
    const { validMs: valid } = this.#timing;
    this.#lease = {
      slot: record.slot,
      incarnation: record.incarnation,
      renewals: record.renewals,
      until: { monotonic: sent.monotonic + valid, wall: sent.wall + valid },
      renewedAt: sent.monotonic,
      claimedAt: fresh ? now.monotonic : (this.#lease?.claimedAt ?? now.monotonic),
    };
    this.#acked = fresh ? 0 : record.acked;
  }

  /** Expires the lease because its clocks cannot be trusted; only a renewal restores it. */
  expireLease(): void {
    if (this.#lease === undefined) return;
    const over = Number.NEGATIVE_INFINITY;
    this.#lease = { ...this.#lease, until: { monotonic: over, wall: over } };
    this.resetLease();
  }

  /** The slot is lost. */
  loseSlot(): void {
    this.#lease = undefined;
    this.resetLease();
  }

  /** Keeps the slot, but resets everything done in it. */
  resetLease(): void {
    this.#table = undefined;
    this.#acked = 0;
    this.#taken = new Map();
    this.#pendingRelease = undefined;
    this.#open = false;
  }

  /** Releases all parts; returns whether there were any. */
  releaseParts(): boolean {
    const hadSome = this.#taken.size > 0;
    this.#taken = new Map();
    this.#pendingRelease = undefined;
    return hadSome;
  }

  /**
   * Obeys a newer table. Releases the parts that another replica may take up without waiting for
   * us; {@link releaseInTurn} releases the others, and {@link takeUp} takes up new ones later.
   */
  adopt({ table, slots, since, until }: HubObservation, hub: HubKnowledge): void {
    if (table.state !== 'ok' || slots.state !== 'ok' || this.#lease === undefined) return;
    if (since < this.#lease.claimedAt || isNewerEpoch(hub.floor(this.#table), table.value.epoch)) return;
    if (this.#table?.epoch === table.value.epoch) return;
    this.#spreadTaken(this.#table, table.value);
    this.#table = table.value;
    this.#keepParts((entry, part) => this.#isReleased(entry, part, hub) || this.#isAwaited(entry, part, hub));
    // A newer table no longer shows who waits under the table before it.
    const { predecessors = [], since: earlier = until } = this.#pendingRelease ?? {};
    this.#pendingRelease = {
      epoch: table.value.epoch,
      predecessors: [...predecessors, ...releasePredecessors(table.value, this.#lease.slot)],
      since: earlier,
    };
    this.#open = true;
  }

  /**
   * Releases what the obeyed table gives to others, when those that go first have acknowledged it
   * or take too long.
   */
  releaseInTurn(hub: HubKnowledge, { monotonic }: Pick<LocalInstant, 'monotonic'>): void {
    if (this.#pendingRelease === undefined) return;
    const { epoch, predecessors, since } = this.#pendingRelease;
    const isLate = monotonic - since >= this.#timing.releaseMs;
    const isTurn = isLate || predecessors.every((slot) => hub.settled({ slot, epoch }));
    const slot = this.#lease?.slot;
    this.#keepParts((entry, part) => entry.shards[part] === slot || (!isTurn && this.#isAwaited(entry, part, hub)));
    const entries = this.#table?.entries;
    const isPending = [...this.#taken].some(([server, parts]) =>
      [...parts].some((part) => entries?.get(server)?.shards[part] !== slot),
    );
    if (!isPending) this.#pendingRelease = undefined;
  }

  /** A split into more parts changes no owner by itself. */
  #spreadTaken(from: TableDocument | undefined, to: TableDocument): void {
    if (from === undefined) return;
    const all = new Map(this.#taken);
    for (const [server, parts] of this.#taken) {
      const [before = 0, after = 0] = [from, to].map(({ entries }) => entries.get(server)?.shards.length);
      if (!isFinerSplit(before, after)) continue;
      all.set(server, new Set(Array.from({ length: after }, (_, i) => i).filter((i) => parts.has(i % before))));
    }
    this.#taken = all;
  }

  #keepParts(isKept: (entry: TableEntry, part: number) => boolean): void {
    const kept = new Map<string, ReadonlySet<number>>();
    for (const [server, parts] of this.#taken) {
      const entry = this.#table?.entries.get(server);
      const still = [...parts].filter((part) => entry !== undefined && isKept(entry, part));
      if (still.length > 0) kept.set(server, new Set(still));
    }
    this.#taken = kept;
  }

  /** Takes up what the acknowledged table gives and no other replica can have any more. */
  takeUp(hub: HubKnowledge): void {
    if (this.#table === undefined || this.#lease === undefined || !this.#open) return;
    if (!this.hasAcked() || hub.slots() === undefined) return;
    // A replica that acknowledged a newer table may not have released the parts that our table
    // takes from it.
    if (isNewerEpoch(hub.floor(this.#table), this.#table.epoch)) return;
    const { slot } = this.#lease;
    if (hub.isContested(this.#table)) return;
    let open = false;
    const taken = new Map<string, ReadonlySet<number>>();
    for (const [server, entry] of this.#table.entries) {
      const mine = entry.shards.flatMap((shard, part) => (shard === slot ? [part] : []));
      if (mine.length === 0) continue;
      const old = this.#taken.get(server);
      const isLanding = hub.landing.isLanding(server, entry.everyone);
      const now = mine.filter((part) => old?.has(part) === true || (!isLanding && this.#isReleased(entry, part, hub)));
      if (now.length > 0) taken.set(server, new Set(now));
      open ||= now.length < mine.length;
    }
    this.#taken = taken;
    this.#open = open;
  }

  /** Parts whose home is our slot, and that another replica owns for now. */
  announced(): PartsByServer {
    const slot = this.#lease?.slot;
    return this.#partsOf(({ homes, shards }, part) => homes[part] === slot && shards[part] !== slot);
  }

  /** Parts that the obeyed table gives to us, and that are not taken up. */
  given(): PartsByServer {
    const slot = this.#lease?.slot;
    return this.#partsOf(
      ({ shards }, part, server) => shards[part] === slot && this.#taken.get(server)?.has(part) !== true,
    );
  }

  #partsOf(isMeant: (entry: TableEntry, part: number, server: string) => boolean): PartsByServer {
    const found = new Map<string, ReadonlySet<number>>();
    for (const [server, entry] of this.#table?.entries ?? []) {
      const parts = [...entry.shards.keys()].filter((part) => isMeant(entry, part, server));
      if (parts.length > 0 && server !== unresolvedDestination) found.set(server, new Set(parts));
    }
    return found;
  }

  /**
   * Reports whether the next owner of a part of ours waits until we acknowledge the table. While
   * others may obey earlier names, they may write for Applications that the new ones give to us.
   */
  #isAwaited(entry: TableEntry, part: number, hub: HubKnowledge): boolean {
    if (!this.#isKnownToAll(entry, hub)) return false;
    const record = this.#lease && hub.holders().get(this.#lease.slot);
    if (record === undefined || record.incarnation !== this.#lease?.incarnation) return false;
    return (
      entry.waits[part]?.some(({ slot, epoch }) => slot === record.slot && !hasReached(record.acked, epoch)) === true
    );
  }

  /** Reports whether the part is ours, and no other replica can have it any more. */
  #isReleased(entry: TableEntry, part: number, hub: HubKnowledge): boolean {
    if (this.#lease === undefined || entry.shards[part] !== this.#lease.slot) return false;
    if (!(entry.waits[part] ?? []).every((wait) => hub.settled(wait))) return false;
    return this.#isKnownToAll(entry, hub);
  }

  /** Reports whether all others have acknowledged the names of an entry, or are gone. */
  #isKnownToAll(entry: TableEntry, hub: HubKnowledge): boolean {
    if (entry.everyone === 0) return true;
    const own = this.#lease?.slot;
    return [...hub.holders().keys(), ...hub.hidden()].every(
      (slot) => slot === own || hub.settled({ slot, epoch: entry.everyone }),
    );
  }
}

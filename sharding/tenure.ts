import type { HubKnowledge } from './hub-knowledge.ts';
import type { Instant, Observation } from './member-types.ts';
import type { SlotRecord } from './slots-document.ts';
import { unresolvedDestination } from './table-document.ts';
import type { TableDocument, TableEntry } from './table-document.ts';
import type { Timing } from './timing.ts';

export interface Lease {
  readonly slot: number;
  readonly incarnation: string;
  /** Of the record that was written last. */
  readonly renewals: number;
  /** Own clocks: writes are allowed before both. */
  readonly until: Instant;
  readonly renewedAt: number;
  /** Only tables read after this moment may be obeyed. */
  readonly claimedAt: number;
}

/** Parts by server. */
export type Parts = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * Effect: what this replica may do, as a consequence of what it saw and what it wrote. Its lease, the table that it obeys, and the parts that
 * it has taken up. Nothing here wants anything of the hub.
 */
export class Tenure {
  readonly #timing: Timing;
  #lease: Lease | undefined;
  #table: TableDocument | undefined;
  #acked = 0;
  #taken: Parts = new Map();
  #open = false;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  lease(): Lease | undefined {
    return this.#lease;
  }

  /** How long this replica may write without a renewal. 0: not at all. */
  leaseLeft(now: Instant): number {
    if (this.#lease === undefined) return 0;
    const { until } = this.#lease;
    return Math.max(0, Math.min(until.monotonic - now.monotonic, until.wall - now.wall));
  }

  /** The table that is obeyed. */
  table(): TableDocument | undefined {
    return this.#table;
  }

  /** Highest epoch that this replica has acknowledged in its present lease. */
  acked(): number {
    return this.#acked;
  }

  /** Parts that are taken up, by server; to be believed only while {@link leaseLeft} is above 0. */
  taken(): Parts {
    return this.#taken;
  }

  /** The table gives something that could not be taken up yet. */
  isOpen(): boolean {
    return this.#open;
  }

  /** It has acknowledged the table that it obeys. */
  hasAcked(): boolean {
    return this.#table !== undefined && this.#acked === this.#table.epoch;
  }

  /** The lease ran out by our own clock: nothing is ours any more, and a renewal counts as a new claim that must see the table anew. */
  lapse(now: Instant): void {
    if (this.#lease !== undefined && this.leaseLeft(now) === 0) this.forget();
  }

  /** A record of ours was written: sent at `sent`, answered at `now`. `stood` says whether our claim stood in the slots before. */
  renewed(record: SlotRecord, sent: Instant, now: Instant, stood: boolean): void {
    const fresh = this.#lease === undefined || this.leaseLeft(now) === 0 || !stood;
    if (fresh) this.forget();
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

  /** The clocks by which the lease was measured cannot be trusted: it is over, and only a renewal brings it back. */
  distrust(): void {
    if (this.#lease === undefined) return;
    const over = Number.NEGATIVE_INFINITY;
    this.#lease = { ...this.#lease, until: { monotonic: over, wall: over } };
    this.forget();
  }

  /** The slot is gone. */
  lose(): void {
    this.#lease = undefined;
    this.forget();
  }

  /** The slot stays, but all that was done in it counts as not done. */
  forget(): void {
    this.#table = undefined;
    this.#acked = 0;
    this.#taken = new Map();
    this.#open = false;
  }

  /** Lets go of everything that was taken up; true: there was something. */
  letGo(): boolean {
    const hadSome = this.#taken.size > 0;
    this.#taken = new Map();
    return hadSome;
  }

  /** Obeys a newer table: what it gives to others is let go at once, what it gives to us is taken up as soon as nobody else can have it. */
  adopt({ table, slots, since }: Observation, hub: HubKnowledge): void {
    if (table.state !== 'ok' || slots.state !== 'ok' || this.#lease === undefined) return;
    if (since < this.#lease.claimedAt || table.value.epoch < hub.floor(this.#table)) return;
    if (this.#table?.epoch === table.value.epoch) return;
    this.#table = table.value;
    const kept = new Map<string, ReadonlySet<number>>();
    for (const [server, parts] of this.#taken) {
      const entry = table.value.entries.get(server);
      const still = [...parts].filter((part) => entry !== undefined && this.#mayTake(entry, part, hub));
      if (still.length > 0) kept.set(server, new Set(still));
    }
    this.#taken = kept;
    this.#open = true;
  }

  /** Takes up what the acknowledged table gives and nobody else can have any more. */
  takeUp(hub: HubKnowledge): void {
    if (this.#table === undefined || this.#lease === undefined || !this.#open) return;
    if (!this.hasAcked() || hub.slots() === undefined) return;
    // Somebody obeys a newer one: to have acknowledged that is not to have let go of what ours gives away.
    if (hub.floor(this.#table) > this.#table.epoch) return;
    const { slot } = this.#lease;
    let open = false;
    const taken = new Map<string, ReadonlySet<number>>();
    for (const [server, entry] of this.#table.entries) {
      const mine = entry.shards.flatMap((shard, part) => (shard === slot ? [part] : []));
      if (mine.length === 0) continue;
      const old = this.#taken.get(server);
      const now = mine.filter((part) => old?.has(part) === true || this.#mayTake(entry, part, hub));
      if (now.length > 0) taken.set(server, new Set(now));
      open ||= now.length < mine.length;
    }
    this.#taken = taken;
    this.#open = open;
  }

  /** Parts that the obeyed table will give to this replica, and that somebody else has until then. */
  announced(): Parts {
    const slot = this.#lease?.slot;
    return this.#partsOf(({ homes, shards }, part) => homes[part] === slot && shards[part] !== slot);
  }

  /** Parts that the obeyed table gives to this replica, and that it has not taken up. */
  given(): Parts {
    const slot = this.#lease?.slot;
    return this.#partsOf(
      ({ shards }, part, server) => shards[part] === slot && this.#taken.get(server)?.has(part) !== true,
    );
  }

  #partsOf(isMeant: (entry: TableEntry, part: number, server: string) => boolean): Parts {
    const found = new Map<string, ReadonlySet<number>>();
    for (const [server, entry] of this.#table?.entries ?? []) {
      const parts = [...entry.shards.keys()].filter((part) => isMeant(entry, part, server));
      if (parts.length > 0 && server !== unresolvedDestination) found.set(server, new Set(parts));
    }
    return found;
  }

  #mayTake(entry: TableEntry, part: number, hub: HubKnowledge): boolean {
    if (this.#lease === undefined || entry.shards[part] !== this.#lease.slot) return false;
    if (!(entry.waits[part] ?? []).every((wait) => hub.settled(wait))) return false;
    if (entry.everyone === 0) return true;
    const { slot: own } = this.#lease;
    return [...hub.holders().keys(), ...hub.hidden()].every(
      (slot) => slot === own || hub.settled({ slot, epoch: entry.everyone }),
    );
  }
}

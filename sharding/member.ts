import { shardOfText } from './distribution.ts';
import type { Instant, Intent, Observation, World } from './member-types.ts';
import { unownedServers } from './unowned.ts';
import { nextTable } from './plan.ts';
import type { PlanInputs } from './plan.ts';
import { Presence } from './presence.ts';
import { isForeign, unknownHolder } from './slots-document.ts';
import type { Found, SlotRecord, Slots } from './slots-document.ts';
import type { TableDocument, TableEntry, Wait } from './table-document.ts';
import type { Timing } from './timing.ts';

export interface MemberOptions {
  /** Host name. */
  readonly name: string;
  /** Unique to this process. */
  readonly process: string;
  readonly timing: Timing;
}

/**
 * Nothing in the hub: a new installation, or a table that was published after it was looked for, and slots that were lost before they were.
 * Only a second look at the table can tell.
 */
export function looksNew(table: Found<TableDocument>, slots: Found<Slots>): boolean {
  if (table.state !== 'missing' || slots.state === 'broken') return false;
  return slots.state === 'missing' || slots.value.size === 0;
}

interface Lease {
  readonly slot: number;
  readonly incarnation: string;
  /** Own clocks: writes are allowed before both. */
  readonly until: Instant;
  readonly renewedAt: number;
  /** Only tables read after this moment may be obeyed. */
  readonly claimedAt: number;
}

interface Planned {
  readonly table: TableDocument | undefined;
  readonly inputs: PlanInputs;
  readonly replicas: number;
  /** Who was there and who was not. */
  readonly present: string;
  readonly at: number;
}

const planAgainMs = 60_000;

/**
 * One replica's part of the hand-over protocol: a state machine without clocks, network or chance. Whoever drives it shows it the hub
 * (`observe`), carries out what it wants (`intent`, `wrote`), and asks it before each write (`mayWrite`). The rules, and why they suffice, are in
 * docs/adr/0010-ownership-handover.md; the simulation drives many of these against one hub.
 */
export class Member {
  readonly #options: MemberOptions;
  #claims = 0;
  #renewals = 0;
  #lease: Lease | undefined;
  #table: TableDocument | undefined;
  /** Highest epoch that this replica has acknowledged in its present lease. */
  #acked = 0;
  #observation: Observation | undefined;
  readonly #presence: Presence;
  /** Parts that are taken up, by server. */
  #taken = new Map<string, ReadonlySet<number>>();
  #open = false;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #emptySince: number | undefined;
  #leaving = false;
  #misplaced = false;
  #lastSlot: number | undefined;
  #unowned: { readonly observation: Observation; readonly servers: ReadonlyMap<string, number> } | undefined;
  #planned: Planned | undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#presence = new Presence(options.timing);
  }

  /** The slot that this replica holds; undefined when it has none, or may not rely on it any more. */
  slot(now: Instant): number | undefined {
    return this.leaseLeft(now) > 0 ? this.#lease?.slot : undefined;
  }

  /** How long this replica may write without a renewal. 0: not at all. */
  leaseLeft(now: Instant): number {
    if (this.#lease === undefined) return 0;
    const { until } = this.#lease;
    return Math.max(0, Math.min(until.monotonic - now.monotonic, until.wall - now.wall));
  }

  /** The table that this replica obeys. */
  table(): TableDocument | undefined {
    return this.#table;
  }

  /** The holders as seen last. */
  holders(): Slots {
    return this.#observation?.slots.state === 'ok' ? this.#observation.slots.value : new Map();
  }

  /** Whether this replica may write for a part of a cluster (or of the Applications with an unresolved destination) at this moment. */
  mayWrite(server: string, part: number, now: Instant): boolean {
    return this.#taken.get(server)?.has(part) === true && this.leaseLeft(now) > 0;
  }

  /** Parts that are taken up, by server; to be believed only while `leaseLeft` is above 0. */
  taken(): ReadonlyMap<string, ReadonlySet<number>> {
    return this.#taken;
  }

  /** Clusters of the published table of which nobody looks after some part, as far as this replica knows, and since when. */
  unowned(): ReadonlyMap<string, number> {
    if (this.#observation === undefined) return new Map();
    if (this.#unowned?.observation !== this.#observation) {
      const holders = {
        unattended: this.#presence.unattended(),
        held: [...this.holders().keys()],
        settled: (wait: Wait) => this.#settled(wait),
      };
      this.#unowned = {
        observation: this.#observation,
        servers: unownedServers(this.published()?.entries ?? new Map(), holders),
      };
    }
    return this.#unowned.servers;
  }

  /** Holders of slots that are replicas of Argo CD itself, by slot: nothing is taken up while they are there. */
  foreign(): ReadonlyMap<number, string> {
    return this.#presence.foreign();
  }

  /**
   * Whether this replica should tell the users of clusters that nobody looks after them: it plans, or nobody can. Not beside a controller of
   * Argo CD, which may do so.
   */
  reportsUnowned(now: Instant): boolean {
    if (this.#presence.foreign().size > 0) return false;
    return this.plans(now) || this.#presence.live().length === 0;
  }

  /** The table in the hub as seen last, whether obeyed or not. */
  published(): TableDocument | undefined {
    return this.#observation?.table.state === 'ok' ? this.#observation.table.value : undefined;
  }

  /** Whether it is for this replica to plan tables. */
  plans(now: Instant): boolean {
    return this.leaseLeft(now) > 0 && this.#isPlanner(this.holders(), now);
  }

  /** Milliseconds until there is something to do that nobody but the clock tells. */
  idleMs(now: Instant): number {
    const { renewMs, firstStartMs, publishMs } = this.#options.timing;
    const secondLook = this.#emptySince === undefined ? 0 : this.#emptySince + firstStartMs - now.monotonic;
    const steps = [
      this.#lease === undefined ? renewMs : this.#lease.renewedAt + renewMs - now.monotonic,
      this.#lease === undefined && secondLook > 0 ? secondLook : renewMs,
      // What changed right after a table was published had to wait.
      now.monotonic - this.#publishedAt < publishMs ? publishMs : renewMs,
    ];
    const plans = this.plans(now);
    // Whoever waits for others must see when they are gone; whoever plans must, for all.
    if (this.#lease === undefined || this.#open || plans)
      steps.push(...this.#presence.expiries().map((at) => at - now.monotonic));
    if (plans) steps.push(...this.#presence.absences(now.monotonic).map((at) => at - now.monotonic));
    return Math.max(0, Math.min(...steps));
  }

  /** Something is on its way that only the next observations can tell: look soon. */
  unsettled(): boolean {
    return (
      this.#open ||
      this.#misplaced ||
      (this.#table !== undefined && this.#lease !== undefined && this.#acked !== this.#table.epoch)
    );
  }

  /** It holds a slot, and has not taken up all that the published table gives to that. */
  isTakingUp(): boolean {
    if (this.#lease === undefined) return false;
    return this.#open || this.#table === undefined || this.#acked !== this.#table.epoch;
  }

  /** Takes note of a look at the hub. */
  observe(observation: Observation, now: Instant): void {
    this.#lapse(now);
    this.#observation = observation;
    if (!observation.isNew) this.#emptySince = undefined;
    this.#observeHolders(observation);
    if (observation.slots.state === 'ok' && this.#lease !== undefined) {
      const record = observation.slots.value.get(this.#lease.slot);
      // A placeholder is no rival: the ConfigMap was lost, and our claim with it, but nobody may take the slot while our lease lasts.
      const ours = record?.incarnation === this.#lease.incarnation;
      const forgotten = record === undefined || record.holder === unknownHolder;
      if (!ours && !(forgotten && this.leaseLeft(now) > 0)) this.#lose();
    }
    // Who slept through the end of its lease may have a successor, which nobody can read any more: it is a stranger now.
    if (observation.slots.state !== 'ok' && this.leaseLeft(now) === 0) this.#lose();
    this.#adopt(observation);
    if (this.#open) this.#takeUp();
  }

  /** Takes note of signs of life that came by the watch, between looks. */
  notice(slots: Slots, now: Instant): void {
    this.#presence.notice(slots, now.monotonic);
  }

  /** What to write now. */
  intent(world: World, now: Instant): Intent | undefined {
    this.#lapse(now);
    const observation = this.#observation;
    if (observation === undefined) return undefined;
    if (world.leaving) this.#leaving = true;
    const misplaced = this.#checkPlace(world);
    const released = this.#leaving || misplaced ? this.#giveBack(observation, world) : undefined;
    if (released !== undefined || this.#leaving) return released;
    if (observation.slots.state !== 'ok') return this.#repair(observation, world, now);
    const slots = observation.slots.value;
    if (this.#lease === undefined) return this.#claim(slots, world, now);
    // Whoever is about to go has to stay alive until it can.
    if (misplaced) return this.#keep(slots, world, now);
    return this.#keep(slots, world, now) ?? this.#sweep(slots, world, now) ?? this.#publish(slots, world, now);
  }

  /** The write of {@link intent} went through; `sent` is when it was sent. Not called when it failed or lost a race. */
  wrote(intent: Intent, sent: Instant, now: Instant): void {
    if (intent.write === 'table') {
      this.#publishedAt = now.monotonic;
      return;
    }
    const record = [...intent.slots.values()].find(({ incarnation }) => incarnation === this.#incarnation());
    if (record === undefined) {
      this.#lose();
      return;
    }
    const { validMs: valid } = this.#options.timing;
    this.#lastSlot = record.slot;
    const fresh = this.#lease === undefined || this.leaseLeft(now) === 0 || !this.#isOurs();
    if (fresh) this.#forget();
    this.#lease = {
      slot: record.slot,
      incarnation: record.incarnation,
      until: { monotonic: sent.monotonic + valid, wall: sent.wall + valid },
      renewedAt: sent.monotonic,
      claimedAt: fresh ? now.monotonic : (this.#lease?.claimedAt ?? now.monotonic),
    };
    this.#acked = fresh ? 0 : record.acked;
  }

  /** The lease ran out by our own clock: nothing is ours any more, and a renewal counts as a new claim that must see the table anew. */
  #lapse(now: Instant): void {
    if (this.#lease !== undefined && this.leaseLeft(now) === 0) this.#forget();
  }

  /** Our claim stands in the slots as seen last. */
  #isOurs(): boolean {
    return this.#lease !== undefined && this.holders().get(this.#lease.slot)?.incarnation === this.#lease.incarnation;
  }

  #lose(): void {
    this.#lease = undefined;
    this.#misplaced = false;
    this.#claims += 1;
    this.#forget();
  }

  #forget(): void {
    this.#table = undefined;
    this.#acked = 0;
    this.#taken = new Map();
    this.#open = false;
  }

  #incarnation(): string {
    return `${this.#options.process}/${this.#claims}`;
  }

  #observeHolders({ slots, slotsSince, until }: Observation): void {
    if (slots.state !== 'ok') return;
    const { replicas = 0, epoch = 0 } = this.published() ?? {};
    this.#presence.observe({ slots: slots.value, sentAt: slotsSince, answeredAt: until, replicas, epoch });
  }

  /** Obeys a newer table: what it gives to others is let go at once, what it gives to us is taken up as soon as nobody else can have it. */
  #adopt({ table, slots, since }: Observation): void {
    if (table.state !== 'ok' || slots.state !== 'ok' || this.#lease === undefined) return;
    if (since < this.#lease.claimedAt || table.value.epoch < this.#floor(slots.value)) return;
    if (this.#table?.epoch === table.value.epoch) return;
    this.#table = table.value;
    const kept = new Map<string, ReadonlySet<number>>();
    for (const [server, parts] of this.#taken) {
      const entry = table.value.entries.get(server);
      const still = [...parts].filter((part) => entry !== undefined && this.#mayTake(entry, part));
      if (still.length > 0) kept.set(server, new Set(still));
    }
    this.#taken = kept;
    this.#open = true;
  }

  /** The highest epoch that anybody has acknowledged: a table below it is an old one that somebody brought back. */
  #floor(slots: Slots): number {
    return Math.max(this.#table?.epoch ?? 0, ...[...slots.values()].map(({ acked }) => acked));
  }

  #takeUp(): void {
    if (this.#table === undefined || this.#lease === undefined || this.#leaving || this.#misplaced) return;
    if (this.#acked !== this.#table.epoch || this.#observation?.slots.state !== 'ok') return;
    // Somebody obeys a newer one: to have acknowledged that is not to have let go of what ours gives away.
    if (this.#floor(this.#observation.slots.value) > this.#table.epoch) return;
    const { slot } = this.#lease;
    let open = false;
    const taken = new Map<string, ReadonlySet<number>>();
    for (const [server, entry] of this.#table.entries) {
      const mine = entry.shards.flatMap((shard, part) => (shard === slot ? [part] : []));
      if (mine.length === 0) continue;
      const old = this.#taken.get(server);
      const now = mine.filter((part) => old?.has(part) === true || this.#mayTake(entry, part));
      if (now.length > 0) taken.set(server, new Set(now));
      open ||= now.length < mine.length;
    }
    this.#taken = taken;
    this.#open = open;
  }

  #mayTake(entry: TableEntry, part: number): boolean {
    if (this.#lease === undefined || entry.shards[part] !== this.#lease.slot) return false;
    if (!(entry.waits[part] ?? []).every((wait) => this.#settled(wait))) return false;
    if (entry.everyone === 0) return true;
    const { slot: own } = this.#lease;
    return [...this.holders().keys()].every((slot) => slot === own || this.#settled({ slot, epoch: entry.everyone }));
  }

  #settled({ slot, epoch }: Wait): boolean {
    if (this.#observation?.slots.state !== 'ok') return false;
    const record = this.#observation.slots.value.get(slot);
    return record === undefined || record.acked >= epoch || this.#presence.isExpired(slot);
  }

  // ---------------------------------------------------------------- what to write

  #keep(slots: Slots, world: World, now: Instant): Intent | undefined {
    const lease = this.#lease;
    if (lease === undefined) return undefined;
    const { slot } = lease;
    const acked = this.#table !== undefined && world.drained ? this.#table.epoch : this.#acked;
    const surplus = slot >= this.#limit(world) && this.#taken.size === 0 && acked === this.#acked;
    if (surplus && world.drained) return this.#without(slots, slot, world, 'more slots than replicas');
    const due = now.monotonic - lease.renewedAt >= this.#options.timing.renewMs || this.leaseLeft(now) === 0;
    if (!due && this.#isOurs() && acked === this.#acked) return undefined;
    return this.#with(slots, slot, { world, now, acked, why: acked === this.#acked ? 'renewal' : 'acknowledgment' });
  }

  #claim(slots: Slots, world: World, now: Instant): Intent | undefined {
    const { inputs, fixedSlot } = world;
    if (inputs === undefined) return undefined;
    const limit = this.#limit(world);
    const candidates = fixedSlot === undefined ? Array.from({ length: limit }, (_, i) => i) : [fixedSlot];
    // The one that it had, if it may: the clusters of that are known here.
    const ranked = candidates.filter((slot) => slot === this.#lastSlot).concat(candidates);
    const allowed = ranked.filter((slot) => slot < limit);
    const slot = allowed.find((each) => !slots.has(each)) ?? allowed.find((each) => this.#presence.isExpired(each));
    if (slot === undefined) return undefined;
    if (this.#observation?.isNew === true && !this.#looksTwice(now)) return undefined;
    return this.#with(slots, slot, { world, now, acked: 0, why: 'claim' });
  }

  /** A new installation, or both ConfigMaps were removed and their users have not noticed yet. */
  #looksTwice(now: Instant): boolean {
    this.#emptySince ??= now.monotonic;
    return now.monotonic - this.#emptySince >= this.#options.timing.firstStartMs;
  }

  /** Writes a lost or spoilt ConfigMap anew. Slots whose holders are not known are held by "unknown" until a lease has passed. */
  #repair(observation: Observation, world: World, now: Instant): Intent | undefined {
    const { table } = observation;
    if (world.inputs === undefined) return undefined;
    if (observation.isNew && this.#lease === undefined) return this.#claim(new Map(), world, now);
    const known = table.state === 'ok' ? table.value.slots : 0;
    const count = Math.max(known, this.#table?.slots ?? 0, this.#limit(world), this.#presence.slotCount());
    const placeholders = Array.from({ length: count }, (_, slot): [number, SlotRecord] => [
      slot,
      {
        ...{ slot, holder: unknownHolder, renewals: 0, acked: 0, heartbeat: now.wall },
        incarnation: `${unknownHolder}/${this.#options.process}/${Math.round(now.monotonic)}`,
      },
    ]);
    const slots = new Map(placeholders);
    if (this.#lease === undefined || this.leaseLeft(now) === 0)
      return { write: 'slots', slots, count: this.#limit(world), why: 'repair' };
    return this.#with(slots, this.#lease.slot, { world, now, acked: this.#acked, why: 'repair' });
  }

  /** Whether another slot is ours by name: this one was taken while nobody said how many replicas there are. */
  #checkPlace({ fixedSlot, replicas }: World): boolean {
    const known = this.#lease !== undefined && fixedSlot !== undefined && (replicas ?? 0) > 1;
    const misplaced = known && fixedSlot !== this.#lease?.slot;
    // It stays after all: what it let go of already it must take up anew, like a claim that has just been made.
    if (this.#misplaced && !misplaced) this.#forget();
    this.#misplaced = misplaced;
    return misplaced;
  }

  /** Takes nothing up any more, and gives the slot back as soon as nothing is under way. */
  #giveBack(observation: Observation, { drained }: World): Intent | undefined {
    const hadSome = this.#taken.size > 0;
    this.#taken = new Map();
    // Whether what was ours a moment ago is drained, only the next turn can tell.
    if (!drained || (hadSome && !this.#leaving)) return undefined;
    if (observation.slots.state !== 'ok' && this.#misplaced) this.#lose();
    if (observation.slots.state !== 'ok' || this.#lease === undefined) return undefined;
    const { slot, incarnation } = this.#lease;
    if (observation.slots.value.get(slot)?.incarnation !== incarnation) return undefined;
    const slots = new Map(observation.slots.value);
    slots.delete(slot);
    return { write: 'slots', slots, count: this.#table?.replicas ?? 1, why: 'release' };
  }

  #with(
    slots: Slots,
    slot: number,
    { world, now, acked, why }: { world: World; now: Instant; acked: number; why: string },
  ): Intent {
    const old = slots.get(slot);
    const incarnation = this.#incarnation();
    const ours = old?.incarnation === incarnation ? old : undefined;
    // Never a number twice, not even after the ConfigMap was lost: an observer takes equal records for a holder that does not move.
    this.#renewals += 1;
    const record = {
      ...{ slot, holder: this.#options.name, incarnation, heartbeat: now.wall },
      renewals: this.#renewals,
      acked: Math.max(ours?.acked ?? 0, acked),
      ...(world.load === undefined ? {} : { load: world.load }),
    };
    return { write: 'slots', slots: new Map(slots).set(slot, record), count: this.#limit(world), why };
  }

  #without(slots: Slots, slot: number, world: World, why: string): Intent {
    const rest = new Map(slots);
    rest.delete(slot);
    return { write: 'slots', slots: rest, count: this.#limit(world), why };
  }

  /** How many slots may be held: as many as the table needs, or as many as there will be replicas. */
  #limit(world: World): number {
    const table = this.#observation?.table;
    const published = table?.state === 'ok' ? table.value.replicas : 0;
    return Math.max(published, world.replicas ?? 0, 1);
  }

  /**
   * Frees the slots of dead holders, if this replica is the one to plan: who waits for such a slot need not watch it through a lease of its
   * own. It must have acknowledged the newest table, or the number of that table would be forgotten with a record that knew it.
   */
  #sweep(slots: Slots, world: World, now: Instant): Intent | undefined {
    const expired = this.#presence.expired();
    const lease = this.#lease;
    if (expired.size === 0 || lease === undefined || this.leaseLeft(now) === 0) return undefined;
    if (!this.#isPlanner(slots, now) || this.#acked !== this.published()?.epoch) return undefined;
    const rest = new Map([...slots].filter(([slot]) => !expired.has(slot)));
    return this.#with(rest, lease.slot, { world, now, acked: this.#acked, why: 'a dead holder' });
  }

  /** The table that follows, if this replica is the one to plan it. */
  #publish(slots: Slots, world: World, now: Instant): Intent | undefined {
    const observation = this.#observation;
    if (observation === undefined || world.inputs === undefined || this.leaseLeft(now) === 0) return undefined;
    if (now.monotonic - this.#publishedAt < this.#options.timing.publishMs || !this.#isPlanner(slots, now))
      return undefined;
    const floor = this.#floor(slots);
    const published = observation.table.state === 'ok' ? observation.table.value : undefined;
    const valid = (published?.epoch ?? -1) >= floor ? published : undefined;
    // Whoever plans obeys and has acknowledged what it builds upon: epochs that nobody knows of must not pile up.
    if (valid !== undefined && this.#acked !== valid.epoch) return undefined;
    const replicas = wantedReplicas(world, published);
    const [live, absent] = [this.#presence.live(), this.#presence.absent(now.monotonic)];
    const present = `${live.join()} ${[...absent].join()}`;
    const same = { table: valid, inputs: world.inputs, replicas, present };
    if (this.#isPlanned(same, now)) return undefined;
    const table = nextTable(valid, world.inputs, {
      replicas,
      settled: (wait) => this.#settled(wait),
      ...{ live, absent },
      holders: [...slots.keys()],
      epochFloor: Math.max(floor, published?.epoch ?? 0),
      nonce: shardOfText(`${this.#incarnation()} ${now.monotonic}`, 1000),
      now: Math.round(now.wall),
    });
    if (table !== undefined) return { write: 'table', table };
    this.#planned = { ...same, at: now.monotonic };
    return undefined;
  }

  /** The same was asked a moment ago, and the answer was that nothing has to change. Only time can change that (rests between moves). */
  #isPlanned({ table, inputs, replicas, present }: Omit<Planned, 'at'>, now: Instant): boolean {
    const last = this.#planned;
    if (last?.inputs !== inputs || last.replicas !== replicas || last.table?.epoch !== table?.epoch) return false;
    if (last.present !== present) return false;
    return now.monotonic - last.at < planAgainMs;
  }

  /** The lowest slot whose holder was seen alive lately plans. Two may think so at once; the hub lets only one through. */
  #isPlanner(slots: Slots, now: Instant): boolean {
    for (const [slot, record] of slots) {
      if (slot >= (this.#lease?.slot ?? 0) || record.holder === unknownHolder || isForeign(record)) continue;
      if (this.#presence.movedWithin(slot, this.#options.timing.silentMs, now.monotonic)) return false;
    }
    return true;
  }
}

/** As many as are wanted; scaled to none, or when nobody says, as many as there were. */
function wantedReplicas({ replicas = 0 }: World, published: TableDocument | undefined): number {
  return replicas > 0 ? replicas : Math.max(1, published?.replicas ?? 1);
}

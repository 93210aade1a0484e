import type { ClaimRecord, Claims } from './claims.ts';
import { isGone } from './home.ts';
import type { Home } from './home.ts';
import type { HubKnowledge } from './hub-knowledge.ts';
import type { Instant, Intent, World } from './member-types.ts';
import { unknownHolder } from './slots-document.ts';
import type { SlotRecord, Slots } from './slots-document.ts';
import type { Tenure } from './tenure.ts';
import { protocolVersion } from './timing.ts';
import type { Timing } from './timing.ts';

/** All that an intent follows from. */
export interface Situation {
  readonly hub: HubKnowledge;
  readonly tenure: Tenure;
  readonly world: World;
  readonly now: Instant;
  readonly timing: Timing;
  readonly self: Self;
  /** Nobody else's claim of our slot is to be waited for. */
  readonly mayRecord: boolean;
}

/** How this replica signs. */
export interface Self {
  /** Host name. */
  readonly name: string;
  /** Unique to this process. */
  readonly process: string;
  /** Of the present claim, or of the next one. */
  readonly incarnation: string;
  /** Another number than in any record before: an observer takes equal records for a holder that does not move. */
  readonly renewals: number;
  readonly home: Home | undefined;
  /** The slot that it had last. */
  readonly lastSlot: number | undefined;
}

/*
 * Intent: which write to the slots follows from a situation. Pure functions; what becomes of the write is told to tenure.ts. Tables are
 * planner.ts's.
 */

/** Renews the lease when that is due, and acknowledges the obeyed table as soon as nothing that it gave away is under way. */
export function keep(situation: Situation): Intent | undefined {
  const { hub, tenure, world } = situation;
  const [lease, slots] = [tenure.lease(), hub.slots()];
  if (lease === undefined || slots === undefined) return undefined;
  const { slot } = lease;
  const acked = world.drained ? (tenure.table()?.epoch ?? tenure.acked()) : tenure.acked();
  const surplus = slot >= slotLimit(situation) && tenure.taken().size === 0 && acked === tenure.acked();
  if (surplus && world.drained) return release(situation, slots, 'more slots than replicas');
  if (acked !== tenure.acked()) return signed(situation, slots, slot, { acked, why: 'acknowledgment' });
  const why = whyNow(situation);
  return why === undefined ? undefined : signed(situation, slots, slot, { acked, why });
}

/** What a record that says the same as before is written for. */
function whyNow(situation: Situation): string | undefined {
  const { hub, tenure, now, timing } = situation;
  const lease = tenure.lease();
  if (lease === undefined || !stands(hub, tenure) || tenure.leaseLeft(now) === 0) return 'renewal';
  const known = hub.holders().get(lease.slot)?.warm ?? 0;
  if (tenure.hasAcked() && warmUpTo(situation) > known) return 'filled caches';
  return now.monotonic - lease.renewedAt >= timing.renewMs ? 'renewal' : undefined;
}

/** The newest table of which everything is ready; 0: of none. */
function warmUpTo({ world, tenure }: Situation): number {
  return world.warm === true ? (tenure.table()?.epoch ?? 0) : 0;
}

/** Our claim stands in the slots as seen last. */
export function stands(hub: HubKnowledge, tenure: Tenure): boolean {
  const lease = tenure.lease();
  return lease !== undefined && hub.holders().get(lease.slot)?.incarnation === lease.incarnation;
}

/** Our claim stands in the register. */
export function isRecorded(hub: HubKnowledge, tenure: Tenure): boolean {
  const lease = tenure.lease();
  return lease !== undefined && hub.claims().get(lease.slot)?.incarnation === lease.incarnation;
}

/** Takes a free slot, or that of a dead holder. */
export function claim(situation: Situation, slots: Slots): Intent | undefined {
  const { hub, world, now, self } = situation;
  const { inputs, fixedSlot } = world;
  if (inputs === undefined) return undefined;
  const limit = slotLimit(situation);
  const candidates = fixedSlot === undefined ? Array.from({ length: limit }, (_, i) => i) : [fixedSlot];
  // The one that it had, if it may: the clusters of that are known here.
  const ranked = candidates.filter((slot) => slot === self.lastSlot).concat(candidates);
  const allowed = ranked.filter((slot) => slot < limit);
  const before = allowed.find((each) => wasOurs(slots.get(each), self));
  const mayBeFree = now.monotonic >= (hub.freeSlotsAt() ?? Number.NEGATIVE_INFINITY);
  const slot =
    before ??
    allowed.find((each) => !slots.has(each) && mayBeFree) ??
    allowed.find((each) => hub.presence.isExpired(each));
  if (slot === undefined) return undefined;
  // A new installation, or both ConfigMaps were removed and their users have not noticed yet.
  if (now.monotonic < (hub.believesEmptyAt() ?? Number.NEGATIVE_INFINITY)) return undefined;
  return signed(situation, slots, slot, { acked: 0, why: before === undefined ? 'claim' : restartClaim });
}

export const restartClaim = 'claim after a restart';

/** An earlier process of this very place held it and is gone: a container that was restarted in its pod. */
function wasOurs(record: SlotRecord | undefined, { home, incarnation }: Self): boolean {
  return record !== undefined && record.incarnation !== incarnation && isGone(record, home);
}

/**
 * The mapping was set back to an earlier state (a backup): our record is older than what we wrote, or gone though nobody else has the slot. Then
 * others may be missing from it, too, that hold a slot and write.
 */
export function isSetBack({ hub, tenure, now }: Situation): boolean {
  const [lease, slots] = [tenure.lease(), hub.slots()];
  if (lease === undefined || slots === undefined || tenure.leaseLeft(now) === 0) return false;
  const record = slots.get(lease.slot);
  return record === undefined || (record.incarnation === lease.incarnation && record.renewals < lease.renewals);
}

/** Writes our record as it was, and holders that are not known into the slots that seem to be free, until a lease has passed. */
export function bringForward(situation: Situation, slots: Slots): Intent | undefined {
  const { tenure } = situation;
  const lease = tenure.lease();
  if (lease === undefined) return undefined;
  const all = new Map([...placeholders(situation), ...slots]);
  return signed(situation, all, lease.slot, { acked: tenure.acked(), why: 'a mapping that was set back' });
}

/** Writes a lost or spoilt ConfigMap anew. Slots whose holders are not known are held by "unknown" until a lease has passed. */
export function repair(situation: Situation): Intent | undefined {
  const { hub, tenure, world, now } = situation;
  if (world.inputs === undefined) return undefined;
  const lease = tenure.lease();
  if (hub.last()?.isNew === true && lease === undefined) return claim(situation, new Map());
  const slots = new Map(placeholders(situation));
  if (lease === undefined || tenure.leaseLeft(now) === 0)
    return { write: 'slots', slots, count: slotLimit(situation), why: 'repair' };
  return signed(situation, slots, lease.slot, { acked: tenure.acked(), why: 'repair' });
}

/** A holder that is not known for each slot that may be in use. */
function placeholders(situation: Situation): readonly (readonly [number, SlotRecord])[] {
  const { hub, tenure, now, self } = situation;
  const known = hub.published()?.slots ?? 0;
  const count = Math.max(known, tenure.table()?.slots ?? 0, slotLimit(situation), hub.presence.slotCount());
  return Array.from({ length: count }, (_, slot): [number, SlotRecord] => [
    slot,
    {
      slot,
      holder: unknownHolder,
      renewals: 0,
      acked: 0,
      heartbeat: now.wall,
      incarnation: `${unknownHolder}/${self.process}/${Math.round(now.monotonic)}`,
      leaseMs: hub.longestLease(),
    },
  ]);
}

/** Gives the slot back; everything was let go of before, and nothing is under way any more. */
export function giveBack(situation: Situation): Intent | undefined {
  const { hub, tenure } = situation;
  const slots = hub.slots();
  if (slots === undefined || !stands(hub, tenure)) return undefined;
  return release(situation, slots, releasing);
}

/** Records our claim beside the table, where it outlives a mapping that is set back: before that no table is obeyed in it. */
export function record({ hub, tenure, timing, mayRecord, self }: Situation): Intent | undefined {
  const lease = tenure.lease();
  if (lease === undefined || hub.published() === undefined || !stands(hub, tenure)) return undefined;
  if (!mayRecord || isRecorded(hub, tenure)) return undefined;
  const claims = withOwn(hub.claims(), lease.slot, { incarnation: self.incarnation, leaseMs: timing.leaseMs });
  return { write: 'claims', claims, why: 'record of a claim' };
}

/** The register as whoever publishes a table writes it: with its own claim, if that may be there. */
export function claimsBesideTable({ hub, tenure, timing, mayRecord, self }: Situation): Claims {
  const lease = tenure.lease();
  if (lease === undefined || !mayRecord || !stands(hub, tenure)) return hub.claims();
  return withOwn(hub.claims(), lease.slot, { incarnation: self.incarnation, leaseMs: timing.leaseMs });
}

function withOwn(claims: Claims, slot: number, own: ClaimRecord): Claims {
  return new Map(claims).set(slot, own);
}

function without(claims: Claims, slots: Iterable<number>): Claims {
  const rest = new Map(claims);
  for (const slot of slots) rest.delete(slot);
  return rest;
}

/**
 * Frees the slots of dead holders, if this replica is the one to plan: who waits for such a slot need not watch it through a lease of its
 * own. It must have acknowledged the newest table, or the number of that table would be forgotten with a record that knew it.
 */
export function sweep(situation: Situation): Intent | undefined {
  const { hub, tenure, now } = situation;
  const [lease, slots, expired] = [tenure.lease(), hub.slots(), hub.presence.expired()];
  if (expired.size === 0 || lease === undefined || slots === undefined || tenure.leaseLeft(now) === 0) return undefined;
  if (!hub.isPlanner(lease.slot, now) || tenure.acked() !== hub.published()?.epoch) return undefined;
  // First out of the register: whoever claims a slot that is free, and stands there, would have to be waited for.
  const known = [...expired].filter((each) => isClaimOf(slots.get(each), hub.claims()));
  if (known.length > 0) return { write: 'claims', claims: without(hub.claims(), known), why: 'a dead holder' };
  const rest = new Map([...slots].filter(([slot]) => !expired.has(slot)));
  return signed(situation, rest, lease.slot, { acked: tenure.acked(), why: 'a dead holder' });
}

function isClaimOf(holder: SlotRecord | undefined, claims: Claims): boolean {
  return holder !== undefined && claims.get(holder.slot)?.incarnation === holder.incarnation;
}

/** How many slots may be held: as many as the table needs, or as many as there will be replicas. */
function slotLimit({ hub, world }: Situation): number {
  return Math.max(hub.published()?.replicas ?? 0, world.replicas ?? 0, 1);
}

interface Signature {
  readonly acked: number;
  readonly why: string;
}

/** The slots with our record in `slot`. */
function signed(situation: Situation, slots: Slots, slot: number, { acked, why }: Signature): Intent {
  const { world, now, self, timing } = situation;
  const { name: holder, incarnation, renewals } = self;
  const old = slots.get(slot);
  const ours = old?.incarnation === incarnation ? old : undefined;
  const record = {
    slot,
    holder,
    incarnation,
    renewals,
    heartbeat: now.wall,
    acked: Math.max(ours?.acked ?? 0, acked),
    leaseMs: timing.leaseMs,
    version: protocolVersion,
    ...(world.warm === undefined ? {} : { warm: Math.max(ours?.warm ?? 0, warmUpTo(situation)) }),
    ...(self.home === undefined ? {} : { home: { place: self.home.place, pid: self.home.pid } }),
    ...(world.load === undefined ? {} : { load: world.load }),
  };
  return { write: 'slots', slots: new Map(slots).set(slot, record), count: slotLimit(situation), why };
}

export const releasing = 'release';

/** Our slot is given back: first out of the register, where it says that somebody may write, then in the slots. */
function release(situation: Situation, slots: Slots, why: string): Intent | undefined {
  const { hub, tenure } = situation;
  const lease = tenure.lease();
  if (lease === undefined) return undefined;
  if (isRecorded(hub, tenure)) return { write: 'claims', claims: without(hub.claims(), [lease.slot]), why: releasing };
  const rest = new Map(slots);
  rest.delete(lease.slot);
  return { write: 'slots', slots: rest, count: slotLimit(situation), why };
}

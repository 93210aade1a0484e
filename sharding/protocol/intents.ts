import { defined } from '#base';
import { clusterDigest } from '../distribution/parts.ts';
import type { ClaimRecord, SlotClaims } from '../documents/claims.ts';
import { hasReached, newestEpoch } from '../documents/bounds.ts';
import { isProvablyGone, recordedProcess } from '../documents/process-location.ts';
import type { ProcessLocation } from '../documents/process-location.ts';
import type { HubKnowledge } from './hub-knowledge.ts';
import type { LocalInstant, WriteIntent, LocalState } from './member-types.ts';
import { maxReachServers, unknownHolder } from '../documents/slots-document.ts';
import type { ApiAddress, LandingWrites, SlotRecord, SlotHolders } from '../documents/slots-document.ts';
import { tableSum } from '../documents/table-document.ts';
import type { LeaseState, SlotLease } from './lease-state.ts';
import { protocolVersion } from '../timing/timing.ts';
import type { ProtocolTiming } from '../timing/timing.ts';

/** Inputs of an intent. */
export interface ProtocolSituation {
  readonly hub: HubKnowledge;
  readonly leaseState: LeaseState;
  readonly world: LocalState;
  readonly now: LocalInstant;
  readonly timing: ProtocolTiming;
  readonly self: ReplicaSignature;
  /** True unless the register holds a rival claim of our slot that we must wait for. */
  readonly mayRecord: boolean;
}

/** Identity of this replica in its record. */
export interface ReplicaSignature {
  /** Host name. */
  readonly name: string;
  /** Unique to this process. */
  readonly process: string;
  /** Incarnation of the present claim, or of the next one. */
  readonly incarnation: string;
  /** Differs from every earlier record: observers take equal records for a silent holder. */
  readonly renewals: number;
  readonly home: ProcessLocation | undefined;
  readonly api: ApiAddress | undefined;
  /** The slot that it held last. */
  readonly lastSlot: number | undefined;
}

/*
 * Intent: which write to the slots follows from a situation. Pure functions; lease-state.ts handles
 * the outcome of a write, planner.ts the tables.
 */

/**
 * Renews the lease when due, and acknowledges the obeyed table once no write to a part given away
 * is in flight.
 */
export function renewOrAcknowledge(situation: ProtocolSituation): WriteIntent | undefined {
  const { hub, leaseState, world } = situation;
  const [lease, slots] = [leaseState.lease(), hub.slots()];
  if (lease === undefined || slots === undefined) return undefined;
  const { slot } = lease;
  const mayAck = world.drained && !leaseState.isReleasing();
  const acked = mayAck ? (leaseState.table()?.epoch ?? leaseState.acked()) : leaseState.acked();
  const surplus = slot >= slotLimit(situation) && leaseState.taken().size === 0 && acked === leaseState.acked();
  if (surplus && world.drained) return releaseClaimThenSlot(situation, slots, 'more slots than replicas');
  const why = acked === leaseState.acked() ? renewalReason(situation) : 'acknowledgment';
  return why === undefined ? undefined : { ...writeOwnRecord(situation, slots, slot, { acked, why }), own: slot };
}

/** Why a record without new content is written. */
function renewalReason(situation: ProtocolSituation): string | undefined {
  const { hub, leaseState, now, timing } = situation;
  const lease = leaseState.lease();
  if (lease === undefined || !isClaimInSlots(hub, leaseState) || leaseState.leaseLeft(now) === 0) return 'renewal';
  const record = hub.holders().get(lease.slot);
  const known = record?.warm ?? 0;
  const { unreached, reaches } = reachOf(situation.world);
  if (!isSameList(unreached, record?.unreached) || !isSameList(reaches, record?.reaches)) return 'reachability';
  if (leaseState.hasAcked() && !hasReached(known, preparedEpoch(situation))) return 'filled caches';
  return now.monotonic >= renewalDueAt(lease, hub, timing) ? 'renewal' : undefined;
}

/** For the record: without empty lists, which it does not keep. */
function reachOf({ reach }: LocalState): Pick<SlotRecord, 'unreached' | 'reaches'> {
  const listed = (servers: readonly string[] = []): readonly string[] | undefined =>
    servers.length === 0 ? undefined : servers.slice(0, maxReachServers).map(clusterDigest);
  return defined({ unreached: listed(reach?.unreached), reaches: listed(reach?.reaches) });
}

function isSameList(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.join('\n') === b.join('\n');
}

/** When a lease is renewed. Later while parts move: their owners' writes to the slots go first. */
export function renewalDueAt(
  { renewedAt }: SlotLease,
  hub: Pick<HubKnowledge, 'isHandingOver'>,
  { renewMs }: ProtocolTiming,
): number {
  return renewedAt + (hub.isHandingOver() ? 1.5 * renewMs : renewMs);
}

/** Epoch of the newest table whose announced parts are ready; 0: none. */
function preparedEpoch({ world, leaseState }: ProtocolSituation): number {
  return world.warm === true ? (leaseState.table()?.epoch ?? 0) : 0;
}

/** Reports whether the slots contained our claim at the last read. */
export function isClaimInSlots(hub: HubKnowledge, leaseState: LeaseState): boolean {
  const lease = leaseState.lease();
  return lease !== undefined && hub.holders().get(lease.slot)?.incarnation === lease.incarnation;
}

/** Reports whether the register contains our claim. */
export function isClaimRecorded(hub: HubKnowledge, leaseState: LeaseState): boolean {
  const lease = leaseState.lease();
  return lease !== undefined && hub.claims().get(lease.slot)?.incarnation === lease.incarnation;
}

/** Claims a free slot, or that of a dead holder. */
export function claimSlot(situation: ProtocolSituation, slots: SlotHolders): WriteIntent | undefined {
  const { hub, world, now, self } = situation;
  const { inputs, fixedSlot } = world;
  if (inputs === undefined) return undefined;
  const limit = slotLimit(situation);
  const candidates = fixedSlot === undefined ? Array.from({ length: limit }, (_, i) => i) : [fixedSlot];
  // Prefer our previous slot: the caches of its clusters may be filled.
  const ranked = candidates.filter((slot) => slot === self.lastSlot).concat(candidates);
  const allowed = ranked.filter((slot) => slot < limit);
  const before = allowed.find((each) => isFromPredecessor(slots.get(each), situation));
  const mayBeFree = now.monotonic >= (hub.freeSlotsAt() ?? Number.NEGATIVE_INFINITY);
  const slot =
    before ??
    allowed.find((each) => !slots.has(each) && mayBeFree) ??
    allowed.find((each) => hub.presence.isExpired(each));
  if (slot === undefined) return undefined;
  // Wait a moment: this is either a new installation, or both ConfigMaps were deleted and running
  // replicas have not noticed yet.
  if (now.monotonic < (hub.believesEmptyAt() ?? Number.NEGATIVE_INFINITY)) return undefined;
  const why = before === undefined ? 'claim' : restartClaimReason;
  return { ...writeOwnRecord(situation, slots, slot, { acked: 0, why }), own: slot };
}

export const restartClaimReason = 'claim after a restart';

/**
 * An earlier process at our location held the slot and is gone: a container restart. If it has not
 * renewed for a lease, by the clock of this machine, the slots may be a backup from when it held
 * another slot than lately. A fleet of one has no other slot.
 */
function isFromPredecessor(record: SlotRecord | undefined, situation: ProtocolSituation): boolean {
  const { self, hub, world, now } = situation;
  if (record === undefined || record.incarnation === self.incarnation) return false;
  const isAlone = Math.max(world.replicas ?? 2, hub.published()?.replicas ?? 1) <= 1;
  const isRecent = now.wall - record.heartbeat <= hub.presence.longestOf([record]);
  return (isAlone || isRecent) && isProvablyGone(record, self.home);
}

/**
 * The mapping was restored from a backup: our record is older than our last write, or missing
 * although the slot is free. Other holders that still write may be missing too.
 */
export function isSetBack({ hub, leaseState, now }: ProtocolSituation): boolean {
  const [lease, slots] = [leaseState.lease(), hub.slots()];
  if (lease === undefined || slots === undefined || leaseState.leaseLeft(now) === 0) return false;
  const record = slots.get(lease.slot);
  return record === undefined || (record.incarnation === lease.incarnation && record.renewals < lease.renewals);
}

/**
 * Rewrites our record, and fills apparently free slots with placeholders, which expire after a
 * lease.
 */
export function restoreSlots(situation: ProtocolSituation, slots: SlotHolders): WriteIntent | undefined {
  const { leaseState } = situation;
  const lease = leaseState.lease();
  if (lease === undefined) return undefined;
  const all = new Map([...placeholders(situation), ...slots]);
  return writeOwnRecord(situation, all, lease.slot, { acked: leaseState.acked(), why: 'a mapping that was set back' });
}

/**
 * Rewrites a lost or corrupted ConfigMap. Slots with unknown holders get placeholders until a lease
 * has passed.
 */
export function repairSlots(situation: ProtocolSituation): WriteIntent | undefined {
  const { hub, leaseState, world, now } = situation;
  if (world.inputs === undefined) return undefined;
  const lease = leaseState.lease();
  if (hub.last()?.isNew === true && lease === undefined) return claimSlot(situation, new Map());
  const slots = new Map(placeholders(situation));
  if (lease === undefined || leaseState.leaseLeft(now) === 0)
    return { write: 'slots', slots, count: slotLimit(situation), why: 'repair' };
  return writeOwnRecord(situation, slots, lease.slot, { acked: leaseState.acked(), why: 'repair' });
}

/** A placeholder for each slot that may be in use. */
function placeholders(situation: ProtocolSituation): readonly (readonly [number, SlotRecord])[] {
  const { hub, leaseState, now, self } = situation;
  const known = hub.published()?.slots ?? 0;
  const count = Math.max(known, leaseState.table()?.slots ?? 0, slotLimit(situation), hub.presence.slotCount());
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

/**
 * Releases our slot in one write, although writes without an answer may still reach some servers:
 * the record stays and names them, so that whoever gets their parts waits for these writes only.
 * It also shows that our entry in the register, which stays until the next claim, is over.
 */
export function releaseSlotAtOnce(situation: ProtocolSituation, landing: LandingWrites): WriteIntent | undefined {
  const { hub, leaseState } = situation;
  const [lease, slots] = [leaseState.lease(), hub.slots()];
  if (lease === undefined || slots === undefined || !isClaimInSlots(hub, leaseState)) return undefined;
  const acked = leaseState.acked();
  const intent = writeOwnRecord(situation, slots, lease.slot, { acked, why: releaseReason });
  const record = intent.slots.get(lease.slot);
  if (record === undefined) return undefined;
  const released = { ...record, released: true, landing: longerOf(landing, record.landing) } as const;
  return { ...intent, slots: new Map(intent.slots).set(lease.slot, released), own: lease.slot };
}

/** Servers of both, with the longer time of each. */
export function longerOf(a: LandingWrites, b: LandingWrites = new Map()): LandingWrites {
  const longer = new Map(a);
  for (const [server, ms] of b) longer.set(server, Math.max(ms, a.get(server) ?? 0));
  return longer;
}

/** Adds the records of released slots, which a claimant replaces, and the planner removes. */
export function withReleased(intent: WriteIntent | undefined, { hub, now }: ProtocolSituation): typeof intent {
  if (intent?.write !== 'slots') return intent;
  const kept = [...hub.released()].filter(
    ([slot, record]) => hub.landing.remaining(slot, now.monotonic).size > 0 || isClaimOf(record, hub.claims()),
  );
  return kept.length === 0 ? intent : { ...intent, slots: new Map([...kept, ...intent.slots]) };
}

/** Reports whether a live replica removes our record once it shows that our slot is released. */
export function hasRemover({ hub, leaseState }: ProtocolSituation): boolean {
  const own = leaseState.lease()?.slot;
  return [...hub.holders()].some(
    ([slot, { version = 0 }]) => slot !== own && version >= protocolVersion && !hub.presence.isExpired(slot),
  );
}

/** Releases our slot. The caller has released all parts, and no write is in flight. */
export function releaseSlot(situation: ProtocolSituation): WriteIntent | undefined {
  const { hub, leaseState } = situation;
  const slots = hub.slots();
  if (slots === undefined || !isClaimInSlots(hub, leaseState)) return undefined;
  return releaseClaimThenSlot(situation, slots, releaseReason);
}

/**
 * Records our claim beside the table, where it survives a restored mapping. Until then the claim
 * obeys no table.
 */
export function recordClaim({ hub, leaseState, timing, mayRecord, self }: ProtocolSituation): WriteIntent | undefined {
  const lease = leaseState.lease();
  if (lease === undefined || hub.published() === undefined || !isClaimInSlots(hub, leaseState)) return undefined;
  if (!mayRecord || isClaimRecorded(hub, leaseState)) return undefined;
  const claims = withOwnClaim(hub.claims(), lease.slot, { incarnation: self.incarnation, leaseMs: timing.leaseMs });
  return { write: 'claims', claims, why: 'record of a claim' };
}

/** The register to publish with a table: includes our own claim, if it may be recorded. */
export function claimsBesideTable({ hub, leaseState, timing, mayRecord, self }: ProtocolSituation): SlotClaims {
  const lease = leaseState.lease();
  if (lease === undefined || !mayRecord || !isClaimInSlots(hub, leaseState)) return hub.claims();
  return withOwnClaim(hub.claims(), lease.slot, { incarnation: self.incarnation, leaseMs: timing.leaseMs });
}

function withOwnClaim(claims: SlotClaims, slot: number, own: ClaimRecord): SlotClaims {
  return new Map(claims).set(slot, own);
}

function withoutClaims(claims: SlotClaims, slots: Iterable<number>): SlotClaims {
  const rest = new Map(claims);
  for (const slot of slots) rest.delete(slot);
  return rest;
}

/**
 * Frees the slots of dead holders if this replica plans, so that claimants need not observe a full
 * lease themselves. We must have acknowledged the newest table first, because the removed record
 * may be the only other one that contains its epoch.
 */
export function releaseExpiredSlots(situation: ProtocolSituation): WriteIntent | undefined {
  const { hub, now } = situation;
  const isLanding = (slot: number): boolean => hub.landing.remaining(slot, now.monotonic).size > 0;
  const expired = [...hub.presence.expired()].filter((slot) => !isLanding(slot));
  return expired.length === 0 ? undefined : removeRecords(situation, expired);
}

/** Removes the records of released slots, after all that others wait for: these slots are free. */
export function removeReleasedSlots(situation: ProtocolSituation): WriteIntent | undefined {
  const { hub, now } = situation;
  const isLanding = (slot: number): boolean => hub.landing.remaining(slot, now.monotonic).size > 0;
  return [...hub.released().keys()].every(isLanding) ? undefined : removeRecords(situation, []);
}

function removeRecords(situation: ProtocolSituation, expired: readonly number[]): WriteIntent | undefined {
  const { hub, leaseState, now } = situation;
  const [lease, slots] = [leaseState.lease(), hub.slots()];
  const isLanding = (slot: number): boolean => hub.landing.remaining(slot, now.monotonic).size > 0;
  const released = [...hub.released()].filter(([slot]) => !isLanding(slot));
  if (lease === undefined || slots === undefined) return undefined;
  if (leaseState.leaseLeft(now) === 0 || !hub.isPlanner(lease.slot, now)) return undefined;
  if (leaseState.acked() !== hub.published()?.epoch) return undefined;
  // Remove the register entry first; otherwise the next claimant of the free slot would wait for
  // it.
  const gone = [...expired.map((slot) => slots.get(slot)), ...released.map(([, record]) => record)];
  const known = gone.flatMap((record) => (record && isClaimOf(record, hub.claims()) ? [record.slot] : []));
  if (known.length > 0) return { write: 'claims', claims: withoutClaims(hub.claims(), known), why: 'a dead holder' };
  const rest = new Map([...slots].filter(([slot]) => !expired.includes(slot)));
  return writeOwnRecord(situation, rest, lease.slot, { acked: leaseState.acked(), why: 'a dead holder' });
}

function isClaimOf(holder: SlotRecord, claims: SlotClaims): boolean {
  return claims.get(holder.slot)?.incarnation === holder.incarnation;
}

/**
 * Number of slots that may be held: the table's replicas or the desired replicas, whichever is
 * higher.
 */
function slotLimit({ hub, world }: ProtocolSituation): number {
  return Math.max(hub.published()?.replicas ?? 0, world.replicas ?? 0, 1);
}

type SlotsIntent = WriteIntent & { readonly write: 'slots' };

interface RecordUpdate {
  readonly acked: number;
  readonly why: string;
}

/** The slots with our record in `slot`. */
function writeOwnRecord(
  situation: ProtocolSituation,
  slots: SlotHolders,
  slot: number,
  { acked, why }: RecordUpdate,
): SlotsIntent {
  const { hub, leaseState, world, now, self, timing } = situation;
  const { name: holder, incarnation, renewals } = self;
  const old = slots.get(slot);
  const ours = old?.incarnation === incarnation ? old : undefined;
  const landing = hub.landing.remaining(slot, now.monotonic);
  const obeyed = leaseState.table();
  const newest = newestEpoch(acked, ours?.acked ?? 0);
  const record = {
    slot,
    holder,
    incarnation,
    renewals,
    heartbeat: now.wall,
    acked: newest,
    ...(obeyed?.epoch === newest ? { sum: tableSum(obeyed) } : {}),
    leaseMs: timing.leaseMs,
    version: protocolVersion,
    ...(world.warm === undefined ? {} : { warm: newestEpoch(preparedEpoch(situation), ours?.warm ?? 0) }),
    ...(self.home === undefined ? {} : { home: recordedProcess(self.home) }),
    ...defined({ load: world.load, api: self.api, ...reachOf(world) }),
    ...(landing.size === 0 ? {} : { landing }),
  };
  return { write: 'slots', slots: new Map(slots).set(slot, record), count: slotLimit(situation), why };
}

export const releaseReason = 'release';

/**
 * Releases our slot in two writes: first the register entry, which records that we may write, then
 * the slot.
 */
function releaseClaimThenSlot(situation: ProtocolSituation, slots: SlotHolders, why: string): WriteIntent | undefined {
  const { hub, leaseState } = situation;
  const lease = leaseState.lease();
  if (lease === undefined) return undefined;
  if (isClaimRecorded(hub, leaseState))
    return { write: 'claims', claims: withoutClaims(hub.claims(), [lease.slot]), why: releaseReason };
  const rest = new Map(slots);
  rest.delete(lease.slot);
  return { write: 'slots', slots: rest, count: slotLimit(situation), why };
}

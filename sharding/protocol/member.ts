import { ClaimRegister } from './claim-register.ts';
import type { ProcessLocation } from '../documents/process-location.ts';
import { HubKnowledge } from './hub-knowledge.ts';
import {
  claimSlot,
  hasRemover,
  isClaimInSlots,
  isClaimRecorded,
  isSetBack,
  longerOf,
  recordClaim,
  releaseExpiredSlots,
  releaseReason,
  releaseSlot,
  releaseSlotAtOnce,
  removeReleasedSlots,
  renewOrAcknowledge,
  renewalDueAt,
  repairSlots,
  restartClaimReason,
  restoreSlots,
  withReleased,
} from './intents.ts';
import type { ProtocolSituation } from './intents.ts';
import type { LocalInstant, WriteIntent, HubObservation, LocalState } from './member-types.ts';
import { TablePlanner } from './planner.ts';
import { anyServer, heldSlots, unknownHolder } from '../documents/slots-document.ts';
import type { ApiAddress, SlotHolders, SlotRecord } from '../documents/slots-document.ts';
import { LeaseState } from './lease-state.ts';
import { UnansweredWrites } from './unanswered-writes.ts';
import type { PartsByServer } from './lease-state.ts';
import type { TableDocument } from '../documents/table-document.ts';
import type { ProtocolTiming } from '../timing/timing.ts';

export interface MemberOptions {
  /** Host name. */
  readonly name: string;
  /** Unique to this process. */
  readonly process: string;
  readonly timing: ProtocolTiming;
  readonly home?: ProcessLocation;
  /** Where this replica's read API answers; published with its record. */
  readonly api?: ApiAddress;
}

/**
 * One replica's part of the hand-over protocol: a state machine without clocks, network or
 * randomness. The driver passes in observations of the hub (`observe`), carries out writes
 * (`intent`, `wrote`) and asks before each write to a cluster (`mayWrite`). Knowledge is in
 * hub-knowledge.ts, intents in intents.ts and planner.ts, rights in lease-state.ts. Rules and
 * proof: docs/adr/0010-ownership-handover.md; the simulation runs many members against one hub.
 */
export class ProtocolMember {
  readonly #options: MemberOptions;
  readonly #hub: HubKnowledge;
  readonly #leaseState: LeaseState;
  readonly #planner: TablePlanner;
  readonly #register: ClaimRegister;
  readonly #unanswered = new UnansweredWrites();
  #claims = 0;
  #renewals = 0;
  #lastSlot: number | undefined;
  #leaving = false;
  /** Our host name gives us another slot: this one was claimed while the replicas were unknown. */
  #misplaced = false;
  /**
   * Epoch that the holder before us acknowledged, and when its last request can no longer be
   * carried out.
   */
  #heritage: { readonly acked: number; readonly until: number; readonly isNamed: boolean } | undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#hub = new HubKnowledge(options.timing);
    this.#leaseState = new LeaseState(options.timing);
    this.#planner = new TablePlanner(options.timing);
    this.#register = new ClaimRegister(options.process, options.timing);
  }

  /** The slot of this replica; undefined when it has none, or may not rely on it any more. */
  slot(now: LocalInstant): number | undefined {
    return this.leaseLeft(now) > 0 ? this.#leaseState.lease()?.slot : undefined;
  }

  /** How long this replica may write without a renewal. 0: not at all. */
  leaseLeft(now: LocalInstant): number {
    return this.#leaseState.leaseLeft(now);
  }

  /** The table that this replica obeys. */
  table(): TableDocument | undefined {
    return this.#leaseState.table();
  }

  /** Knowledge of the hub. */
  hub(): Pick<HubKnowledge, 'holders' | 'published' | 'unowned' | 'presence'> {
    return this.#hub;
  }

  /**
   * Reports whether this replica may write now for a part of a cluster (or of the unresolved
   * destination).
   */
  mayWrite(server: string, part: number, now: LocalInstant): boolean {
    return this.taken().get(server)?.has(part) === true && this.leaseLeft(now) > 0;
  }

  /** Parts taken up, by server; valid only while `leaseLeft` is above 0. */
  taken(): PartsByServer {
    return this.#leaseState.taken();
  }

  /**
   * Parts by server that will be ours when we are ready (announced) or when others have released
   * them (given). Valid only while `leaseLeft` is above 0.
   */
  coming(which: 'announced' | 'given'): PartsByServer {
    return this.#leaseState[which]();
  }

  /**
   * Reports whether this replica warns about unowned clusters: if it plans, or if no replica can.
   * Never while a controller of Argo CD is active, because that may own them.
   */
  reportsUnowned(now: LocalInstant): boolean {
    if (this.#hub.presence.foreign().size > 0) return false;
    return this.plans(now) || this.#hub.presence.live().length === 0;
  }

  /** Reports whether this replica plans tables. @param slots as the watch delivered them last */
  plans(now: LocalInstant, slots?: SlotHolders): boolean {
    const slot = this.slot(now);
    return slot !== undefined && this.#hub.isPlanner(slot, now, slots);
  }

  /** Milliseconds until the next action that the passing of time alone triggers. */
  idleMs(now: LocalInstant): number {
    const { renewMs } = this.#options.timing;
    const lease = this.#leaseState.lease();
    const secondLook = (this.#hub.believesEmptyAt() ?? 0) - now.monotonic;
    const restMs = this.#planner.restsUntil(this.#hub) - now.monotonic;
    const steps = [
      lease === undefined ? renewMs : renewalDueAt(lease, this.#hub, this.#options.timing) - now.monotonic,
      lease === undefined && secondLook > 0 ? secondLook : renewMs,
      // Changes right after a published table had to wait.
      restMs > 0 ? restMs : renewMs,
    ];
    if (this.#leaseState.isOpen())
      steps.push(...this.#hub.landing.ends(now.monotonic).map((at) => at + 1 - now.monotonic));
    const rivalUntil = lease && this.#register.waitsUntil(lease.slot);
    if (this.table() === undefined && rivalUntil !== undefined) steps.push(rivalUntil + 1 - now.monotonic);
    const plans = this.plans(now);
    const { presence } = this.#hub;
    // A replica that waits for others must notice that they are gone; the planner must notice it
    // for all.
    if (lease === undefined || this.#leaseState.isOpen() || plans)
      steps.push(...presence.expiries().map((at) => at - now.monotonic));
    const decisions = plans ? [...presence.absences(now.monotonic), ...presence.warmUps(now.monotonic)] : [];
    steps.push(...decisions.map((at) => at - now.monotonic));
    return Math.max(0, Math.min(...steps));
  }

  /**
   * Reports whether a step is pending that the next turn may complete, so that it should come soon.
   */
  unsettled(): boolean {
    const waits = this.table() !== undefined && this.#leaseState.lease() !== undefined && !this.#leaseState.hasAcked();
    return this.#leaseState.isOpen() || this.#misplaced || waits;
  }

  /** Reports whether this replica holds a slot but has not taken up all of its parts yet. */
  isTakingUp(): boolean {
    return this.#leaseState.lease() !== undefined && (this.#leaseState.isOpen() || !this.#leaseState.hasAcked());
  }

  /** Takes in one read of the hub. */
  observe(observation: HubObservation, now: LocalInstant): void {
    this.#leaseState.dropLapsedLease(now);
    this.#takeInCommitted(observation, now);
    this.#hub.observe(observation, now);
    if (!this.#mayKeepSlot(observation, now)) this.#lose();
    this.#register.observe(observation);
    // A lost register does not stop a claim that already obeys a table: that claim never left the
    // slots.
    if (this.table() !== undefined || isClaimRecorded(this.#hub, this.#leaseState))
      this.#leaseState.adopt(observation, this.#hub);
    this.#leaseState.releaseInTurn(this.#hub, now);
    if (!this.#leaving && !this.#misplaced) this.#leaseState.takeUp(this.#hub);
  }

  /** Takes in signs of life from the watch, between reads. */
  notice(slots: SlotHolders, now: LocalInstant): void {
    this.#hub.presence.notice(heldSlots(slots), now.monotonic);
  }

  /**
   * The machine was suspended: write nothing before the slot was renewed and the table read again.
   */
  expireLease(): void {
    this.#leaseState.expireLease();
    this.#unanswered.clear();
  }

  /** The next write to the hub. */
  intent(world: LocalState, now: LocalInstant): WriteIntent | undefined {
    this.#leaseState.dropLapsedLease(now);
    if (this.#hub.last() === undefined) return undefined;
    if (world.leaving) this.#leaving = true;
    this.#checkPlace(world);
    this.#renewals += 1;
    const situation = this.#situation(this.#withHeritage(world, now), now);
    return withReleased(this.#intentIn(situation), situation);
  }

  #intentIn(situation: ProtocolSituation): WriteIntent | undefined {
    const released = this.#leaving || this.#misplaced ? this.#giveBack(situation) : undefined;
    if (released !== undefined || this.#leaving) return released;
    const slots = this.#hub.slots();
    if (slots === undefined) return repairSlots(situation);
    if (this.#leaseState.lease() === undefined) return claimSlot(situation, slots);
    if (isSetBack(situation)) return restoreSlots(situation, slots);
    // Keep renewing until the slot can be released.
    if (this.#misplaced) return renewOrAcknowledge(situation);
    return (
      renewOrAcknowledge(situation) ??
      releaseExpiredSlots(situation) ??
      recordClaim(situation) ??
      this.#planner.next(situation) ??
      removeReleasedSlots(situation)
    );
  }

  /**
   * The write of {@link intent} succeeded; `sent` is when it was sent. Not called after a failure
   * or a lost race.
   */
  wrote(intent: WriteIntent, sent: LocalInstant, now: LocalInstant): void {
    this.#unanswered.clear();
    if (intent.write === 'table') {
      this.#planner.published(now);
      return;
    }
    if (intent.write === 'claims') {
      // Our entry in the register is gone, and without it we may obey no table. If we keep the slot
      // after all, it counts as a new claim.
      if (intent.why === releaseReason) this.#leaseState.resetLease();
      return;
    }
    const own = this.#ownRecord(intent.slots);
    if (own === undefined || own.released === true) {
      this.#lose();
      return;
    }
    const before = this.#hub.holders().get(own.slot) ?? this.#hub.released().get(own.slot);
    this.#lastSlot = own.slot;
    if (this.#leaseState.lease() === undefined) this.#register.claimed(before?.incarnation);
    if (this.#leaseState.lease() === undefined) this.#inherit(own, before, intent.why === restartClaimReason, now);
    this.#leaseState.renewed(own, sent, now, isClaimInSlots(this.#hub, this.#leaseState));
  }

  /**
   * The write of {@link intent} was sent, and it is unknown whether it was carried out. A later
   * read may prove that; then the lease counts from `sent`.
   */
  unanswered(intent: WriteIntent, sent: LocalInstant): void {
    if (intent.write !== 'slots') return;
    const record = this.#ownRecord(intent.slots);
    if (record !== undefined) this.#unanswered.add({ intent, record, sent });
  }

  #takeInCommitted({ slots }: HubObservation, now: LocalInstant): void {
    const write = slots.state === 'ok' ? this.#unanswered.committed(slots.value) : undefined;
    if (write !== undefined) this.wrote(write.intent, write.sent, now);
  }

  #ownRecord(slots: SlotHolders): SlotRecord | undefined {
    return [...slots.values()].find(({ incarnation }) => incarnation === this.#incarnation());
  }

  /**
   * Reports whether requests of the holder before us count as in flight. Under the table that it
   * obeyed its parts are ours, so they do no harm; before a release or another table we wait for
   * them.
   */
  #isHeir({ monotonic }: LocalInstant): boolean {
    if (this.#heritage === undefined || monotonic >= this.#heritage.until) return false;
    return this.#leaving || this.#misplaced || this.#leaseState.table()?.epoch !== this.#heritage.acked;
  }

  /** Takes in a claim. A predecessor at our location left no list of its requests. */
  #inherit({ landing }: SlotRecord, before: SlotRecord | undefined, isRestart: boolean, now: LocalInstant): void {
    const times = [...(landing?.values() ?? []), ...(isRestart ? [this.#options.timing.marginMs] : [])];
    if (times.length === 0) return;
    const until = now.monotonic + Math.max(...times);
    this.#heritage = { acked: before?.acked ?? 0, until, isNamed: !isRestart };
  }

  #withHeritage(world: LocalState, now: LocalInstant): LocalState {
    if (this.#heritage === undefined || !this.#isHeir(now)) return world;
    const { until, isNamed } = this.#heritage;
    const ours = world.drained ? new Map<string, number>() : world.landing;
    // Our record names the others.
    const inherited = new Map(isNamed ? [] : [[anyServer, Math.ceil(until - now.monotonic)] as const]);
    return { ...world, drained: false, landing: ours && longerOf(ours, inherited) };
  }

  #mayKeepSlot({ slots }: HubObservation, now: LocalInstant): boolean {
    const lease = this.#leaseState.lease();
    // If we slept past our lease, the unreadable slots may name a successor.
    if (slots.state !== 'ok') return this.leaseLeft(now) > 0;
    if (lease === undefined || isClaimInSlots(this.#hub, this.#leaseState)) return true;
    // A placeholder is no rival: the ConfigMap was lost with our claim, and our lease still
    // protects the slot.
    const record = slots.value.get(lease.slot);
    return (record === undefined || record.holder === unknownHolder) && this.leaseLeft(now) > 0;
  }

  #lose(): void {
    this.#leaseState.loseSlot();
    this.#misplaced = false;
    this.#claims += 1;
  }

  #incarnation(): string {
    return `${this.#options.process}/${this.#claims}`;
  }

  #situation(world: LocalState, now: LocalInstant): ProtocolSituation {
    const { name, process, timing, home, api } = this.#options;
    const self = {
      name,
      process,
      home,
      api,
      incarnation: this.#incarnation(),
      renewals: this.#renewals,
      lastSlot: this.#lastSlot,
    };
    const slot = this.#leaseState.lease()?.slot;
    const mayRecord = slot !== undefined && this.#register.mayRecord(slot, now.monotonic);
    return { hub: this.#hub, leaseState: this.#leaseState, world, now, timing, self, mayRecord };
  }

  #checkPlace({ fixedSlot, replicas }: LocalState): void {
    const lease = this.#leaseState.lease();
    const known = lease !== undefined && fixedSlot !== undefined && (replicas ?? 0) > 1;
    const misplaced = known && fixedSlot !== lease.slot;
    // We keep the slot after all: reset the lease, so that released parts are taken up as after a
    // new claim.
    if (this.#misplaced && !misplaced) this.#leaseState.resetLease();
    this.#misplaced = misplaced;
  }

  /** Takes up nothing more, and releases the slot once no write is in flight. */
  #giveBack(situation: ProtocolSituation): WriteIntent | undefined {
    const hadSome = this.#leaseState.releaseParts();
    // Only the next turn knows whether writes to the parts just released have drained.
    const { drained, landing } = situation.world;
    if (this.#leaving && !drained)
      return hadSome || landing === undefined ? undefined : releaseSlotAtOnce(situation, landing);
    if (this.#leaving) return this.#leaveDrained(situation);
    if (!drained || hadSome) return undefined;
    if (this.#hub.slots() === undefined) this.#lose();
    return releaseSlot(situation);
  }

  /** Without a replica that removes it, an older release would wait for a released record. */
  #leaveDrained(situation: ProtocolSituation): WriteIntent | undefined {
    if (hasRemover(situation)) return releaseSlotAtOnce(situation, new Map());
    if (this.#hub.slots()?.has(this.#leaseState.lease()?.slot ?? -1) === false) this.#lose();
    return releaseSlot(situation);
  }
}

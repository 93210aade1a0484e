import { ClaimRegister } from './claim-register.ts';
import type { Home } from './home.ts';
import { HubKnowledge } from './hub-knowledge.ts';
import {
  bringForward,
  claim,
  giveBack,
  isRecorded,
  isSetBack,
  keep,
  record,
  releasing,
  repair,
  restartClaim,
} from './intents.ts';
import { stands, sweep } from './intents.ts';
import type { Situation } from './intents.ts';
import type { Instant, Intent, Observation, World } from './member-types.ts';
import { Planner } from './planner.ts';
import { unknownHolder } from './slots-document.ts';
import type { Slots } from './slots-document.ts';
import { Tenure } from './tenure.ts';
import type { Parts } from './tenure.ts';
import type { TableDocument } from './table-document.ts';
import type { Timing } from './timing.ts';

export interface MemberOptions {
  /** Host name. */
  readonly name: string;
  /** Unique to this process. */
  readonly process: string;
  readonly timing: Timing;
  readonly home?: Home;
}

/**
 * One replica's part of the hand-over protocol: a state machine without clocks, network or chance. Whoever drives it shows it the hub
 * (`observe`), carries out what it wants (`intent`, `wrote`), and asks it before each write (`mayWrite`). What it knows is in
 * hub-knowledge.ts, what it wants in intents.ts and planner.ts, what it may in tenure.ts. The rules, and why they suffice, are in
 * docs/adr/0010-ownership-handover.md; the simulation drives many of these against one hub.
 */
export class Member {
  readonly #options: MemberOptions;
  readonly #hub: HubKnowledge;
  readonly #tenure: Tenure;
  readonly #planner: Planner;
  readonly #register: ClaimRegister;
  #claims = 0;
  #renewals = 0;
  #lastSlot: number | undefined;
  #leaving = false;
  /** Another slot is ours by name: this one was taken while nobody said how many replicas there are. */
  #misplaced = false;
  /** What the process before in this place had acknowledged, and until when its requests may still be carried out. */
  #heritage: { readonly acked: number; readonly until: number } | undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#hub = new HubKnowledge(options.timing);
    this.#tenure = new Tenure(options.timing);
    this.#planner = new Planner(options.timing);
    this.#register = new ClaimRegister(options.process, options.timing);
  }

  /** The slot that this replica holds; undefined when it has none, or may not rely on it any more. */
  slot(now: Instant): number | undefined {
    return this.leaseLeft(now) > 0 ? this.#tenure.lease()?.slot : undefined;
  }

  /** How long this replica may write without a renewal. 0: not at all. */
  leaseLeft(now: Instant): number {
    return this.#tenure.leaseLeft(now);
  }

  /** The table that this replica obeys. */
  table(): TableDocument | undefined {
    return this.#tenure.table();
  }

  /** What it knows of the hub. */
  hub(): Pick<HubKnowledge, 'holders' | 'published' | 'unowned' | 'presence'> {
    return this.#hub;
  }

  /** Whether this replica may write for a part of a cluster (or of the Applications with an unresolved destination) at this moment. */
  mayWrite(server: string, part: number, now: Instant): boolean {
    return this.taken().get(server)?.has(part) === true && this.leaseLeft(now) > 0;
  }

  /** Parts that are taken up, by server; to be believed only while `leaseLeft` is above 0. */
  taken(): Parts {
    return this.#tenure.taken();
  }

  /**
   * Parts, by server, that will be this replica's when it is ready for them (announced), or when others have let go of them (given); to be believed
   * only while `leaseLeft` is above 0.
   */
  coming(which: 'announced' | 'given'): Parts {
    return this.#tenure[which]();
  }

  /**
   * Whether this replica should tell the users of clusters that nobody looks after them: it plans, or nobody can. Not beside a controller of
   * Argo CD, which may do so.
   */
  reportsUnowned(now: Instant): boolean {
    if (this.#hub.presence.foreign().size > 0) return false;
    return this.plans(now) || this.#hub.presence.live().length === 0;
  }

  /** Whether it is for this replica to plan tables. */
  plans(now: Instant): boolean {
    const slot = this.slot(now);
    return slot !== undefined && this.#hub.isPlanner(slot, now);
  }

  /** Milliseconds until there is something to do that nobody but the clock tells. */
  idleMs(now: Instant): number {
    const { renewMs, publishMs } = this.#options.timing;
    const lease = this.#tenure.lease();
    const secondLook = (this.#hub.believesEmptyAt() ?? 0) - now.monotonic;
    const steps = [
      lease === undefined ? renewMs : lease.renewedAt + renewMs - now.monotonic,
      lease === undefined && secondLook > 0 ? secondLook : renewMs,
      // What changed right after a table was published had to wait.
      this.#planner.rests(now) ? publishMs : renewMs,
    ];
    const rivalUntil = lease && this.#register.waitsUntil(lease.slot);
    if (this.table() === undefined && rivalUntil !== undefined) steps.push(rivalUntil + 1 - now.monotonic);
    const plans = this.plans(now);
    const { presence } = this.#hub;
    // Whoever waits for others must see when they are gone; whoever plans must, for all.
    if (lease === undefined || this.#tenure.isOpen() || plans)
      steps.push(...presence.expiries().map((at) => at - now.monotonic));
    const decisions = plans ? [...presence.absences(now.monotonic), ...presence.warmUps(now.monotonic)] : [];
    steps.push(...decisions.map((at) => at - now.monotonic));
    return Math.max(0, Math.min(...steps));
  }

  /** Something is on its way that only the next observations can tell: look soon. */
  unsettled(): boolean {
    const waits = this.table() !== undefined && this.#tenure.lease() !== undefined && !this.#tenure.hasAcked();
    return this.#tenure.isOpen() || this.#misplaced || waits;
  }

  /** It holds a slot, and has not taken up all that the published table gives to that. */
  isTakingUp(): boolean {
    return this.#tenure.lease() !== undefined && (this.#tenure.isOpen() || !this.#tenure.hasAcked());
  }

  /** Takes note of a look at the hub. */
  observe(observation: Observation, now: Instant): void {
    this.#tenure.lapse(now);
    this.#hub.observe(observation, now);
    if (!this.#mayKeepSlot(observation, now)) this.#lose();
    this.#register.observe(observation);
    // A claim that has obeyed a table goes on when the register was lost: it has never ceased to stand in the slots.
    if (this.table() !== undefined || isRecorded(this.#hub, this.#tenure)) this.#tenure.adopt(observation, this.#hub);
    if (!this.#leaving && !this.#misplaced) this.#tenure.takeUp(this.#hub);
  }

  /** Takes note of signs of life that came by the watch, between looks. */
  notice(slots: Slots, now: Instant): void {
    this.#hub.presence.notice(slots, now.monotonic);
  }

  /** The machine was suspended: nothing may be written before the slot was renewed, and the table read after that. */
  distrust(): void {
    this.#tenure.distrust();
  }

  /** What to write now. */
  intent(world: World, now: Instant): Intent | undefined {
    this.#tenure.lapse(now);
    if (this.#hub.last() === undefined) return undefined;
    if (world.leaving) this.#leaving = true;
    this.#checkPlace(world);
    this.#renewals += 1;
    const situation = this.#situation(this.#isHeir(now) ? { ...world, drained: false } : world, now);
    const released = this.#leaving || this.#misplaced ? this.#giveBack(situation) : undefined;
    if (released !== undefined || this.#leaving) return released;
    const slots = this.#hub.slots();
    if (slots === undefined) return repair(situation);
    if (this.#tenure.lease() === undefined) return claim(situation, slots);
    if (isSetBack(situation)) return bringForward(situation, slots);
    // Whoever is about to go has to stay alive until it can.
    if (this.#misplaced) return keep(situation);
    return keep(situation) ?? sweep(situation) ?? record(situation) ?? this.#planner.next(situation);
  }

  /** The write of {@link intent} went through; `sent` is when it was sent. Not called when it failed or lost a race. */
  wrote(intent: Intent, sent: Instant, now: Instant): void {
    if (intent.write === 'table') {
      this.#planner.published(now);
      return;
    }
    if (intent.write === 'claims') {
      // Out of the register nothing may be obeyed: should the slot be kept after all, it is like a claim that has just been made.
      if (intent.why === releasing) this.#tenure.forget();
      return;
    }
    const own = [...intent.slots.values()].find(({ incarnation }) => incarnation === this.#incarnation());
    if (own === undefined) {
      this.#lose();
      return;
    }
    const before = this.#hub.holders().get(own.slot);
    this.#lastSlot = own.slot;
    if (this.#tenure.lease() === undefined) this.#register.claimed(before?.incarnation);
    if (intent.why === restartClaim)
      this.#heritage = { acked: before?.acked ?? 0, until: now.monotonic + this.#options.timing.marginMs };
    this.#tenure.renewed(own, sent, now, stands(this.#hub, this.#tenure));
  }

  /**
   * Requests of the process before may still be carried out, for parts that it had. Under the table that it obeyed they are this replica's own; under
   * another one, or when the slot is given back, they may be somebody else's: as a write of unknown outcome they count as under way.
   */
  #isHeir({ monotonic }: Instant): boolean {
    if (this.#heritage === undefined || monotonic >= this.#heritage.until) return false;
    return this.#leaving || this.#misplaced || this.#tenure.table()?.epoch !== this.#heritage.acked;
  }

  #mayKeepSlot({ slots }: Observation, now: Instant): boolean {
    const lease = this.#tenure.lease();
    // Who slept through the end of its lease may have a successor, which nobody can read any more: it is a stranger now.
    if (slots.state !== 'ok') return this.leaseLeft(now) > 0;
    if (lease === undefined || stands(this.#hub, this.#tenure)) return true;
    // A placeholder is no rival: the ConfigMap was lost, and our claim with it, but nobody may take the slot while our lease lasts.
    const record = slots.value.get(lease.slot);
    return (record === undefined || record.holder === unknownHolder) && this.leaseLeft(now) > 0;
  }

  #lose(): void {
    this.#tenure.lose();
    this.#misplaced = false;
    this.#claims += 1;
  }

  #incarnation(): string {
    return `${this.#options.process}/${this.#claims}`;
  }

  #situation(world: World, now: Instant): Situation {
    const { name, process, timing, home } = this.#options;
    const self = {
      name,
      process,
      home,
      incarnation: this.#incarnation(),
      renewals: this.#renewals,
      lastSlot: this.#lastSlot,
    };
    const slot = this.#tenure.lease()?.slot;
    const mayRecord = slot !== undefined && this.#register.mayRecord(slot, now.monotonic);
    return { hub: this.#hub, tenure: this.#tenure, world, now, timing, self, mayRecord };
  }

  #checkPlace({ fixedSlot, replicas }: World): void {
    const lease = this.#tenure.lease();
    const known = lease !== undefined && fixedSlot !== undefined && (replicas ?? 0) > 1;
    const misplaced = known && fixedSlot !== lease.slot;
    // It stays after all: what it let go of already it must take up anew, like a claim that has just been made.
    if (this.#misplaced && !misplaced) this.#tenure.forget();
    this.#misplaced = misplaced;
  }

  /** Takes nothing up any more, and gives the slot back as soon as nothing is under way. */
  #giveBack(situation: Situation): Intent | undefined {
    const hadSome = this.#tenure.letGo();
    // Whether what was ours a moment ago is drained, only the next turn can tell.
    if (!situation.world.drained || (hadSome && !this.#leaving)) return undefined;
    if (this.#hub.slots() === undefined && this.#misplaced) this.#lose();
    return giveBack(situation);
  }
}

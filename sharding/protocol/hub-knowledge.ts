import type { SlotClaims } from '../documents/claims.ts';
import type { LocalInstant, HubObservation } from './member-types.ts';
import { BackupWatch } from './backup-watch.ts';
import { LandingTracker } from './landing-tracker.ts';
import { HolderPresence } from './presence.ts';
import { hasReached, newestEpoch } from '../documents/bounds.ts';
import { heldSlots, isForeign, unknownHolder } from '../documents/slots-document.ts';
import type { SlotHolders } from '../documents/slots-document.ts';
import { tableSum } from '../documents/table-document.ts';
import type { TableDocument, ReleaseWait } from '../documents/table-document.ts';
import { longestLeaseMs, protocolVersion } from '../timing/timing.ts';
import type { ProtocolTiming } from '../timing/timing.ts';
import { unownedParts } from '../documents/unowned.ts';
import { UnseenClaims } from './unseen-claims.ts';

/**
 * Observation: what this replica knows of the hub and of the other replicas from its reads. Decides
 * and changes nothing: rights are in lease-state.ts, writes in intents.ts and planner.ts.
 */
export class HubKnowledge {
  readonly presence: HolderPresence;
  readonly landing = new LandingTracker();
  readonly #timing: ProtocolTiming;
  readonly #unseen: UnseenClaims;
  #last: HubObservation | undefined;
  #held: SlotHolders | undefined;
  #emptySince: number | undefined;
  #unackedSince: number | undefined;
  readonly #backup = new BackupWatch();
  #handingOver: { readonly observation: HubObservation; readonly is: boolean } | undefined;
  #unowned:
    { readonly observation: HubObservation; readonly servers: ReadonlyMap<string, readonly number[]> } | undefined;

  constructor(timing: ProtocolTiming) {
    this.#timing = timing;
    this.presence = new HolderPresence(timing);
    this.#unseen = new UnseenClaims(timing);
  }

  observe(observation: HubObservation, now: LocalInstant): void {
    this.#last = observation;
    this.#held = observation.slots.state === 'ok' ? heldSlots(observation.slots.value) : undefined;
    this.#unseen.observe(observation);
    this.#emptySince = observation.isNew ? (this.#emptySince ?? now.monotonic) : undefined;
    const { slots, slotsSince, until } = observation;
    if (slots.state !== 'ok' || this.#held === undefined) return;
    this.landing.observe(slots.value, until);
    this.#backup.observe(this.#held, this.presence.longestOf(this.#held.values()), now);
    const { replicas = 0, epoch = 0 } = this.published() ?? {};
    const isUnacked = this.#held.size > 0 && !hasReached(this.floor(undefined), epoch);
    this.#unackedSince = isUnacked ? (this.#unackedSince ?? now.monotonic) : undefined;
    this.presence.observe({ slots: this.#held, sentAt: slotsSince, answeredAt: until, replicas, epoch });
  }

  /** Undefined before the first read. */
  last(): HubObservation | undefined {
    return this.#last;
  }

  /** The holders as last seen; undefined when they could not be read. */
  slots(): SlotHolders | undefined {
    return this.#held;
  }

  /** Records of released slots as last seen: their slots are free. */
  released(): SlotHolders {
    const { slots } = this.#last ?? {};
    return new Map(slots?.state === 'ok' ? [...slots.value].filter(([slot]) => this.#held?.has(slot) !== true) : []);
  }

  /** The holders as last seen; empty when they could not be read. */
  holders(): SlotHolders {
    return this.slots() ?? new Map();
  }

  /** The table in the hub as last seen, obeyed or not. */
  published(): TableDocument | undefined {
    return this.#last?.table.state === 'ok' ? this.#last.table.value : undefined;
  }

  /** The last recorded claim of each slot. */
  claims(): SlotClaims {
    return this.#last?.claims ?? new Map();
  }

  /**
   * Highest epoch that any replica has acknowledged. A table below it is outdated (a restored
   * backup).
   */
  floor(obeyed: TableDocument | undefined): number {
    return newestEpoch(obeyed?.epoch ?? 0, ...[...this.holders().values()].map(({ acked }) => acked));
  }

  /**
   * Slots without a holder whose last claimant may still write: the mapping was restored to an
   * earlier state.
   */
  hidden(): readonly number[] {
    const holders = this.holders();
    return this.#unseen.writing().filter((slot) => !holders.has(slot));
  }

  /**
   * Reports whether a holder obeys a table of this epoch with other content: one of the two was
   * edited by hand.
   */
  isContested(table: TableDocument): boolean {
    return [...this.holders()].some(
      ([slot, { acked, sum }]) =>
        acked === table.epoch && sum !== undefined && sum !== tableSum(table) && !this.presence.isExpired(slot),
    );
  }

  /** Reports whether the holder acknowledged the epoch, or is gone. */
  settled({ slot, epoch }: ReleaseWait): boolean {
    const slots = this.slots();
    if (slots === undefined) return false;
    const record = slots.get(slot);
    if (record === undefined) return !this.hidden().includes(slot);
    return hasReached(record.acked, epoch) || this.presence.isExpired(slot);
  }

  /** Reports whether a part of the published table waits for its former owner. */
  isHandingOver(): boolean {
    const observation = this.#last;
    if (observation === undefined) return false;
    if (this.#handingOver?.observation !== observation) {
      const entries = [...(this.published()?.entries.values() ?? [])];
      const is = entries.some(({ waits }) => waits.some((list) => list.some((wait) => !this.settled(wait))));
      this.#handingOver = { observation, is };
    }
    return this.#handingOver.is;
  }

  /**
   * Reports whether the holder of `own` plans: it has the lowest slot among the live holders with
   * the newest protocol. Two replicas may both believe so; the hub accepts only one of their
   * writes.
   */
  isPlanner(own: number, now: LocalInstant, slots?: SlotHolders): boolean {
    for (const [slot, record] of slots === undefined ? this.holders() : heldSlots(slots)) {
      if (slot === own || record.holder === unknownHolder || isForeign(record)) continue;
      // Older releases do not record a version: the lowest slot plans.
      const version = record.version ?? protocolVersion;
      const goesFirst = version > protocolVersion || (version === protocolVersion && slot < own);
      if (goesFirst && !this.presence.isSilent(record, now.monotonic)) return false;
    }
    return true;
  }

  /** Longest lease that an unknown holder may have. */
  longestLease(): number {
    const table = this.published();
    const published = table === undefined ? 0 : (table.leaseMs ?? longestLeaseMs);
    return Math.max(this.presence.longestLease(), published);
  }

  /**
   * When a slot without a holder may be claimed; undefined: at once. If no holder acknowledged the
   * published table, or the records are old, the slots may come from a backup that lacks a replica
   * which still writes.
   */
  freeSlotsAt(): number | undefined {
    const since = [this.#unackedSince, this.#backup.since()].filter((each) => each !== undefined);
    return since.length === 0 ? undefined : Math.max(...since) + this.longestLease();
  }

  /** When an empty hub counts as a new installation; undefined while it is not empty. */
  believesEmptyAt(): number | undefined {
    return this.#emptySince === undefined ? undefined : this.#emptySince + this.#timing.firstStartMs;
  }

  /** Clusters of the published table with an unattended part, and since when each part is. */
  unowned(): ReadonlyMap<string, readonly number[]> {
    const observation = this.#last;
    if (observation === undefined) return new Map();
    if (this.#unowned?.observation !== observation) {
      const attendance = {
        unattended: this.presence.unattended(),
        held: [...this.holders().keys()],
        settled: (wait: ReleaseWait) => this.settled(wait),
      };
      const servers = unownedParts(this.published()?.entries ?? new Map(), attendance);
      this.#unowned = { observation, servers };
    }
    return this.#unowned.servers;
  }
}

import type { Claims } from './claims.ts';
import type { Instant, Observation } from './member-types.ts';
import { Presence } from './presence.ts';
import { isForeign, unknownHolder } from './slots-document.ts';
import type { Slots } from './slots-document.ts';
import type { TableDocument, Wait } from './table-document.ts';
import { longestLeaseMs, protocolVersion } from './timing.ts';
import type { Timing } from './timing.ts';
import { unownedServers } from './unowned.ts';
import { UnseenClaims } from './unseen-claims.ts';

/**
 * Observation: what this replica knows of the hub and of the others, from the looks that it had. It wants nothing and changes nothing; the
 * rights that follow from it are in tenure.ts, the writes in intents.ts and planner.ts.
 */
export class HubKnowledge {
  readonly presence: Presence;
  readonly #timing: Timing;
  readonly #unseen: UnseenClaims;
  #last: Observation | undefined;
  #emptySince: number | undefined;
  #unackedSince: number | undefined;
  #unowned: { readonly observation: Observation; readonly servers: ReadonlyMap<string, number> } | undefined;

  constructor(timing: Timing) {
    this.#timing = timing;
    this.presence = new Presence(timing);
    this.#unseen = new UnseenClaims(timing);
  }

  observe(observation: Observation, now: Instant): void {
    this.#last = observation;
    this.#unseen.observe(observation);
    this.#emptySince = observation.isNew ? (this.#emptySince ?? now.monotonic) : undefined;
    const { slots, slotsSince, until } = observation;
    if (slots.state !== 'ok') return;
    const { replicas = 0, epoch = 0 } = this.published() ?? {};
    const isUnacked = slots.value.size > 0 && this.floor(undefined) < epoch;
    this.#unackedSince = isUnacked ? (this.#unackedSince ?? now.monotonic) : undefined;
    this.presence.observe({ slots: slots.value, sentAt: slotsSince, answeredAt: until, replicas, epoch });
  }

  /** Undefined before the first look. */
  last(): Observation | undefined {
    return this.#last;
  }

  /** The holders as seen last; undefined when they could not be read. */
  slots(): Slots | undefined {
    return this.#last?.slots.state === 'ok' ? this.#last.slots.value : undefined;
  }

  /** The same; nobody, when they could not be read. */
  holders(): Slots {
    return this.slots() ?? new Map();
  }

  /** The table in the hub as seen last, whether obeyed or not. */
  published(): TableDocument | undefined {
    return this.#last?.table.state === 'ok' ? this.#last.table.value : undefined;
  }

  /** Who claimed which slot last, as far as it was recorded beside the table. */
  claims(): Claims {
    return this.#last?.claims ?? new Map();
  }

  /** The highest epoch that anybody has acknowledged: a table below it is an old one that somebody brought back. */
  floor(obeyed: TableDocument | undefined): number {
    return Math.max(obeyed?.epoch ?? 0, ...[...this.holders().values()].map(({ acked }) => acked));
  }

  /** Slots that show nobody, and whose last claimant may still write: the mapping was set back to a time before that claim. */
  hidden(): readonly number[] {
    const holders = this.holders();
    return this.#unseen.writing().filter((slot) => !holders.has(slot));
  }

  /** Whether somebody need not be waited for any more. */
  settled({ slot, epoch }: Wait): boolean {
    const slots = this.slots();
    if (slots === undefined) return false;
    const record = slots.get(slot);
    if (record === undefined) return !this.hidden().includes(slot);
    return record.acked >= epoch || this.presence.isExpired(slot);
  }

  /**
   * Whether the holder of `own` plans: of those who speak the newest protocol and were seen alive lately, it has the lowest slot. Two may
   * think so; the hub lets one through.
   */
  isPlanner(own: number, now: Instant): boolean {
    for (const [slot, record] of this.holders()) {
      if (slot === own || record.holder === unknownHolder || isForeign(record)) continue;
      // An older release does not know of versions: the lowest slot it is, then.
      const version = record.version ?? protocolVersion;
      const goesFirst = version > protocolVersion || (version === protocolVersion && slot < own);
      if (goesFirst && !this.presence.isSilent(record, now.monotonic)) return false;
    }
    return true;
  }

  /** How long a holder may have a lease of whom nothing is known but that it was there. */
  longestLease(): number {
    const table = this.published();
    const published = table === undefined ? 0 : (table.leaseMs ?? longestLeaseMs);
    return Math.max(this.presence.longestLease(), published);
  }

  /**
   * From when on a slot that nobody holds may be believed to be free; undefined: at once. Holders of whom none has acknowledged the published table
   * may be those of a backup: then somebody else may hold the slot, and write.
   */
  freeSlotsAt(): number | undefined {
    return this.#unackedSince === undefined ? undefined : this.#unackedSince + this.longestLease();
  }

  /** When an empty hub may be believed; undefined when it is not empty. */
  believesEmptyAt(): number | undefined {
    return this.#emptySince === undefined ? undefined : this.#emptySince + this.#timing.firstStartMs;
  }

  /** Clusters of the published table of which nobody looks after some part, as far as this replica knows, and since when. */
  unowned(): ReadonlyMap<string, number> {
    const observation = this.#last;
    if (observation === undefined) return new Map();
    if (this.#unowned?.observation !== observation) {
      const attendance = {
        unattended: this.presence.unattended(),
        held: [...this.holders().keys()],
        settled: (wait: Wait) => this.settled(wait),
      };
      const servers = unownedServers(this.published()?.entries ?? new Map(), attendance);
      this.#unowned = { observation, servers };
    }
    return this.#unowned.servers;
  }
}

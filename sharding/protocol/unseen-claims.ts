import type { ClaimRecord } from '../documents/claims.ts';
import type { HubObservation } from './member-types.ts';
import type { ProtocolTiming } from '../timing/timing.ts';

interface UnseenClaim {
  readonly record: ClaimRecord;
  readonly since: number;
}

/**
 * Observation: claims in the register that are missing from the slots, and since when. The slots
 * were restored to an earlier state. Such a claimant may write until its lease ends, but not
 * longer, because any renewal would show in the slots.
 */
export class UnseenClaims {
  readonly #timing: ProtocolTiming;
  #unseen: ReadonlyMap<number, UnseenClaim> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(timing: ProtocolTiming) {
    this.#timing = timing;
  }

  observe({ claims, slots, slotsSince, until }: HubObservation): void {
    // After a long gap in our own reads, earlier observations do not count.
    const wasAway = slotsSince - this.#lookedAt > this.#timing.validMs;
    this.#lookedAt = until;
    const unseen = new Map<number, UnseenClaim>();
    // A claim is of one slot: if the slots show it elsewhere, the register was edited by hand.
    const seen = new Set(slots.state === 'ok' ? [...slots.value.values()].map(({ incarnation }) => incarnation) : []);
    for (const [slot, record] of claims) {
      if (seen.has(record.incarnation)) continue;
      const before = wasAway ? undefined : this.#unseen.get(slot);
      unseen.set(slot, before?.record.incarnation === record.incarnation ? before : { record, since: until });
    }
    this.#unseen = unseen;
  }

  /** The claim of a slot, and until when it may allow writes. */
  of(slot: number): { readonly incarnation: string; readonly until: number } | undefined {
    const unseen = this.#unseen.get(slot);
    if (unseen === undefined) return undefined;
    const { incarnation, leaseMs } = unseen.record;
    return { incarnation, until: unseen.since + Math.max(leaseMs, this.#timing.leaseMs) };
  }

  /** Slots whose claimants may still write, as of the last read. */
  writing(): readonly number[] {
    return [...this.#unseen.keys()].filter((slot) => this.#lookedAt <= (this.of(slot)?.until ?? 0));
  }
}

import type { ClaimRecord } from './claims.ts';
import type { Observation } from './member-types.ts';
import type { Timing } from './timing.ts';

interface Unseen {
  readonly record: ClaimRecord;
  readonly since: number;
}

/**
 * Observation: claims that stand in the register and that the slots do not show, and since when this replica has seen it so. The mapping of the slots
 * was set back, then, and who made such a claim may write for its lease: no renewal can be without showing in the slots.
 */
export class UnseenClaims {
  readonly #timing: Timing;
  #unseen: ReadonlyMap<number, Unseen> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  observe({ claims, slots, slotsSince, until }: Observation): void {
    // Who could not look for so long does not know what was there meanwhile.
    const wasAway = slotsSince - this.#lookedAt > this.#timing.validMs;
    this.#lookedAt = until;
    const unseen = new Map<number, Unseen>();
    for (const [slot, record] of claims) {
      if (slots.state === 'ok' && slots.value.get(slot)?.incarnation === record.incarnation) continue;
      const before = wasAway ? undefined : this.#unseen.get(slot);
      unseen.set(slot, before?.record.incarnation === record.incarnation ? before : { record, since: until });
    }
    this.#unseen = unseen;
  }

  /** The claim of a slot, and until when it may give a right to write. */
  of(slot: number): { readonly incarnation: string; readonly until: number } | undefined {
    const unseen = this.#unseen.get(slot);
    if (unseen === undefined) return undefined;
    const { incarnation, leaseMs } = unseen.record;
    return { incarnation, until: unseen.since + Math.max(leaseMs, this.#timing.leaseMs) };
  }

  /** Slots whose claimants may still write, as of the last look. */
  writing(): readonly number[] {
    return [...this.#unseen.keys()].filter((slot) => this.#lookedAt <= (this.of(slot)?.until ?? 0));
  }
}

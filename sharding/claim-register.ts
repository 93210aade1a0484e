import type { ClaimRecord } from './claims.ts';
import type { Observation } from './member-types.ts';
import type { Timing } from './timing.ts';

interface Unseen {
  readonly record: ClaimRecord;
  readonly since: number;
}

/**
 * Observation: what the register says of the claim of this replica, and of others that the slots do not show. A claim that was written to the
 * slots obeys no table before it stands in the register; and it is not recorded while another one stands there whose holder may still write: for the
 * lease of that, counted from when it was first seen there and not in the slots, where no renewal can be without showing. It is left there
 * meanwhile, so that whoever takes this replica's place waits, too.
 */
export class ClaimRegister {
  readonly #process: string;
  readonly #timing: Timing;
  /** Of the record that the claim took the place of: expired, or gone from this very place. */
  #replaced: string | undefined;
  #unseen: ReadonlyMap<number, Unseen> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(process: string, timing: Timing) {
    this.#process = process;
    this.#timing = timing;
  }

  /** A slot was claimed that `replaced` had before, who is known to be gone; undefined: it was free. */
  claimed(replaced: string | undefined): void {
    this.#replaced = replaced;
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

  /** Until when another one's claim of our slot may give it a right to write; undefined: there is none. */
  waitsUntil(slot: number): number | undefined {
    const rival = this.#unseen.get(slot);
    if (rival === undefined || this.#isGone(rival.record.incarnation)) return undefined;
    return rival.since + Math.max(rival.record.leaseMs, this.#timing.leaseMs);
  }

  /** Whether our claim of a slot may stand in the register. */
  mayRecord(slot: number, now: number): boolean {
    return now > (this.waitsUntil(slot) ?? Number.NEGATIVE_INFINITY);
  }

  #isGone(incarnation: string): boolean {
    // An earlier claim of this process: what it sent in that is waited for before each acknowledgment.
    return incarnation === this.#replaced || incarnation.startsWith(`${this.#process}/`);
  }
}

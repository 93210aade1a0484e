import type { Observation } from './member-types.ts';
import type { Timing } from './timing.ts';
import { UnseenClaims } from './unseen-claims.ts';

/**
 * Observation: what the register says of the claim of this replica, and of others that the slots do not show. A claim that was written to the
 * slots obeys no table before it stands in the register; and it is not recorded while another one stands there whose holder may still write: for the
 * lease of that, counted from when it was first seen there and not in the slots, where no renewal can be without showing. It is left there
 * meanwhile, so that whoever takes this replica's place waits, too.
 */
export class ClaimRegister {
  readonly #process: string;
  readonly #unseen: UnseenClaims;
  /** Of the record that the claim took the place of: expired, or gone from this very place. */
  #replaced: string | undefined;

  constructor(process: string, timing: Timing) {
    this.#process = process;
    this.#unseen = new UnseenClaims(timing);
  }

  /** A slot was claimed that `replaced` had before, who is known to be gone; undefined: it was free. */
  claimed(replaced: string | undefined): void {
    this.#replaced = replaced;
  }

  observe(observation: Observation): void {
    this.#unseen.observe(observation);
  }

  /** Until when another one's claim of our slot may give it a right to write; undefined: there is none. */
  waitsUntil(slot: number): number | undefined {
    const rival = this.#unseen.of(slot);
    return rival === undefined || this.#isGone(rival.incarnation) ? undefined : rival.until;
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

import type { HubObservation } from './member-types.ts';
import type { ProtocolTiming } from '../timing/timing.ts';
import { UnseenClaims } from './unseen-claims.ts';

/**
 * Observation: decides when our claim may be recorded in the register beside the table; until then
 * it obeys no table. If the register holds another claim of the slot, its claimant may still write,
 * so we wait for the lease of that claim first. The wait begins when we see the claim in the
 * register but not in the slots, where every renewal would show. The other claim stays recorded
 * meanwhile, so that a successor of ours waits for it too.
 */
export class ClaimRegister {
  readonly #process: string;
  readonly #unseen: UnseenClaims;
  /** Incarnation of the record that our claim replaced: expired, or gone from this location. */
  #replaced: string | undefined;

  constructor(process: string, timing: ProtocolTiming) {
    this.#process = process;
    this.#unseen = new UnseenClaims(timing);
  }

  /** We claimed a slot whose holder `replaced` is known to be gone; undefined: it was free. */
  claimed(replaced: string | undefined): void {
    this.#replaced = replaced;
  }

  observe(observation: HubObservation): void {
    this.#unseen.observe(observation);
  }

  /** Until when a rival claim of our slot may allow writes; undefined: there is none. */
  waitsUntil(slot: number): number | undefined {
    const rival = this.#unseen.of(slot);
    return rival === undefined || this.#isGone(rival.incarnation) ? undefined : rival.until;
  }

  /** Reports whether our claim of a slot may be recorded. */
  mayRecord(slot: number, now: number): boolean {
    return now > (this.waitsUntil(slot) ?? Number.NEGATIVE_INFINITY);
  }

  #isGone(incarnation: string): boolean {
    // An earlier claim of this process needs no wait: each acknowledgment waits for its writes.
    return incarnation === this.#replaced || incarnation.startsWith(`${this.#process}/`);
  }
}

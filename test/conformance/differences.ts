/** A difference between the simulator and a real API server that we know and leave: which answers it touches, and why. */
export interface KnownDifference {
  readonly group: string;
  readonly scenario: string;
  /** Number of the step in the recording; undefined: every step of the scenario. */
  readonly step?: number;
  /** The start of the place in the answer, as a JSON pointer. */
  readonly at: string;
  readonly why: string;
}

/** Each must still be seen by the suite: one that is gone fails it, as does one that is new. */
export const knownDifferences: readonly KnownDifference[] = [];

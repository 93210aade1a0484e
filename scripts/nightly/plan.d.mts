export interface NightlyUnit {
  readonly name: string;
  /** Whether other seeds try other cases. */
  readonly isSeeded: boolean;
}
export interface NightlyResult {
  readonly name: string;
  readonly round: number;
  /** cut: the time was over while it ran. */
  readonly verdict: 'passed' | 'failed' | 'cut';
  readonly seconds: number;
  readonly cases: readonly string[];
  readonly command: string;
  readonly output: string;
}
export interface NightlyState {
  readonly commit: string;
  readonly spentMs: number;
  readonly round: number;
  readonly results: readonly NightlyResult[];
}
/** The seed of a round, from the commit. */
export declare function seedOf(commit: string, round: number): number;
/** The units of a round without a result. */
export declare function unitsLeft(
  units: readonly NightlyUnit[],
  results: readonly Pick<NightlyResult, 'name' | 'round'>[],
  round: number,
): readonly NightlyUnit[];
/** A run continues only what the same commit began. */
export declare function resumed(state: NightlyState | undefined, commit: string): NightlyState;
/** The lines of an output that count cases. */
export declare function casesOf(output: string): readonly string[];
/** The reports to remove, of the names in docs/nightly. */
export declare function obsoleteReports(names: readonly string[]): readonly string[];
/** The page docs/nightly/DATE.md. */
export declare function reportOf(report: {
  readonly date: string;
  readonly commit: string;
  readonly hours: number;
  readonly results: readonly NightlyResult[];
  readonly left: readonly string[];
  readonly seeds: readonly number[];
}): string;

export interface Defect {
  readonly name: string;
  /** Path from the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Number of schedules after which it was found; undefined: not found yet. */
  readonly foundWithin: number | undefined;
}

export const defects: readonly Defect[];

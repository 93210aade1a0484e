export interface Defect {
  readonly name: string;
  /** Path from the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const defects: readonly Defect[];

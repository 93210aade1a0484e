export interface CoverageRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

export function segmentsOf(
  ranges: readonly CoverageRange[],
): readonly { readonly from: number; readonly to: number; readonly count: number }[];

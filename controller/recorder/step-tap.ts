import type { ClusterWriter } from '#sync';
import type { CapturedClaims, ComparisonCapture } from './capture.ts';

/** Captures a step, or answers it from a recording. */
export interface StepTap {
  readonly comparison: ComparisonCapture;
  readonly claimed: (claims: CapturedClaims) => void;
  readonly writer: (writer: ClusterWriter) => ClusterWriter;
}

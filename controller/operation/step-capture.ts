import { defined } from '#base';
import type { ApiDiscovery } from '#kube';
import type { ClusterWriter } from '#sync';
import type { OperationCapture, StepTap } from '../recorder/capture.ts';
import { capturingWriter } from '../recorder/captured-writer.ts';

/** The capture of a pass over an operation that begins. */
export function captureOperation(
  facts: Pick<OperationCapture, 'key' | 'app' | 'start' | 'now' | 'startedAt' | 'wave'>,
): OperationCapture {
  return { kind: 'operation', ...facts, comparison: {}, calls: [] };
}

/** Captures what a step reads, and what it sends to its cluster. */
export function captureStep(capture: OperationCapture): StepTap {
  return {
    comparison: capture.comparison,
    claimed: (claims) => void (capture.claims = claims),
    writer: (writer) => {
      Object.assign(capture, defined({ discovery: discoveryOf(writer) }));
      return capturingWriter(writer, capture.calls);
    },
  };
}

/** Undefined while the cluster is unreachable. */
function discoveryOf(writer: ClusterWriter): ApiDiscovery | undefined {
  try {
    return writer.discovery;
  } catch {
    return undefined;
  }
}

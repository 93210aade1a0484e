import { defined, DriftlessError, isAbort, messageOf } from '#base';
import type { JsonObject } from '#base';
import type { ApiDiscovery } from '#kube';
import { keyOf } from '#model';
import type { KubeObject } from '#model';
import { changedWriter } from '#sync';
import type { ApplyOptions, ClusterWriter } from '#sync';
import type { CallAnswer, CapturedCall, OperationCapture, StepTap } from './capture.ts';

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

/** Captures every call of a step to its cluster, with the answer. */
export function capturingWriter(writer: ClusterWriter, calls: CapturedCall[]): ClusterWriter {
  const captured = async <T>(
    call: CapturedCall,
    send: () => Promise<T>,
    answerOf: (value: T) => CallAnswer,
  ): Promise<T> => {
    calls.push(call);
    try {
      const value = await send();
      call.answer = answerOf(value);
      return value;
    } catch (error) {
      if (!isAbort(error)) call.answer = { error: describeError(error) };
      throw error;
    }
  };
  return changedWriter(writer, {
    get: (object, signal) =>
      captured(
        { method: 'get', key: keyOf(object), how: {} },
        () => writer.get(object, signal),
        (found) => ({ object: found }),
      ),
    apply: (target, live, how, signal) =>
      captured(
        { method: 'apply', key: keyOf(target), how: applyOptions(how, live), sent: target },
        () => writer.apply(target, live, how, signal),
        (result) => result,
      ),
    create: (object, signal) =>
      captured(
        { method: 'create', key: keyOf(object), how: {}, sent: object },
        () => writer.create(object, signal),
        (result) => result,
      ),
    delete: (live, propagation, signal) =>
      captured(
        { method: 'delete', key: keyOf(live), how: { propagation } },
        () => writer.delete(live, propagation, signal),
        (deletion) => ({ deletion }),
      ),
    patchMetadata: (live, patch, signal) =>
      captured(
        { method: 'patchMetadata', key: keyOf(live), how: { finalizers: patch.finalizers } },
        () => writer.patchMetadata(live, patch, signal),
        (object) => ({ object }),
      ),
  });
}

/** The options that a step decides, without functions. */
export function applyOptions({ buildTarget, ...how }: ApplyOptions, live: KubeObject | null): JsonObject {
  return { ...defined(how), isNew: live === null, respectsIgnored: buildTarget !== undefined };
}

function describeError(error: unknown): Extract<CallAnswer, { error: unknown }>['error'] {
  const { status, reason } = error as { readonly status?: unknown; readonly reason?: unknown };
  return {
    code: error instanceof DriftlessError ? error.code : 'INTERNAL',
    message: messageOf(error),
    ...(typeof status === 'number' ? { status } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
  };
}

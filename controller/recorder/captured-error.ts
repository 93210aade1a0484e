import { DriftlessError, isAbort, messageOf, recordedText } from '#base';
import type { CapturedError, PassCapture } from './capture.ts';
import type { PassLog } from './pass-log.ts';

/** An error that ended a pass; undefined for an abort, which decides nothing. */
export function capturedError(error: unknown): CapturedError | undefined {
  if (isAbort(error)) return undefined;
  const code = error instanceof DriftlessError ? error.code : 'INTERNAL';
  return { code, message: recordedText(messageOf(error)) };
}

/** Runs the work of a pass, and keeps its capture if an error ends it. */
export async function keepFailure<T>(
  capture: PassCapture,
  log: Pick<PassLog, 'keep'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const found = capturedError(error);
    if (found !== undefined) {
      capture.error = found;
      log.keep(capture);
    }
    throw error;
  }
}

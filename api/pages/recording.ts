import { RecordingRefused } from '#controller';
import type { AppKey } from '#model';
import type { RecordingPiece } from '../application-types.ts';
import type { ReplicaFacts } from '../facts.ts';
import { ApiFault } from '../fault.ts';
import type { ApiRequest } from '../request.ts';

type RecordingPageRequest = ApiRequest & { readonly page: 'recording' };

/** The next lines of a recording of this replica. @throws ApiFault 429 if too many run */
export async function recordingPage(
  { controller, name, version }: ReplicaFacts,
  { recording, isLast, after }: RecordingPageRequest,
  key: AppKey,
): Promise<{ readonly recording: RecordingPiece }> {
  try {
    const request = { key, recording, isLast, after };
    return { recording: await controller.recordings.read(request, { version, replica: name }) };
  } catch (error) {
    if (error instanceof RecordingRefused) throw new ApiFault(429, error.message);
    throw error;
  }
}

/** Whether a peer, maybe of another release, answered with lines. */
export function isRecordingPiece(value: unknown): value is RecordingPiece {
  if (typeof value !== 'object' || value === null || !('lines' in value) || !('next' in value)) return false;
  const { lines, next } = value;
  return Array.isArray(lines) && lines.every((line) => typeof line === 'string') && typeof next === 'string';
}

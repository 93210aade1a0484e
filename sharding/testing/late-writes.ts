import { KubeConnectionError } from '#kube';
import type { SimulatedWrite } from './scenario.ts';

/**
 * How long an API server may work on a request after its client disconnected: the webhook timeout.
 */
export const afterlifeMs = 9_500;

/** Error of a request that may still be carried out. */
export function reset(): KubeConnectionError {
  return new KubeConnectionError('https://cluster', 'connection reset', undefined);
}

/** The write of a client that is gone: carried out within its afterlife, or never. */
export function cutShort(write: SimulatedWrite, now: number): SimulatedWrite {
  return { ...write, landsAt: Math.min(write.landsAt, now + afterlifeMs) };
}

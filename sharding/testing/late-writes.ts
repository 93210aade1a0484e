import { KubeConnectionError } from '#kube';

/**
 * How long an API server may work on a request after its client disconnected: the webhook timeout.
 */
export const afterlifeMs = 9_500;

/** Error of a request that may still be carried out. */
export function reset(): KubeConnectionError {
  return new KubeConnectionError('https://cluster', 'connection reset', undefined);
}

import { KubeConnectionError } from '#kube';

/** What an API server still does of a request whose client has gone: no more than its admission webhooks take. */
export const afterlifeMs = 9_500;

/** What a client hears of a request that may still be carried out. */
export function reset(): KubeConnectionError {
  return new KubeConnectionError('https://cluster', 'connection reset', undefined);
}

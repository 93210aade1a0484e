import { withOptions } from '#kube';
import type { CallOptions, KubeClient } from '#kube';

/**
 * A client that reports each of its requests, retries included. Watches are not reported: the
 * cluster caches have their own.
 */
export function observedClient(client: KubeClient, onRequest: NonNullable<CallOptions['onRequest']>): KubeClient {
  const observed = <T extends CallOptions>(options: T): T => ({ ...options, onRequest });
  return withOptions(client, { reads: observed, writes: observed });
}

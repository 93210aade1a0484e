import { withOptions } from '#kube';
import type { CallOptions, KubeClient } from '#kube';

/**
 * Wraps a client so that it cannot change anything: every write is sent as a dry run, whatever the
 * options. Used for dry-run operations (see GuardedWriter), so that no bug in a sync step can
 * write.
 */
export function dryRunOnly(client: KubeClient): KubeClient {
  return withOptions(client, { writes: (options) => ({ ...options, dryRun: true }) });
}

/**
 * A client that reports each of its requests, retries included. Watches are not reported: the
 * cluster caches have their own.
 */
export function observedClient(client: KubeClient, onRequest: NonNullable<CallOptions['onRequest']>): KubeClient {
  const observed = <T extends CallOptions>(options: T): T => ({ ...options, onRequest });
  return withOptions(client, { reads: observed, writes: observed });
}

import { withOptions } from '#kube';
import type { KubeClient } from '#kube';

/**
 * Wraps a client so that it cannot change anything: every write is sent as a dry run, whatever the
 * options. Used for dry-run operations (see GuardedWriter), so that no bug in a sync step can
 * write.
 */
export function dryRunOnly(client: KubeClient): KubeClient {
  return withOptions(client, { writes: (options) => ({ ...options, dryRun: true }) });
}

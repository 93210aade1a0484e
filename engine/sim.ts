/**
 * @driftless/engine/sim: a simulated Kubernetes API server in this process, for tests. It starts in
 * milliseconds, answers kubectl and any client, rejects what a real server rejects, rolls out
 * workloads, and injects faults.
 */
import { systemClock, systemRandom } from '#base';
import { startSimCluster } from '#sim';
import type { SimCluster, SimOptions } from '#sim';
import type { KubeConfigReader } from '#kube';

export { kubeconfigFor, SimError } from '#sim';
export type { FaultRule, SimCluster, SimOptions, SimRequest, SimStore, StoreEvent } from '#sim';
export type { KubeObject } from '#model';

/** Starts a cluster on a free port of 127.0.0.1; `close` ends it. */
export function startCluster(options: Partial<SimOptions> = {}): Promise<SimCluster> {
  return startSimCluster({ name: 'sim', clock: systemClock, random: systemRandom, ...options });
}

/** The `kubeConfig` of `openCache` and `openWriter` for a cluster. */
export function kubeConfigOf({ name, url }: SimCluster): KubeConfigReader {
  return {
    getCurrentContext: () => name,
    getContextObject: (context) => (context === name ? { cluster: name, user: '' } : null),
    getCluster: () => ({ name, server: url, skipTLSVerify: false }),
    getUser: () => null,
  };
}

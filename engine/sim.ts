/**
 * @driftless/engine/sim: a simulated Kubernetes API server in this process, for tests. It starts in
 * milliseconds, answers kubectl and any client, rejects what a real server rejects, rolls out
 * workloads, and injects faults.
 */
import { defined, systemClock, systemRandom } from '#base';
import { startSimCluster } from '#sim';
import type { SimCluster, SimOptions } from '#sim';
import type { KubeConfigReader } from '#kube';
import {
  isAnyObject,
  isBoolean,
  isFunction,
  isListOf,
  isMilliseconds,
  isNonEmptyText,
  isShape,
  isWholeIn,
} from './options/checks.ts';

export { kubeconfigFor, SimError } from '#sim';
export type { FaultRule, SimCluster, SimOptions, SimRequest, SimStore, StoreEvent } from '#sim';
export type { KubeObject } from '#model';

const checkSimOptions = isShape<SimOptions>({
  name: isNonEmptyText,
  clock: isAnyObject,
  random: isAnyObject,
  port: isWholeIn(0, 65_535),
  crds: isListOf(isAnyObject),
  crdDelayMs: isMilliseconds,
  workloads: isShape<NonNullable<SimOptions['workloads']>>({ enabled: isBoolean, delayMs: isMilliseconds }, [
    'enabled',
    'delayMs',
  ]),
  tokens: isListOf(isNonEmptyText),
  review: isFunction,
  podAddress: isFunction,
});

/**
 * Starts a cluster on a free port of 127.0.0.1; `close` ends it.
 * @throws an error with `code` `USAGE` for an invalid option
 */
export async function startCluster(options: Partial<SimOptions> = {}): Promise<SimCluster> {
  checkSimOptions(options, 'options');
  return startSimCluster({ name: 'sim', clock: systemClock, random: systemRandom, ...defined(options) });
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

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
  mustBeObject,
  mustBeBoolean,
  mustBeFunction,
  mustBeListOf,
  mustBeMilliseconds,
  mustBeNonEmptyText,
  mustBeShape,
  mustBeWholeIn,
} from './options/checks.ts';

export { kubeconfigFor, SimError } from '#sim';
export type { FaultRule, SimCluster, SimOptions, SimRequest, SimStore, StoreEvent } from '#sim';
export type { KubeObject } from '#model';

const checkSimOptions = mustBeShape<SimOptions>({
  name: mustBeNonEmptyText,
  clock: mustBeObject,
  random: mustBeObject,
  port: mustBeWholeIn(0, 65_535),
  crds: mustBeListOf(mustBeObject),
  crdDelayMs: mustBeMilliseconds,
  workloads: mustBeShape<NonNullable<SimOptions['workloads']>>(
    { enabled: mustBeBoolean, delayMs: mustBeMilliseconds },
    ['enabled', 'delayMs'],
  ),
  tokens: mustBeListOf(mustBeNonEmptyText),
  review: mustBeFunction,
  podAddress: mustBeFunction,
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

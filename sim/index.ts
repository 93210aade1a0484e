/**
 * sim: a Kubernetes API server small enough to embed: demo, tests and benches stand on it. An independent witness: it shares words (model)
 * with the rest and no client code. It must refuse what the real one refuses; `npm run e2e` holds the two together.
 *
 *   startSimCluster  one cluster: storage, HTTP on loopback, its own controllers (namespaces, CRDs, garbage collection, workloads)
 *   kubeconfigFor    a kubeconfig for any number of them
 *   startWorkloads   the workload controllers alone, over any SimStore: `npm run e2e` lets them work on a real API server
 *   SimError         what the in-process store throws: the HTTP code, reason and Status that a client would have got
 */
import { createSchemaBook } from './schema/index.ts';
import { startCluster } from './server/cluster.ts';
import type { SimCluster, SimOptions } from './types.ts';
import { startWorkloads } from './workloads/index.ts';

export { GitServerError, startGitServer } from './git/index.ts';
export type { GitServer } from './git/index.ts';
export { kubeconfigFor } from './server/kubeconfig.ts';
export { failAnnotation, startWorkloads } from './workloads/index.ts';
export { SimError } from './server/status.ts';
export type { FaultRule, SimCluster, SimOptions, SimRequest, SimStore, StoreEvent } from './types.ts';

/**
 * Starts a simulated cluster on 127.0.0.1 and resolves when it answers. Many may run in one process; they share nothing.
 * @throws DriftlessError when the port is taken; SimError when one of the CRDs is refused.
 */
export function startSimCluster(options: SimOptions): Promise<SimCluster> {
  return startCluster(options, { book: createSchemaBook(), startWorkloads });
}

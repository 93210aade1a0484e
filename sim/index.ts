/**
 * sim: an embeddable Kubernetes API server for the demo, tests and benchmarks. It is an independent
 * witness: it shares the vocabulary (model) with the rest and no client code. It must reject what
 * the real server rejects; `npm run e2e` runs the same conformance suite against both.
 *
 * - startSimCluster: one cluster with storage, HTTP on loopback and its own controllers
 * - kubeconfigFor: a kubeconfig for any number of clusters
 * - startWorkloads: only the workload controllers, over any SimStore; e2e runs them on a real
 *   server
 * - SimError: thrown by the in-process store with the HTTP code, reason and Status of the response
 */
import { createSchemaBook } from './schema/index.ts';
import { startCluster } from './server/cluster.ts';
import type { SimCluster, SimOptions } from './types.ts';
import { startWorkloads } from './workloads/index.ts';

export { startGitServer } from './git/index.ts';
export type { GitServer } from './git/index.ts';
export { kubeconfigFor } from './server/kubeconfig.ts';
export { delayAnnotation, failAnnotation, startWorkloads } from './workloads/index.ts';
export { SimError } from './server/status.ts';
export type { FaultRule, SimCluster, SimOptions, SimRequest, SimStore, StoreEvent } from './types.ts';

/**
 * Starts a simulated cluster on 127.0.0.1 and resolves when it accepts requests. Clusters in one
 * process share nothing.
 * @throws DriftlessError if the port is taken; SimError if one of the CRDs is rejected.
 */
export function startSimCluster(options: SimOptions): Promise<SimCluster> {
  return startCluster(options, { book: createSchemaBook(), startWorkloads });
}

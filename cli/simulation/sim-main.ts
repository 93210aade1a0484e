/**
 * Worker thread with the simulated servers of `driftless sim`, so that no stored object can block
 * the main thread's signal handling. Gets FleetOptions in workerData and posts one {@link
 * SimStarted}.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '#base';
import { startFleet } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';

/** The message that the thread posts once. */
export type SimStarted =
  { readonly kubeconfig: string; readonly servers: readonly string[] } | { readonly failure: string };

let started: SimStarted;
try {
  const fleet = await startFleet(workerData as FleetOptions);
  started = { kubeconfig: fleet.kubeconfig, servers: fleet.clusters.map((cluster) => cluster.url) };
} catch (error) {
  started = { failure: messageOf(error) };
}
parentPort?.postMessage(started);

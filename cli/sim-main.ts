/**
 * The simulated servers of `driftless sim`, on a thread of their own: whatever their clients store there, the main thread hears a signal, and
 * ends them. Told in workerData what to start; says once where they are.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '#base';
import { startFleet } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';

/** What the thread says. */
export type SimStarted =
  { readonly kubeconfig: string; readonly servers: readonly string[] } | { readonly failure: string };

let said: SimStarted;
try {
  const fleet = await startFleet(workerData as FleetOptions);
  said = { kubeconfig: fleet.kubeconfig, servers: fleet.clusters.map((cluster) => cluster.url) };
} catch (error) {
  said = { failure: messageOf(error) };
}
parentPort?.postMessage(said);

/**
 * sync: how to close the gap. Pairing, hooks, waves, kind order, prune rules; one call is one step of an operation, and everything that the
 * next step needs is in the results of this one, so that any replica can go on (DESIGN D8).
 */
export type { ClusterWriter, ReconciledResource, SyncOptions, SyncOutcome, SyncRequest } from './types.ts';

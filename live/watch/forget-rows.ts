import { inSlices } from '#base';
import type { Clock, SlicedWork } from '#base';
import type { ClusterCache } from '../store/cluster-cache.ts';
import type { StoredNode } from '../objects/stored-node.ts';

const rowsPerStep = 100;

/**
 * Removes rows in slices of ten milliseconds, because there may be hundreds of thousands. The
 * memory limit does not count these rows any more, so removal must be faster than the lists of
 * other kinds.
 */
export function forgetRows(
  cache: ClusterCache,
  rows: readonly StoredNode[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  return inSlices(removals(cache, rows), { clock }, signal);
}

function* removals(cache: ClusterCache, rows: readonly StoredNode[]): SlicedWork<void> {
  for (const [i, { key }] of rows.entries()) {
    cache.forget(key, false);
    if (i % rowsPerStep === rowsPerStep - 1) yield;
  }
}

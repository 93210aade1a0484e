/**
 * @driftless/engine/live: the live state of one cluster, kept current by watches. It keeps no whole
 * objects: identity, owners, labels, health, and the facts that `keep` selects. A kind that fails
 * degrades alone, and lists name it. It only reads.
 */
import { emitWarning } from 'node:process';
import { systemClock, systemRandom } from '#base';
import { checkCacheOptions } from './cache/cache-checks.ts';
import { fillCache } from './cache/cluster-cache.ts';
import type { CacheOptions, CacheProblem, ClusterCache } from './cache/types.ts';
import { connectionOf } from './connect/connection.ts';

export type {
  ApiMetadata,
  CacheChanges,
  CachedObject,
  CacheHandlers,
  CacheList,
  CacheListOptions,
  CacheOptions,
  CacheProblem,
  CacheRead,
  ClusterCache,
  IncompleteKind,
  KindFilter,
  LabelRequirement,
  UnreadObject,
  UntypedObject,
  WaitCondition,
  WaitOptions,
} from './cache/types.ts';
export type { HealthSettings } from '#health';
export type { ClusterAddress } from './connect/connection.ts';
export type { KubeConfigReader } from '#kube';
export type {
  GroupKind,
  HealthStatus,
  HealthStatusCode,
  KubeObject,
  ObjectMeta,
  ObjectName,
  ResourceRef,
} from '#model';

/**
 * Opens the cache of a cluster. Resolves when every kind was listed or has failed once.
 * @throws an error with `code` `CLUSTER_UNAVAILABLE` if the server does not answer, `USAGE` for an
 * unusable KubeConfig or an invalid option.
 */
export async function openCache(options: CacheOptions = {}): Promise<ClusterCache> {
  checkCacheOptions(options, 'options');
  const loaded = await connectionOf(options);
  return fillCache(loaded, options, {
    clock: systemClock,
    random: systemRandom,
    report: (problem) => reportSafely(options.onProblem ?? warn, problem),
  });
}

function warn({ message }: CacheProblem): void {
  emitWarning(message, 'DriftlessWarning');
}

/** A report that throws must not affect the cache either. */
function reportSafely(report: (problem: CacheProblem) => void, problem: CacheProblem): void {
  try {
    report(problem);
  } catch (error) {
    emitWarning(`onProblem failed: ${String(error)}`, 'DriftlessWarning');
  }
}

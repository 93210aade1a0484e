import { maskSecrets } from '#diff';
import { parseResourceKey, versionOf } from '#model';
import type { Settings } from '#model';
import type { ManagedResource } from '#publish';
import type { Comparison } from './types.ts';
import { sideOf } from './row.ts';
import type { TreeRoot } from './tree.ts';

/** What the UI reads about each managed resource. Secrets are masked, equal values equally on all four sides (decision D10). */
export function managedResources(comparison: Comparison, settings: Settings): readonly ManagedResource[] {
  return comparison.pairs
    .map(({ key, target, live, hook, diff }): ManagedResource => {
      const shown = maskSecrets(target, live, settings.sensitiveAnnotations);
      const predicted = maskSecrets(diff.predictedLive, diff.normalizedLive, settings.sensitiveAnnotations);
      return {
        ...parseResourceKey(key),
        targetState: shown.target,
        liveState: shown.live,
        normalizedLiveState: predicted.live,
        predictedLiveState: predicted.target,
        hook,
        resourceVersion: live?.metadata.resourceVersion ?? '',
        modified: diff.modified,
      };
    })
    .sort((a, b) => (identity(a) < identity(b) ? -1 : Number(identity(a) > identity(b))));
}

function identity(r: ManagedResource): string {
  return `${r.group}/${r.kind}/${r.namespace}/${r.name}`;
}

/** The roots of the tree, kept until the next comparison. */
export function treeRoots(comparison: Comparison): readonly TreeRoot[] {
  return comparison.pairs.map(({ key, target, live, unread }) => ({
    key,
    version: versionOf(sideOf({ live, target }).apiVersion),
    // The cache may know it, although it could not be read whole.
    live: live !== null || unread === true,
  }));
}

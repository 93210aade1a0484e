import { maskSecrets } from '#diff';
import { parseResourceKey, versionOf } from '#model';
import type { Application, Settings } from '#model';
import type { ManagedResource } from '#publish';
import { jqSteps } from './comparison.ts';
import type { Comparison, ManagedPair } from './comparison.ts';
import { diffOf, sideOf } from './row.ts';
import type { DiffSides, RowRules } from './row.ts';
import type { TreeRoot } from './tree.ts';

/** What the UI reads about each managed resource. Secrets are masked, equal values equally on all four sides (decision D10). */
export function managedResources(
  comparison: Comparison,
  app: Application,
  settings: Settings,
): readonly ManagedResource[] {
  const rules = { app, settings, failed: comparison.failed, work: { left: jqSteps } };
  return comparison.pairs
    .map((pair): ManagedResource => {
      const { key, target, live, hook, diff } = pair;
      const { predictedLive, normalizedLive } = sidesOf(pair, rules);
      const shown = maskSecrets(target, live, settings.sensitiveAnnotations);
      const predicted = maskSecrets(predictedLive, normalizedLive, settings.sensitiveAnnotations);
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

/** As they were compared: rows that are kept do not hold them. */
function sidesOf(pair: ManagedPair, rules: Pick<RowRules, 'app' | 'settings' | 'failed' | 'work'>): DiffSides {
  return pair.sides ?? diffOf({ ...pair, unread: pair.unread === true }, rules, pair.hook);
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

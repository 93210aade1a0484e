import { finish } from '#base';
import type { Steps } from '#base';
import { maskSecrets } from '#diff';
import { parseResourceKey, versionOf } from '#model';
import type { Settings } from '#model';
import type { ManagedResource } from '#publish';
import { derived, derivedSteps, sortedPlaces } from './order.ts';
import type { Comparison, ManagedPair } from './types.ts';
import { sideOf } from './row.ts';
import type { TreeRoot } from './grown-tree.ts';

const shown = Symbol('what the UI reads');
const byIdentity = Symbol('what the UI reads, in its order');
const rooted = Symbol('roots of the tree');

/** What the UI reads about each managed resource. Secrets are masked, equal values equally on all four sides (decision D10). */
export function managedResources(comparison: Comparison, settings: Settings): readonly ManagedResource[] {
  return finish(managedSteps(comparison, settings));
}

/** Step by step. */
export function* managedSteps(comparison: Comparison, settings: Settings): Steps<readonly ManagedResource[]> {
  const resources = yield* derivedSteps(comparison.pairs, shown, settings, {
    of: (pair) => managedResource(pair, settings),
    isSame: () => false,
  });
  const textOf = (place: number): string => {
    const resource = resources[place];
    return resource === undefined ? '' : identity(resource);
  };
  const ordered: ManagedResource[] = [];
  for (const place of sortedPlaces(comparison.pairs, byIdentity, textOf)) {
    const resource = resources[place];
    if (resource !== undefined) ordered.push(resource);
  }
  return ordered;
}

function managedResource({ key, target, live, hook, diff }: ManagedPair, settings: Settings): ManagedResource {
  const sides = maskSecrets(target, live, settings.sensitiveAnnotations);
  const predicted = maskSecrets(diff.predictedLive, diff.normalizedLive, settings.sensitiveAnnotations);
  return {
    ...parseResourceKey(key),
    targetState: sides.target,
    liveState: sides.live,
    normalizedLiveState: predicted.live,
    predictedLiveState: predicted.target,
    hook,
    resourceVersion: live?.metadata.resourceVersion ?? '',
    modified: diff.modified,
  };
}

function identity(r: ManagedResource): string {
  return `${r.group}/${r.kind}/${r.namespace}/${r.name}`;
}

/** The roots of the tree, kept until the next comparison. The very same list where nothing about them is another. */
export function treeRoots(comparison: Comparison): readonly TreeRoot[] {
  return derived(comparison.pairs, rooted, undefined, {
    of: ({ key, target, live, unread }) => ({
      key,
      version: versionOf(sideOf({ live, target }).apiVersion),
      // The cache may know it, although it could not be read whole.
      live: live !== null || unread === true,
    }),
    isSame: (a, b) => a.key === b.key && a.version === b.version && a.live === b.live,
  });
}

import { runSteps } from '#base';
import type { SlicedWork } from '#base';
import { maskSecrets } from '#diff';
import { parseResourceKey, versionOf } from '#model';
import type { Settings } from '#model';
import type { ManagedResource } from '#publish';
import { deriveValues, deriveSteps, sortedPositions } from './order.ts';
import type { Comparison, ManagedPair } from './types.ts';
import { liveOrTarget } from './row.ts';
import type { TreeRoot } from './grown-tree.ts';

const managedResourceValues = Symbol('what the UI reads');
const identityOrder = Symbol('what the UI reads, in its order');
const treeRootValues = Symbol('roots of the tree');

/**
 * The UI's view of each managed resource. Secrets are masked; equal values get equal masks
 * on all four sides (decision D10).
 */
export function managedResources(comparison: Comparison, settings: Settings): readonly ManagedResource[] {
  return runSteps(managedResourceSteps(comparison, settings));
}

/** {@link managedResources} in small steps. */
export function* managedResourceSteps(
  comparison: Comparison,
  settings: Settings,
): SlicedWork<readonly ManagedResource[]> {
  const resources = yield* deriveSteps(comparison.pairs, managedResourceValues, settings, {
    of: (pair) => managedResource(pair, settings),
    isSame: () => false,
  });
  const identityAt = (position: number): string => {
    const resource = resources[position];
    return resource === undefined ? '' : identityText(resource);
  };
  const ordered: ManagedResource[] = [];
  for (const position of sortedPositions(comparison.pairs, identityOrder, identityAt)) {
    const resource = resources[position];
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

function identityText(r: ManagedResource): string {
  return `${r.group}/${r.kind}/${r.namespace}/${r.name}`;
}

/** Roots of the tree. The same list as for the last comparison if no root changed. */
export function treeRoots(comparison: Comparison): readonly TreeRoot[] {
  return deriveValues(comparison.pairs, treeRootValues, undefined, {
    of: ({ key, target, live, unread }) => ({
      key,
      version: versionOf(liveOrTarget({ live, target }).apiVersion),
      // The cache may have the object although it could not be read in full.
      live: live !== null || unread === true,
    }),
    isSame: (a, b) => a.key === b.key && a.version === b.version && a.live === b.live,
  });
}

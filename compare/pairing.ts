import { runSteps, omit } from '#base';
import type { SlicedWork } from '#base';
import type { KindState } from '#live';
import { annotations, destinationNamespaceOf, gkOf, keyOf, keyOfStatus, kindFinder, refOf, trackedApp } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { isPostDeleteHook, isPreDeleteHook, pairResources, phasesOf } from '#sync';
import type { PairedResources } from '#sync';
import type { CompareFacts, Comparison } from './types.ts';
import { isManagedNamespace, lacksMetadata, managedNamespace, managesNamespaceMetadata } from './namespaces.ts';
import { leftObjects, withoutHookMarks } from './left-objects.ts';
import { afterTargets, isAnyHook, isDeleteHook, liveOrTarget } from './row.ts';
import type { RowFacts } from './row.ts';

/** Parts of a comparison besides its rows. */
export type ComparisonFrame = Pick<
  Comparison,
  'hooks' | 'liveHooks' | 'left' | 'hasPreDeleteHooks' | 'hasPostDeleteHooks'
>;

/** Desired and live state of an Application, resource by resource. */
export interface PairedUp {
  readonly frame: ComparisonFrame;
  /** In rendering order, then by key for resources that no manifest names. */
  readonly resources: readonly RowFacts[];
}

/**
 * Determines the resources of an Application and the facts of each. Cheap next to comparing them:
 * it looks only at an object's name, annotations and UID.
 */
export function pairUp(facts: CompareFacts): PairedUp {
  return runSteps(pairUpSteps(facts));
}

/** {@link pairUp} in small steps. */
export function* pairUpSteps(facts: CompareFacts): SlicedWork<PairedUp> {
  const deletion = partitionDeleteHooks(facts.rendered.targets);
  const left = leftObjects(facts);
  const isMarkedLater = laterMarks(facts);
  const live = new Map<ResourceKey, KubeObject>();
  for (const [key, object] of facts.live.objects) {
    if (facts.permitted(object) && !left.has(key))
      live.set(key, isMarkedLater(key, object) ? withoutHookMarks(object) : object);
    yield;
  }
  const targets = withManagedNamespace(facts, deletion.targets, live);
  const paired = pairResources(targets, live, destinationNamespaceOf(facts.app), facts.isNamespaced);
  const { hooks, liveHooks } = paired;
  const pairs = withoutOthers(paired.pairs, facts);
  const unread = new Set(facts.live.unread?.map(({ key }) => key));
  // Every target of a kind that is left out or polled was read by name if the cache lacks it.
  const staleKindAt = kindFinder(facts.live.degraded);
  const isStale = (object: KubeObject): boolean => !readByName.has(staleKindAt(refOf(object))?.state);
  const manifests = manifestsOf(hooks);
  yield;
  const resources = yield* mapSteps(pairs, ({ target, live: found }, index): RowFacts => {
    const object = liveOrTarget({ live: found, target });
    const gk = gkOf(object);
    return {
      at: target === null ? afterTargets : index,
      target,
      live: found,
      manifest: isAnyHook(object) ? (manifests.get(keyOf(object)) ?? null) : null,
      unread: found === null && unread.has(keyOf(object)),
      degraded: isStale(object),
      permitted: facts.permittedKind(object, facts.isNamespaced(gk) === true),
      namespaced: facts.isNamespaced(gk),
    };
  });
  return { frame: { hooks, liveHooks, left: [...left.values()], ...deletion.flags }, resources };
}

/**
 * Finds objects that were marked as hooks in the cluster: the last comparison had them as
 * resources, and no manifest names them now. A mark alone keeps nothing from a prune.
 */
function laterMarks({ app, rendered }: CompareFacts): (key: ResourceKey, object: KubeObject) => boolean {
  const targets = new Set(rendered.targets.map(keyOf));
  const isCompared = (key: ResourceKey): boolean =>
    (app.status?.resources ?? []).some((row) => row.hook !== true && keyOfStatus(row) === key);
  return (key, object) => isAnyHook(object) && !targets.has(key) && isCompared(key);
}

type Pair = PairedResources['pairs'][number];

/**
 * Leaves out the objects that nothing but a hook of the sources names, or a manifest that is left
 * out: others have created them, and they are not to be pruned.
 */
function withoutOthers(pairs: readonly Pair[], { rendered, settings, instance }: CompareFacts): readonly Pair[] {
  const resources = new Set(pairs.map(({ target }) => target));
  const apart = new Set(rendered.targets.filter((target) => !resources.has(target)).map(keyOf));
  if (apart.size === 0) return pairs;
  const isOurs = (live: KubeObject): boolean =>
    !apart.has(keyOf(live)) || isAnyHook(live) || trackedApp(live, settings.tracking) === instance;
  return pairs.filter(({ target, live }) => target !== null || live === null || isOurs(live));
}

/** States of a kind in which a target that was not found does not exist. */
const readByName: ReadonlySet<KindState['state'] | undefined> = new Set([undefined, 'left-out', 'polled'] as const);

/** Maps each item, one per step. */
export function* mapSteps<T, R>(items: readonly T[], of: (item: T, index: number) => R): SlicedWork<readonly R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(of(item, index));
    yield;
  }
  return results;
}

/** The first manifest of each key. */
function manifestsOf(hooks: readonly KubeObject[]): ReadonlyMap<ResourceKey, KubeObject> {
  const manifests = new Map<ResourceKey, KubeObject>();
  for (const hook of hooks) if (!manifests.has(keyOf(hook))) manifests.set(keyOf(hook), hook);
  return manifests;
}

function partitionDeleteHooks(targets: readonly KubeObject[]): {
  readonly targets: readonly KubeObject[];
  readonly flags: Pick<ComparisonFrame, 'hasPreDeleteHooks' | 'hasPostDeleteHooks'>;
} {
  return {
    targets: targets.filter((target) => !isDeleteHook(target) || phasesOf(target).length > 0),
    flags: {
      hasPreDeleteHooks: targets.some(isPreDeleteHook),
      hasPostDeleteHooks: targets.some(isPostDeleteHook),
    },
  };
}

/**
 * Keeps a live Namespace whose metadata the Application manages even if no manifest names it. Then
 * only the metadata is desired: fields of a manifest that has left Git must not count as a
 * difference that no sync can remove (server-side apply leaves them), so drop the last-applied
 * annotation. One that the Application does not track is a resource only while its metadata drifts.
 */
function withManagedNamespace(
  { app, rendered, settings, instance, namespaceSharers }: CompareFacts,
  targets: readonly KubeObject[],
  live: Map<ResourceKey, KubeObject>,
): readonly KubeObject[] {
  if (!managesNamespaceMetadata(app)) return targets;
  const isWanted = (object: KubeObject): boolean => isManagedNamespace(app, object);
  const present = [...live.values()].find(isWanted);
  if (present === undefined || rendered.targets.some(isWanted)) return targets;
  const wanted = managedNamespace(app, present, namespaceSharers);
  const isTracked = trackedApp(present, settings.tracking) === instance;
  if (wanted === null || (!isTracked && !lacksMetadata(present, wanted))) {
    if (!isTracked) live.delete(keyOf(present));
    return targets;
  }
  live.set(keyOf(present), withoutNote(present));
  return [...targets, wanted];
}

function withoutNote(object: KubeObject): KubeObject {
  const { annotations: given, ...metadata } = object.metadata;
  if (given === undefined) return object;
  return { ...object, metadata: { ...metadata, annotations: omit(given, annotations.lastApplied) } };
}

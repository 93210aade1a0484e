import { omit } from '#base';
import { annotations, destinationNamespaceOf, keyOf } from '#model';
import type { Application, KubeObject, ResourceKey } from '#model';
import { isPostDeleteHook, isPreDeleteHook, pairResources, phasesOf } from '#sync';
import type { CompareFacts, Comparison } from './types.ts';
import { isManagedNamespace, managedNamespace } from './namespaces.ts';
import { afterTargets, isAnyHook, isDeleteHook, sideOf } from './row.ts';
import type { RowFacts } from './row.ts';
import { gkOf } from './targets.ts';

/** What a comparison holds beside its rows. */
export type Frame = Pick<Comparison, 'hooks' | 'liveHooks' | 'hasPreDeleteHooks' | 'hasPostDeleteHooks'>;

/** Both sides of an application, resource by resource. */
export interface PairedUp {
  readonly frame: Frame;
  /** In rendering order; what no manifest names follows, by key. */
  readonly resources: readonly RowFacts[];
}

/**
 * Which resources an application has, and what is known of each. Cheap beside comparing them: nothing in here looks into an object further than
 * its name, its annotations and its UID.
 */
export function pairUp(facts: CompareFacts): PairedUp {
  const deletion = partitionDeleteHooks(facts.rendered.targets);
  const live = new Map([...facts.live.objects].filter(([, object]) => facts.permitted(object)));
  const targets = withManagedNamespace(facts, deletion.targets, live);
  const { pairs, hooks, liveHooks } = pairResources(
    targets,
    live,
    destinationNamespaceOf(facts.app),
    facts.isNamespaced,
  );
  const unread = new Set(facts.live.unread?.map(({ key }) => key));
  // Of a kind that is left out every object was read for itself: what was not found is not there.
  const stale = facts.live.degraded.filter(({ state }) => state !== 'left-out');
  const degraded = new Set(stale.map(({ group, kind }) => `${group}/${kind}`));
  const manifests = manifestsOf(hooks);
  const resources = pairs.map(({ target, live: found }, index): RowFacts => {
    const object = sideOf({ live: found, target });
    const gk = gkOf(object);
    return {
      at: target === null ? afterTargets : index,
      target,
      live: found,
      manifest: isAnyHook(object) ? (manifests.get(keyOf(object)) ?? null) : null,
      unread: found === null && unread.has(keyOf(object)),
      degraded: degraded.has(`${gk.group}/${gk.kind}`),
      permitted: facts.permittedKind(object, facts.isNamespaced(gk) === true),
      namespaced: facts.isNamespaced(gk),
    };
  });
  return { frame: { hooks, liveHooks, ...deletion.flags }, resources };
}

/** The first of each key. */
function manifestsOf(hooks: readonly KubeObject[]): ReadonlyMap<ResourceKey, KubeObject> {
  const manifests = new Map<ResourceKey, KubeObject>();
  for (const hook of hooks) if (!manifests.has(keyOf(hook))) manifests.set(keyOf(hook), hook);
  return manifests;
}

function partitionDeleteHooks(targets: readonly KubeObject[]): {
  readonly targets: readonly KubeObject[];
  readonly flags: Pick<Frame, 'hasPreDeleteHooks' | 'hasPostDeleteHooks'>;
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
 * A live Namespace whose metadata this application manages stays, although no manifest names it. Then only that metadata is wanted of it: what a
 * manifest applied before it left Git is nobody's any more, and must not count as a difference that no sync takes away (server-side apply
 * leaves it there). So the note of that manifest does not take part.
 */
function withManagedNamespace(
  { app, rendered }: CompareFacts,
  targets: readonly KubeObject[],
  live: Map<ResourceKey, KubeObject>,
): readonly KubeObject[] {
  if (!managesNamespace(app)) return targets;
  const isWanted = (object: KubeObject): boolean => isManagedNamespace(app, object);
  const found = [...live.values()].find(isWanted);
  if (found === undefined || rendered.targets.some(isWanted)) return targets;
  const wanted = managedNamespace(app, found);
  if (wanted === null) return targets;
  live.set(keyOf(found), withoutNote(found));
  return [...targets, wanted];
}

function withoutNote(object: KubeObject): KubeObject {
  const { annotations: given, ...metadata } = object.metadata;
  if (given === undefined) return object;
  return { ...object, metadata: { ...metadata, annotations: omit(given, annotations.lastApplied) } };
}

function managesNamespace({ spec }: Application): boolean {
  return spec.syncPolicy?.managedNamespaceMetadata !== undefined;
}

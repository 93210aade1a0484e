import { groupOf, isHook, isTrackable, resourceKey } from '#model';
import type { GroupKind, KubeObject, ResourceKey } from '#model';
import { isIgnored } from './hooks.ts';

export interface PairedResources {
  /** Ordinary resources: target, live or both; never neither. */
  readonly pairs: readonly { readonly target: KubeObject | null; readonly live: KubeObject | null }[];
  /** Hook targets with a known type. */
  readonly hooks: readonly KubeObject[];
  /** Live objects that are hooks. They are in `pairs` too, with a null target, for the status of the application. */
  readonly liveHooks: readonly KubeObject[];
}

/**
 * Pairs what should be with what is (gitops-engine/pkg/sync/reconcile.go). Targets come in rendering order and keep it; live objects that
 * no target claims follow, by key. An object that the server stores under two API groups (same UID) is kept once. A
 * CustomResourceDefinition that no target claims is nobody's, whatever tracking it carries: it is never a candidate for pruning.
 *
 * @param isNamespaced undefined when the cluster does not know the kind: then both keys are tried.
 */
export function pairResources(
  targets: readonly KubeObject[],
  live: ReadonlyMap<ResourceKey, KubeObject>,
  destinationNamespace: string,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
): PairedResources {
  const usable = targets.filter((target) => !isIgnored(target));
  const hooks = usable.filter(isHook);
  const resources = usable.filter((target) => !isHook(target));
  const keysOf = (target: KubeObject): ResourceKey[] => possibleKeys(target, destinationNamespace, isNamespaced);
  const left = withoutTwins(live, new Set(resources.flatMap(keysOf)));
  const pairs = resources.map((target) => {
    const key = keysOf(target).find((candidate) => left.has(candidate));
    const found = key === undefined ? undefined : left.get(key);
    if (key !== undefined) left.delete(key);
    return { target, live: found ?? null };
  });
  const unclaimed = [...left]
    .filter(([, object]) => isTrackable(object) || isHook(object))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, object]) => ({ target: null, live: object }));
  return {
    pairs: [...pairs, ...unclaimed],
    hooks,
    liveHooks: [...live.values()].filter(isHook),
  };
}

function possibleKeys(
  target: KubeObject,
  destinationNamespace: string,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
): ResourceKey[] {
  const group = groupOf(target.apiVersion);
  const scope = isNamespaced({ group, kind: target.kind });
  const namespace = target.metadata.namespace ?? destinationNamespace;
  const name = target.metadata.name ?? '';
  const keys: ResourceKey[] = [];
  if (scope !== false) keys.push(resourceKey(group, target.kind, namespace, name));
  if (scope !== true) keys.push(resourceKey(group, target.kind, '', name));
  return keys;
}

/** Of live objects with one UID keeps those that a target names, or else the first by key. */
function withoutTwins(
  live: ReadonlyMap<ResourceKey, KubeObject>,
  wanted: ReadonlySet<ResourceKey>,
): Map<ResourceKey, KubeObject> {
  const byUid = new Map<string, ResourceKey[]>();
  for (const [key, object] of live) {
    const uid = object.metadata.uid;
    if (uid !== undefined && uid !== '') byUid.set(uid, [...(byUid.get(uid) ?? []), key]);
  }
  const left = new Map(live);
  for (const keys of byUid.values()) {
    const spare = keys.filter((key) => !wanted.has(key)).sort();
    if (spare.length === keys.length) spare.shift();
    for (const key of spare) left.delete(key);
  }
  return left;
}

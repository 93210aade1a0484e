import { groupOf, isHook, isTrackable, namespaceIn, resourceKey } from '#model';
import type { GroupKind, KubeObject, ResourceKey } from '#model';
import { isIgnored } from './hooks.ts';

export interface PairedResources {
  /** Resources with a target, a live object, or both. */
  readonly pairs: readonly { readonly target: KubeObject | null; readonly live: KubeObject | null }[];
  /** Hook targets with a valid type. */
  readonly hooks: readonly KubeObject[];
  /** Live hooks. Also in `pairs` with a null target, for the status of the Application. */
  readonly liveHooks: readonly KubeObject[];
}

/**
 * As {@link pairObjects}, without the CustomResourceDefinitions that have no target: what tracking
 * finds never makes them prune candidates.
 */
export function pairResources(...inputs: Parameters<typeof pairObjects>): PairedResources {
  const paired = pairObjects(...inputs);
  const isCandidate = (live: KubeObject | null): boolean => live === null || isTrackable(live) || isHook(live);
  return { ...paired, pairs: paired.pairs.filter(({ target, live }) => target !== null || isCandidate(live)) };
}

/**
 * Pairs desired with live objects (gitops-engine/pkg/sync/reconcile.go). Targets keep their
 * rendering order; live objects without a target follow, by key. An object that the server returns
 * in two API groups (same UID) is kept once.
 *
 * @param isNamespaced undefined if the cluster does not know the kind: both keys are tried.
 */
export function pairObjects(
  targets: readonly KubeObject[],
  live: ReadonlyMap<ResourceKey, KubeObject>,
  destinationNamespace: string,
  isNamespaced: (gk: GroupKind) => boolean | undefined,
): PairedResources {
  const usable = targets.filter((target) => !isIgnored(target));
  const hooks = usable.filter(isHook);
  const resources = usable.filter((target) => !isHook(target));
  const keys = resources.map((target) => possibleKeys(target, destinationNamespace, isNamespaced));
  const left = withoutDuplicateUids(live, keys);
  const pairs = resources.map((target, i) => {
    const key = keys[i]?.find((candidate) => left.has(candidate));
    const found = key === undefined ? undefined : left.get(key);
    if (key !== undefined) left.delete(key);
    return { target, live: found ?? null };
  });
  const unclaimed = [...left]
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
  const namespace = namespaceIn(target, destinationNamespace);
  const name = target.metadata.name ?? '';
  const keys: ResourceKey[] = [];
  if (scope !== false) keys.push(resourceKey(group, target.kind, namespace, name));
  if (scope !== true) keys.push(resourceKey(group, target.kind, '', name));
  return keys;
}

/**
 * Removes duplicates among live objects with the same UID: keeps those with a target, or else the
 * first by key.
 */
function withoutDuplicateUids(
  live: ReadonlyMap<ResourceKey, KubeObject>,
  targetKeys: readonly (readonly ResourceKey[])[],
): Map<ResourceKey, KubeObject> {
  const left = new Map(live);
  const repeated = keysOfRepeatedUids(live);
  if (repeated.length === 0) return left;
  const wanted = new Set(targetKeys.flat());
  for (const keys of repeated) {
    const spare = keys.filter((key) => !wanted.has(key)).sort();
    if (spare.length === keys.length) spare.shift();
    for (const key of spare) left.delete(key);
  }
  return left;
}

/** The keys of each UID that several objects have: rarely any. */
function keysOfRepeatedUids(live: ReadonlyMap<ResourceKey, KubeObject>): readonly (readonly ResourceKey[])[] {
  const first = new Map<string, ResourceKey>();
  const repeated = new Map<string, ResourceKey[]>();
  for (const [key, { metadata }] of live) {
    const { uid = '' } = metadata;
    const known = first.get(uid);
    if (known === undefined) first.set(uid, key);
    else if (uid !== '') repeated.set(uid, [...(repeated.get(uid) ?? [known]), key]);
  }
  return [...repeated.values()];
}

import { defined } from '#base';
import type { Comparison } from '#compare';
import { controllerOf, keyOfRef, refOf } from '#model';
import type { Application, ApplicationCondition, KubeObject, ResourceKey, ResourceRef } from '#model';
import { containsTarget, optionValue, resourceOption } from '#sync';
import { parseTime } from '../shared/kube-time.ts';

/** An object without a target that another prune would not remove. */
export interface KeptObject {
  readonly ref: ResourceRef;
  /** Milliseconds since the epoch. Undefined: it is not being deleted. */
  readonly deletedAt?: number;
  /** A Namespace that objects of the sources are in. */
  readonly isInUse?: boolean;
  /** The owner that manages it, see {@link keepingController}. */
  readonly controller?: string;
  /** The comparison names it in a condition of its own. */
  readonly isNamed?: true;
  readonly finalizers: readonly string[];
}

export type KeptObjects = ReadonlyMap<ResourceKey, KeptObject>;

/** A deletion takes this long before a condition names it. */
export const deletionGraceMs = 60_000;
const maxShown = 5;

/** The objects whose prune has no effect: by an option, or because their deletion already runs. */
export function keptObjects(
  { pairs, left }: Pick<Comparison, 'pairs' | 'left'>,
  { spec }: Pick<Application, 'spec'>,
): KeptObjects {
  const fallback = optionValue(spec.syncPolicy?.syncOptions ?? [], 'Prune');
  const targets = (): readonly (KubeObject | null)[] => pairs.map(({ target }) => target);
  const kept = new Map<ResourceKey, KeptObject>();
  for (const { ref } of left) kept.set(keyOfRef(ref), { ref, isNamed: true, finalizers: [] });
  for (const { target, live } of pairs) {
    if (target !== null || live === null) continue;
    const deletedAt = deletionOf(live);
    const isForbidden = (resourceOption(live, 'Prune') ?? fallback) === 'false';
    const isInUse = !isForbidden && containsTarget(live, targets());
    const controller = keepingController(live);
    if (deletedAt === undefined && !isForbidden && !isInUse && controller === undefined) continue;
    const ref = refOf(live);
    const { finalizers = [] } = live.metadata;
    kept.set(keyOfRef(ref), { ref, ...defined({ deletedAt, isInUse, controller }), finalizers });
  }
  return kept;
}

/** The owner that keeps an object from a prune, unless the object has `Prune=true`. */
export function keepingController(live: KubeObject): string | undefined {
  return resourceOption(live, 'Prune') === 'true' ? undefined : controllerOf(live);
}

function deletionOf({ metadata }: KubeObject): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : (parseTime(metadata.deletionTimestamp) ?? 0);
}

/** How long the newest deletion may still take; 0: none is that young. */
export function deletionsRestMs(kept: readonly KeptObject[], now: number): number {
  const rests = kept.map(({ deletedAt }) => (deletedAt === undefined ? 0 : deletedAt + deletionGraceMs - now));
  return Math.min(deletionGraceMs, Math.max(0, ...rests));
}

/** Names what automated sync leaves alone, and why. */
export function keptConditions(kept: KeptObjects): readonly ApplicationCondition[] {
  const objects = [...kept.values()].filter(({ isNamed }) => isNamed !== true);
  if (objects.length === 0) return [];
  const shown = objects.slice(0, maxShown).map(describe).sort();
  const more = objects.length > maxShown ? `, and ${objects.length - maxShown} more` : '';
  const message =
    `Not pruned, although the sources no longer have them: ${shown.join(', ')}${more}. Automated sync does not start ` +
    'for these objects: delete them, or remove what keeps them';
  return [{ type: 'KeptResourceWarning', message }];
}

function describe({ ref: { kind, namespace, name }, deletedAt, finalizers, ...kept }: KeptObject): string {
  const what = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  if (deletedAt === undefined) return `${what} (${reasonOf(kept)})`;
  const holders = finalizers.length === 0 ? '' : `, held by ${finalizers.join(', ')}`;
  return `${what} (being deleted since ${new Date(deletedAt).toISOString()}${holders})`;
}

function reasonOf({ isInUse = false, controller }: Pick<KeptObject, 'isInUse' | 'controller'>): string {
  if (isInUse) return 'objects of the sources are in it';
  return controller === undefined ? 'Prune=false' : `${controller} controls it; Prune=true would delete it`;
}

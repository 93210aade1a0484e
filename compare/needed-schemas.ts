import { isCustomResource, readsOwnership, readsOwnRecord } from '#diff';
import { keyOf } from '#model';
import type { Application, KubeObject, ResourceKey, Settings } from '#model';
import { applyRulesOf } from './apply-rules.ts';

/** Group versions of targets whose list and map ownership matters: their schemas are needed. */
export function schemaApiVersions(
  app: Application,
  targets: readonly KubeObject[],
  settings: Settings,
): readonly string[] {
  const ignoreDifferences = app.spec.ignoreDifferences ?? [];
  const rules = { settings, ignoreDifferences, ...applyRulesOf(app) };
  const read = targets.filter((target) => readsOwnership(target, rules));
  return [...new Set(read.map(({ apiVersion }) => apiVersion))];
}

/** Like {@link schemaApiVersions}, for objects whose managed fields say what we applied. */
export function recordApiVersions(
  targets: readonly KubeObject[],
  objects: ReadonlyMap<ResourceKey, KubeObject>,
): readonly string[] {
  const custom = customTargets.get(targets) ?? targets.filter(isCustomResource);
  customTargets.set(targets, custom);
  const read = custom.filter((target) => {
    const live = objects.get(keyOf(target));
    return live !== undefined && readsOwnRecord(target, live);
  });
  return [...new Set(read.map(({ apiVersion }) => apiVersion))];
}

const customTargets = new WeakMap<readonly KubeObject[], readonly KubeObject[]>();

import { groupKindName, groupOf, keyOf, resourceKey, withTracking } from '#model';
import type { ApplicationCondition, GroupKind, KubeObject, ResourceKey, TrackingSettings } from '#model';

export interface TargetRules {
  /** Instance name that tracking says. */
  readonly instance: string;
  readonly destinationNamespace: string;
  readonly tracking: TrackingSettings;
  /** Undefined: the cluster does not know the kind; it counts as namespaced. */
  readonly isNamespaced: (gk: GroupKind) => boolean | undefined;
  readonly isExcluded: (gk: GroupKind) => boolean;
}

export interface NormalTargets {
  /** In rendering order; of repeated objects the last one, in its place. */
  readonly targets: readonly KubeObject[];
  readonly conditions: readonly ApplicationCondition[];
}

/**
 * Rendered objects as they are meant for this application: the namespace is set or cleared by the scope of the kind, tracking is added,
 * repeats and excluded kinds are dropped with a warning. Source: Argo CD controller/state.go NormalizeTargetObjects.
 */
export function normalizeTargets(rendered: readonly KubeObject[], rules: TargetRules): NormalTargets {
  const byKey = new Map<ResourceKey, { readonly object: KubeObject; readonly count: number }>();
  rendered.forEach((raw, index) => {
    const object = track(inScope(raw, rules), rules);
    const key = targetKey(object, index);
    const count = (byKey.get(key)?.count ?? 0) + 1;
    byKey.delete(key);
    byKey.set(key, { object, count });
  });
  const targets: KubeObject[] = [];
  const conditions: ApplicationCondition[] = [];
  for (const [key, { object, count }] of byKey) {
    if (count > 1)
      conditions.push({
        type: 'RepeatedResourceWarning',
        message: `Resource ${key} appeared ${count} times among application resources.`,
      });
    if (rules.isExcluded(gkOf(object))) conditions.push(excludedCondition(object));
    else targets.push(object);
  }
  return { targets, conditions };
}

function inScope(object: KubeObject, rules: TargetRules): KubeObject {
  const namespaced = rules.isNamespaced(gkOf(object)) ?? true;
  const { namespace, ...rest } = object.metadata;
  if (!namespaced) return namespace === undefined ? object : { ...object, metadata: rest };
  if ((namespace ?? '') !== '' || rules.destinationNamespace === '') return object;
  return { ...object, metadata: { ...rest, namespace: rules.destinationNamespace } };
}

function track(object: KubeObject, rules: TargetRules): KubeObject {
  return withTracking(object, rules.instance, rules.destinationNamespace, rules.tracking);
}

function targetKey(object: KubeObject, index: number): ResourceKey {
  if ((object.metadata.name ?? '') !== '') return keyOf(object);
  const generated = `${object.metadata.generateName ?? ''}${index}`;
  return resourceKey(groupOf(object.apiVersion), object.kind, object.metadata.namespace ?? '', generated);
}

function excludedCondition(object: KubeObject): ApplicationCondition {
  const gk = gkOf(object);
  return {
    type: 'ExcludedResourceWarning',
    message: `Resource ${gk.group}/${gk.kind} ${object.metadata.name ?? ''} is excluded in the settings`,
  };
}

export function gkOf(object: KubeObject): GroupKind {
  return { group: groupOf(object.apiVersion), kind: object.kind };
}

/** `<group/Kind or Kind>:<namespace/name or name>`, as health messages name a resource. */
export function describeObject(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return `${groupKindName(gkOf(object))}:${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name ?? ''}`;
}

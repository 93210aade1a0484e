import { omit } from '#base';
import type { JsonObject } from '#base';
import { foldStringData, withUniqueItems } from '#diff';
import { gkOf, groupKindName, groupOf, jsonOf, keyOf, resourceKey, withTracking } from '#model';
import type { ApplicationCondition, GroupKind, KubeObject, ResourceKey, TrackingSettings } from '#model';
import { namedInWarning } from './resource-warnings.ts';

export interface TargetRules {
  /** Instance name for tracking. */
  readonly instance: string;
  readonly destinationNamespace: string;
  readonly tracking: TrackingSettings;
  /** Undefined if the cluster does not know the kind; it then counts as namespaced. */
  readonly isNamespaced: (gk: GroupKind) => boolean | undefined;
  readonly isExcluded: (gk: GroupKind) => boolean;
}

export interface NormalTargets {
  /** In rendering order; of repeated objects the last, at its own position. */
  readonly targets: readonly KubeObject[];
  readonly conditions: readonly ApplicationCondition[];
}

/**
 * Rendered objects as this Application deploys them: sets or clears the namespace by the scope of
 * the kind, adds tracking, and drops repeated and excluded objects with a warning. Source: Argo CD
 * controller/state.go NormalizeTargetObjects.
 */
export function normalizeTargets(rendered: readonly KubeObject[], rules: TargetRules): NormalTargets {
  const byKey = new Map<ResourceKey, { readonly object: KubeObject; readonly count: number }>();
  const repeatedItems: ApplicationCondition[] = [];
  rendered.forEach((raw, index) => {
    const { object, repeated } = normalForm(raw, rules);
    if (repeated.length > 0) repeatedItems.push(repeatedCondition(object, repeated));
    const key = targetKey(object, index);
    const count = (byKey.get(key)?.count ?? 0) + 1;
    byKey.delete(key);
    byKey.set(key, { object, count });
  });
  const targets: KubeObject[] = [];
  const conditions: ApplicationCondition[] = repeatedItems;
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

/** A normal form with its input besides the object itself. */
interface NormalForm {
  readonly object: KubeObject;
  /** Items with equal keys. */
  readonly repeated: readonly string[];
  readonly instance: string;
  readonly destinationNamespace: string;
  readonly tracking: TrackingSettings;
  readonly namespaced: boolean;
}

/**
 * The last normal form of a rendered object. While a source has the object in its cache, its normal
 * form stays the same value too, so that anything cached by object (its hash, for example) stays
 * valid.
 */
const normalForms = new WeakMap<KubeObject, NormalForm>();

function normalForm(raw: KubeObject, rules: TargetRules): NormalForm {
  const { instance, destinationNamespace, tracking } = rules;
  const namespaced = rules.isNamespaced(gkOf(raw)) ?? true;
  const known = normalForms.get(raw);
  if (
    known?.instance === instance &&
    known.destinationNamespace === destinationNamespace &&
    known.tracking === tracking &&
    known.namespaced === namespaced
  )
    return known;
  const { object: content, repeated } = withUniqueItems(foldedSecret(withoutManagedFields(raw)));
  const object = track(inScope(content, namespaced, rules), rules);
  const form = { object, repeated, instance, destinationNamespace, tracking, namespaced };
  normalForms.set(raw, form);
  return form;
}

/**
 * A manifest that was copied from a cluster has them. A server-side apply with them is refused
 * (argo-cd 28585), and a patch would change what belongs to whom.
 */
function withoutManagedFields(raw: KubeObject): KubeObject {
  return raw.metadata.managedFields === undefined ? raw : { ...raw, metadata: omit(raw.metadata, 'managedFields') };
}

/** The API server stores `data` only, so what follows sees and sends only that. */
function foldedSecret(raw: KubeObject): KubeObject {
  return foldStringData(jsonOf(raw) as JsonObject) as unknown as KubeObject;
}

function repeatedCondition(object: KubeObject, repeated: readonly string[]): ApplicationCondition {
  return {
    type: 'RepeatedItemWarning',
    message: `The manifest of ${namedInWarning(object)} has several items of one key: ${repeated.slice(0, maxNamedItems).join(', ')}. The API server merges or refuses them: remove all but one`,
  };
}

const maxNamedItems = 3;

function inScope(object: KubeObject, namespaced: boolean, rules: TargetRules): KubeObject {
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

/** `<group/Kind or Kind>:<namespace/name or name>`, as health messages name a resource. */
export function describeObject(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return `${groupKindName(gkOf(object))}:${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name ?? ''}`;
}

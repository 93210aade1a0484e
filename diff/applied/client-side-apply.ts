import { deepEqual, isObject, ownMember, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { unionOf } from '../field-ownership/field-owners.ts';
import { fieldStep } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import type { OwnershipRules } from '../field-ownership/known-shape.ts';
import { appliedFields, foreignFields, updatedFields } from '../field-ownership/own-entries.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import { shownFields } from '../field-ownership/other-version.ts';
import { asStored, withDefaults } from '../normalize/defaults.ts';
import { foldStringData } from '../normalize/secret.ts';
import { applyJsonPatch, threeWayJsonPatch } from '../patch/json-merge.ts';
import { withLastAppliedOf } from '../patch/last-applied.ts';
import { applyStrategic, isDisplaced, strategicPatch } from '../patch/strategic.ts';
import { fieldOf, itemsOf, schemaOf } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { asJson, asKube, isList } from '../shared/values.ts';
import { appliedBefore, originalOf } from './applied-before.ts';
import type { MergeMethod } from './applied-before.ts';

/**
 * The body of a PATCH and its content type: application/strategic-merge-patch+json or
 * application/merge-patch+json.
 */
export interface ApplyPatch {
  readonly type: 'strategic' | 'merge';
  readonly body: JsonObject;
}

/**
 * Returns the patch that kubectl's client-side apply would send (k8s.io/kubectl apply.go,
 * patcher.go): strategic for built-in kinds, a JSON merge patch for others. It includes the new
 * last-applied annotation. Undefined when nothing would change.
 *
 * Differences: a patch that the API server's own defaults would undo counts as no change. Removed
 * is also what our server-side applies own ({@link appliedBefore}), which kubectl does not read.
 */
export function clientSideApplyPatch(
  target: KubeObject,
  live: KubeObject,
  own: OwnManager = {},
): ApplyPatch | undefined {
  return mergePatch(target, live, 'client', own);
}

/**
 * The patch from live to the target, with what the target dropped; with the annotation of a
 * client-side apply only for one.
 */
function mergePatch(
  target: KubeObject,
  live: KubeObject,
  method: MergeMethod,
  rules: OwnershipRules,
): ApplyPatch | undefined {
  const present = asJson(live);
  const before = appliedBefore(target, live, method, rules);
  const wanted = method === 'client' ? withLastAppliedOf(foldStringData(asJson(target)), before.target) : before.target;
  const original = originalOf(before, target, live, rules);
  const type = schemaOf(target);
  if (type === undefined) {
    const body = threeWayJsonPatch(original, wanted, present, 'exact');
    return body === undefined ? undefined : { type: 'merge', body };
  }
  const body = strategicPatch({ original, target: wanted, live: present }, type);
  if (body === undefined) return undefined;
  const after = applyStrategic(present, body, type);
  return deepEqual(asStored(after, type), asStored(present, type)) ? undefined : { type: 'strategic', body };
}

/**
 * Predicts the live object after {@link clientSideApplyPatch}, before the API server fills in
 * defaults; after a replacement, with what only others own. Shares parts with `live`.
 */
export function predictApply(
  target: KubeObject,
  live: KubeObject,
  method: MergeMethod = 'client',
  rules: OwnershipRules = {},
): KubeObject {
  const patch = mergePatch(target, live, method, rules);
  const type = schemaOf(target);
  if (patch === undefined) return live;
  const present = asJson(live);
  const after =
    patch.type === 'merge' || type === undefined
      ? applyJsonPatch(present, patch.body)
      : applyStrategic(present, patch.body, type);
  return asKube(after);
}

/**
 * The patch to send before a server-side apply that the server would refuse: live has an item of
 * ours under another key (a port whose number was edited), or what excludes the target: a default
 * (`rollingUpdate` of a strategy that becomes Recreate), another source of a volume. An apply
 * removes none of them, nor what another API version has as a field of its own. An empty map of a
 * custom resource becomes null in an apply that removes its members (structured-merge-diff 259).
 */
export function displacedItemsPatch(
  target: KubeObject,
  live: KubeObject,
  own: OwnManager = {},
): ApplyPatch | undefined {
  const type = schemaOf(target);
  if (type === undefined) {
    const present = asJson(live);
    const [ours, others] = [
      [...appliedFields(present, own), ...updatedFields(present, own)],
      foreignFields(present, own),
    ].map(unionOf);
    const body = emptiedMaps(asJson(target), present, { ours, others });
    return isObject(body) ? { type: 'merge', body } : undefined;
  }
  const isBefore = hasDisplaced(asJson(target), asJson(live), type) || dropsShownFields(target, live, own);
  return isBefore ? mergePatch(target, live, 'replace', own) : undefined;
}

/** Whether live shows, as annotations, fields of a later version that Git has dropped. */
function dropsShownFields(target: KubeObject, live: KubeObject, own: OwnManager): boolean {
  const shown = shownFields(asJson(live)).filter((steps) => valueAt(asJson(target), ...steps) === undefined);
  if (shown.length === 0) return false;
  const [ours, others] = [appliedFields(asJson(live), own), foreignFields(asJson(live), own)];
  const isOwned = (sets: readonly JsonObject[], steps: readonly string[]): boolean =>
    sets.some((fields) => valueAt(fields, ...steps.map((step) => `f:${step}`)) !== undefined);
  return shown.some((steps) => isOwned(ours, steps) && !isOwned(others, steps));
}

interface MapOwners {
  readonly ours: FieldSet | undefined;
  readonly others: FieldSet | undefined;
}

/** The merge patch that removes all members, which are ours, of maps that the target has empty. */
function emptiedMaps(target: Json, live: Json | undefined, { ours, others }: MapOwners): Json | undefined {
  if (!isObject(target) || !isObject(live) || ours === undefined) return undefined;
  const names = Object.keys(live);
  const isOurs = (name: string): boolean =>
    ours.children.has(fieldStep(name)) && !others?.children.has(fieldStep(name));
  if (Object.keys(target).length === 0)
    return names.length > 0 && names.every(isOurs) ? Object.fromEntries(names.map((name) => [name, null])) : undefined;
  const inner = Object.keys(target).flatMap((name) => {
    const [below, theirs] = [ours, others].map((owners) => owners?.children.get(fieldStep(name)));
    const patch = emptiedMaps(target[name] ?? null, ownMember(live, name), { ours: below, others: theirs });
    return patch === undefined ? [] : [[name, patch] as const];
  });
  return inner.length === 0 ? undefined : Object.fromEntries(inner);
}

function hasDisplaced(target: Json, live: Json | undefined, type: TypeSchema | undefined): boolean {
  if (type?.form !== 'struct' || !isObject(target) || !isObject(live)) return false;
  return Object.keys(target).some((key) => {
    const [wanted, present, field] = [ownMember(target, key), ownMember(live, key), fieldOf(type, key)];
    if (wanted === undefined || present === undefined || wanted === present || field === undefined) return false;
    if (field.retainKeys && isExcluded(present, wanted, field.type)) return true;
    if (!isList(wanted) || !isList(present)) return hasDisplaced(wanted, present, field.type);
    const { mergeKey = '' } = field;
    if (mergeKey === '') return false;
    const items = itemsOf(field.type);
    if (present.some((item) => isDisplaced(item, wanted, { mergeKey, type: items, isApplied: true }))) return true;
    return wanted.some((item) => {
      const same = sameItem(item, present, mergeKey);
      return (
        (field.retainKeys && same !== undefined && isExcluded(same, item, items)) || hasDisplaced(item, same, items)
      );
    });
  });
}

/** Whether live, a union, has a member that the stored form of the target does not have. */
function isExcluded(live: Json, target: Json, type: TypeSchema | undefined): boolean {
  if (!isObject(live) || !isObject(target)) return false;
  const stored = withDefaults(target, type);
  return isObject(stored) && Object.keys(live).some((key) => (ownMember(stored, key) ?? null) === null);
}

function sameItem(item: Json, list: readonly Json[], mergeKey: string): Json | undefined {
  const id = isObject(item) ? ownMember(item, mergeKey) : undefined;
  return list.find((other) => isObject(other) && ownMember(other, mergeKey) === id);
}

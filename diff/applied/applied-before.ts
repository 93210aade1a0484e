import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { unionOf } from '../field-ownership/field-owners.ts';
import { addAll, emptySet, fieldStep } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { knownShape } from '../field-ownership/known-shape.ts';
import { kindKey } from '../field-ownership/open-api.ts';
import type { OwnershipRules, PublishedSchemas } from '../field-ownership/known-shape.ts';
import { appliedFields, foreignFields, hiddenUpdates, updatedFields } from '../field-ownership/own-entries.ts';
import { reshapedFields } from '../field-ownership/reshape.ts';
import { listItemStep, shapeFromManagedFields } from '../field-ownership/shape.ts';
import type { OwnershipShape } from '../field-ownership/shape.ts';
import { mergeValues } from '../field-ownership/structured-merge.ts';
import { lastAppliedText } from '../patch/last-applied.ts';
import { asStored } from '../normalize/defaults.ts';
import { foldStringData } from '../normalize/secret.ts';
import { withServerValues } from '../normalize/server-values.ts';
import { fieldOf, itemsOf, schemaOf } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { withTwins } from '../schema/twins.ts';
import { asJson, isList } from '../shared/values.ts';
import { sentForm, withEmptyTexts } from './sent-form.ts';
import { droppedAt } from './dropped.ts';
import type { DroppedPart } from './dropped.ts';
import { readLastApplied } from './read-last-applied.ts';

/** How an object is sent: three-way merge with last-applied, or as a whole (`Replace=true`). */
export type MergeMethod = 'client' | 'replace';

/** Fields that we applied before, besides those of the last-applied annotation. */
export interface AppliedBefore {
  /** Fields that our managers own in live and the target dropped. Undefined: none. */
  readonly dropped: JsonObject | undefined;
  /** The target to merge: {@link DroppedPart.target}. */
  readonly target: JsonObject;
}

/**
 * What we applied before: the one answer for comparisons and for what a sync sends (ADR 0016).
 * The last-applied annotation counts ({@link readLastApplied}), and what our server-side applies
 * own; our creations and replacements, which own the server's defaults too, count only for objects
 * without the annotation or with another writer's, and for those that are replaced.
 */
export function appliedBefore(
  target: KubeObject,
  live: KubeObject,
  method: MergeMethod,
  rules: OwnershipRules,
): AppliedBefore {
  const form = sentForm(target, live, rules);
  const sent = method === 'replace' ? (withEmptyTexts(form, schemaOf(target)) as JsonObject) : form;
  const ours = ownFields(target, live, method, rules);
  const part = ours.length === 0 ? undefined : droppedOf({ target, sent, live: asJson(live), ours }, rules);
  if (part === undefined || !isObject(part.gone)) return { dropped: undefined, target: sent };
  return { dropped: part.gone, target: isObject(part.target) ? part.target : sent };
}

/** The manifest to delete from: that of last-applied, with what our managers own besides. */
export function withDropped(
  manifest: JsonObject | undefined,
  dropped: JsonObject | undefined,
  shape: () => OwnershipShape,
): JsonObject | undefined {
  if (dropped === undefined || manifest === undefined) return dropped ?? manifest;
  const known = shape();
  return mergeValues(manifest, withoutBlanks(dropped, manifest, known), known) as JsonObject;
}

/**
 * Items of a list that lost nothing are empty, so that the others keep their index. Where
 * last-applied has the list, items are merged into it by their keys instead.
 */
function withoutBlanks(dropped: Json, manifest: Json | undefined, shape: OwnershipShape): Json {
  if (isList(dropped) && isList(manifest) && shape.listKeys !== undefined) {
    const items = dropped.filter((item) => !isObject(item) || Object.keys(item).length > 0);
    const known = new Map(manifest.map((item) => [listItemStep(item, shape), item]));
    return items.map((item) => withoutBlanks(item, known.get(listItemStep(item, shape)), shape.items()));
  }
  if (!isObject(dropped) || !isObject(manifest)) return dropped;
  const entries = Object.entries(dropped).map(([key, value]) => {
    return [key, withoutBlanks(value ?? null, ownMember(manifest, key), shape.member(key))] as const;
  });
  return Object.fromEntries(entries);
}

/** The manifest that the target is compared with to find what it dropped. */
export function originalOf(
  before: AppliedBefore,
  target: KubeObject,
  live: KubeObject,
  rules: OwnershipRules,
): JsonObject | undefined {
  return withDropped(readLastApplied(live).manifest, before.dropped, () => mergeShape(target, asJson(live), rules));
}

/** The list and map types of an object, from the managed fields where no schema is known. */
export function mergeShape(target: KubeObject, live: JsonObject, rules: OwnershipRules): OwnershipShape {
  return (
    knownShape(target, rules) ??
    shapeFromManagedFields(
      unionOf([appliedFields, updatedFields, foreignFields].flatMap((fieldsOf) => fieldsOf(live, rules))),
    )
  );
}

/**
 * Our entries that count. Without a schema, the defaults of a custom resource are unknown, and so
 * is what of our updates we sent: a replacement would differ for ever. A client-side apply takes
 * the defaults for ours once, the server sets them again, and the new annotation decides from then.
 */
function ownFields(
  target: KubeObject,
  live: KubeObject,
  method: MergeMethod,
  rules: OwnershipRules,
): readonly FieldSource[] {
  const applied = appliedFields(asJson(live), rules).map((fields) => ({ fields, isUpdate: false }));
  return [...applied, ...countedUpdates(target, live, method, rules).map((fields) => ({ fields, isUpdate: true }))];
}

function countedUpdates(
  target: KubeObject,
  live: KubeObject,
  method: MergeMethod,
  rules: OwnershipRules,
): readonly JsonObject[] {
  if (method === 'replace') return knowsDefaults(target, rules) ? updatedFields(asJson(live), rules) : [];
  return lastAppliedText(live) === undefined ? updatedFields(asJson(live), rules) : hiddenUpdates(asJson(live), rules);
}

function knowsDefaults(target: KubeObject, { schemas }: PublishedSchemas): boolean {
  return schemaOf(target) !== undefined || schemas?.has(kindKey(target)) === true;
}

/** One of our entries; those of updates contain defaults. */
interface FieldSource {
  readonly fields: JsonObject;
  readonly isUpdate: boolean;
}

/** No manifest has the last-applied annotation, so its absence is no removal. */
function forgetLastApplied(ours: FieldSet): void {
  const metadata = ours.children.get('f:metadata');
  const notes = metadata?.children.get('f:annotations');
  notes?.children.delete(fieldStep(annotations.lastApplied));
  if (notes?.children.size === 0) metadata?.children.delete('f:annotations');
}

interface OwnedPair {
  readonly target: KubeObject;
  readonly sent: JsonObject;
  readonly live: JsonObject;
  readonly ours: readonly FieldSource[];
}

function droppedOf({ target, sent, live, ours }: OwnedPair, rules: OwnershipRules): DroppedPart | undefined {
  const shape = mergeShape(target, live, rules);
  const type = schemaOf(target);
  const stored = withServerValues(storedForm(target, type, rules), live);
  const counted = ours.map(({ fields, isUpdate }) => {
    const set = unionOf([fields]);
    return isUpdate && type !== undefined ? knownFields(set, type) : set;
  });
  const all = emptySet();
  for (const set of counted) addAll(all, set);
  forgetLastApplied(all);
  const others = unionOf(foreignFields(live, rules));
  const applied = reshapedFields(all, () => others, { live, target: sent, shape, isBuiltIn: type !== undefined });
  const wholeLists = type === undefined;
  // Defaults in lists of an update count once, as in ownFields; those of an apply would for ever.
  const isOnce = ours.every(({ isUpdate }) => isUpdate);
  const known = isOnce || knowsDefaults(target, rules);
  return droppedAt({ live, target: sent, stored, ours: applied, others, shape, wholeLists, knowsDefaults: known });
}

function storedForm(target: KubeObject, type: TypeSchema | undefined, { schemas }: PublishedSchemas): Json {
  const sent = foldStringData(asJson(target));
  if (type !== undefined) return withTwins(asStored(sent, type), type);
  return schemas?.get(kindKey(target))?.withDefaults(sent) ?? sent;
}

/** Drops struct fields of newer servers: the server may have added them as defaults. */
function knownFields(set: FieldSet, type: TypeSchema | undefined): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [step, child] of set.children) {
    const name = step.startsWith('f:') ? step.slice(2) : undefined;
    const field = name === undefined ? undefined : fieldOf(type, name);
    if (name !== undefined && type?.form === 'struct' && field === undefined) continue;
    children.set(step, knownFields(child, name === undefined ? itemsOf(type) : field?.type));
  }
  return { member: set.member, children };
}

import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, fieldManager as controllerManager, jsonOf } from '#model';
import type { KubeObject } from '#model';
import { entriesOf, fieldsIn, fieldsV1Of } from './entries.ts';
import { readLastApplied } from './read-last-applied.ts';
import { withoutRetired } from './retired-versions.ts';
import { schemaOf } from '../schema/schema.ts';
import { asJson, textOf, withoutMembers } from '../shared/values.ts';
import { unionOf } from '../field-ownership/field-owners.ts';
import { selectPaths } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import type { OwnershipRules } from '../field-ownership/known-shape.ts';
import { kindKey } from '../field-ownership/open-api.ts';
import {
  asStoredFields,
  isMainEntry,
  isOfNobody,
  isOtherController,
  isOwnApply,
  isOwnUpdate,
  isSecret,
} from '../field-ownership/own-entries.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import { dropsParts, isOwnedAs, reshapedFields } from '../field-ownership/reshape.ts';
import { fieldSetOf, shapeFromManagedFields, shapeOfType, unknownShape } from '../field-ownership/shape.ts';
import type { OwnershipShape } from '../field-ownership/shape.ts';

/**
 * Returns a JSON patch that moves fields from client-side entries to the server-side apply entry of
 * our manager, which can then remove them (k8s.io/client-go util/csaupgrade; Argo CD:
 * ClientSideApplyMigration). Undefined when there is nothing to move. The patch carries the
 * resourceVersion of `live`, so a concurrent write makes it fail with a conflict.
 *
 * Differences: it moves our own creations and replacements too, and what we applied as `stringData`
 * of a Secret becomes `data`, where the server stored it. It takes what we apply from
 * `before-first-apply`, the API server's entry for an object that had no managed fields. Otherwise
 * those fields stay forever.
 *
 * It also rewrites our entry where the schema owns lists and maps in another way than the one that
 * we applied with ({@link reshapedFields}).
 *
 * @param from the managers whose `Update` entries of the main resource are removed.
 */
export function adoptFields(live: KubeObject, from: readonly string[], known: MigrationFacts = {}): Json | undefined {
  const after = adoptedEntries(live, from, known);
  if (after === undefined) return undefined;
  return [
    { op: 'add', path: '/metadata/managedFields', value: after },
    { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
  ];
}

/** Inputs of a migration besides the live object. */
export interface MigrationFacts extends OwnManager {
  /** The list and map types: for a custom resource without managed fields, or of another schema. */
  readonly shape?: OwnershipShape | undefined;
  /** API versions that are not served: their entries move to the version of the object. */
  readonly retired?: readonly string[] | undefined;
  /** Whether the server refuses an apply; it converts versions that are defined, but not served. */
  readonly isRefused?: boolean;
  /** The manifest that is applied next. */
  readonly target?: KubeObject | undefined;
}

/** The managed fields after {@link adoptFields}; undefined when there is nothing to move. */
function adoptedEntries(live: KubeObject, from: readonly string[], known: MigrationFacts): readonly Json[] | undefined {
  const moved = movedEntries(live, from, known);
  const after = reshapedEntries(moved ?? entriesOf(live), live, known) ?? moved;
  const { retired = [], isRefused = false } = known;
  const isForgotten = isRefused || schemaOf(live) !== undefined;
  return retired.length === 0 || !isForgotten ? after : withoutRetired(after ?? entriesOf(live), retired, live);
}

function movedEntries(
  live: KubeObject,
  from: readonly string[],
  own: Pick<MigrationFacts, 'fieldManager' | 'shape'>,
): readonly JsonObject[] | undefined {
  const entries = entriesOf(live);
  if (entries.length === 0) return from.length === 0 ? undefined : entriesOfLastApplied(live, own);
  const isFrom = (entry: JsonObject): boolean =>
    isMainEntry(entry, 'Update') && from.includes(textOf(ownMember(entry, 'manager')));
  const known = entries.findIndex((entry) => isOwnApply(entry, own));
  const isStale = isSecret(live) && Object.hasOwn(fieldsIn(entries[known]), 'f:stringData');
  const shared = from.length === 0 ? undefined : sharedWithNobody(entries, own);
  if (!isStale && shared === undefined && !entries.some(isFrom)) return undefined;
  const at = known < 0 ? entries.findIndex(isFrom) : known;
  const version = ownMember(entries[at] ?? {}, 'apiVersion');
  const others = entries.filter(
    (entry) => isFrom(entry) && deepEqual(ownMember(entry, 'apiVersion') ?? '', version ?? ''),
  );
  return entries.flatMap((entry, i): readonly JsonObject[] => {
    if (entry === shared?.entry) return shared.left;
    if (i !== at) return isFrom(entry) ? [] : [entry];
    const fields = [entry, ...others].map(fieldsIn).map((one) => (isSecret(live) ? asStoredFields(one) : one));
    return [{ ...entry, ...applyBy(own), fieldsV1: fieldsV1Of(unionOf(fields)) }];
  });
}

/**
 * An entry for what last-applied says, for an object whose managed fields were trimmed. Without it,
 * the first apply makes all of live fields of `before-first-apply`: what Git drops would stay, and
 * a migration of that manager would remove what others set (argo-cd 28736).
 */
function entriesOfLastApplied(
  live: KubeObject,
  { shape, fieldManager }: Pick<MigrationFacts, 'fieldManager' | 'shape'>,
): readonly JsonObject[] | undefined {
  const { manifest } = readLastApplied(live);
  if (manifest === undefined) return undefined;
  const { annotations: notes, labels } = (ownMember(manifest, 'metadata') ?? {}) as JsonObject;
  const metadata = {
    ...(isObject(labels) ? { labels } : {}),
    annotations: { ...(isObject(notes) ? notes : {}), [annotations.lastApplied]: '' },
  };
  const fields = fieldSetOf(
    { ...withoutMembers(manifest, ['apiVersion', 'kind', 'status']), metadata },
    shape ?? shapeOf(live) ?? unknownShape,
  );
  const apiVersion = textOf(ownMember(manifest, 'apiVersion')) || live.apiVersion;
  const entry = { ...applyBy({ fieldManager }), apiVersion, fieldsType: 'FieldsV1' };
  return [{ ...entry, fieldsV1: fieldsV1Of(fields) }];
}

/** Names our manager in an entry of its server-side applies. */
function applyBy({ fieldManager = controllerManager }: OwnManager): JsonObject {
  return { manager: fieldManager, operation: 'Apply' };
}

/** Undefined: no list or map that our entry owns has another type now. */
function reshapedEntries(
  entries: readonly JsonObject[],
  live: KubeObject,
  { shape = shapeOf(live), target, fieldManager }: MigrationFacts,
): readonly JsonObject[] | undefined {
  const own = entries.find((entry) => isOwnApply(entry, { fieldManager }));
  if (own === undefined || target === undefined || shape === undefined) return undefined;
  const isBuiltIn = schemaOf(live) !== undefined;
  if (isBuiltIn && isOwnedAs(shape, fieldsIn(own))) return undefined;
  const ours = unionOf([fieldsIn(own)]);
  const others = (): FieldSet => unionOf(entries.filter((entry) => entry !== own).map(fieldsIn));
  const after = reshapedFields(ours, others, { live: asJson(live), target: asJson(target), shape, isBuiltIn });
  if (after === ours) return undefined;
  const { apiVersion } = live;
  return entries.map((entry) => (entry === own ? { ...own, apiVersion, fieldsV1: fieldsV1Of(after) } : entry));
}

/**
 * Whether the types of lists and maps decide what the apply removes. For built-in types, ours
 * decide first, and only the server knows its own.
 */
export function mayReshape(
  live: KubeObject,
  target: KubeObject,
  from: readonly string[],
  { fieldManager }: OwnManager = {},
): boolean {
  const entries = movedEntries(live, from, { fieldManager }) ?? entriesOf(live);
  if (shapeOf(live) !== undefined) return reshapedEntries(entries, live, { target, fieldManager }) !== undefined;
  const own = entries.find((entry) => isOwnApply(entry, { fieldManager }));
  return own !== undefined && dropsParts(unionOf([fieldsIn(own)]), asJson(live), asJson(target));
}

/** The list and map types that the response to an apply of ours shows. */
export function shownShape(stored: KubeObject, own: OwnManager = {}): OwnershipShape {
  const ours = entriesOf(stored).filter((entry) => isOwnApply(entry, own));
  return shapeFromManagedFields(unionOf(ours.map(fieldsIn)));
}

/** Whether the migration needs the published schema: a custom resource without managed fields. */
export function lacksManagedFields(live: KubeObject): boolean {
  return entriesOf(live).length === 0 && schemaOf(live) === undefined;
}

function shapeOf(live: KubeObject): OwnershipShape | undefined {
  const type = schemaOf(live);
  return type === undefined ? undefined : shapeOfType(type);
}

/** The entry of `before-first-apply` without what we apply; undefined: nothing in common. */
function sharedWithNobody(
  entries: readonly JsonObject[],
  own: OwnManager,
): { readonly entry: JsonObject; readonly left: readonly JsonObject[] } | undefined {
  const entry = entries.find((one) => isMainEntry(one, 'Update') && isOfNobody(one));
  if (entry === undefined) return undefined;
  const ours = unionOf(entries.filter((one) => isOwnApply(one, own)).map(fieldsIn));
  const fields = unionOf([fieldsIn(entry)]);
  if (isEmptySet(selectPaths(fields, [ours, undefined], (isOurs) => isOurs))) return undefined;
  const left = selectPaths(fields, [ours, undefined], (isOurs) => !isOurs);
  return { entry, left: isEmptySet(left) ? [] : [{ ...entry, fieldsV1: fieldsV1Of(left) }] };
}

function isEmptySet({ member, children }: FieldSet): boolean {
  return !member && children.size === 0;
}

/**
 * The managers whose client-side fields a server-side apply takes over: the given one, and ours.
 * Undefined: none (`ClientSideApplyMigration=false`).
 */
export function managersToAdopt(
  live: KubeObject,
  adoptFrom: string | undefined,
  own: OwnManager = {},
): readonly string[] {
  if (adoptFrom === undefined) return [];
  const ours = entriesOf(live).filter((entry) => isOwnUpdate(entry, own));
  return [...new Set([adoptFrom, ...ours.map((entry) => textOf(ownMember(entry, 'manager')))])];
}

/** Whether a server-side apply is preceded by a migration of managed fields. */
export function isMigrated(
  target: KubeObject,
  live: KubeObject,
  { adoptFrom, schemas, fieldManager }: OwnershipRules & { readonly adoptFrom?: string | undefined },
): boolean {
  const shape = schemas?.get(kindKey(target))?.shape;
  const from = managersToAdopt(live, adoptFrom, { fieldManager });
  return adoptedEntries(live, from, { shape, target, fieldManager }) !== undefined;
}

/** The live object after the migration that precedes a server-side apply. */
export function withAdoptedFields(live: KubeObject, adoptFrom: string | undefined, known: MigrationFacts): JsonObject {
  const entries = adoptedEntries(live, managersToAdopt(live, adoptFrom, known), known);
  const whole = jsonOf(live) as JsonObject;
  if (entries === undefined) return whole;
  return { ...whole, metadata: { ...(whole['metadata'] as JsonObject), managedFields: entries } };
}

/**
 * Returns the managers that own the last-applied annotation. Like kubectl, the caller migrates
 * their fields after a server-side apply: without those of the controller, if that is another tool.
 */
export function clientSideManagers(live: KubeObject, own: OwnManager = {}): readonly string[] {
  const noted = entriesOf(live).filter((entry) => {
    if (!isMainEntry(entry, 'Update') || isOfNobody(entry)) return false;
    const path = ['f:metadata', 'f:annotations', `f:${annotations.lastApplied}`];
    const found = path.reduce<Json | undefined>(
      (value, step) => (isObject(value) ? ownMember(value, step) : undefined),
      ownMember(entry, 'fieldsV1'),
    );
    return found !== undefined;
  });
  const names = noted.map((entry) => textOf(ownMember(entry, 'manager')));
  return [...new Set(names)].filter((name) => !isOtherController(name, own));
}

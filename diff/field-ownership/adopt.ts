import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, fieldManager, jsonOf } from '#model';
import type { KubeObject } from '#model';
import { isList, textOf } from '../shared/values.ts';
import { unionOf } from './field-owners.ts';
import type { FieldSet } from './field-set.ts';
import { asStoredFields, isMainEntry, isOwnApply, isOwnUpdate, isSecret } from './own-entries.ts';

/**
 * Returns a JSON patch that moves fields from client-side entries to the server-side apply entry of
 * our manager, which can then remove them (k8s.io/client-go util/csaupgrade; Argo CD:
 * ClientSideApplyMigration). Undefined when there is nothing to move. The patch carries the
 * resourceVersion of `live`, so a concurrent write makes it fail with a conflict.
 *
 * Differences: it moves our own creations and replacements too, and what we applied as `stringData`
 * of a Secret becomes `data`, where the server stored it; otherwise those fields stay forever.
 *
 * @param from the managers whose `Update` entries of the main resource are removed.
 */
export function adoptFields(live: KubeObject, from: readonly string[]): Json | undefined {
  const after = adoptedEntries(live, from);
  if (after === undefined) return undefined;
  return [
    { op: 'replace', path: '/metadata/managedFields', value: after },
    { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
  ];
}

/** The managed fields after {@link adoptFields}; undefined when there is nothing to move. */
export function adoptedEntries(live: KubeObject, from: readonly string[]): readonly Json[] | undefined {
  const entries = entriesOf(live);
  const isFrom = (entry: JsonObject): boolean =>
    isMainEntry(entry, 'Update') && from.includes(textOf(ownMember(entry, 'manager')));
  const known = entries.findIndex(isOwnApply);
  const isStale = isSecret(live) && Object.hasOwn(fieldsIn(entries[known]), 'f:stringData');
  if (!isStale && !entries.some(isFrom)) return undefined;
  const at = known < 0 ? entries.findIndex(isFrom) : known;
  const version = ownMember(entries[at] ?? {}, 'apiVersion');
  const others = entries.filter(
    (entry) => isFrom(entry) && deepEqual(ownMember(entry, 'apiVersion') ?? '', version ?? ''),
  );
  return entries.flatMap((entry, i): Json[] => {
    if (i !== at) return isFrom(entry) ? [] : [entry];
    const fields = [entry, ...others].map(fieldsIn).map((one) => (isSecret(live) ? asStoredFields(one) : one));
    return [{ ...entry, manager: fieldManager, operation: 'Apply', fieldsV1: fieldsV1Of(unionOf(fields)) }];
  });
}

/**
 * The managers whose client-side fields a server-side apply takes over: the given one, and ours.
 * Undefined: none (`ClientSideApplyMigration=false`).
 */
export function managersToAdopt(live: KubeObject, adoptFrom: string | undefined): readonly string[] {
  if (adoptFrom === undefined) return [];
  const ours = entriesOf(live).filter(isOwnUpdate);
  return [...new Set([adoptFrom, ...ours.map((entry) => textOf(ownMember(entry, 'manager')))])];
}

/** Whether a server-side apply is preceded by a migration of managed fields. */
export function isMigrated(live: KubeObject, adoptFrom: string | undefined): boolean {
  return adoptedEntries(live, managersToAdopt(live, adoptFrom)) !== undefined;
}

/** The live object after the migration that precedes a server-side apply. */
export function withAdoptedFields(live: KubeObject, adoptFrom: string | undefined): JsonObject {
  const entries = adoptedEntries(live, managersToAdopt(live, adoptFrom));
  const whole = jsonOf(live) as JsonObject;
  if (entries === undefined) return whole;
  return { ...whole, metadata: { ...(whole['metadata'] as JsonObject), managedFields: entries } };
}

/**
 * Returns the managers that own the last-applied annotation. Like kubectl, the caller migrates
 * their fields after a server-side apply.
 */
export function clientSideManagers(live: KubeObject): readonly string[] {
  const noted = entriesOf(live).filter((entry) => {
    if (!isMainEntry(entry, 'Update')) return false;
    const path = ['f:metadata', 'f:annotations', `f:${annotations.lastApplied}`];
    const found = path.reduce<Json | undefined>(
      (value, step) => (isObject(value) ? ownMember(value, step) : undefined),
      ownMember(entry, 'fieldsV1'),
    );
    return found !== undefined;
  });
  return [...new Set(noted.map((entry) => textOf(ownMember(entry, 'manager'))))];
}

function entriesOf(live: KubeObject): readonly JsonObject[] {
  const metadata = ownMember(jsonOf(live) as JsonObject, 'metadata');
  const entries = isObject(metadata) ? ownMember(metadata, 'managedFields') : undefined;
  return isList(entries) ? entries.filter(isObject) : [];
}

function fieldsIn(entry: JsonObject | undefined): JsonObject {
  const fields = ownMember(entry ?? {}, 'fieldsV1');
  return isObject(fields) ? fields : {};
}

/** Formats a field set as `fieldsV1`. */
function fieldsV1Of(set: FieldSet): Json {
  const fields: Record<string, Json> = {};
  if (set.member && set.children.size > 0) fields['.'] = {};
  for (const [step, child] of set.children) fields[step] = fieldsV1Of(child);
  return fields;
}

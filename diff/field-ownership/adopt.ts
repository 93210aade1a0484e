import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, jsonOf } from '#model';
import type { KubeObject } from '#model';
import { isList, textOf } from '../shared/values.ts';
import { unionOf } from './field-owners.ts';
import type { FieldSet } from './field-set.ts';

/**
 * Returns a JSON patch that moves fields from a manager's client-side apply entry to the
 * server-side apply entry of `manager`, which can then remove them (k8s.io/client-go
 * util/csaupgrade; Argo CD: ClientSideApplyMigration). Undefined when there is nothing to move. The
 * patch carries the resourceVersion of `live`, so a concurrent write makes it fail with a conflict.
 *
 * @param from the manager whose `Update` entry of the main resource is removed.
 */
export function adoptFields(live: KubeObject, from: string, manager: string): Json | undefined {
  const entries = entriesOf(live);
  const isFrom = (entry: JsonObject): boolean => isEntry(entry, from, 'Update');
  if (!entries.some(isFrom)) return undefined;
  const known = entries.findIndex((entry) => isEntry(entry, manager, 'Apply'));
  const at = known < 0 ? entries.findIndex(isFrom) : known;
  const version = ownMember(entries[at] ?? {}, 'apiVersion');
  const other = entries.find(
    (entry) => isFrom(entry) && deepEqual(ownMember(entry, 'apiVersion') ?? '', version ?? ''),
  );
  const after = entries.flatMap((entry, i): Json[] => {
    if (i !== at) return isFrom(entry) ? [] : [entry];
    const sets = [entry, other].map((one) => ownMember(one ?? {}, 'fieldsV1')).filter((fields) => isObject(fields));
    return [{ ...entry, manager, operation: 'Apply', fieldsV1: fieldsV1Of(unionOf(sets)) }];
  });
  return [
    { op: 'replace', path: '/metadata/managedFields', value: after },
    { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
  ];
}

/**
 * Returns the managers that own the last-applied annotation. Like kubectl, the caller migrates
 * their fields after a server-side apply.
 */
export function clientSideManagers(live: KubeObject): readonly string[] {
  const noted = entriesOf(live).filter((entry) => {
    if (ownMember(entry, 'operation') !== 'Update' || textOf(ownMember(entry, 'subresource')) !== '') return false;
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

function isEntry(entry: JsonObject, manager: string, operation: string): boolean {
  return (
    ownMember(entry, 'manager') === manager &&
    ownMember(entry, 'operation') === operation &&
    textOf(ownMember(entry, 'subresource')) === ''
  );
}

/** Formats a field set as `fieldsV1`. */
function fieldsV1Of(set: FieldSet): Json {
  const fields: Record<string, Json> = {};
  if (set.member && set.children.size > 0) fields['.'] = {};
  for (const [step, child] of set.children) fields[step] = fieldsV1Of(child);
  return fields;
}

import { deepEqual, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, jsonOf } from '#model';
import type { KubeObject } from '#model';
import type { FieldSet } from './field-set.ts';
import { unionOf } from './structured.ts';
import { isList, textOf } from './values.ts';

/**
 * The JSON patch that makes one manager of server-side apply own what another one has come to own by client-side apply, so that it can take such
 * fields away later (k8s.io/client-go util/csaupgrade; Argo CD: ClientSideApplyMigration). Undefined when there is nothing to take over. It is sent
 * under the version of `live`: whoever was faster makes it fail with a conflict.
 *
 * @param from the manager whose `Update` entry of the main resource goes.
 */
export function adoptFields(live: KubeObject, from: string, manager: string): Json | undefined {
  const entries = entriesOf(live);
  const isFrom = (entry: JsonObject): boolean => isEntry(entry, from, 'Update');
  if (!entries.some(isFrom)) return undefined;
  const known = entries.findIndex((entry) => isEntry(entry, manager, 'Apply'));
  const at = known < 0 ? entries.findIndex(isFrom) : known;
  const version = own(entries[at] ?? {}, 'apiVersion');
  const other = entries.find((entry) => isFrom(entry) && deepEqual(own(entry, 'apiVersion') ?? '', version ?? ''));
  const after = entries.flatMap((entry, i): Json[] => {
    if (i !== at) return isFrom(entry) ? [] : [entry];
    const sets = [entry, other].map((one) => own(one ?? {}, 'fieldsV1')).filter((fields) => isObject(fields));
    return [{ ...entry, manager, operation: 'Apply', fieldsV1: print(unionOf(sets)) }];
  });
  return [
    { op: 'replace', path: '/metadata/managedFields', value: after },
    { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
  ];
}

/** Who has written kubectl's note of what was applied last by client-side apply (kubectl: they are taken over after a server-side apply). */
export function clientSideManagers(live: KubeObject): readonly string[] {
  const noted = entriesOf(live).filter((entry) => {
    if (own(entry, 'operation') !== 'Update' || textOf(own(entry, 'subresource')) !== '') return false;
    const path = ['f:metadata', 'f:annotations', `f:${annotations.lastApplied}`];
    const found = path.reduce<Json | undefined>(
      (value, step) => (isObject(value) ? own(value, step) : undefined),
      own(entry, 'fieldsV1'),
    );
    return found !== undefined;
  });
  return [...new Set(noted.map((entry) => textOf(own(entry, 'manager'))))];
}

function entriesOf(live: KubeObject): readonly JsonObject[] {
  const metadata = own(jsonOf(live) as JsonObject, 'metadata');
  const entries = isObject(metadata) ? own(metadata, 'managedFields') : undefined;
  return isList(entries) ? entries.filter(isObject) : [];
}

function isEntry(entry: JsonObject, manager: string, operation: string): boolean {
  return (
    own(entry, 'manager') === manager &&
    own(entry, 'operation') === operation &&
    textOf(own(entry, 'subresource')) === ''
  );
}

/** A set as `fieldsV1` has it. */
function print(set: FieldSet): Json {
  const fields: Record<string, Json> = {};
  if (set.member && set.children.size > 0) fields['.'] = {};
  for (const [step, child] of set.children) fields[step] = print(child);
  return fields;
}

import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { isList } from '../shared/values.ts';

/** The entries of `metadata.managedFields`. */
export function entriesOf(live: KubeObject): readonly JsonObject[] {
  const metadata = ownMember(jsonOf(live) as JsonObject, 'metadata');
  const entries = isObject(metadata) ? ownMember(metadata, 'managedFields') : undefined;
  return isList(entries) ? entries.filter(isObject) : [];
}

/** The fields of an entry. */
export function fieldsIn(entry: JsonObject | undefined): JsonObject {
  const fields = ownMember(entry ?? {}, 'fieldsV1');
  return isObject(fields) ? fields : {};
}

/** Formats a field set as `fieldsV1`. */
export function fieldsV1Of(set: FieldSet): Json {
  const fields: Record<string, Json> = {};
  if (set.member && set.children.size > 0) fields['.'] = {};
  for (const [step, child] of set.children) fields[step] = fieldsV1Of(child);
  return fields;
}

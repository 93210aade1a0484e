import type { JsonObject } from '#base';

/** An entry of `metadata.managedFields`; `more` replaces or adds members. */
export function managedEntry(
  manager: string,
  operation: string,
  fieldsV1: object,
  more: Readonly<Record<string, string>> = {},
): JsonObject {
  return { manager, operation, apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: fieldsV1 as JsonObject, ...more };
}

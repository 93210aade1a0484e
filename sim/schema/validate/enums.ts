import { isObject } from '#base';
import type { Json } from '#base';
import type { Schema } from '../../types.ts';
import type { Report } from './report.ts';

/** Members that only controllers write, or that metadata rules look after. */
const skipped = new Set(['metadata', 'status']);

/** Every value that the type table restricts is one of those allowed; an empty one counts as absent. */
export function validateEnums(report: Report, schema: Schema, value: Json, path = ''): void {
  if (typeof value === 'string') {
    if (schema.enum !== undefined && value !== '' && !schema.enum.includes(value))
      report.notSupported(path, value, schema.enum);
  } else if (Array.isArray(value)) validateItems(report, schema, value as readonly Json[], path);
  else if (isObject(value))
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined || (path === '' && skipped.has(key))) continue;
      validateEnums(report, memberSchema(schema, key), member, path === '' ? key : `${path}.${key}`);
    }
}

function validateItems(report: Report, schema: Schema, value: readonly Json[], path: string): void {
  const { items } = schema;
  if (items === undefined) return;
  value.forEach((item, i) => validateEnums(report, items, item, typeof item === 'string' ? path : `${path}[${i}]`));
}

function memberSchema(schema: Schema, key: string): Schema {
  const property = schema.properties?.[key];
  if (property !== undefined) return property;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

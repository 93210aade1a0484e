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
      unsupported(report, schema, value, path);
  } else if (Array.isArray(value)) validateItems(report, schema, value as readonly Json[], path);
  else if (isObject(value))
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined || (path === '' && skipped.has(key))) continue;
      validateEnums(report, memberSchema(schema, key), member, path === '' ? key : `${path}.${key}`);
    }
}

/** Where the server does not list the values in the order of their names, or says it in other words. */
const orders: Readonly<Record<string, readonly string[]>> = {
  restartPolicy: ['Always', 'OnFailure', 'Never'],
  dnsPolicy: ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'],
  policyTypes: ['Ingress', 'Egress'],
};

function unsupported(report: Report, schema: Schema, value: string, path: string): void {
  const name = /([^.[]+)(?:\[[0-9]+\])?$/.exec(path)?.[1] ?? '';
  if (path === 'spec.podManagementPolicy') report.invalid(path, value, "must be 'OrderedReady' or 'Parallel'");
  else if (path === 'spec.strategy.type')
    report.notSupportedText('spec.strategy', JSON.stringify({ Type: value, RollingUpdate: null }), schema.enum ?? []);
  else report.notSupported(path, value, orders[name] ?? schema.enum ?? []);
}

function validateItems(report: Report, schema: Schema, value: readonly Json[], path: string): void {
  const { items } = schema;
  if (items === undefined) return;
  value.forEach((item, i) => validateEnums(report, items, item, `${path}[${i}]`));
}

function memberSchema(schema: Schema, key: string): Schema {
  const property = schema.properties?.[key];
  if (property !== undefined) return property;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

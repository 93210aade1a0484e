import { isObject } from '#base';
import type { Json } from '#base';
import type { OpenApiSchema } from '../../types.ts';
import type { FieldErrorReport } from './report.ts';

/** Members that only controllers write, or that the metadata rules cover. */
const skippedMembers = new Set(['metadata', 'status']);

/** Every value must be one of those in the type table; an empty one counts as absent. */
export function validateEnums(report: FieldErrorReport, schema: OpenApiSchema, value: Json, path = ''): void {
  if (typeof value === 'string') {
    if (schema.enum !== undefined && value !== '' && !schema.enum.includes(value))
      reportUnsupported(report, schema, value, path);
  } else if (Array.isArray(value)) validateItems(report, schema, value as readonly Json[], path);
  else if (isObject(value))
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined || (path === '' && skippedMembers.has(key))) continue;
      validateEnums(report, memberSchema(schema, key), member, path === '' ? key : `${path}.${key}`);
    }
}

/** Enums that the server does not list alphabetically. */
const enumOrders: Readonly<Record<string, readonly string[]>> = {
  restartPolicy: ['Always', 'OnFailure', 'Never'],
  dnsPolicy: ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'],
  policyTypes: ['Ingress', 'Egress'],
  completionMode: ['NonIndexed', 'Indexed'],
  effect: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
  terminationMessagePolicy: ['File', 'FallbackToLogsOnError'],
};

function reportUnsupported(report: FieldErrorReport, schema: OpenApiSchema, value: string, path: string): void {
  const name = /([^.[]+)(?:\[[0-9]+\])?$/.exec(path)?.[1] ?? '';
  if (path === 'spec.podManagementPolicy') report.invalid(path, value, "must be 'OrderedReady' or 'Parallel'");
  else if (path === 'spec.strategy.type')
    report.notSupportedText('spec.strategy', JSON.stringify({ Type: value, RollingUpdate: null }), schema.enum ?? []);
  else if (name === 'accessModes') report.notSupported(path.replace(/\[[0-9]+\]$/, ''), value, schema.enum ?? []);
  else report.notSupported(path, value, enumOrders[name] ?? schema.enum ?? []);
}

function validateItems(report: FieldErrorReport, schema: OpenApiSchema, value: readonly Json[], path: string): void {
  const { items } = schema;
  if (items === undefined) return;
  value.forEach((item, i) => {
    validateKeys(report, schema, item, `${path}[${i}]`);
    validateEnums(report, items, item, `${path}[${i}]`);
  });
}

/** Lists whose items may be without a name. */
const namelessItems = /(?:^|[.])(?:imagePullSecrets|secrets)\[[0-9]+\]$/;

/** An item of a keyed list needs each key that is a text. */
function validateKeys(report: FieldErrorReport, schema: OpenApiSchema, item: Json, path: string): void {
  if (!isObject(item) || namelessItems.test(path)) return;
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const here = `${path}.${key}`;
    const isText = schema.items?.properties?.[key]?.type === 'string';
    if (isText && (item[key] ?? '') === '' && !report.errors.some(({ field }) => field === here)) report.required(here);
  }
}

function memberSchema(schema: OpenApiSchema, key: string): OpenApiSchema {
  const property = schema.properties?.[key];
  if (property !== undefined) return property;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

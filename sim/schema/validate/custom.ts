import { canonicalJson, deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { OpenApiSchema } from '../../types.ts';
import { FieldErrorReport } from './report.ts';

/**
 * Validates a custom resource against its OpenAPI schema, in the words of the real server
 * (apiextensions-apiserver pkg/apiserver/validation over kube-openapi's validator).
 */
export function validateCustom(report: FieldErrorReport, schema: OpenApiSchema, object: JsonObject): void {
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const value = ownMember(object, key);
    if (!objectWords.has(key) && value !== undefined) validateValue(report, property, value, key);
  }
  for (const key of schema.required ?? [])
    if (!objectWords.has(key) && ownMember(object, key) === undefined) report.required(key);
  validateCombined(report, schema, object, '');
}

const objectWords = new Set(['apiVersion', 'kind', 'metadata']);

function validateValue(report: FieldErrorReport, schema: OpenApiSchema, value: Json, path: string): void {
  if (value === null && schema.nullable === true) return;
  const wrong = typeProblem(schema, value);
  if (wrong !== undefined) {
    const kind = typeOf(value);
    report.typeInvalid(path, kind, `${path} in body must be of type ${wrong}: "${kind}"`);
    if (wrong === 'integer' && kind === 'number') reportUnformatted(report, schema, path);
    return;
  }
  if (typeof value === 'string') validateString(report, schema, value, path);
  if (typeof value === 'number' || typeof value === 'bigint') {
    const limit = schema.format === 'int32' ? 2 ** 31 : Infinity;
    if (value >= limit || value < -limit) reportUnformatted(report, schema, path);
    validateNumber(report, schema, Number(value), path);
  }
  if (Array.isArray(value)) validateList(report, schema, value as readonly Json[], path);
  else if (isObject(value)) validateMembers(report, schema, value, path);
  if (schema.enum !== undefined && !schema.enum.some((allowed) => deepEqual(allowed, value)))
    report.notSupported(path, value, schema.enum);
  validateCombined(report, schema, value, path);
}

/** The validator's message for a number outside its format; it names no field there. */
function reportUnformatted(report: FieldErrorReport, { format }: OpenApiSchema, path: string): void {
  const text = format === undefined ? '(default format)' : `with format ${format}`;
  report.invalid('<nil>', '', `Checked value must be of type integer ${text} in ${path}`);
}

function typeProblem(schema: OpenApiSchema, value: Json): string | undefined {
  if (schema['x-kubernetes-int-or-string'] === true)
    return typeof value === 'string' || isInteger(value) ? undefined : 'integer,string';
  return schema.type === undefined || typeChecks[schema.type](value) ? undefined : schema.type;
}

const typeChecks: Readonly<Record<NonNullable<OpenApiSchema['type']>, (value: Json) => boolean>> = {
  object: isObject,
  array: (value) => Array.isArray(value),
  string: (value) => typeof value === 'string',
  integer: isInteger,
  number: (value) => typeof value === 'number' || typeof value === 'bigint',
  boolean: (value) => typeof value === 'boolean',
};

function isInteger(value: Json): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2 ** 63;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isInteger(value)) return 'integer';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

const stringFormats: Readonly<Record<string, RegExp>> = {
  'date-time': /^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$/,
  date: /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/,
  uuid: /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
  byte: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  ipv4: /^(?:[0-9]{1,3}[.]){3}[0-9]{1,3}$/,
};

function validateString(report: FieldErrorReport, schema: OpenApiSchema, value: string, path: string): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) report.tooLong(path, schema.maxLength);
  if (schema.minLength !== undefined && length < schema.minLength)
    report.invalid(path, value, `${path} in body should be at least ${schema.minLength} chars long`);
  if (schema.pattern !== undefined && !matchesPattern(schema.pattern, value))
    report.invalid(path, value, `${path} in body should match '${schema.pattern}'`);
  const format = schema.format === undefined ? undefined : stringFormats[schema.format];
  if (format !== undefined && !format.test(value))
    report.typeInvalid(path, value, `${path} in body must be of type ${schema.format ?? ''}: ${JSON.stringify(value)}`);
}

/**
 * Go's patterns are nearly JavaScript's; a pattern that JavaScript rejects accepts everything here.
 */
function matchesPattern(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

function validateNumber(report: FieldErrorReport, schema: OpenApiSchema, value: number, path: string): void {
  if (schema.minimum !== undefined && value < schema.minimum)
    report.invalid(path, value, `${path} in body should be greater than or equal to ${schema.minimum}`);
  if (schema.maximum !== undefined && value > schema.maximum)
    report.invalid(path, value, `${path} in body should be less than or equal to ${schema.maximum}`);
}

function validateList(report: FieldErrorReport, schema: OpenApiSchema, value: readonly Json[], path: string): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    report.tooMany(path, value.length, schema.maxItems);
  if (schema.minItems !== undefined && value.length < schema.minItems)
    report.invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`);
  const { items } = schema;
  if (items !== undefined) value.forEach((item, i) => validateValue(report, items, item, `${path}[${i}]`));
  validateUnique(report, schema, value, path);
}

function validateUnique(report: FieldErrorReport, schema: OpenApiSchema, value: readonly Json[], path: string): void {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'map' && type !== 'set') return;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Set<string>();
  value.forEach((item, i) => {
    const id: Json =
      type === 'map' && isObject(item)
        ? Object.fromEntries(keys.map((key) => [key, ownMember(item, key) ?? null]))
        : item;
    const text = canonicalJson(id);
    if (seen.has(text)) report.duplicate(`${path}[${i}]`, id);
    seen.add(text);
  });
}

function validateMembers(report: FieldErrorReport, schema: OpenApiSchema, value: JsonObject, path: string): void {
  for (const key of schema.required ?? [])
    if (ownMember(value, key) === undefined) report.required(path === '' ? key : `${path}.${key}`);
  const properties = schema.properties ?? {};
  const rest = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  for (const [key, member] of Object.entries(value)) {
    const below = Object.hasOwn(properties, key) ? properties[key] : rest;
    if (below !== undefined && member !== undefined)
      validateValue(report, below, member, path === '' ? key : `${path}.${key}`);
  }
}

function validateCombined(report: FieldErrorReport, schema: OpenApiSchema, value: Json, path: string): void {
  const name = path === '' ? '""' : `"${path}"`;
  const errorsOf = (branch: OpenApiSchema): FieldErrorReport['errors'] => {
    const trial = new FieldErrorReport();
    validateValue(trial, branch, value, path);
    return trial.errors;
  };
  const fits = (branch: OpenApiSchema): boolean => errorsOf(branch).length === 0;
  // The server names no field, and adds the errors of the branch that fits best.
  const fail = (text: string, branches: readonly OpenApiSchema[] = []): void => {
    report.invalid('<nil>', '', `${name} ${text}`);
    const [best = []] = branches.map(errorsOf).sort((a, b) => a.length - b.length);
    report.errors.push(...best);
  };
  const failing = (schema.allOf ?? []).filter((branch) => !fits(branch));
  if (failing.length > 0)
    fail(
      `must validate all the schemas (allOf)${failing.length === schema.allOf?.length ? '. None validated' : ''}`,
      failing,
    );
  if (schema.anyOf !== undefined && schema['x-kubernetes-int-or-string'] !== true && !schema.anyOf.some(fits))
    fail('must validate at least one schema (anyOf)', schema.anyOf);
  if (schema.oneOf !== undefined) {
    const valid = schema.oneOf.filter(fits).length;
    if (valid !== 1)
      fail(
        `must validate one and only one schema (oneOf). ${valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`}`,
        valid === 0 ? schema.oneOf : [],
      );
  }
  if (schema.not !== undefined && fits(schema.not)) fail('must not validate the schema (not)');
}

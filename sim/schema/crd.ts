import { deepEqual, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { FieldError } from '../types.ts';
import { labelNameProblems, subdomainProblems } from './validate/names.ts';
import { get, list, obj, str } from './validate/read.ts';
import { Report } from './validate/report.ts';
import { validateCustom } from './validate/custom.ts';

/**
 * Problems of a CustomResourceDefinition: names, versions and structural schemas (apiextensions-apiserver pkg/apis/apiextensions/validation
 * and pkg/apiserver/schema).
 */
export function validateCrd(crd: KubeObject): readonly FieldError[] {
  const report = new Report();
  const spec = obj(crd as JsonObject, 'spec') ?? {};
  group(report, spec, crd.metadata.name ?? '');
  const scope = str(spec, 'scope');
  if (scope === '') report.required('spec.scope');
  else if (scope !== 'Cluster' && scope !== 'Namespaced')
    report.notSupported('spec.scope', scope, ['Cluster', 'Namespaced']);
  names(report, obj(spec, 'names') ?? {});
  versions(report, spec);
  return report.errors;
}

function group(report: Report, spec: JsonObject, name: string): void {
  const value = str(spec, 'group');
  if (value === '') report.required('spec.group');
  else if (!value.includes('.')) report.invalid('spec.group', value, 'should be a domain with at least one dot');
  else for (const problem of subdomainProblems(value)) report.invalid('spec.group', value, problem);
  const wanted = `${str(obj(spec, 'names'), 'plural')}.${value}`;
  if (name !== wanted) report.invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group');
}

function names(report: Report, value: JsonObject): void {
  for (const key of ['plural', 'singular', 'kind', 'listKind']) {
    const name = str(value, key);
    const path = `spec.names.${key}`;
    if (name === '') {
      report.required(path);
      continue;
    }
    // Kinds are checked in lower case: PascalCase is only a custom.
    for (const problem of labelNameProblems(key.toLowerCase().includes('kind') ? name.toLowerCase() : name))
      report.invalid(path, name, problem);
  }
  if (str(value, 'kind') !== '' && str(value, 'kind') === str(value, 'listKind'))
    report.invalid('spec.names.listKind', str(value, 'listKind'), 'kind and listKind may not be the same');
  list(value, 'shortNames').forEach((name, i) => {
    if (typeof name !== 'string') return;
    for (const problem of labelNameProblems(name)) report.invalid(`spec.names.shortNames[${i}]`, name, problem);
  });
}

function versions(report: Report, spec: JsonObject): void {
  const all = list(spec, 'versions');
  const seen = new Set<string>();
  all.forEach((version, i) => {
    const path = `spec.versions[${i}]`;
    const name = str(version, 'name');
    for (const problem of labelNameProblems(name)) report.invalid(`${path}.name`, name, problem);
    if (seen.has(name)) report.invalid(`${path}.name`, name, 'must be unique');
    seen.add(name);
    // What all versions have in common the server holds, and names, above them.
    const common = (key: string): boolean => i === 0 && all.every((one) => deepEqual(get(one, key), get(version, key)));
    const schema = obj(obj(version, 'schema'), 'openAPIV3Schema');
    const where = common('schema') ? 'spec.validation.openAPIV3Schema' : `${path}.schema.openAPIV3Schema`;
    if (schema === undefined) report.required(`${path}.schema.openAPIV3Schema`, 'schemas are required');
    else if (i === 0 || !deepEqual(get(all[0], 'schema'), get(version, 'schema')))
      new SchemaCheck(report).root(schema, where);
    columns(report, version, common('additionalPrinterColumns') ? 'spec' : path);
  });
  const storage = all.filter((version) => get(version, 'storage') === true).length;
  if (storage !== 1) {
    report.invalidText(
      'spec.versions',
      JSON.stringify(all.map(internalVersion)),
      'must have exactly one version marked as storage version',
    );
    if (storage === 0) report.invalid('status.storedVersions', null, 'must have at least one stored version');
  }
}

/** A version as the server's own type prints it: its parts are held above the versions when all have the same. */
function internalVersion(version: Json): Json {
  return {
    Name: str(version, 'name'),
    Served: get(version, 'served') === true,
    Storage: get(version, 'storage') === true,
    Deprecated: get(version, 'deprecated') === true,
    DeprecationWarning: get(version, 'deprecationWarning') ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  };
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];

function columns(report: Report, version: Json, path: string): void {
  list(version, 'additionalPrinterColumns').forEach((column, i) => {
    const here = `${path}.additionalPrinterColumns[${i}]`;
    for (const key of ['name', 'jsonPath'])
      if (str(column, key) === '') report.required(`${here}.${key === 'name' ? key : 'JSONPath'}`);
    const type = str(column, 'type');
    if (type === '') report.required(`${here}.type`, `must be one of ${columnTypes.join(',')}`);
    else if (!columnTypes.includes(type))
      report.invalid(`${here}.type`, type, `must be one of ${columnTypes.join(',')}`);
    const jsonPath = str(column, 'jsonPath');
    if (jsonPath !== '' && !jsonPath.startsWith('.'))
      report.invalid(`${here}.JSONPath`, jsonPath, 'must be a simple json path starting with .');
  });
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
/** What may not stand inside allOf, anyOf, oneOf and not: there only values are restricted, never structure. */
const structural = [
  'type',
  'description',
  'title',
  'default',
  'additionalProperties',
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
];
const unsupported: Readonly<Record<string, string>> = {
  definitions: 'definitions is not supported',
  dependencies: 'dependencies is not supported',
  id: 'id is not supported',
  patternProperties: 'patternProperties is not supported',
  additionalItems: 'additionalItems is not supported',
  $ref: '$ref is not supported',
  $schema: '$schema is not supported',
};

class SchemaCheck {
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  root(schema: JsonObject, path: string): void {
    const type = str(schema, 'type');
    if (type !== '' && type !== 'object') this.#report.invalid(`${path}.type`, type, 'must be object at the root');
    if (own(schema, 'nullable') === true)
      this.#report.forbidden(`${path}.nullable`, 'nullable cannot be true at the root');
    this.#node(schema, path, true);
  }

  #node(schema: JsonObject, path: string, root = false): void {
    this.#forbidden(schema, path);
    this.#type(schema, path, root);
    this.#listType(schema, path);
    this.#default(schema, path);
    const properties = obj(schema, 'properties');
    const rest = own(schema, 'additionalProperties');
    if (properties !== undefined && rest !== undefined)
      this.#report.forbidden(
        `${path}.additionalProperties`,
        'additionalProperties and properties are mutual exclusive',
      );
    for (const [name, property] of Object.entries(properties ?? {}))
      if (isObject(property)) this.#node(property, `${path}.properties[${name}]`);
    if (isObject(rest)) this.#node(rest, `${path}.additionalProperties`);
    const items = own(schema, 'items');
    if (isObject(items)) this.#node(items, `${path}.items`);
    else if (Array.isArray(items))
      this.#report.forbidden(`${path}.items`, 'items must be a schema object and not an array');
    this.#branches(schema, path);
  }

  #forbidden(schema: JsonObject, path: string): void {
    for (const [key, text] of Object.entries(unsupported))
      if (own(schema, key) !== undefined) this.#report.forbidden(`${path}.${key}`, text);
    if (own(schema, 'uniqueItems') === true)
      this.#report.forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      );
    const pattern = own(schema, 'pattern');
    if (typeof pattern !== 'string' || isPattern(pattern)) return;
    this.#report.invalid(
      `${path}.pattern`,
      pattern,
      `must be a valid regular expression, but isn't: error parsing regexp`,
    );
  }

  #type(schema: JsonObject, path: string, root: boolean): void {
    const type = str(schema, 'type');
    const open =
      own(schema, 'x-kubernetes-int-or-string') === true ||
      own(schema, 'x-kubernetes-preserve-unknown-fields') === true;
    if (type === '') {
      if (!open || root)
        this.#report.required(
          `${path}.type`,
          root ? 'must not be empty at the root' : 'must not be empty for specified object fields',
        );
      return;
    }
    if (!types.includes(type)) this.#report.notSupported(`${path}.type`, type, types);
    if (type === 'array' && own(schema, 'items') === undefined)
      this.#report.required(`${path}.items`, 'must be specified');
    if (own(schema, 'x-kubernetes-int-or-string') === true)
      this.#report.invalid(`${path}.type`, type, 'must be empty if x-kubernetes-int-or-string is true');
    if (own(schema, 'x-kubernetes-embedded-resource') === true && type !== 'object')
      this.#report.invalid(`${path}.type`, type, 'must be object if x-kubernetes-embedded-resource is true');
  }

  #listType(schema: JsonObject, path: string): void {
    const listType = str(schema, 'x-kubernetes-list-type');
    const keys = list(schema, 'x-kubernetes-list-map-keys');
    if (listType !== '' && !['atomic', 'map', 'set'].includes(listType))
      this.#report.notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'map', 'set']);
    if (listType !== '' && str(schema, 'type') !== 'array')
      this.#report.invalid(`${path}.type`, str(schema, 'type'), 'must be array if x-kubernetes-list-type is specified');
    if (listType === 'map' && keys.length === 0)
      this.#report.required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map');
    if (listType !== 'map' && keys.length > 0)
      this.#report.forbidden(
        `${path}.x-kubernetes-list-map-keys`,
        'must be empty if x-kubernetes-list-type is not map',
      );
    const properties = obj(obj(schema, 'items'), 'properties');
    keys.forEach((key, i) => {
      if (typeof key === 'string' && obj(properties, key) === undefined)
        this.#report.invalid(
          `${path}.x-kubernetes-list-map-keys[${i}]`,
          key,
          'entries must all be names of item properties',
        );
    });
  }

  #default(schema: JsonObject, path: string): void {
    const value = own(schema, 'default');
    if (value === undefined || str(schema, 'type') === '') return;
    const trial = new Report();
    validateCustom(trial, { type: 'object', properties: { default: schema } }, { default: value });
    for (const error of trial.errors) {
      // The value stands alone there: it has no name in the text.
      const text = error.message.replace(/^([^:]*: [^:]*: )default(?= in body)/, '$1');
      this.#report.errors.push({ ...error, field: `${path}.${error.field}`, message: text });
    }
  }

  #branches(schema: JsonObject, path: string): void {
    const not = own(schema, 'not');
    const branches: [Json, string][] = isObject(not) ? [[not, `${path}.not`]] : [];
    for (const key of ['allOf', 'anyOf', 'oneOf'])
      list(schema, key).forEach((branch, i) => branches.push([branch, `${path}.${key}[${i}]`]));
    const intOrString = own(schema, 'x-kubernetes-int-or-string') === true;
    for (const [branch, here] of branches) if (isObject(branch)) this.#branch(branch, here, intOrString);
  }

  #branch(schema: JsonObject, path: string, intOrString: boolean): void {
    for (const key of structural) {
      if (own(schema, key) === undefined || (key === 'type' && intOrString)) continue;
      this.#report.forbidden(`${path}.${key}`, 'must be empty to be structural');
    }
    for (const [name, property] of Object.entries(obj(schema, 'properties') ?? {}))
      if (isObject(property)) this.#branch(property, `${path}.properties[${name}]`, false);
    const items = own(schema, 'items');
    if (isObject(items)) this.#branch(items, `${path}.items`, false);
    this.#branches(schema, path);
  }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    // Go knows (?i) and friends, and \A; those are no mistakes.
    return /\(\?[a-zA-Z-]+[:)]|\(\?P<|\\A|\\z|\[\[:/.test(text);
  }
}

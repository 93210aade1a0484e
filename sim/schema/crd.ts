import { deepEqual, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { FieldError } from '../types.ts';
import { labelNameProblems, subdomainProblems } from './validate/names.ts';
import { anyMember, listMember, objectMember, stringMember } from './validate/read.ts';
import { FieldErrorReport } from './validate/report.ts';
import { validateCustom } from './validate/custom.ts';

/**
 * Errors of a CustomResourceDefinition: names, versions and structural schemas
 * (apiextensions-apiserver pkg/apis/apiextensions/validation and pkg/apiserver/schema).
 */
export function validateCrd(crd: KubeObject): readonly FieldError[] {
  const report = new FieldErrorReport();
  const spec = objectMember(crd as JsonObject, 'spec') ?? {};
  checkGroup(report, spec, crd.metadata.name ?? '');
  const scope = stringMember(spec, 'scope');
  if (scope === '') report.required('spec.scope');
  else if (scope !== 'Cluster' && scope !== 'Namespaced')
    report.notSupported('spec.scope', scope, ['Cluster', 'Namespaced']);
  checkNames(report, objectMember(spec, 'names') ?? {});
  checkVersions(report, spec);
  return report.errors;
}

function checkGroup(report: FieldErrorReport, spec: JsonObject, name: string): void {
  const value = stringMember(spec, 'group');
  if (value === '') report.required('spec.group');
  else if (!value.includes('.')) report.invalid('spec.group', value, 'should be a domain with at least one dot');
  else for (const problem of subdomainProblems(value)) report.invalid('spec.group', value, problem);
  const wanted = `${stringMember(objectMember(spec, 'names'), 'plural')}.${value}`;
  if (name !== wanted) report.invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group');
}

function checkNames(report: FieldErrorReport, value: JsonObject): void {
  for (const key of ['plural', 'singular', 'kind', 'listKind']) {
    const name = stringMember(value, key);
    const path = `spec.names.${key}`;
    if (name === '') {
      report.required(path);
      continue;
    }
    // Kinds are checked in lower case: PascalCase is only a convention.
    for (const problem of labelNameProblems(key.toLowerCase().includes('kind') ? name.toLowerCase() : name))
      report.invalid(path, name, problem);
  }
  if (stringMember(value, 'kind') !== '' && stringMember(value, 'kind') === stringMember(value, 'listKind'))
    report.invalid('spec.names.listKind', stringMember(value, 'listKind'), 'kind and listKind may not be the same');
  listMember(value, 'shortNames').forEach((name, i) => {
    if (typeof name !== 'string') return;
    for (const problem of labelNameProblems(name)) report.invalid(`spec.names.shortNames[${i}]`, name, problem);
  });
}

function checkVersions(report: FieldErrorReport, spec: JsonObject): void {
  const all = listMember(spec, 'versions');
  all.forEach((version, i) => {
    const path = `spec.versions[${i}]`;
    const name = stringMember(version, 'name');
    for (const problem of labelNameProblems(name)) report.invalid(`${path}.name`, name, problem);
    // The server stores, and names, parts that all versions share above the versions.
    const common = (key: string): boolean =>
      i === 0 && all.every((one) => deepEqual(anyMember(one, key), anyMember(version, key)));
    const schema = objectMember(objectMember(version, 'schema'), 'openAPIV3Schema');
    const where = common('schema') ? 'spec.validation.openAPIV3Schema' : `${path}.schema.openAPIV3Schema`;
    if (schema === undefined) report.required(`${path}.schema.openAPIV3Schema`);
    else if (i === 0 || !deepEqual(anyMember(all[0], 'schema'), anyMember(version, 'schema')))
      new SchemaCheck(report).root(schema, where);
    checkColumns(report, version, common('additionalPrinterColumns') ? 'spec' : path);
  });
  const namesOf = (list: readonly Json[]): string[] => list.map((version) => stringMember(version, 'name'));
  const stored = namesOf(all.filter((version) => anyMember(version, 'storage') === true));
  const reject = (detail: string): void =>
    report.invalidText('spec.versions', JSON.stringify(all.map(internalVersion)), detail);
  if (stored.length !== 1) reject('must have exactly one version marked as storage version');
  if (new Set(namesOf(all)).size < all.length) reject('must contain unique version names');
  if (stored.length === 0) report.invalid('status.storedVersions', null, 'must have at least one stored version');
  if (stored.length > 1)
    report.invalid('status.storedVersions', stored.slice(0, 1), `must have the storage version ${stored.at(-1) ?? ''}`);
}

/**
 * A version in the form of the server's internal type; parts that all versions share are stored
 * above.
 */
function internalVersion(version: Json): Json {
  return {
    Name: stringMember(version, 'name'),
    Served: anyMember(version, 'served') === true,
    Storage: anyMember(version, 'storage') === true,
    Deprecated: anyMember(version, 'deprecated') === true,
    DeprecationWarning: anyMember(version, 'deprecationWarning') ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  };
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];

function checkColumns(report: FieldErrorReport, version: Json, path: string): void {
  listMember(version, 'additionalPrinterColumns').forEach((column, i) => {
    const here = `${path}.additionalPrinterColumns[${i}]`;
    for (const key of ['name', 'jsonPath'])
      if (stringMember(column, key) === '') report.required(`${here}.${key === 'name' ? key : 'JSONPath'}`);
    const type = stringMember(column, 'type');
    if (type === '') report.required(`${here}.type`, `must be one of ${columnTypes.join(',')}`);
    else if (!columnTypes.includes(type))
      report.invalid(`${here}.type`, type, `must be one of ${columnTypes.join(',')}`);
    const jsonPath = stringMember(column, 'jsonPath');
    if (jsonPath !== '' && !jsonPath.startsWith('.'))
      report.invalid(`${here}.JSONPath`, jsonPath, 'must be a simple json path starting with .');
  });
}

const schemaTypes = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
/** Not allowed inside allOf, anyOf, oneOf and not: those restrict values, never structure. */
const structuralKeywords = [
  'type',
  'description',
  'title',
  'default',
  'additionalProperties',
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
];
const unsupportedKeywords: Readonly<Record<string, string>> = {
  definitions: 'definitions is not supported',
  dependencies: 'dependencies is not supported',
  id: 'id is not supported',
  patternProperties: 'patternProperties is not supported',
  additionalItems: 'additionalItems is not supported',
  $ref: '$ref is not supported',
  $schema: '$schema is not supported',
};

class SchemaCheck {
  readonly #report: FieldErrorReport;

  constructor(report: FieldErrorReport) {
    this.#report = report;
  }

  root(schema: JsonObject, path: string): void {
    const type = stringMember(schema, 'type');
    if (type !== '' && type !== 'object') this.#report.invalid(`${path}.type`, type, 'must be object at the root');
    if (ownMember(schema, 'nullable') === true)
      this.#report.forbidden(`${path}.nullable`, 'nullable cannot be true at the root');
    this.#node(schema, path, true);
  }

  #node(schema: JsonObject, path: string, root = false): void {
    this.#forbidden(schema, path);
    this.#type(schema, path, root);
    this.#listType(schema, path);
    this.#default(schema, path);
    const properties = objectMember(schema, 'properties');
    const rest = ownMember(schema, 'additionalProperties');
    if (properties !== undefined && rest !== undefined)
      this.#report.forbidden(
        `${path}.additionalProperties`,
        'additionalProperties and properties are mutual exclusive',
      );
    for (const [name, property] of Object.entries(properties ?? {}))
      if (isObject(property)) this.#node(property, `${path}.properties[${name}]`);
    if (isObject(rest)) this.#node(rest, `${path}.additionalProperties`);
    const items = ownMember(schema, 'items');
    if (isObject(items)) this.#node(items, `${path}.items`);
    else if (Array.isArray(items))
      this.#report.forbidden(`${path}.items`, 'items must be a schema object and not an array');
    this.#branches(schema, path);
  }

  #forbidden(schema: JsonObject, path: string): void {
    for (const [key, text] of Object.entries(unsupportedKeywords))
      if (ownMember(schema, key) !== undefined) this.#report.forbidden(`${path}.${key}`, text);
    if (ownMember(schema, 'uniqueItems') === true)
      this.#report.forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      );
    const pattern = ownMember(schema, 'pattern');
    if (typeof pattern !== 'string' || isPattern(pattern)) return;
    this.#report.invalid(
      `${path}.pattern`,
      pattern,
      `must be a valid regular expression, but isn't: error parsing regexp`,
    );
  }

  #type(schema: JsonObject, path: string, root: boolean): void {
    const type = stringMember(schema, 'type');
    const open =
      ownMember(schema, 'x-kubernetes-int-or-string') === true ||
      ownMember(schema, 'x-kubernetes-preserve-unknown-fields') === true;
    if (type === '') {
      if (!open || root)
        this.#report.required(
          `${path}.type`,
          root ? 'must not be empty at the root' : 'must not be empty for specified object fields',
        );
      return;
    }
    if (!schemaTypes.includes(type)) this.#report.notSupported(`${path}.type`, type, schemaTypes);
    if (type === 'array' && ownMember(schema, 'items') === undefined)
      this.#report.required(`${path}.items`, 'must be specified');
    if (ownMember(schema, 'x-kubernetes-embedded-resource') === true && type !== 'object')
      this.#report.invalid(`${path}.type`, type, 'must be object if x-kubernetes-embedded-resource is true');
  }

  #listType(schema: JsonObject, path: string): void {
    const listType = stringMember(schema, 'x-kubernetes-list-type');
    const keys = listMember(schema, 'x-kubernetes-list-map-keys');
    if (listType !== '' && !['atomic', 'map', 'set'].includes(listType))
      this.#report.notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'map', 'set']);
    if (listType !== '' && stringMember(schema, 'type') !== 'array')
      this.#report.invalid(
        `${path}.type`,
        stringMember(schema, 'type'),
        'must be array if x-kubernetes-list-type is specified',
      );
    if (listType === 'map' && keys.length === 0)
      this.#report.required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map');
    if (listType !== 'map' && keys.length > 0)
      this.#report.forbidden(
        `${path}.x-kubernetes-list-map-keys`,
        'must be empty if x-kubernetes-list-type is not map',
      );
    const properties = objectMember(objectMember(schema, 'items'), 'properties');
    if (keys.some((key) => typeof key === 'string' && objectMember(properties, key) === undefined))
      this.#report.invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'entries must all be names of item properties');
  }

  #default(schema: JsonObject, path: string): void {
    const value = ownMember(schema, 'default');
    if (value === undefined || stringMember(schema, 'type') === '') return;
    const trial = new FieldErrorReport();
    validateCustom(trial, { type: 'object', properties: { default: schema } }, { default: value });
    for (const error of trial.errors) {
      // The default value is checked on its own: remove its name from the text.
      const text = error.message.replace(/^([^:]*: [^:]*: )default(?= in body)/, '$1');
      this.#report.errors.push({ ...error, field: `${path}.${error.field}`, message: text });
    }
  }

  #branches(schema: JsonObject, path: string): void {
    const not = ownMember(schema, 'not');
    const branches: [Json, string][] = isObject(not) ? [[not, `${path}.not`]] : [];
    for (const key of ['allOf', 'anyOf', 'oneOf'])
      listMember(schema, key).forEach((branch, i) => branches.push([branch, `${path}.${key}[${i}]`]));
    const intOrString = ownMember(schema, 'x-kubernetes-int-or-string') === true;
    for (const [branch, here] of branches) if (isObject(branch)) this.#branch(branch, here, intOrString);
  }

  #branch(schema: JsonObject, path: string, intOrString: boolean): void {
    for (const key of structuralKeywords) {
      if (ownMember(schema, key) === undefined || (key === 'type' && intOrString)) continue;
      this.#report.forbidden(`${path}.${key}`, 'must be empty to be structural');
    }
    for (const [name, property] of Object.entries(objectMember(schema, 'properties') ?? {}))
      if (isObject(property)) this.#branch(property, `${path}.properties[${name}]`, false);
    const items = ownMember(schema, 'items');
    if (isObject(items)) this.#branch(items, `${path}.items`, false);
    this.#branches(schema, path);
  }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    // Go supports (?i), \A and similar, which JavaScript rejects; they are valid.
    return /\(\?[a-zA-Z-]+[:)]|\(\?P<|\\A|\\z|\[\[:/.test(text);
  }
}

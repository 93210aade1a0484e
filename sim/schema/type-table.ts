import type { Json } from '#base';
import { parseJson } from '#base';

/**
 * The types of the Kubernetes API in a compact notation; one text per package, fields indented:
 *
 *   Container -- Description of the type.
 *     name! string -- Description of the field.
 *     ports []ContainerPort keys=containerPort,protocol patch=merge:containerPort
 *
 * Marks: `?` a Go pointer, `!` required and always written, `~` optional but always written, `^`
 * omitted when zero (Go's encoder writes an empty `resources: {}` but omits `hostNetwork: false`,
 * which clients compare). Types: string int32 int64 double bool bytes quantity intstr time
 * microtime raw fields any, `[]T`, `{}T` (map), `Name(A|B)` a string enum (no values: any), and
 * types of this package, core/v1 or meta/v1. Options: `set`, `keys=` (list map), `atomic` (map or
 * struct), `patch=strategy[:mergeKey]`, `default=JSON`. A list without option is atomic.
 */
export interface PackageTable {
  /** `io.k8s.api.apps.v1` */
  readonly package: string;
  readonly types: string;
}

export type SpecialType = 'quantity' | 'intstr' | 'time' | 'microtime' | 'bytes' | 'raw' | 'fields' | 'any';
export type TypeRef =
  | {
      readonly kind: 'scalar';
      readonly type: 'string' | 'int32' | 'int64' | 'double' | 'bool';
      /** `v1.Protocol`, or the plain Go name. */
      readonly goName: string;
      readonly allowed: readonly string[];
    }
  | { readonly kind: 'special'; readonly special: SpecialType }
  | { readonly kind: 'list'; readonly element: TypeRef }
  | { readonly kind: 'map'; readonly element: TypeRef }
  | { readonly kind: 'struct'; readonly name: string }
  /** A CRD schema or another type: a boolean, a list of schemas, a list of strings. */
  | { readonly kind: 'schemaOr'; readonly other: 'bool' | 'array' | 'strings' };

export interface FieldType {
  readonly name: string;
  readonly type: TypeRef;
  readonly required: boolean;
  readonly pointer: boolean;
  /** Written even when empty. */
  readonly always: boolean;
  /** Omitted when zero, even if Go would write an empty struct. */
  readonly omitZero: boolean;
  readonly set: boolean;
  readonly keys: readonly string[];
  readonly atomic: boolean;
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  readonly default?: Json;
  readonly description?: string;
}

export interface StructType {
  /** `io.k8s.api.core.v1.Container` */
  readonly fullName: string;
  /** `Container` */
  readonly shortName: string;
  /** `v1.Container` */
  readonly goName: string;
  readonly atomic: boolean;
  readonly description?: string;
  readonly fields: ReadonlyMap<string, FieldType>;
}

export type TypeTable = ReadonlyMap<string, StructType>;

export const schemaPropsName = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';
const sharedPackages = ['io.k8s.api.core.v1', 'io.k8s.apimachinery.pkg.apis.meta.v1'];
const scalarTypes = new Set(['string', 'int32', 'int64', 'double', 'bool']);
const specialTypes = new Set(['quantity', 'intstr', 'time', 'microtime', 'bytes', 'raw', 'fields', 'any']);

/** Parses the tables. @throws Error that names the invalid line */
export function parseTypeTables(tables: readonly PackageTable[]): TypeTable {
  const names = new Set<string>();
  for (const table of tables)
    for (const line of typeLines(table)) if (!line.startsWith(' ')) names.add(`${table.package}.${typeName(line)}`);
  const result = new Map<string, StructType>();
  for (const table of tables) parsePackage(table, names, result);
  return result;
}

function typeLines(table: PackageTable): string[] {
  return table.types.split('\n').filter((line) => line.trim() !== '');
}

function typeName(line: string): string {
  return line.split(' ', 1)[0] ?? '';
}

function parsePackage(table: PackageTable, names: ReadonlySet<string>, into: Map<string, StructType>): void {
  let fields = new Map<string, FieldType>();
  const version = table.package.slice(table.package.lastIndexOf('.') + 1);
  for (const line of typeLines(table)) {
    if (line.startsWith(' ')) {
      const field = parseField(line, { package: table.package, version, names });
      fields.set(field.name, field);
      continue;
    }
    fields = new Map();
    const [head = '', description] = line.split(' -- ');
    const shortName = typeName(head);
    const fullName = `${table.package}.${shortName}`;
    into.set(fullName, {
      fullName,
      shortName,
      goName: `${version}.${shortName}`,
      atomic: head.endsWith(' atomic'),
      ...(description === undefined ? {} : { description }),
      fields,
    });
  }
}

interface PackageScope {
  readonly package: string;
  readonly version: string;
  readonly names: ReadonlySet<string>;
}

const fieldLine = /^ +([\w$-]*[\w])([?!~^]*) (\S+)((?: [^\s-]\S*)*)(?: -- (.*))?$/;

function parseField(line: string, scope: PackageScope): FieldType {
  const match = fieldLine.exec(line);
  if (match === null) throw new Error(`type table ${scope.package}: cannot read "${line}"`);
  const [, name = '', marks = '', type = '', optionText = '', description] = match;
  const options = optionText.split(' ').filter((option) => option !== '');
  const option = (prefix: string): string | undefined =>
    options.find((text) => text.startsWith(prefix))?.slice(prefix.length);
  const [patchStrategy, patchMergeKey] = option('patch=')?.split(':') ?? [];
  const fallback = option('default=');
  return {
    name,
    type: parseType(type, scope),
    required: marks.includes('!'),
    pointer: marks.includes('?'),
    always: marks.includes('!') || marks.includes('~'),
    omitZero: marks.includes('^'),
    set: options.includes('set'),
    keys: option('keys=')?.split(',') ?? [],
    atomic: options.includes('atomic'),
    ...(patchStrategy === undefined ? {} : { patchStrategy }),
    ...(patchMergeKey === undefined ? {} : { patchMergeKey }),
    ...(fallback === undefined ? {} : { default: parseJson(fallback) }),
    ...(description === undefined ? {} : { description }),
  };
}

function parseType(text: string, scope: PackageScope): TypeRef {
  if (text.startsWith('[]')) return { kind: 'list', element: parseType(text.slice(2), scope) };
  if (text.startsWith('{}')) return { kind: 'map', element: parseType(text.slice(2), scope) };
  if (scalarTypes.has(text))
    return { kind: 'scalar', type: text as 'string', goName: text === 'double' ? 'float64' : text, allowed: [] };
  if (specialTypes.has(text)) return { kind: 'special', special: text as SpecialType };
  const named = /^(\w+)\((.*)\)$/.exec(text);
  if (named !== null) {
    const allowed = (named[2] ?? '').split('|').filter((value) => value !== '');
    return { kind: 'scalar', type: 'string', goName: `${scope.version}.${named[1] ?? ''}`, allowed };
  }
  if (text.startsWith('JSONSchemaProps|')) return { kind: 'schemaOr', other: text.slice(16) as 'bool' };
  return { kind: 'struct', name: resolveType(text, scope) };
}

function resolveType(name: string, scope: PackageScope): string {
  for (const home of [scope.package, ...sharedPackages])
    if (scope.names.has(`${home}.${name}`)) return `${home}.${name}`;
  throw new Error(`type table ${scope.package}: no type ${name}`);
}

import type { Json } from '#base';
import type { SemanticVersion } from '../../fetch/shared/semver.ts';
import type { GoZone } from './go-zone.ts';

/** A value of a template, with the type that it has in Go. Numbers are float64. */
export type TemplateValue = string | number | boolean | null | GoInt | GoList | GoMap | GoStruct | GoTime | GoVersion;

/** Undefined: the value of a key that a map does not have. */
export type OptionalValue = TemplateValue | undefined;

export type IntType = 'int' | 'int32' | 'int64' | 'uint8' | 'uint64' | 'time.Month' | 'time.Weekday';

/** A whole number of 64 bits. */
export class GoInt {
  readonly value: bigint;
  readonly type: IntType;

  constructor(value: bigint | number, type: IntType = 'int') {
    const whole = BigInt(value);
    this.value = type === 'uint64' ? BigInt.asUintN(64, whole) : BigInt.asIntN(64, whole);
    this.type = type;
  }
}

/** A slice. Never changed after it was built. */
export class GoList {
  /** The type of an item: `interface {}`, `string`, `int`, … */
  readonly element: string;
  readonly items: readonly TemplateValue[];
  /** A nil slice is `null` in JSON. */
  readonly isNil: boolean;

  constructor(items: readonly TemplateValue[], element = 'interface {}', isNil = false) {
    this.items = items;
    this.element = element;
    this.isNil = isNil;
  }
}

/** A map with texts as keys. Functions such as `set` change it in place, as in Sprig. */
export class GoMap {
  readonly element: string;
  readonly members: Map<string, TemplateValue>;

  constructor(members: Iterable<readonly [string, TemplateValue]> = [], element = 'interface {}') {
    this.members = new Map(members);
    this.element = element;
  }
}

/** A value whose fields are fixed: reading another one is an error. */
export class GoStruct {
  readonly type: string;
  readonly fields: Readonly<Record<string, TemplateValue>>;

  constructor(type: string, fields: Readonly<Record<string, TemplateValue>>) {
    this.type = type;
    this.fields = fields;
  }
}

/** A time.Time. */
export class GoTime {
  readonly epochNs: bigint;
  readonly zone: GoZone;

  constructor(epochNs: bigint, zone: GoZone) {
    this.epochNs = epochNs;
    this.zone = zone;
  }
}

/** A *semver.Version. */
export class GoVersion {
  readonly version: SemanticVersion;
  readonly original: string;

  constructor(version: SemanticVersion, original: string) {
    this.version = version;
    this.original = original;
  }
}

/** The value as encoding/json decodes it: every number is a float64. */
export function templateValue(json: Json | undefined): TemplateValue {
  if (json === null || json === undefined) return null;
  if (typeof json === 'bigint') return Number(json);
  if (typeof json !== 'object') return json;
  if (Array.isArray(json)) return new GoList((json as readonly Json[]).map(templateValue));
  return new GoMap(Object.entries(json).map(([key, member]) => [key, templateValue(member)]));
}

/** Go's truth: not zero, not empty, not nil. */
export function isTrue(value: OptionalValue): boolean {
  if (value instanceof GoInt) return value.value !== 0n;
  if (value instanceof GoList) return value.items.length > 0;
  if (value instanceof GoMap) return value.members.size > 0;
  if (value === null || value === undefined) return false;
  return typeof value === 'object' ? true : Boolean(value);
}

/** Go's name of the type (`%T`). */
export function typeName(value: OptionalValue): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'float64';
  if (typeof value === 'string') return 'string';
  if (value instanceof GoInt || value instanceof GoStruct) return value.type;
  if (value instanceof GoList) return `[]${value.element}`;
  if (value instanceof GoMap) return `map[string]${value.element}`;
  return value instanceof GoTime ? 'time.Time' : '*semver.Version';
}

/** The name of the kind in Go's package reflect. */
export function kindName(value: OptionalValue): string {
  if (value === null || value === undefined) return 'invalid';
  if (value instanceof GoInt) return value.type.startsWith('time.') ? 'int' : value.type;
  if (value instanceof GoList) return 'slice';
  if (value instanceof GoMap) return 'map';
  if (value instanceof GoStruct || value instanceof GoTime) return 'struct';
  return value instanceof GoVersion ? 'ptr' : typeName(value);
}

/** Orders texts by their bytes in UTF-8, as Go does. */
export function compareText(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The members by key, in the order in which Go ranges over a map and prints it. */
export function sortedMembers({ members }: GoMap): readonly (readonly [string, TemplateValue])[] {
  return [...members].sort(([a], [b]) => compareText(a, b));
}

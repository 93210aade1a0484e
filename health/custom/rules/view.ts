import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';

/** One entry of `status.conditions`, or of any list in the same format. Absent fields are ''. */
export interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly severity: string;
  /** The whole entry: tells an absent field from an empty one. */
  readonly fields: JsonObject;
}

const absentValue: Json = null;

/**
 * A lenient reader of one object. Absent fields and fields of another type read as empty, so a rule
 * never throws, whatever a controller (or an attacker) writes into a status. The built-in checks
 * are strict, as in Argo CD; custom kinds have no type to be strict about.
 */
export class ObjectView {
  readonly object: KubeObject;
  #conditions: readonly StatusCondition[] | undefined;

  constructor(object: KubeObject) {
    this.object = object;
  }

  get(path: readonly string[]): Json {
    let value: Json = this.object as unknown as JsonObject;
    for (const part of path) {
      if (!isObject(value)) return absentValue;
      value = ownMember(value, part) ?? absentValue;
    }
    return value;
  }

  /** The string, number or boolean at the path as text; '' for any other value. */
  text(path: string): string {
    return scalarText(this.get(pathParts(path)));
  }

  number(path: string): number | undefined {
    return scalarNumber(this.get(pathParts(path)));
  }

  has(path: string): boolean {
    return this.get(pathParts(path)) !== null;
  }

  /** Set, and not false. */
  isSet(path: string): boolean {
    const value = this.get(pathParts(path));
    return value !== null && value !== false;
  }

  /** Both fields have the same scalar value, or neither is set. */
  isSame(path: string, as: string): boolean {
    return comparable(this.get(pathParts(path))) === comparable(this.get(pathParts(as)));
  }

  /** Length of a list without nulls; 0 for any other value. */
  count(path: string): number {
    const value = this.get(pathParts(path));
    return Array.isArray(value) ? (value as readonly Json[]).filter((item) => item !== null).length : 0;
  }

  list(path: string): readonly JsonObject[] {
    const value = this.get(pathParts(path));
    return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
  }

  /** Entries of a map, sorted by name. (Lua's order is arbitrary.) */
  members(path: string): readonly (readonly [string, Json])[] {
    const value = this.get(pathParts(path));
    if (!isObject(value)) return [];
    return Object.keys(value)
      .sort()
      .map((key) => [key, ownMember(value, key) ?? absentValue]);
  }

  get conditions(): readonly StatusCondition[] {
    this.#conditions ??= conditionsOf(this.get(['status', 'conditions']));
    return this.#conditions;
  }

  condition(type: string): StatusCondition | undefined {
    for (const condition of this.conditions) if (condition.type === type) return condition;
    return undefined;
  }

  get kind(): string {
    return this.object.kind;
  }

  get generation(): number | undefined {
    return this.number('metadata.generation');
  }
}

const splitPaths = new Map<string, readonly string[]>();

/**
 * Splits `status.phase` or `metadata.labels[example.com/name]` into its parts. Only paths of the
 * tables reach the cache, so it is bounded.
 */
export function pathParts(path: string): readonly string[] {
  let parts = splitPaths.get(path);
  if (parts === undefined) {
    parts = [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([whole, inner]) => inner ?? whole);
    splitPaths.set(path, parts);
  }
  return parts;
}

function comparable(value: Json): Json {
  return typeof value === 'bigint' ? Number(value) : value;
}

export function scalarText(value: Json | undefined): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return '';
  }
}

export function scalarNumber(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  return undefined;
}

/** Reads a list of conditions anywhere in an object. Skips entries that are not objects. */
export function conditionsOf(value: Json | undefined): readonly StatusCondition[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Json[]).filter(isObject).map((item) => ({
    type: scalarText(ownMember(item, 'type')),
    status: scalarText(ownMember(item, 'status')),
    reason: scalarText(ownMember(item, 'reason')),
    message: scalarText(ownMember(item, 'message')),
    severity: scalarText(ownMember(item, 'severity')),
    fields: item,
  }));
}

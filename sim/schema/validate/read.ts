import { canonicalJson, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';

/** Readers that treat a wrong or missing value as empty: types are checked by decoding. */

export function objectMember(value: Json | undefined, key: string): JsonObject | undefined {
  const member = isObject(value) ? ownMember(value, key) : undefined;
  return isObject(member) ? member : undefined;
}

export function stringMember(value: Json | undefined, key: string): string {
  const member = isObject(value) ? ownMember(value, key) : undefined;
  return typeof member === 'string' ? member : '';
}

export function numberMember(value: Json | undefined, key: string): number | undefined {
  const member = isObject(value) ? ownMember(value, key) : undefined;
  if (typeof member === 'bigint') return Number(member);
  return typeof member === 'number' ? member : undefined;
}

export function anyMember(value: Json | undefined, key: string): Json | undefined {
  const member = isObject(value) ? ownMember(value, key) : undefined;
  return member ?? undefined;
}

export function listMember(value: Json | undefined, key: string): readonly Json[] {
  const member = isObject(value) ? ownMember(value, key) : undefined;
  return Array.isArray(member) ? (member as readonly Json[]) : [];
}

/** Members of a map as pairs. */
export function mapEntries(value: Json | undefined, key: string): readonly (readonly [string, Json])[] {
  return Object.entries(objectMember(value, key) ?? {}).flatMap(([name, member]) =>
    member === undefined ? [] : [[name, member] as const],
  );
}

/** Visits the objects of a list with the path of each. */
export function forEachObject(
  value: Json | undefined,
  key: string,
  path: string,
  visit: (item: JsonObject, path: string) => void,
): void {
  listMember(value, key).forEach((item, i) => {
    if (isObject(item)) visit(item, `${path}.${key}[${i}]`);
  });
}

/** The text of a quantity, which may be a JSON number. */
export function quantityText(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

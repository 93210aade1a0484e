import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { withMember } from '../shared/values.ts';
import { fieldOf, structFields } from './schema.ts';
import type { TypeSchema } from './schema.ts';

/** A field and its deprecated name: the API server restores each from the other. */
export interface TwinFields {
  readonly current: string;
  readonly deprecated: string;
}

const twins: Readonly<Record<string, TwinFields>> = {
  PodSpec: { current: 'serviceAccountName', deprecated: 'serviceAccount' },
  PersistentVolumeClaimSpec: { current: 'dataSourceRef', deprecated: 'dataSource' },
};

/** The twin fields of a built-in type; undefined if it has none. */
export function twinFields(typeName: string): TwinFields | undefined {
  return Object.hasOwn(twins, typeName) ? twins[typeName] : undefined;
}

/** Whether a struct of this type has twin fields, in itself or in structs inside it. */
export function containsTwins(typeName: string): boolean {
  const known = typesWithTwins.get(typeName);
  if (known !== undefined) return known;
  typesWithTwins.set(typeName, false);
  const isInside = [...structFields(typeName).values()].some(
    ({ type }) => type.form === 'struct' && containsTwins(type.name),
  );
  const found = twinFields(typeName) !== undefined || isInside;
  typesWithTwins.set(typeName, found);
  return found;
}

const typesWithTwins = new Map<string, boolean>();

/** Fills in the twin of each field that has one, as the API server stores it. */
export function withTwins(value: Json, type: TypeSchema | undefined): Json {
  if (!isObject(value) || type?.form !== 'struct' || !containsTwins(type.name)) return value;
  let result: JsonObject = value;
  const twins = twinFields(type.name);
  const set = twins === undefined ? undefined : (ownMember(value, twins.current) ?? ownMember(value, twins.deprecated));
  if (twins !== undefined && set !== undefined)
    for (const name of [twins.current, twins.deprecated]) result = withMember(result, name, set);
  for (const key of Object.keys(value)) {
    const before = value[key] ?? null;
    const after = withTwins(before, fieldOf(type, key)?.type);
    if (after !== before) result = withMember(result, key, after);
  }
  return result;
}

/** Whether the target has neither field, and live both. */
export function isTwinDropped(target: JsonObject, live: JsonObject, { current, deprecated }: TwinFields): boolean {
  const lacks = (key: string): boolean => (ownMember(target, key) ?? null) === null;
  const has = (key: string): boolean => (ownMember(live, key) ?? '') !== '';
  return lacks(current) && lacks(deprecated) && has(current) && has(deprecated);
}

import { ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError } from '../errors.ts';

/**
 * The values that Go decodes into a field. encoding/json accepts any letter case, and two letters
 * of other alphabets that fold to ASCII. Ordered by key, so that the last one wins.
 */
export function goFields(object: JsonObject, name: string): readonly Json[] {
  const wanted = foldedName(name);
  return Object.keys(object)
    .filter((key) => foldedName(key) === wanted)
    .sort()
    .flatMap((key) => [ownMember(object, key) ?? null]);
}

/**
 * Renames the given fields to the names that Go uses, and keeps all other members.
 * @throws DesiredError for a field that appears twice
 */
export function withGoNames(object: JsonObject, names: ReadonlyMap<string, string>, where: string): JsonObject {
  const named = new Map<string, Json>();
  for (const [key, value] of Object.entries(object)) {
    const name = names.get(foldedName(key)) ?? key;
    if (named.has(name))
      throw new DesiredError('DESIRED_RENDER', `${where} has the field "${name}" twice, in different letter case`);
    named.set(name, value ?? null);
  }
  return Object.fromEntries(named);
}

/** Field names by their folded form. */
export function goNames(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [foldedName(name), name]));
}

/** For Go, two keys with the same folded name are one field. */
function foldedName(key: string): string {
  return key.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}

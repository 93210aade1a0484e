import { setOwnMember } from './json.ts';
import type { MutableJson, MutableJsonObject } from './json.ts';

/** A copy of a value without the named members, whose getters are not called. */
export function omit<T extends object, K extends keyof T>(value: T, ...names: readonly K[]): Omit<T, K> {
  const omitted: readonly PropertyKey[] = names;
  const copy: MutableJsonObject = {};
  // Members are not deleted from a copy: V8 would keep it as a slow dictionary.
  for (const name of Object.keys(value))
    if (!omitted.includes(name)) setOwnMember(copy, name, value[name as keyof T] as MutableJson);
  return copy as unknown as Omit<T, K>;
}

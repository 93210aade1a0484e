import { isObject, ownMember, setOwnMember } from '#base';
import type { JsonObject, MutableJson, MutableJsonObject } from '#base';

/**
 * Folds `stringData` of a core Secret into `data`, as the API server does: it stores no
 * `stringData`, so a key that is sent there cannot be removed there. Other objects, and values that
 * the server must refuse, stay as they are.
 */
export function foldStringData(object: JsonObject): JsonObject {
  if (ownMember(object, 'apiVersion') !== 'v1' || ownMember(object, 'kind') !== 'Secret') return object;
  const stringData = ownMember(object, 'stringData');
  const data = ownMember(object, 'data') ?? null;
  if (stringData === undefined || (stringData !== null && !isObject(stringData))) return object;
  if (data !== null && !isObject(data)) return object;
  const folded: MutableJsonObject = { ...(data as MutableJsonObject | null) };
  for (const [key, value] of Object.entries(stringData ?? {}))
    setOwnMember(
      folded,
      key,
      typeof value === 'string' ? Buffer.from(value, 'utf8').toString('base64') : (value as MutableJson),
    );
  const result: MutableJsonObject = {};
  for (const key of Object.keys(object))
    if (key !== 'stringData') setOwnMember(result, key, object[key] as MutableJson);
  if (Object.keys(folded).length > 0 || data !== null) result['data'] = folded;
  return result;
}

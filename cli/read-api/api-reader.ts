import { isObject } from '#base';
import type { Json } from '#base';

/** Reads pages of the read API. */
export interface ApiReader {
  /**
   * @param path below `/api/v1`, with query
   * @returns undefined if the object does not exist (404)
   * @throws DriftlessError with what is missing, such as a right
   */
  get(path: string): Promise<unknown>;
}

/** Whether a 404 has a cause that is more than a name that no object has. */
export function hasReason(body: Json): boolean {
  return isObject(body) && body['reason'] !== undefined;
}

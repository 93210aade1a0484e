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

/** Whether a 404 has another cause than an unknown name. */
export function hasReason(body: Json): boolean {
  return isObject(body) && body['reason'] !== undefined;
}

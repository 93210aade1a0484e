/** Reads pages of the read API. */
export interface ApiReader {
  /**
   * @param path below `/api/v1`, with query
   * @returns undefined if the object does not exist (404)
   * @throws DriftlessError with what is missing, such as a right
   */
  get(path: string): Promise<unknown>;
}

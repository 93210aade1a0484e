/** Why an object was sent; the first matching reason counts. */
export const gateMisses = [
  /** The live object does not exist. */
  'missing',
  /** Force and Replace bypass the gate. */
  'forced',
  /** The comparison found a difference. */
  'differs',
  /**
   * RespectIgnoreDifferences sends ignored fields with their live values, which are unknown in
   * advance.
   */
  'respected',
  /** No entry: never sent by this process, refused last time, handed over, or hard-refreshed. */
  'unknown',
  /** The entry has expired. */
  'expired',
  /** The manifest, the options or the user changed. */
  'manifest',
  /** The name now belongs to another object. */
  'recreated',
  /** The live object differs from the server's last response. */
  'drift',
  /**
   * Client-side apply: no difference in the comparison, but in the three-way merge (ignored fields
   * or the last-applied annotation).
   */
  'merge',
] as const;
export type GateMiss = (typeof gateMisses)[number];

/** Why an object was sent. The first that holds is named. */
export const gateMisses = [
  /** It is not there. */
  'missing',
  /** Force and Replace pass the gate by. */
  'forced',
  /** The comparison found a difference. */
  'differs',
  /** What is ignored is sent as it is live (RespectIgnoreDifferences): what that is, nobody knows beforehand. */
  'respected',
  /** Nothing is remembered: never sent by this process, refused the last time, forgotten with the ownership or for a hard refresh. */
  'unknown',
  /** What is remembered is too old. */
  'expired',
  /** Something else is to be sent, or in another way, or as somebody else. */
  'manifest',
  /** Another object has its name now. */
  'recreated',
  /** It is not any more what the server answered. */
  'drift',
  /** Client-side apply: the comparison has nothing to say of it, its three-way merge has (ignored fields, the note of what was applied). */
  'merge',
] as const;
export type GateMiss = (typeof gateMisses)[number];

import { shownRepositoryUrl } from '#desired';
import type { Time } from '../types.ts';

/** A wall time for the wire. Times that cannot be shown become the epoch. */
export function wireTime(ms: number): Time {
  return new Date(Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? ms : 0).toISOString();
}

export function optionalTime(ms: number | undefined): Time | undefined {
  return ms === undefined ? undefined : wireTime(ms);
}

/** An address without user, password and secret parameters. */
export function plainUrl(url: string): string {
  return shownRepositoryUrl(url);
}

const userInfo = /:\/\/[^\s"\\/?#@]{1,512}@/g;

/** Removes user and password of addresses, wherever they are in the JSON of an answer. */
export function withoutUserInfo(json: string): string {
  return json.replace(userInfo, '://');
}

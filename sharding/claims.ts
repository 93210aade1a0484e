import { isObject } from '#base';
import type { Json } from '#base';
import { longestLeaseMs } from './timing.ts';

/** Beside the table, in its ConfigMap: who claimed which slot last. A mapping of the slots that is set back is not set back with it. */
export const claimsKey = 'claims';

export interface ClaimRecord {
  readonly incarnation: string;
  /** How long that claim may give a right to write without a renewal that anybody sees. */
  readonly leaseMs: number;
}

/** The last claim of each slot that was not given back in order. */
export type Claims = ReadonlyMap<number, ClaimRecord>;

/** Reads the register. What cannot be read is nothing: then a claim is as good as the slots alone make it. */
export function parseClaims(data: Readonly<Record<string, unknown>> = {}): Claims {
  const claims = new Map<number, ClaimRecord>();
  for (const [key, entry] of Object.entries(objectOf(data[claimsKey]))) {
    const slot = Number(key);
    if (!Number.isSafeInteger(slot) || slot < 0 || !isObject(entry)) continue;
    const { incarnation, leaseMs } = entry;
    if (typeof incarnation !== 'string') continue;
    const isLease = typeof leaseMs === 'number' && leaseMs > 0 && leaseMs <= longestLeaseMs;
    claims.set(slot, { incarnation, leaseMs: isLease ? leaseMs : longestLeaseMs });
  }
  return claims;
}

/** The part of the ConfigMap's data that is the register. */
export function formatClaims(claims: Claims): Readonly<Record<string, string>> {
  if (claims.size === 0) return {};
  const sorted = [...claims].sort(([a], [b]) => a - b);
  return { [claimsKey]: JSON.stringify(Object.fromEntries(sorted)) };
}

function objectOf(text: unknown): Readonly<Record<string, Json>> {
  if (typeof text !== 'string') return {};
  try {
    const json = JSON.parse(text) as Json;
    return isObject(json) ? (json as Readonly<Record<string, Json>>) : {};
  } catch {
    return {};
  }
}

import { isObject } from '#base';
import type { Json } from '#base';
import { longestLeaseMs } from '../timing/timing.ts';
import { isSlot } from './bounds.ts';

/**
 * Key in the table's ConfigMap that records the last claim of each slot. Restoring an old slots
 * ConfigMap does not restore it.
 */
export const claimsKey = 'claims';

export interface ClaimRecord {
  readonly incarnation: string;
  /** How long the claim may allow writes without a visible renewal. */
  readonly leaseMs: number;
}

/** The last claim of each slot that was not released in order. */
export type SlotClaims = ReadonlyMap<number, ClaimRecord>;

/** Parses the register. Unreadable entries count as absent; then only the slots protect a claim. */
export function parseClaims(data: Readonly<Record<string, unknown>> = {}): SlotClaims {
  const claims = new Map<number, ClaimRecord>();
  for (const [key, entry] of Object.entries(objectOf(data[claimsKey]))) {
    const slot = Number(key);
    if (!isSlot(slot) || !isObject(entry)) continue;
    const { incarnation, leaseMs } = entry;
    if (typeof incarnation !== 'string') continue;
    const isLease = typeof leaseMs === 'number' && leaseMs > 0 && leaseMs <= longestLeaseMs;
    claims.set(slot, { incarnation, leaseMs: isLease ? leaseMs : longestLeaseMs });
  }
  return claims;
}

/** Formats the register for the data of the ConfigMap. */
export function formatClaims(claims: SlotClaims): Readonly<Record<string, string>> {
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

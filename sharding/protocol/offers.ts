import type { SlotHolders } from '../documents/slots-document.ts';

/** A cluster that an owner offers, because none of its clusters answers it. */
export interface ClusterOffer {
  readonly unreachedBy: ReadonlySet<number>;
  /** Live holders that it has answered lately. */
  readonly reachedBy: ReadonlySet<number>;
}

/** By `clusterDigest`. */
export type ClusterOffers = ReadonlyMap<string, ClusterOffer>;

/** The offers in the records of live holders. Pure. */
export function offersOf(holders: SlotHolders, live: readonly number[]): ClusterOffers {
  const offers = new Map<string, { readonly unreachedBy: Set<number>; readonly reachedBy: Set<number> }>();
  const records = live.flatMap((slot) => holders.get(slot) ?? []);
  for (const { slot, unreached = [] } of records)
    for (const digest of unreached) {
      const offer = offers.get(digest) ?? { unreachedBy: new Set(), reachedBy: new Set() };
      offers.set(digest, offer);
      offer.unreachedBy.add(slot);
    }
  for (const { slot, reaches = [] } of records) for (const digest of reaches) offers.get(digest)?.reachedBy.add(slot);
  return offers;
}

/**
 * The slots that may own a part of an offered cluster; undefined: the offer changes nothing. The
 * part goes only to a holder that reaches the cluster, and then stays there until its home reaches
 * it again. If no holder reaches it, it stays, so it never moves back and forth. Pure.
 */
export function candidatesOf(
  { unreachedBy, reachedBy }: ClusterOffer,
  {
    home,
    earlier,
    able,
  }: { readonly home: number; readonly earlier: number | undefined; readonly able: readonly number[] },
): readonly number[] | undefined {
  const isAble = earlier !== undefined && able.includes(earlier);
  // The usual rules apply to a home that has not offered the cluster, unless it has no holder.
  if (able.includes(home) && !unreachedBy.has(home)) return undefined;
  if (isAble && !unreachedBy.has(earlier)) return [earlier];
  const takers = able.filter((slot) => reachedBy.has(slot) && !unreachedBy.has(slot));
  if (takers.length > 0) return takers;
  if (isAble) return [earlier];
  return able.includes(home) ? [home] : undefined;
}

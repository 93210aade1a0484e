import type { Lru } from '../shared/lru.ts';
import type { TenantSlots } from '../shared/tenant-slots.ts';
import type { Refs } from './refs.ts';
import type { Tree } from '../files/tree.ts';

export interface KnownRefs {
  readonly refs: Refs;
  readonly at: number;
}

/** Memory of parsed refs, as a multiple of the size of the listing. */
export const refsMemoryFactor = 4;

/** Caches shared by all repositories. */
export interface ListingCaches {
  /** Trees by repository key and commit, weighed in bytes. */
  readonly kept: Lru<Tree>;
  /** Refs by repository key, weighed in bytes. */
  readonly refs: Lru<KnownRefs>;
  /** Small files that were read ahead, by repository key and object id. */
  readonly blobs: Lru<Uint8Array>;
  /** Limits concurrent tree reads: the memory of each is unknown until it ends. */
  readonly reading: TenantSlots;
  /** Limits concurrent listings of remote refs; undefined: no limit. */
  readonly listing: TenantSlots | undefined;
}

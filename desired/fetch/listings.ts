import type { Limiter } from '#base';
import type { Lru } from './lru.ts';
import type { Refs } from './refs.ts';
import type { Tree } from './tree.ts';

export interface KnownRefs {
  readonly refs: Refs;
  readonly at: number;
}

/** In memory, refs take about so many times the bytes of the listing. */
export const refsFactor = 4;

/** The listings of all repositories together. */
export interface Trees {
  /** By the key of the repository and the commit; weighed in bytes. */
  readonly kept: Lru<Tree>;
  /** What remotes said that they have, by the key of the repository; weighed in bytes. */
  readonly refs: Lru<KnownRefs>;
  /** Those that are being read: each may take much memory until it is known how much. */
  readonly reading: Limiter;
}

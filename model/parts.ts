import fnv from 'fnv-plus';
import type { AppKey } from './names.ts';

/**
 * The part of a split cluster that an Application belongs to. FNV-1a alone varies only in the low
 * bits for similar names, so the hash is mixed with the finalizer of MurmurHash3.
 */
export function partIndex(key: AppKey, parts: number): number {
  if (parts <= 1) return 0;
  let h = fnv.fast1a32utf(key);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) % parts;
}

import { createHash } from 'node:crypto';
import { canonicalJson } from './json.ts';
import type { Json } from './json.ts';

/** 128 bits of SHA-256 as 32 hexadecimal digits; costs a tenth of serializing the text. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/**
 * The hash of a value's canonical form: equal values have equal hashes, whatever the order of their
 * keys.
 */
export function hashJson(value: Json | undefined): string {
  return hashText(canonicalJson(value));
}

import { isObject } from '#base';
import type { Json } from '#base';
import { jsonOf } from '#model';
import type { LiveOwner } from '../types.ts';

/** Memory of a row in the store and its indexes, besides its strings. */
const rowBytes = 900;
const ownerBytes = 260;
const textBytes = 40;
const memberBytes = 60;

/** The variable-length parts of a row. */
export interface SizedRow {
  readonly texts: readonly string[];
  readonly owners: readonly LiveOwner[];
  /** Images, volume claims, details, health. */
  readonly values: readonly unknown[];
}

/** Estimated memory of a row in bytes; never much too low. */
export function sizeOfRow({ texts, owners, values }: SizedRow): number {
  let bytes = rowBytes;
  for (const text of texts) bytes += sizeOfText(text);
  for (const { key, version, uid } of owners)
    bytes += ownerBytes + sizeOfText(key) + sizeOfText(version) + sizeOfText(uid);
  for (const value of values) bytes += sizeOfValue(jsonOf(value));
  return bytes;
}

/** V8 stores Latin-1 strings with one byte per character, all others with two. */
export function sizeOfText(text: string): number {
  return textBytes + (isLatin(text) ? text.length : 2 * text.length);
}

function isLatin(text: string): boolean {
  return !/[^\u0000-\u00ff]/.test(text);
}

function sizeOfValue(value: Json | undefined): number {
  if (typeof value === 'string') return sizeOfText(value);
  let bytes = memberBytes;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) bytes += sizeOfValue(item);
  else if (isObject(value)) for (const name in value) bytes += memberBytes + 2 * name.length + sizeOfValue(value[name]);
  return bytes;
}

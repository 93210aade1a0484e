import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { yieldToLoop } from '#base';
import type { Part } from './json.ts';

const compress = promisify(gzip);

/** About this much text is made before others get their turn. */
const sliceLength = 128 * 1024;

export interface Text {
  /** Of all parts together. */
  readonly hash: string;
  /** One per part. */
  readonly parts: readonly Buffer[];
}

/** Makes the texts of a value and their hash, slice by slice. */
export async function makeText(parts: readonly Part[]): Promise<Text> {
  const hash = createHash('sha256');
  const made: Buffer[] = [];
  for (const { pieces } of parts) {
    const slices: Buffer[] = [];
    let waiting: string[] = [];
    let length = 0;
    const cut = (): void => {
      const slice = Buffer.from(waiting.join(''));
      hash.update(slice);
      slices.push(slice);
      [waiting, length] = [[], 0];
    };
    for (const piece of pieces) {
      waiting.push(piece);
      length += piece.length;
      if (length < sliceLength) continue;
      cut();
      await yieldToLoop();
    }
    // Each part ends with a line break, so two ways to cut the same text have different hashes.
    cut();
    made.push(slices.length === 1 && slices[0] !== undefined ? slices[0] : Buffer.concat(slices));
  }
  return { hash: hash.digest('base64url').slice(0, 22), parts: made };
}

/** The bytes that are stored. Compression runs on Node's own threads. */
export async function makeValues(parts: readonly Buffer[], compression: 'gzip' | 'none'): Promise<readonly Buffer[]> {
  return compression === 'none' ? parts : Promise.all(parts.map((part) => compress(part)));
}

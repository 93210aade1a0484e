import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { Selection } from './selection.ts';
import type { Snapshot } from './snapshot.ts';

const zip = promisify(gzip);
const block = 512;

/** Packs the selected files and links as a gzipped tar, with pax headers for long names. */
export async function packSelection(snapshot: Snapshot, selection: Selection, signal: AbortSignal): Promise<Buffer> {
  const contents = await snapshot.read([...selection.files.values()], signal);
  const parts: Uint8Array[] = [];
  for (const [path, { oid }] of selection.files)
    parts.push(...entryWithPax(path, '0', contents.get(oid) ?? new Uint8Array(), ''));
  for (const [path, { target }] of selection.links) parts.push(...entryWithPax(path, '2', new Uint8Array(), target));
  signal.throwIfAborted();
  return zip(Buffer.concat([...parts, Buffer.alloc(2 * block)]));
}

/** Packs files as a gzipped tar at the fastest level, as the receiver unpacks it at once. */
export async function packFiles(
  files: Iterable<{ readonly path: string; readonly content: Uint8Array }>,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (const { path, content } of files) parts.push(...entryWithPax(path, '0', content, ''));
  return zip(Buffer.concat([...parts, Buffer.alloc(2 * block)]), { level: 1 });
}

function entryWithPax(path: string, type: string, content: Uint8Array, target: string): Uint8Array[] {
  const long = {
    ...(Buffer.byteLength(path) > 100 ? { path } : {}),
    ...(Buffer.byteLength(target) > 100 ? { linkpath: target } : {}),
  };
  const records = Object.entries(long).map(([key, value]) => record(key, value));
  const extended = records.length === 0 ? [] : blocksOf('pax', 'x', Buffer.concat(records), '');
  return [...extended, ...blocksOf(path, type, content, target)];
}

function blocksOf(name: string, type: string, content: Uint8Array, target: string): Uint8Array[] {
  const padding = Buffer.alloc((block - (content.length % block)) % block);
  return [header(name, type, content.length, target), content, padding];
}

function header(name: string, type: string, size: number, target: string): Buffer {
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0, 100);
  bytes.write('0000644\x000000000\x000000000\0', 100);
  bytes.write(`${size.toString(8).padStart(11, '0')}\x0000000000000\0        ${type}`, 124);
  bytes.write(target, 157, 100);
  bytes.write('ustar\x0000', 257);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

/**
 * A pax record, "length key=value\
 * "; the length includes its own digits.
 */
function record(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

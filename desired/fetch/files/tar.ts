import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Selection } from './selection.ts';
import type { Snapshot } from './snapshot.ts';
import type { FileNode } from './tree.ts';

const block = 512;
/** Contents in memory at once, besides the packed part. */
const groupBytes = 32 * 1024 * 1024;
/** Small parts are joined: one write for each header of a thousand small files would be slow. */
const batchBytes = 256 * 1024;

/** How the files of a selection become entries of an archive. */
export interface PackOptions {
  /** Returns the path in the archive. Default: the path in the snapshot. */
  readonly nameOf?: (path: string) => string;
  /** A directory on disk that the archive has as `.git`. */
  readonly gitFolder?: string | undefined;
}

/**
 * Packs the selected files and links as a gzipped tar, with pax headers for long names. Reads the
 * files in groups, so that no more than the packed part is held.
 */
export async function packSelection(
  snapshot: Snapshot,
  selection: Selection,
  signal: AbortSignal,
  { nameOf = (path) => path, gitFolder }: PackOptions = {},
): Promise<Buffer> {
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (const group of groupsOf(selection.files)) {
      const contents = await snapshot.read(
        group.map(([, node]) => node),
        signal,
      );
      for (const [path, node] of group)
        yield* entryWithPax(
          nameOf(path),
          node.isExecutable === true ? programEntry : fileEntry,
          contents.get(node.oid) ?? none,
          '',
        );
    }
    for (const [path, { target }] of selection.links) yield* entryWithPax(nameOf(path), linkEntry, none, target);
    if (gitFolder !== undefined) yield* folderEntries(gitFolder, '.git');
    yield Buffer.alloc(2 * block);
  }
  return zipped(parts(), {}, signal);
}

function* groupsOf(files: ReadonlyMap<string, FileNode>): Generator<readonly [string, FileNode][]> {
  let group: [string, FileNode][] = [];
  let bytes = 0;
  for (const file of files) {
    if (group.length > 0 && bytes + file[1].size > groupBytes) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(file);
    bytes += file[1].size;
  }
  yield group;
}

async function zipped(
  parts: AsyncIterable<Uint8Array>,
  options: { readonly level?: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await pipeline(
    Readable.from(batchesOf(parts)),
    createGzip(options),
    async (packed: AsyncIterable<Buffer>) => {
      for await (const chunk of packed) chunks.push(chunk);
    },
    { signal },
  );
  return Buffer.concat(chunks);
}

async function* batchesOf(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    batch.push(part);
    bytes += part.length;
    if (bytes < batchBytes) continue;
    yield part.length === bytes ? part : Buffer.concat(batch, bytes);
    [batch, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(batch, bytes);
}

/** Packs files as a gzipped tar at the fastest level, as the receiver unpacks it at once. */
export async function packFiles(
  files: Iterable<{ readonly path: string; readonly content: Uint8Array }>,
  signal: AbortSignal,
): Promise<Buffer> {
  // eslint-disable-next-line @typescript-eslint/require-await -- a stream reads it
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (const { path, content } of files) yield* entryWithPax(path, fileEntry, content, '');
    yield Buffer.alloc(2 * block);
  }
  return zipped(parts(), { level: 1 }, signal);
}

/** A directory on disk with everything in it, read in chunks. */
async function* folderEntries(folder: string, name: string): AsyncGenerator<Uint8Array> {
  yield header(name, directoryEntry, 0, '');
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [path, shown] = [join(folder, entry.name), `${name}/${entry.name}`];
    if (entry.isDirectory()) yield* folderEntries(path, shown);
    else {
      const { size } = await stat(path);
      yield header(shown, fileEntry, size, '');
      for await (const chunk of createReadStream(path, { highWaterMark: batchBytes })) yield chunk as Buffer;
      yield Buffer.alloc((block - (size % block)) % block);
    }
  }
}

/** The type of an entry, and its mode in octal. */
interface EntryKind {
  readonly type: string;
  readonly mode: string;
}
const fileEntry: EntryKind = { type: '0', mode: '0000644' };
const programEntry: EntryKind = { type: '0', mode: '0000755' };
const linkEntry: EntryKind = { type: '2', mode: '0000644' };
const directoryEntry: EntryKind = { type: '5', mode: '0000755' };
const paxEntry: EntryKind = { type: 'x', mode: '0000644' };
const none = new Uint8Array();

function entryWithPax(path: string, kind: EntryKind, content: Uint8Array, target: string): Uint8Array[] {
  const long = {
    ...(Buffer.byteLength(path) > 100 ? { path } : {}),
    ...(Buffer.byteLength(target) > 100 ? { linkpath: target } : {}),
  };
  const records = Object.entries(long).map(([key, value]) => record(key, value));
  const extended = records.length === 0 ? [] : blocksOf('pax', paxEntry, Buffer.concat(records), '');
  return [...extended, ...blocksOf(path, kind, content, target)];
}

function blocksOf(name: string, kind: EntryKind, content: Uint8Array, target: string): Uint8Array[] {
  const padding = Buffer.alloc((block - (content.length % block)) % block);
  return [header(name, kind, content.length, target), content, padding];
}

function header(name: string, { type, mode }: EntryKind, size: number, target: string): Buffer {
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0, 100);
  bytes.write(`${mode}\x000000000\x000000000\0`, 100);
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

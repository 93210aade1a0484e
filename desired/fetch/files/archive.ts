import { createHash } from 'node:crypto';
import { normalize } from 'node:path';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import { messageOf, yieldToLoop } from '#base';
import { DesiredError, SizeLimitExceeded, UnsafeInput } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import { Tree } from './tree.ts';
import type { DirectoryNode, FileNode, LinkNode } from './tree.ts';

const unzip = promisify(gunzip);
const block = 512;

/** The content of an archive. It stays in memory; no file of it is written to disk. */
export interface UnpackedArchive {
  readonly tree: Tree;
  /** By object id, which is the digest of the content. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** Where each content lies in the unpacked archive, by object id. */
  readonly positions: ReadonlyMap<string, ContentPosition>;
  readonly bytes: number;
}

export interface ContentPosition {
  readonly from: number;
  readonly size: number;
}

/**
 * Reads a tar (ustar, pax or GNU long names, optionally gzipped) into memory, bounded in bytes and
 * entries. Refuses paths and links that lead out of the archive, and every entry that is not a
 * file, directory or symbolic link. (Argo CD: util/io/files Untgz, which reports an oversized
 * archive as truncated.)
 * @throws UnsafeInput, SizeLimitExceeded, DesiredError
 */
export async function unpack(
  packed: Uint8Array,
  limits: Pick<DesiredLimits, 'maxCheckoutBytes' | 'maxCheckoutFiles'>,
): Promise<UnpackedArchive> {
  const bytes = await inflated(packed, limits.maxCheckoutBytes);
  const nodes = new Map<string, FileNode | LinkNode>();
  const contents = new Map<string, Uint8Array>();
  const positions = new Map<string, ContentPosition>();
  let count = 0;
  for (const entry of entriesOf(bytes)) {
    count += 1;
    if (count > limits.maxCheckoutFiles)
      throw new SizeLimitExceeded(`the archive has more than ${limits.maxCheckoutFiles} entries`);
    if (count % 256 === 0) await yieldToLoop();
    const path = cleanPath(entry.name);
    if (entry.type === 'directory' || path === '') continue;
    // The last entry of a name wins, and keeps its own position.
    nodes.delete(path);
    if (entry.type === 'link') nodes.set(path, linkNode(path, entry));
    else {
      const oid = createHash('sha256').update(entry.content).digest('hex');
      contents.set(oid, entry.content);
      positions.set(oid, { from: entry.content.byteOffset - bytes.byteOffset, size: entry.content.length });
      nodes.set(path, { kind: 'file', oid, size: entry.content.length });
    }
  }
  const built = Tree.of([...nodes].map(([path, node]) => ({ path, node })));
  if ('fault' in built) throw new UnsafeInput(`illegal filepath in archive: ${built.fault}`);
  return { tree: built.tree, contents, positions, bytes: bytes.length };
}

/** Reads single files of a known archive. Nothing but these is in memory unpacked. */
export async function contentsAt(
  packed: Uint8Array,
  positions: ReadonlyMap<string, ContentPosition>,
  signal: AbortSignal,
): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const [oid, { size }] of positions) found.set(oid, new Uint8Array(size));
  const sorted = [...positions].sort(([, a], [, b]) => a.from - b.from);
  let start = 0;
  let next = 0;
  for await (const chunk of unpackedChunks(packed)) {
    signal.throwIfAborted();
    const end = start + chunk.length;
    for (let one = sorted[next]; one !== undefined && one[1].from < end; one = sorted[next]) {
      const [oid, { from, size }] = one;
      const [a, b] = [Math.max(from, start), Math.min(from + size, end)];
      if (a < b) found.get(oid)?.set(chunk.subarray(a - start, b - start), a - from);
      if (from + size > end) break;
      next += 1;
    }
    if (next === sorted.length) break;
    start = end;
  }
  if (next < sorted.length) throw damagedArchive('it ends before its last file');
  return found;
}

async function* unpackedChunks(packed: Uint8Array): AsyncGenerator<Uint8Array> {
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) {
    yield packed;
    return;
  }
  const stream = createGunzip({ chunkSize: 256 * 1024 });
  stream.end(packed);
  for await (const chunk of stream) yield chunk as Buffer;
}

/** A file of an archive, or a link with its target as content. */
export interface ArchiveFile {
  readonly path: string;
  readonly isLink: boolean;
  readonly content: Uint8Array;
}

/** The files and links of an archive, in the order of their paths; errors as {@link unpack}. */
export async function archiveFiles(
  packed: Uint8Array,
  limits: Pick<DesiredLimits, 'maxCheckoutBytes' | 'maxCheckoutFiles'>,
): Promise<readonly ArchiveFile[]> {
  const { tree, contents } = await unpack(packed, limits);
  const files: ArchiveFile[] = [];
  const visit = (directory: DirectoryNode, folder: string): void => {
    for (const [name, node] of directory.children) {
      const path = `${folder}${name}`;
      if (node.kind === 'directory') visit(node, `${path}/`);
      else if (node.kind === 'link') files.push({ path, isLink: true, content: Buffer.from(node.target) });
      else files.push({ path, isLink: false, content: contents.get(node.oid) ?? new Uint8Array() });
    }
  };
  visit(tree.root, '');
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function inflated(packed: Uint8Array, limit: number): Promise<Buffer> {
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) {
    if (packed.length > limit) throw archiveTooBig(limit);
    return Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  }
  try {
    return await unzip(packed, { maxOutputLength: limit });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw archiveTooBig(limit);
    throw new DesiredError('DESIRED_ARCHIVE', `the archive cannot be unpacked: ${messageOf(error)}`, { cause: error });
  }
}

function archiveTooBig(limit: number): SizeLimitExceeded {
  return new SizeLimitExceeded(`the archive unpacks to more than ${limit} bytes`);
}

interface ArchiveEntry {
  readonly name: string;
  readonly type: 'file' | 'directory' | 'link';
  readonly content: Uint8Array;
  readonly target: string;
}

/** Values too long for a header arrive in an extra entry before it. */
interface ExtendedHeader {
  path?: string;
  linkpath?: string;
  size?: number;
}

function* entriesOf(bytes: Buffer): Generator<ArchiveEntry> {
  let ahead: ExtendedHeader = {};
  for (let at = 0; at + block <= bytes.length;) {
    const header = bytes.subarray(at, at + block);
    at += block;
    if (header.every((byte) => byte === 0)) continue;
    checkSum(header);
    const kind = String.fromCharCode(header[156] ?? 0);
    const size = /[xgLK]/.test(kind) ? numberIn(header, 124) : (ahead.size ?? numberIn(header, 124));
    if (at + size > bytes.length) throw damagedArchive('it ends in the middle of a file');
    const content = bytes.subarray(at, at + size);
    at += Math.ceil(size / block) * block;
    if (kind === 'L') ahead.path = zeroEnded(content);
    else if (kind === 'K') ahead.linkpath = zeroEnded(content);
    else if (kind === 'x') ahead = { ...ahead, ...paxOf(content) };
    else if (kind !== 'g') {
      yield entryOf(
        kind,
        { name: ahead.path ?? nameIn(header), target: ahead.linkpath ?? textIn(header, 157, 100) },
        content,
      );
      ahead = {};
    }
  }
}

function entryOf(
  kind: string,
  { name, target }: { readonly name: string; readonly target: string },
  content: Uint8Array,
): ArchiveEntry {
  if (kind === '0' || kind === '\0' || kind === '7')
    return { name, type: name.endsWith('/') ? 'directory' : 'file', content, target: '' };
  if (kind === '5') return { name, type: 'directory', content: new Uint8Array(), target: '' };
  if (kind === '2') return { name, type: 'link', content: new Uint8Array(), target };
  const what = kind === '1' ? 'a hard link' : 'neither a file nor a directory nor a symbolic link';
  throw new UnsafeInput(`the archive is refused: ${JSON.stringify(name)} is ${what}`);
}

function nameIn(header: Buffer): string {
  const prefix = header.toString('latin1', 257, 262) === 'ustar' ? textIn(header, 345, 155) : '';
  const name = textIn(header, 0, 100);
  return prefix === '' ? name : `${prefix}/${name}`;
}

function textIn(header: Buffer, from: number, length: number): string {
  return zeroEnded(header.subarray(from, from + length));
}

function zeroEnded(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

/** Reads octal digits or, if the highest bit is set, a binary number. */
function numberIn(header: Buffer, from: number): number {
  const field = header.subarray(from, from + 12);
  if (((field[0] ?? 0) & 0x80) !== 0) {
    let value = 0;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    if (!Number.isSafeInteger(value)) throw damagedArchive('a size in it is no number');
    return value;
  }
  const text = zeroEnded(field).trim();
  if (!/^[0-7]*$/.test(text)) throw damagedArchive('a size in it is no number');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function checkSum(header: Buffer): void {
  let sum = 8 * 32;
  for (const [i, byte] of header.entries()) if (i < 148 || i >= 156) sum += byte;
  if (Number.parseInt(textIn(header, 148, 8).trim(), 8) !== sum)
    throw damagedArchive('a header in it is damaged, or it is no tar');
}

/**
 * Reads pax records of the form "length key=value\
 * ".
 */
function paxOf(content: Buffer): ExtendedHeader {
  const found: ExtendedHeader = {};
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString('latin1', at, Math.max(at, space)));
    if (space < 0 || !Number.isSafeInteger(length) || length < 5 || at + length > content.length)
      throw damagedArchive('an extended header in it is damaged');
    const [, key, value = ''] = /^([^=]*)=([\s\S]*)\n$/.exec(content.toString('utf8', space + 1, at + length)) ?? [];
    if (key === 'path') found.path = value;
    if (key === 'linkpath') found.linkpath = value;
    if (key === 'size') found.size = Number(value);
    if (found.size !== undefined && !(Number.isSafeInteger(found.size) && found.size >= 0))
      throw damagedArchive('a size in it is no number');
    at += length;
  }
  return found;
}

function damagedArchive(why: string): DesiredError {
  return new DesiredError('DESIRED_ARCHIVE', `the archive cannot be unpacked: ${why}`);
}

/** Returns a path relative to the root; "" is the root itself. @throws UnsafeInput */
function cleanPath(name: string): string {
  const clean = normalize(name).replace(/\/+$/, '');
  if (name.startsWith('/') || name.includes('\0') || name.includes('\\') || clean === '..' || clean.startsWith('../'))
    throw new UnsafeInput(`illegal filepath in archive: ${JSON.stringify(name)}`);
  return clean === '.' ? '' : clean;
}

function linkNode(path: string, { name, target }: ArchiveEntry): LinkNode {
  const leads = normalize(`${path.split('/').slice(0, -1).join('/') || '.'}/${target}`);
  if (target === '' || target.startsWith('/') || leads === '..' || leads.startsWith('../'))
    throw new UnsafeInput(`illegal filepath in symlink: ${JSON.stringify(name)}`);
  const oid = createHash('sha256').update('link\0').update(target).digest('hex');
  return { kind: 'link', oid, size: Buffer.byteLength(target), target };
}

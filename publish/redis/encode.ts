import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { inSlices } from '#base';
import type { Clock, SlicedWork } from '#base';
import type { DocumentPart, ItemRun } from './runs.ts';

const compress = promisify(gzip);

/** Maximum number of texts held for compression: more than Node's compression threads. */
const maxPendingRuns = 8;
/** Maximum characters of such texts; a longer run is compressed alone. */
const maxPendingCharacters = 1 << 20;

/** A compressed run, and the identity of its source. */
export interface EncodedPiece {
  readonly marks: readonly number[];
  readonly seams: string;
  /** Hash of its text. */
  readonly hash: string;
  readonly bytes: Buffer;
}

/** Content of one key: pieces in order. */
export interface EncodedValue {
  /** Hash of its text only. */
  readonly hash: string;
  readonly pieces: readonly EncodedPiece[];
}

export interface EncodingOptions {
  readonly compression: 'gzip' | 'none';
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A text to compress, and its position. */
interface UncompressedRun {
  readonly run: ItemRun;
  readonly hash: string;
  readonly text: Buffer;
  readonly into: EncodedPiece[];
  readonly place: number;
}

/**
 * Encodes a text, reusing pieces of the last version: a run of the same objects costs nothing, and
 * one with the same text is not compressed again. Texts are built in slices; compression runs on
 * Node's threads. Each piece is a gzip stream of its own: concatenated streams are one stream (RFC
 * 1952, 2.2), and Go's reader accepts them.
 */
export async function encode(
  parts: readonly DocumentPart[],
  last: readonly EncodedPiece[],
  how: EncodingOptions,
  signal: AbortSignal,
): Promise<readonly EncodedValue[]> {
  const made: EncodedPiece[][] = parts.map(() => []);
  const jobs = parts.flatMap(({ runs }, part) => runs.map((run, place) => ({ run, place, into: made[part] ?? [] })));
  const pieces = new PieceIndex(last);
  for (let next = 0; next < jobs.length;) {
    const { raws, end } = await inSlices(textSteps(jobs, next, pieces), how, signal);
    next = end;
    await Promise.all(raws.map(async (raw) => void (raw.into[raw.place] = pieceOf(raw, await stored(raw.text, how)))));
  }
  return made.map((of) => ({ pieces: of, hash: hashOf(of.map(({ hash }) => hash).join(' ')) }));
}

/** Hash over all keys. */
export function hashOfAll(encoded: readonly EncodedValue[]): string {
  return hashOf(encoded.map(({ hash }) => hash).join(' '));
}

/** Joins pieces step by step. */
export function* joinSteps(pieces: readonly EncodedPiece[]): SlicedWork<Buffer> {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only.bytes;
  const whole = Buffer.allocUnsafe(pieces.reduce((sum, { bytes }) => sum + bytes.length, 0));
  let at = 0;
  for (const { bytes } of pieces) {
    at += bytes.copy(whole, at);
    yield;
  }
  return whole;
}

/** Pieces of the last version, by the keys that identify them. */
class PieceIndex {
  readonly #byMark = new Map<number, EncodedPiece>();
  readonly #byHash = new Map<string, EncodedPiece>();

  constructor(last: readonly EncodedPiece[]) {
    for (const piece of last) {
      const [first] = piece.marks;
      if (first !== undefined) this.#byMark.set(first, piece);
      this.#byHash.set(piece.hash, piece);
    }
  }

  ofRun({ marks, seams }: ItemRun): EncodedPiece | undefined {
    const [first] = marks;
    const piece = first === undefined ? undefined : this.#byMark.get(first);
    const isSame =
      piece?.seams === seams &&
      piece.marks.length === marks.length &&
      piece.marks.every((mark, i) => mark === marks[i]);
    return isSame ? piece : undefined;
  }

  ofText(hash: string): EncodedPiece | undefined {
    return this.#byHash.get(hash);
  }
}

interface EncodingJob {
  readonly run: ItemRun;
  readonly into: EncodedPiece[];
  readonly place: number;
}

/** Continues from `from` until enough texts wait for compression. */
function* textSteps(
  jobs: readonly EncodingJob[],
  from: number,
  pieces: PieceIndex,
): SlicedWork<{ readonly raws: readonly UncompressedRun[]; readonly end: number }> {
  const raws: UncompressedRun[] = [];
  let letters = 0;
  let end = from;
  for (; end < jobs.length && raws.length < maxPendingRuns && letters < maxPendingCharacters; end += 1) {
    const job = jobs[end];
    if (job === undefined) break;
    const { run, into, place } = job;
    const same = pieces.ofRun(run);
    if (same !== undefined) {
      into[place] = same;
      yield;
      continue;
    }
    const text = copyToExactSize(yield* textOf(run));
    const hash = hashOf(text);
    const equal = pieces.ofText(hash);
    if (equal !== undefined) into[place] = pieceOf({ run, hash }, equal.bytes);
    else raws.push({ ...job, hash, text });
    letters += text.length;
  }
  return { raws, end };
}

function* textOf({ lists, after }: ItemRun): SlicedWork<string> {
  const texts: string[] = [];
  for (const { before, items, json } of lists) {
    let separator = before;
    for (const item of items) {
      texts.push(separator, json(item));
      separator = ',';
      yield;
    }
  }
  texts.push(after);
  return texts.join('');
}

function pieceOf({ run, hash }: Pick<UncompressedRun, 'run' | 'hash'>, bytes: Buffer): EncodedPiece {
  return { marks: run.marks, seams: run.seams, hash, bytes };
}

async function stored(text: Buffer, { compression }: EncodingOptions): Promise<Buffer> {
  return compression === 'none' ? text : copyToExactSize(await compress(text));
}

/**
 * Copies to a buffer of the exact size: buffers of zlib and Node's pool retain kilobytes that are
 * not accounted for.
 */
function copyToExactSize(from: Buffer | string): Buffer {
  if (typeof from === 'string') {
    const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(from));
    bytes.write(from);
    return bytes;
  }
  const bytes = Buffer.allocUnsafeSlow(from.length);
  from.copy(bytes);
  return bytes;
}

function hashOf(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('base64url').slice(0, 22);
}

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { inSlices } from '#base';
import type { Clock, Steps } from '#base';
import type { Part, Run } from './runs.ts';

const compress = promisify(gzip);

/** Runs whose texts are held at once, until they are compressed: more than Node has threads for it. */
const atOnce = 8;
/** Letters of such texts; a run that is longer is compressed alone. */
const lettersAtOnce = 1 << 20;

/** A run in the form in which it is stored, and what it was made of. */
export interface Piece {
  readonly marks: readonly number[];
  readonly seams: string;
  /** Of its text. */
  readonly hash: string;
  readonly bytes: Buffer;
}

/** What one key is to hold: pieces, one after the other. */
export interface Encoded {
  /** Of its text, and of nothing else. */
  readonly hash: string;
  readonly pieces: readonly Piece[];
}

export interface Encoding {
  readonly compression: 'gzip' | 'none';
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** A text that has to be compressed yet, and where it belongs. */
interface Raw {
  readonly run: Run;
  readonly hash: string;
  readonly text: Buffer;
  readonly into: Piece[];
  readonly place: number;
}

/**
 * The bytes of a text. Pieces of what was made last are used again: a run of the very same objects costs nothing, one that has the same text need not be
 * compressed. Texts are made in slices; compression runs on Node's own threads. Each piece is compressed by itself: the format says that such streams, one
 * after the other, are one stream (RFC 1952, 2.2), and Go's reader takes them so.
 */
export async function encode(
  parts: readonly Part[],
  last: readonly Piece[],
  how: Encoding,
  signal: AbortSignal,
): Promise<readonly Encoded[]> {
  const made: Piece[][] = parts.map(() => []);
  const jobs = parts.flatMap(({ runs }, part) => runs.map((run, place) => ({ run, place, into: made[part] ?? [] })));
  const pieces = new Pieces(last);
  for (let next = 0; next < jobs.length;) {
    const { raws, end } = await inSlices(textSteps(jobs, next, pieces), how, signal);
    next = end;
    await Promise.all(raws.map(async (raw) => void (raw.into[raw.place] = pieceOf(raw, await stored(raw.text, how)))));
  }
  return made.map((of) => ({ pieces: of, hash: hashOf(of.map(({ hash }) => hash).join(' ')) }));
}

/** The hash of all keys together. */
export function hashOfAll(encoded: readonly Encoded[]): string {
  return hashOf(encoded.map(({ hash }) => hash).join(' '));
}

/** Pieces as one, step by step. */
export function* joinSteps(pieces: readonly Piece[]): Steps<Buffer> {
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

/** The pieces of what was made last, by what they are known again. */
class Pieces {
  readonly #byMark = new Map<number, Piece>();
  readonly #byHash = new Map<string, Piece>();

  constructor(last: readonly Piece[]) {
    for (const piece of last) {
      const [first] = piece.marks;
      if (first !== undefined) this.#byMark.set(first, piece);
      this.#byHash.set(piece.hash, piece);
    }
  }

  ofRun({ marks, seams }: Run): Piece | undefined {
    const [first] = marks;
    const piece = first === undefined ? undefined : this.#byMark.get(first);
    const isSame =
      piece?.seams === seams &&
      piece.marks.length === marks.length &&
      piece.marks.every((mark, i) => mark === marks[i]);
    return isSame ? piece : undefined;
  }

  ofText(hash: string): Piece | undefined {
    return this.#byHash.get(hash);
  }
}

interface Job {
  readonly run: Run;
  readonly into: Piece[];
  readonly place: number;
}

/** Goes on from `from` until some texts wait for being compressed. */
function* textSteps(
  jobs: readonly Job[],
  from: number,
  pieces: Pieces,
): Steps<{ readonly raws: readonly Raw[]; readonly end: number }> {
  const raws: Raw[] = [];
  let letters = 0;
  let end = from;
  for (; end < jobs.length && raws.length < atOnce && letters < lettersAtOnce; end += 1) {
    const job = jobs[end];
    if (job === undefined) break;
    const { run, into, place } = job;
    const same = pieces.ofRun(run);
    if (same !== undefined) {
      into[place] = same;
      yield;
      continue;
    }
    const text = exact(yield* textOf(run));
    const hash = hashOf(text);
    const equal = pieces.ofText(hash);
    if (equal !== undefined) into[place] = pieceOf({ run, hash }, equal.bytes);
    else raws.push({ ...job, hash, text });
    letters += text.length;
  }
  return { raws, end };
}

function* textOf({ lists, after }: Run): Steps<string> {
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

function pieceOf({ run, hash }: Pick<Raw, 'run' | 'hash'>, bytes: Buffer): Piece {
  return { marks: run.marks, seams: run.seams, hash, bytes };
}

async function stored(text: Buffer, { compression }: Encoding): Promise<Buffer> {
  return compression === 'none' ? text : exact(await compress(text));
}

/** In memory of its own and no more than that: what zlib and Node's pool give out holds on to kilobytes that nobody has weighed. */
function exact(from: Buffer | string): Buffer {
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

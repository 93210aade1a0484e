import { defined, yieldToLoop } from '#base';
import { DesiredError } from '../../errors.ts';
import { encodedText } from './encodings.ts';
import { withIdent } from './ident-keyword.ts';

/** How `git checkout` on Linux changes the bytes of a file, by its attributes. */
export interface Conversion {
  /** Line ends become CRLF. `auto` leaves binary files alone, and those with a CR. */
  readonly crlf?: string;
  /** `$Id$` is expanded; git does that differently for a file that it holds as a whole. */
  readonly ident?: 'streamed' | 'whole';
  readonly encoding?: string;
  /** Why the file cannot be read. */
  readonly fault?: string;
}

interface RequestedFile {
  readonly oid: string;
  readonly size: number;
}
type ReadFiles = (files: readonly RequestedFile[], signal: AbortSignal) => Promise<ReadonlyMap<string, Uint8Array>>;

const convertedId = /^(\S+)(?: crlf=(\S+))?( ident=whole| ident=streamed)?(?: encoding=(\S+))?(?: fault=(.*))?$/s;

/**
 * Id of a converted file: the files of one blob with other attributes have other bytes, and all
 * caches go by the id.
 */
export function convertedOid(oid: string, { crlf, ident, encoding, fault }: Conversion): string {
  const words = Object.entries(defined({ crlf, ident, encoding, fault })).map(([key, value]) => ` ${key}=${value}`);
  return `${oid}${words.join('')}`;
}

/** The blob of an id, and the conversion if there is one. */
function blobOf(id: string): { readonly oid: string; readonly conversion?: Conversion } {
  if (!id.includes(' ')) return { oid: id };
  const [, oid = id, crlf, identWord, encoding, fault] = convertedId.exec(id) ?? [];
  const ident = identWord?.endsWith('whole') === true ? 'whole' : identWord && 'streamed';
  return { oid, conversion: defined({ crlf, ident: ident as Conversion['ident'], encoding, fault }) };
}

/** Upper bound for the bytes of a file: `$Id$` becomes 47 bytes, UTF-32 needs four for a letter. */
export function checkoutSize({ oid, size }: RequestedFile): number {
  const { conversion } = blobOf(oid);
  if (conversion === undefined) return size;
  const { crlf, ident, encoding } = conversion;
  const factor = (ident === undefined ? 1 : 12) * (crlf === undefined ? 1 : 2) * (encoding === undefined ? 1 : 4);
  return size * factor + 4;
}

/** Reads files as `git checkout` writes them. @throws DesiredError */
export async function readCheckout(
  read: ReadFiles,
  files: readonly RequestedFile[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Uint8Array>> {
  if (!files.some(({ oid }) => oid.includes(' '))) return read(files, signal);
  const blobs = new Map(files.map(({ oid, size }) => [oid, { ...blobOf(oid), size }] as const));
  for (const { conversion } of blobs.values())
    if (conversion?.fault !== undefined) throw new DesiredError('DESIRED_UNSUPPORTED', conversion.fault);
  const contents = await read([...blobs.values()], signal);
  const all = new Map<string, Uint8Array>();
  for (const [id, { oid, conversion }] of blobs) {
    const content = contents.get(oid);
    if (content === undefined) continue;
    all.set(id, conversion === undefined ? content : converted(content, oid, conversion));
    if (conversion !== undefined) await yieldToLoop();
  }
  return all;
}

/** Applies the conversions in the order of git. */
function converted(content: Uint8Array, oid: string, { ident, crlf, encoding }: Conversion): Uint8Array {
  let bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (ident !== undefined) bytes = withIdent(bytes, oid, ident);
  if (crlf !== undefined) bytes = withCrlf(bytes, crlf === 'auto');
  return encoding === undefined ? bytes : encodedText(bytes, encoding);
}

const lineFeed = 10;
const carriageReturn = 13;

/** Puts a CR in front of each LF that has none. */
function withCrlf(bytes: Buffer, isAuto: boolean): Buffer {
  if (isAuto && (bytes.includes(carriageReturn) || looksBinary(bytes))) return bytes;
  const parts: Buffer[] = [];
  const end = Buffer.from('\r\n');
  let from = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    if (at > 0 && bytes[at - 1] === carriageReturn) continue;
    parts.push(bytes.subarray(from, at), end);
    from = at + 1;
  }
  return from === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
}

/**
 * Git's guess (`convert_is_binary`): a NUL, or more than one control character in 128 printable
 * ones.
 */
function looksBinary(bytes: Buffer): boolean {
  let printable = 0;
  let others = 0;
  for (const [i, byte] of bytes.entries()) {
    if (byte === 0) return true;
    if (byte === lineFeed) continue;
    const isPrintable = (byte >= 32 && byte !== 127) || [8, 9, 12, 27].includes(byte);
    // A DOS end-of-file at the very end does not count.
    if (isPrintable) printable += 1;
    else if (byte !== 26 || i !== bytes.length - 1) others += 1;
  }
  return Math.floor(printable / 128) < others;
}

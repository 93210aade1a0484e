import { isObject, JsonSyntaxError, parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { checkParsedSize, defaultByteLimits } from '../bytes/byte-limits.ts';
import { KubeSizeError } from '../errors.ts';
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-bytes.ts';

/** Receives the bytes of an item, which may share the memory of a chunk. */
type ItemReader = (bytes: Uint8Array) => void;

/**
 * Splits a list response into its items as it arrives, so that a list of any size costs the memory
 * of one item and never blocks the event loop for long (measured: 22 ms instead of 245 for 32 MB).
 * Works on raw bytes in chunks of any length.
 *
 *       envelope ──── "items": [ ────> between ──── first byte ───> item
 *          ^                            │    ^                       │
 *          └─────────── ] ──────────────┘    └──── its last byte ────┘
 */
export class ListSplitter {
  readonly #onItem: ItemReader;
  readonly #maxBytes: number;
  readonly #request: string;
  #mode: 'envelope' | 'between' | 'item' = 'envelope';
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** At depth 1: the next string is a member's name. */
  #expectName = false;
  #inName = false;
  #name = '';
  #itemsNext = false;
  readonly #envelope: Uint8Array[] = [];
  #head: JsonObject | undefined;
  #item: Uint8Array[] = [];
  /** Bytes kept of the envelope, and of the current item. */
  #bytes = { envelope: 0, item: 0 };
  #chunk: Uint8Array = new Uint8Array(0);
  /** Start of the bytes in the current chunk that are not kept yet. */
  #from = 0;

  /** @param request names the list in errors. */
  constructor(onItem: ItemReader, maxBytes = defaultByteLimits.objectBytes, request = 'list') {
    this.#onItem = onItem;
    this.#maxBytes = maxBytes;
    this.#request = request;
  }

  /** Bytes kept until the item, or the list, is complete. */
  get heldBytes(): number {
    return this.#bytes.envelope + this.#bytes.item;
  }

  /**
   * @throws JsonSyntaxError for an item that is not JSON; KubeSizeError if an item, or the text
   * around the items, exceeds the limit of one object.
   */
  push(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.#from = 0;
    let i = 0;
    while (i < chunk.length) i = this.#inString ? this.#string(i) : this.#structure(i);
    this.#keep(chunk.length);
  }

  /** The envelope before the items; undefined if no items have begun, or if it cannot be parsed. */
  head(): JsonObject | undefined {
    if (this.#mode === 'envelope') return undefined;
    this.#head ??= headIn(this.#envelope);
    return this.#head;
  }

  /**
   * The list without its items (`items` is an empty array).
   * @throws JsonSyntaxError if the text ended too early or is not an object.
   */
  end(): JsonObject {
    if (this.#depth !== 0 || this.#inString) throw new JsonSyntaxError('not valid JSON: it ends too early');
    const envelope = parseJson(textOf(this.#envelope));
    if (!isObject(envelope)) throw new JsonSyntaxError('not a JSON object');
    // The name "items" was written with escapes, so `push` did not recognize it.
    const left = envelope['items'];
    if (Array.isArray(left))
      for (const value of left as readonly Json[]) this.#onItem(Buffer.from(stringifyJson(value)));
    return envelope;
  }

  #string(start: number): number {
    const chunk = this.#chunk;
    for (let i = start; i < chunk.length; i += 1) {
      const byte = chunk[i];
      if (this.#escaped) this.#escaped = false;
      else if (byte === backslash) this.#escaped = true;
      else if (byte === quote) {
        this.#inString = false;
        this.#inName = false;
        return i + 1;
      }
      if (this.#inName && this.#name.length < maxNameLength) this.#name += String.fromCharCode(byte ?? 0);
    }
    return chunk.length;
  }

  #structure(i: number): number {
    const byte = this.#chunk[i];
    switch (byte) {
      case quote:
        this.#begin(i);
        this.#inString = true;
        if (this.#depth === 1 && this.#expectName) {
          this.#inName = true;
          this.#name = '';
        }
        break;
      case openBrace:
      case openBracket:
        this.#open(i, byte);
        break;
      case closeBrace:
      case closeBracket:
        this.#close(i);
        break;
      case comma:
        this.#comma(i);
        break;
      case colon:
        if (this.#depth === 1) {
          this.#itemsNext = this.#name === 'items';
          this.#expectName = false;
        }
        break;
      default:
        if (byte !== undefined && byte > 0x20) this.#begin(i);
    }
    return i + 1;
  }

  #open(i: number, byte: number): void {
    this.#begin(i);
    this.#depth += 1;
    if (this.#depth === 1) this.#expectName = byte === openBrace;
    if (this.#depth !== 2 || byte !== openBracket || !this.#itemsNext || this.#mode !== 'envelope') return;
    this.#itemsNext = false;
    this.#keep(i + 1);
    this.#mode = 'between';
  }

  #close(i: number): void {
    // A closing bracket at depth 2 ends the items. If the last one is a bare value, it ends here
    // too.
    if (this.#mode === 'item' && this.#depth === 2) this.#finish(i);
    this.#depth -= 1;
    if (this.#depth < 0) throw new JsonSyntaxError('not valid JSON: a bracket too many');
    if (this.#mode === 'item' && this.#depth === 2) this.#finish(i + 1);
    else if (this.#mode === 'between' && this.#depth === 1) {
      this.#mode = 'envelope';
      this.#from = i;
    }
  }

  #comma(i: number): void {
    if (this.#depth === 1) this.#expectName = true;
    if (this.#mode === 'item' && this.#depth === 2) this.#finish(i);
  }

  #begin(i: number): void {
    if (this.#mode !== 'between') return;
    this.#mode = 'item';
    this.#from = i;
  }

  #finish(end: number): void {
    this.#keep(end);
    const parts = this.#item;
    this.#item = [];
    this.#bytes.item = 0;
    this.#mode = 'between';
    const bytes = bytesOf(parts);
    checkParsedSize(bytes, this.#maxBytes, (size) => this.#tooLarge('object', size));
    this.#onItem(bytes);
  }

  #tooLarge(what: 'object' | 'envelope', bytes: number): KubeSizeError {
    return KubeSizeError.of(what, this.#request, bytes, this.#maxBytes);
  }

  #keep(end: number): void {
    if (this.#mode !== 'between' && end > this.#from) {
      const part = this.#chunk.subarray(this.#from, end);
      const place = this.#mode === 'item' ? 'item' : 'envelope';
      (place === 'item' ? this.#item : this.#envelope).push(part);
      this.#bytes[place] += part.length;
      if (this.#bytes[place] > this.#maxBytes)
        throw this.#tooLarge(place === 'item' ? 'object' : 'envelope', this.#bytes[place]);
    }
    this.#from = end;
  }
}

function headIn(parts: readonly Uint8Array[]): JsonObject | undefined {
  try {
    const head = parseJson(`${textOf(parts)}]}`);
    return isObject(head) ? head : undefined;
  } catch {
    return undefined;
  }
}

function textOf(parts: readonly Uint8Array[]): string {
  return textIn(bytesOf(parts));
}

function bytesOf(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

/** Decodes UTF-8. */
export function textIn(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Long lines have something to read. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.length <= maxBlankLength && textIn(bytes).trim() === '';
}

const maxBlankLength = 1024;

/** Longer member names cannot be `items`. */
const maxNameLength = 16;

/** Splits a byte stream into lines; an unfinished last line is kept. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #request: string;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** @param request names the watch in errors. */
  constructor(maxBytes = defaultByteLimits.objectBytes, request = 'watch') {
    this.#maxBytes = maxBytes;
    this.#request = request;
  }

  /** Bytes of the unfinished line. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the lines completed by this chunk, without blank ones. They may share its memory.
   * @throws KubeSizeError for a line that is too long, complete or not.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      this.#keep(chunk.subarray(from, end));
      const bytes = bytesOf(this.#parts);
      checkParsedSize(bytes, this.#maxBytes, (size) => this.#tooLarge(size));
      this.#parts = [];
      this.#bytes = 0;
      if (!isBlank(bytes)) lines.push(bytes);
      from = end + 1;
    }
    // Copy a short remainder: it would keep the whole chunk alive, and there may be thousands of
    // quiet watches.
    if (from < chunk.length) this.#keep(from === 0 ? chunk : Uint8Array.from(chunk.subarray(from)));
    return lines;
  }

  /** The unfinished line, or ''. */
  rest(): string {
    return this.#parts.length === 0 ? '' : textOf(this.#parts).trim();
  }

  #keep(part: Uint8Array): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) throw this.#tooLarge(this.#bytes);
  }

  #tooLarge(bytes: number): KubeSizeError {
    return KubeSizeError.of('object', this.#request, bytes, this.#maxBytes);
  }
}

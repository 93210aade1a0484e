import { parseJson } from './json.ts';
import type { Json, JsonObject } from './json.ts';

/** A part of a text, in bytes: from the first to after the last. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** UTF-8 text outside the heap of JavaScript, where it costs no garbage collection. */
export class TextBytes {
  readonly #bytes: Buffer;
  readonly #isAscii: boolean;

  /** Copies the bytes: they may be part of a large buffer. */
  constructor(bytes: Uint8Array, isAscii: boolean) {
    // Not from the pool, which a single short text would keep in memory.
    this.#bytes = Buffer.allocUnsafeSlow(bytes.length);
    this.#bytes.set(bytes);
    this.#isAscii = isAscii;
  }

  textIn({ from, to }: ByteRange): string {
    return this.#bytes.toString(this.#isAscii ? 'latin1' : 'utf8', from, to);
  }

  hasSame(range: ByteRange, other: TextBytes, { from, to }: ByteRange): boolean {
    return this.#bytes.compare(other.#bytes, from, to, range.from, range.to) === 0;
  }
}

/** A JSON object or array that is kept as text, and parsed when it is read. */
export class DeferredJson<T extends JsonObject | readonly Json[]> {
  readonly #text: TextBytes;
  readonly #range: ByteRange;
  #value: WeakRef<T> | undefined;

  /** The text in the range must be valid JSON of this type; `read` throws otherwise. */
  constructor(text: TextBytes, range: ByteRange) {
    this.#text = text;
    this.#range = range;
  }

  /** Parses the text. Calls return one value while it is referenced. */
  read(): T {
    const known = this.#value?.deref();
    if (known !== undefined) return known;
    const value = parseJson(this.#text.textIn(this.#range)) as T;
    this.#value = new WeakRef(value);
    return value;
  }

  /** Whether both have the same text. Equal values may have different texts. */
  hasTextOf(other: DeferredJson<T>): boolean {
    return this.#text.hasSame(this.#range, other.#text, other.#range);
  }
}

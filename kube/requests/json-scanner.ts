import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-bytes.ts';

const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const letterU = 0x75;
/** The letters after a backslash, except `u`. */
const escapes = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)));
const words = ['true', 'false', 'null'].map((word) => Buffer.from(word));
/** Deeper values are left to the full parser, which limits the depth. */
const maxScanDepth = 64;
/** Longer numbers may be beyond the integers that a double can hold. */
const maxDigits = 15;

/** Gets a member, by its name if that is known, and skips its value. False: stop. */
export type MemberVisitor<N extends string> = (name: N | undefined) => boolean;

/** The names of members that a visitor distinguishes. */
export class MemberNames<N extends string> {
  readonly #names: readonly { readonly name: N; readonly bytes: Uint8Array }[];

  constructor(names: readonly N[]) {
    this.#names = names.map((name) => ({ name, bytes: Buffer.from(name) }));
  }

  /** Creates no string: most names are not distinguished. */
  find(bytes: Uint8Array, from: number, to: number): N | undefined {
    for (const { name, bytes: wanted } of this.#names)
      if (wanted.length === to - from && wanted.every((byte, i) => bytes[from + i] === byte)) return name;
    return undefined;
  }
}

/**
 * Checks JSON in bytes and finds where values begin and end, without creating them. It accepts only
 * texts that every parser reads alike, and gives up on the rest (returns false): escapes in the
 * names that it reports, numbers with many digits or an exponent, deep nesting, and errors.
 */
export class JsonScanner {
  readonly bytes: Uint8Array;
  /** All bytes of strings, combined: below 0x80 if they are ASCII. */
  #letters = 0;
  #at: number;
  #depth = 0;
  /** The last string has an escape. */
  #isEscaped = false;

  constructor(bytes: Uint8Array, from: number) {
    this.bytes = bytes;
    this.#at = from;
  }

  get at(): number {
    return this.#at;
  }

  /** Whether all scanned bytes are ASCII. */
  get isAscii(): boolean {
    return this.#letters < 0x80;
  }

  /** The kind of the next value, by its first byte. */
  isObject(): boolean {
    return this.bytes[this.#at] === openBrace;
  }

  isArray(): boolean {
    return this.bytes[this.#at] === openBracket;
  }

  /** Skips a value. */
  value(): boolean {
    const byte = this.bytes[this.#at];
    if (byte === quote) return this.#string();
    if (byte === openBrace) return this.members();
    if (byte === openBracket) return this.#array();
    return byte === minus || isDigit(byte) ? this.#number() : this.#word();
  }

  /** A string without escapes, which is skipped. */
  text(): string | undefined {
    const from = this.#at + 1;
    if (this.bytes[this.#at] !== quote || !this.#string() || this.#isEscaped) return undefined;
    const { bytes } = this;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + from, this.#at - 1 - from);
    return buffer.toString(this.isAscii ? 'latin1' : 'utf8');
  }

  /** Skips an object; `visit` gets its members, while the scanner is before each value. */
  members<N extends string>(names?: MemberNames<N>, visit?: MemberVisitor<N>): boolean {
    if (!this.#enter()) return false;
    if (this.#skip(closeBrace)) return this.#leave();
    for (;;) {
      if (!this.#member(names, visit)) return false;
      this.#space();
      if (this.#skip(closeBrace)) return this.#leave();
      if (!this.#skip(comma)) return false;
      this.#space();
    }
  }

  #member<N extends string>(names: MemberNames<N> | undefined, visit: MemberVisitor<N> | undefined): boolean {
    const from = this.#at + 1;
    if (this.bytes[this.#at] !== quote || !this.#string()) return false;
    const to = this.#at - 1;
    const isEscaped = this.#isEscaped;
    this.#space();
    if (!this.#skip(colon)) return false;
    this.#space();
    if (visit === undefined) return this.value();
    return !isEscaped && visit(names?.find(this.bytes, from, to));
  }

  #array(): boolean {
    if (!this.#enter()) return false;
    if (this.#skip(closeBracket)) return this.#leave();
    for (;;) {
      if (!this.value()) return false;
      this.#space();
      if (this.#skip(closeBracket)) return this.#leave();
      if (!this.#skip(comma)) return false;
      this.#space();
    }
  }

  #enter(): boolean {
    this.#depth += 1;
    this.#at += 1;
    this.#space();
    return this.#depth <= maxScanDepth;
  }

  #leave(): boolean {
    this.#depth -= 1;
    return true;
  }

  #string(): boolean {
    const { bytes } = this;
    const { length } = bytes;
    let letters = 0;
    let at = this.#at + 1;
    this.#isEscaped = false;
    while (at < length) {
      const byte = bytes[at] ?? 0;
      if (byte === quote) {
        this.#letters |= letters;
        this.#at = at + 1;
        return true;
      }
      if (byte < 0x20) return false;
      if (byte === backslash) {
        this.#isEscaped = true;
        at = escapeEnd(bytes, at);
        if (at < 0) return false;
      } else {
        letters |= byte;
        at += 1;
      }
    }
    return false;
  }

  #number(): boolean {
    const { bytes } = this;
    let at = this.#at;
    if (bytes[at] === minus) at += 1;
    const from = at;
    while (isDigit(bytes[at])) at += 1;
    if (at === from || (bytes[from] === zero && at > from + 1)) return false;
    if (bytes[at] === dot) {
      at += 1;
      const fraction = at;
      while (isDigit(bytes[at])) at += 1;
      if (at === fraction) return false;
    }
    const isLong = at - from > maxDigits;
    this.#at = at;
    return !isLong && !isLetter(bytes[at]);
  }

  #word(): boolean {
    const { bytes } = this;
    for (const word of words)
      if (word.every((byte, i) => bytes[this.#at + i] === byte)) {
        this.#at += word.length;
        return true;
      }
    return false;
  }

  #skip(byte: number): boolean {
    if (this.bytes[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    const { bytes } = this;
    for (let byte = bytes[this.#at]; isSpace(byte); byte = bytes[this.#at]) this.#at += 1;
  }
}

/** The place after an escape sequence; -1 if it is none. */
function escapeEnd(bytes: Uint8Array, at: number): number {
  const byte = bytes[at + 1] ?? 0;
  if (byte !== letterU) return escapes.has(byte) ? at + 2 : -1;
  for (let i = at + 2; i < at + 6; i += 1) if (!isHexDigit(bytes[i])) return -1;
  return at + 6;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}

/** A letter after a number: an exponent, or an error. */
function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
}

function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

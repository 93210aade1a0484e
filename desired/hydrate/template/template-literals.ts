import { TemplateError } from './template-error.ts';

/** A number of a template: its type follows from where it stands. */
export interface NumberLiteral {
  /** Set if the number is a whole one of 64 bits. */
  readonly int?: bigint;
  /** Unset for a number that only an uint64 holds. */
  readonly float?: number;
  /** Written as a float: without a type from its place, it is a float64. */
  readonly isFloat: boolean;
  readonly isRune: boolean;
}

const int64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n };

/** Reads a number or a character in single quotes as Go does. @throws TemplateError */
export function numberLiteral(text: string): NumberLiteral {
  if (text.startsWith("'")) {
    const chars = [...unescaped(text.slice(1, -1), "'")];
    if (chars.length !== 1) throw new TemplateError(`malformed character constant: ${text}`);
    const code = chars[0]?.codePointAt(0) ?? 0;
    return { int: BigInt(code), float: code, isFloat: false, isRune: true };
  }
  const whole = wholeNumber(text);
  if (whole !== undefined) {
    if (whole < int64.least || whole > int64.most) throw new TemplateError(`integer overflow: ${JSON.stringify(text)}`);
    return { int: whole, float: Number(whole), isFloat: false, isRune: false };
  }
  const digits = text.replaceAll('_', '');
  if (!/^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/.test(digits) || /__|_$|_\.|\._/.test(text))
    throw new TemplateError(`bad number syntax: ${JSON.stringify(text)}`);
  const float = Number(digits);
  if (!Number.isFinite(float)) throw new TemplateError(`bad number syntax: ${JSON.stringify(text)}`);
  const isWhole = Number.isInteger(float) && Math.abs(float) < 2 ** 63;
  return { ...(isWhole ? { int: BigInt(float) } : {}), float, isFloat: true, isRune: false };
}

/** Reads a whole number with Go's prefixes and underscores; undefined for other text. */
export function wholeNumber(text: string): bigint | undefined {
  const isNegative = text.startsWith('-');
  const body = text.replace(/^[-+]/, '');
  if (!/^(?:0[xX](?:_?[\da-fA-F])+|0[oO]?(?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?\d)*|0)$/.test(body)) return undefined;
  const digits = body.replaceAll('_', '').toLowerCase();
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return isNegative ? -value : value;
}

/** The content of a quoted or raw string. @throws TemplateError */
export function unquoted(text: string): string {
  return text.startsWith('`') ? text.slice(1, -1).replaceAll('\r', '') : unescaped(text.slice(1, -1), '"');
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

const escapeForm = /\\(?:x([\da-fA-F]{2})|([0-7]{3})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gsu;

function unescaped(body: string, quote: string): string {
  if (!body.includes('\\')) return body;
  const chunks: Buffer[] = [];
  let at = 0;
  for (const match of body.matchAll(escapeForm)) {
    chunks.push(Buffer.from(body.slice(at, match.index)), escapedBytes(match, quote));
    at = match.index + match[0].length;
  }
  chunks.push(Buffer.from(body.slice(at)));
  return Buffer.concat(chunks).toString('utf8');
}

function escapedBytes([whole, hex, octal, short, long, char]: RegExpExecArray, quote: string): Buffer {
  const byte = hex ?? octal;
  if (byte !== undefined) {
    const value = Number.parseInt(byte, hex === undefined ? 8 : 16);
    if (value <= 255) return Buffer.from([value]);
  }
  const code = Number.parseInt(short ?? long ?? 'x', 16);
  if (code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)) return Buffer.from(String.fromCodePoint(code));
  const simple = char === quote ? quote : simpleEscapes[char ?? ''];
  if (simple === undefined) throw new TemplateError(`a string has the invalid escape ${whole}`);
  return Buffer.from(simple);
}

/** An integer as `parseJson` reads it: a bigint where a double cannot represent it. */
export type ExactInteger = number | bigint;

const int64Limits = { least: -(2n ** 63n), most: 2n ** 63n - 1n };

/**
 * Go's strconv.ParseInt for 64 bits; undefined for text that Go refuses. With `prefixes` (base 0,
 * as in pflag) 0x, 0o, 0b, a leading 0 for octal, and underscores between digits are accepted.
 * Beyond 2^53 the number is rounded.
 */
export function parseGoInt(text: string, { prefixes = false } = {}): number | undefined {
  const value = parseInt64(text, prefixes);
  return value === undefined ? undefined : Number(value);
}

/** Go's strconv.Atoi, exact; undefined for text that Go refuses, and beyond 64 bits. */
export function parseGoAtoi(text: string): ExactInteger | undefined {
  const value = parseInt64(text, false);
  if (value === undefined) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Negative, zero or positive, as a comparator of sorts; exact for numbers and bigints mixed. */
export function compareIntegers(a: ExactInteger, b: ExactInteger): number {
  return a < b ? -1 : Number(a > b);
}

/** The largest of some integers and `least`. */
export function largestInteger(values: readonly ExactInteger[], least: ExactInteger): ExactInteger {
  return values.reduce((largest, value) => (value > largest ? value : largest), least);
}

/** The next integer, exact; the largest of 64 bits has none and stays. */
export function incrementInteger(value: ExactInteger): ExactInteger {
  if (typeof value === 'number' && value < Number.MAX_SAFE_INTEGER) return value + 1;
  const next = BigInt(value) + 1n;
  return next > int64Limits.most ? int64Limits.most : next;
}

/** A count or factor to calculate with, cut to what a double represents exactly. */
export function asCount(value: ExactInteger | null | undefined, absent: number): number {
  if (value === undefined || value === null) return absent;
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(Number.MIN_SAFE_INTEGER, Number(value)));
}

function parseInt64(text: string, prefixes: boolean): bigint | undefined {
  const digits = prefixes ? plainDigits(text.replace(/^[+-]/, '')) : text.replace(/^[+-]/, '');
  // The length bounds the work; longer texts with leading zeros do not occur.
  if (digits === undefined || digits.length > 200 || !/^(?:\d+|0x[\da-f]+|0o[0-7]+|0b[01]+)$/i.test(digits))
    return undefined;
  if (!prefixes && !/^\d+$/.test(digits)) return undefined;
  const value = BigInt(digits) * (text.startsWith('-') ? -1n : 1n);
  return value < int64Limits.least || value > int64Limits.most ? undefined : value;
}

/** Digits as BigInt reads them; undefined if underscores are misplaced. */
function plainDigits(text: string): string | undefined {
  if (text.includes('_') && !/^(?:0[xob]_?)?[\da-f]+(?:_[\da-f]+)*$/i.test(text)) return undefined;
  const digits = text.replaceAll('_', '');
  return /^0\d+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
}

/** Go's strconv.ParseFloat without hexadecimal and infinite numbers; undefined for other text. */
export function parseGoFloat(text: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

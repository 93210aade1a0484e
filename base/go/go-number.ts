const int64Limits = { least: -(2n ** 63n), most: 2n ** 63n - 1n };

/**
 * Go's strconv.ParseInt for 64 bits; undefined for text that Go refuses. With `prefixes` (base 0,
 * as in pflag) 0x, 0o, 0b, a leading 0 for octal, and underscores between digits are accepted.
 * Beyond 2^53 the number is rounded.
 */
export function parseGoInt(text: string, { prefixes = false } = {}): number | undefined {
  const digits = prefixes ? plainDigits(text.replace(/^[+-]/, '')) : text.replace(/^[+-]/, '');
  // The length bounds the work; longer texts with leading zeros do not occur.
  if (digits === undefined || digits.length > 200 || !/^(?:\d+|0x[\da-f]+|0o[0-7]+|0b[01]+)$/i.test(digits))
    return undefined;
  if (!prefixes && !/^\d+$/.test(digits)) return undefined;
  const value = BigInt(digits) * (text.startsWith('-') ? -1n : 1n);
  return value < int64Limits.least || value > int64Limits.most ? undefined : Number(value);
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

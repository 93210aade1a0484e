/**
 * An exact Kubernetes quantity: nanos and the notation it was written in. The server stores the
 * canonical text, not the input: "1000m" becomes "1" (apimachinery pkg/api/resource).
 */
export interface ParsedQuantity {
  readonly nanos: bigint;
  readonly notation: 'binary' | 'decimal' | 'exponent';
}

const nanosPerUnit = 1_000_000_000n;
const decimalSuffixes = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const suffixByExponent = new Map([...decimalSuffixes].map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const unknownSuffix = "unable to parse quantity's suffix";

/** Parses a quantity; a string result is the server's error message. */
export function parseQuantity(text: string): ParsedQuantity | string {
  const match = /^([+-]?)([0-9]*)(?:[.]([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text);
  if (match === null) return wrongFormat;
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match;
  // A second sign counts as the start of a suffix.
  if (whole === '' && fraction === '') return /^[-+]/.test(suffix) ? unknownSuffix : wrongFormat;
  const scale = readSuffix(suffix);
  if (scale === undefined) return unknownSuffix;
  const digits = BigInt(`${whole}${fraction}`) * scale.factor;
  const magnitude = scaleUp(digits, 9 + scale.exponent - fraction.length);
  return { nanos: sign === '-' ? -magnitude : magnitude, notation: scale.notation };
}

function readSuffix(
  suffix: string,
): { factor: bigint; exponent: number; notation: ParsedQuantity['notation'] } | undefined {
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { factor: 1024n ** BigInt(binary), exponent: 0, notation: 'binary' };
  const exponent = decimalSuffixes.get(suffix);
  if (exponent !== undefined) return { factor: 1n, exponent, notation: 'decimal' };
  const scientific = /^[eE]([-+]?[0-9]{1,3})$/.exec(suffix);
  return scientific === null ? undefined : { factor: 1n, exponent: Number(scientific[1]), notation: 'exponent' };
}

/** digits × 10^exponent, rounded up to an integer: a positive amount never becomes zero. */
function scaleUp(digits: bigint, exponent: number): bigint {
  if (exponent >= 0) return digits * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return digits / divisor + (digits % divisor === 0n ? 0n : 1n);
}

/** The canonical text. */
export function formatQuantity(quantity: ParsedQuantity): string {
  const { nanos } = quantity;
  if (nanos === 0n) return '0';
  const whole = nanos % nanosPerUnit === 0n;
  const small = nanos > -1024n * nanosPerUnit && nanos < 1024n * nanosPerUnit;
  if (quantity.notation === 'binary' && whole && !small) return formatBinary(nanos / nanosPerUnit);
  return formatDecimal(nanos, quantity.notation === 'exponent');
}

function formatBinary(value: bigint): string {
  let rest = value;
  let power = 0;
  while (rest % 1024n === 0n && power < binarySuffixes.length - 1) {
    rest /= 1024n;
    power += 1;
  }
  return `${rest}${binarySuffixes[power] ?? ''}`;
}

function formatDecimal(nanos: bigint, scientific: boolean): string {
  let rest = nanos;
  let exponent = -9;
  while (rest % 1000n === 0n && (scientific || exponent < 18)) {
    rest /= 1000n;
    exponent += 3;
  }
  if (scientific) return exponent === 0 ? String(rest) : `${rest}e${exponent}`;
  return `${rest}${suffixByExponent.get(exponent) ?? ''}`;
}

/** The canonical text of a quantity in JSON (a number or a string); undefined if it is invalid. */
export function canonicalQuantityText(value: string | number | bigint): string | undefined {
  const parsed = parseQuantity(String(value).trim());
  return typeof parsed === 'string' ? undefined : formatQuantity(parsed);
}

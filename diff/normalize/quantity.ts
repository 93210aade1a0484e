/**
 * Converts Kubernetes quantities ("1500m", "1.5Gi", 2, "1e3") to the form in which the API server
 * writes them, so that two spellings of one amount compare equal (k8s.io/apimachinery
 * resource.Quantity: CanonicalizeBytes). Exact: computes in whole nano units.
 */
const quantityPattern = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?$/;
/** Spaces that the API server cuts off when it reads JSON: only those that JSON does not escape. */
const outerSpaces =
  /^[ \u0085\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+|[ \u0085\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+$/g;
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const nanosPerUnit = 1_000_000_000n;
const nanosPerThousandth = 1_000_000n;
const maxDecimalExponent = 100;
/** Go reads `Ti` without digits as zero, and refuses `Pi` and `Ei`. */
const maxBareBinary = 4;

/**
 * Longer texts are not parsed: a number with a million digits would take long, and is never meant.
 */
const maxParsedLength = 200;

/**
 * Returns the canonical text, undefined if it is not a quantity. `thousandths` rounds up, as in
 * resource lists (SetDefaults_ResourceList).
 */
export function canonicalQuantity(
  value: string | number | bigint,
  precision: 'exact' | 'thousandths' = 'exact',
): string | undefined {
  if (typeof value !== 'string' || value.length > maxCachedLength) return canonicalText(value, precision);
  const known = canonicalTexts[precision].get(value);
  if (known !== undefined) return known.text;
  if (canonicalTexts[precision].size >= maxCachedTexts) canonicalTexts[precision].clear();
  const text = canonicalText(value, precision);
  canonicalTexts[precision].set(value, { text });
  return text;
}

/** Cache: objects repeat the same few amounts. */
const canonicalTexts = {
  exact: new Map<string, { readonly text: string | undefined }>(),
  thousandths: new Map<string, { readonly text: string | undefined }>(),
};
const maxCachedTexts = 5000;
const maxCachedLength = 20;

function canonicalText(value: string | number | bigint, precision: 'exact' | 'thousandths'): string | undefined {
  const amount = parseQuantity(value);
  if (amount === undefined) return undefined;
  const nanos = precision === 'exact' ? amount.nanos : nanosPerThousandth * thousandths(amount.nanos);
  const text = quantityText(nanos, amount.binary, amount.exponent);
  return amount.negative && nanos > 0n ? `-${text}` : text;
}

/**
 * Returns thousandths of the unit, rounded up (resource.Quantity: MilliValue); undefined if the
 * text is not a quantity.
 */
export function milliQuantity(value: string | number | bigint): number | undefined {
  const amount = parseQuantity(value);
  if (amount === undefined) return undefined;
  const size = Number(thousandths(amount.nanos));
  return amount.negative && size > 0 ? -size : size;
}

interface ParsedQuantity {
  /** Absolute value. */
  readonly nanos: bigint;
  readonly negative: boolean;
  readonly binary: boolean;
  readonly exponent: boolean;
}

function parseQuantity(value: string | number | bigint): ParsedQuantity | undefined {
  const written = String(value).replaceAll(outerSpaces, '');
  // Go reads a sign, a point or a suffix without digits as zero.
  const match = written === '' || written.length > maxParsedLength ? null : quantityPattern.exec(written);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', suffix = '', exponentText] = match;
  const binary = binarySuffixes.indexOf(suffix);
  if (whole === '' && fraction === '' && binary > maxBareBinary) return undefined;
  const scale = binary > 0 ? 0 : powerOf(suffix, exponentText);
  if (Math.abs(scale) > maxDecimalExponent) return undefined;
  const factor = binary > 0 ? 1024n ** BigInt(binary) : 1n;
  const nanos = scaled(BigInt(`${whole}${fraction}`) * factor, scale - fraction.length + 9);
  return { nanos, negative: sign === '-', binary: binary > 0, exponent: exponentText !== undefined };
}

function quantityText(nanos: bigint, isBinary: boolean, asExponent: boolean): string {
  return isBinary && isWholeKi(nanos) ? binaryText(nanos) : decimalText(nanos, asExponent);
}

function isWholeKi(nanos: bigint): boolean {
  return nanos >= 1024n * nanosPerUnit && nanos % nanosPerUnit === 0n;
}

function thousandths(nanos: bigint): bigint {
  return (nanos + nanosPerThousandth - 1n) / nanosPerThousandth;
}

/** The power of ten of a decimal suffix or exponent. */
function powerOf(suffix: string, exponent: string | undefined): number {
  return exponent === undefined ? 3 * (decimalSuffixes.indexOf(suffix) - 3) : Number(exponent);
}

/** value x 10^power, rounded away from zero. */
function scaled(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (value + divisor - 1n) / divisor;
}

function binaryText(nanos: bigint): string {
  let amount = nanos / nanosPerUnit;
  let step = 0;
  while (step < binarySuffixes.length - 1 && amount % 1024n === 0n) {
    amount /= 1024n;
    step += 1;
  }
  return `${amount}${binarySuffixes[step] ?? ''}`;
}

function decimalText(nanos: bigint, asExponent: boolean): string {
  if (nanos === 0n) return '0';
  let [amount, step] = [nanos, 0];
  while (step < decimalSuffixes.length - 1 && amount % 1000n === 0n) {
    amount /= 1000n;
    step += 1;
  }
  if (!asExponent) return `${amount}${decimalSuffixes[step] ?? ''}`;
  return step === 3 ? String(amount) : `${amount}e${3 * (step - 3)}`;
}

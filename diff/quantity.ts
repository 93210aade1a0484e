/**
 * Kubernetes quantities ("1500m", "1.5Gi", 2, "1e3") in the one form in which the API server writes them back, so that two spellings of one
 * amount compare equal (k8s.io/apimachinery resource.Quantity: CanonicalizeBytes). Exact: whole numbers of nano units.
 */
const pattern = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?$/;
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const nano = 1_000_000_000n;
const milli = 1_000_000n;
const maxExponent = 100;

/**
 * The canonical text, undefined when the text is not a quantity. Amounts in lists of resources are rounded up to thousandths
 * (SetDefaults_ResourceList).
 */
export function canonicalQuantity(
  value: string | number | bigint,
  precision: 'exact' | 'thousandths' = 'exact',
): string | undefined {
  const match = pattern.exec(String(value));
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', suffix = '', exponentText] = match;
  if (whole === '' && fraction === '') return undefined;
  const binary = binarySuffixes.indexOf(suffix);
  const scale = binary > 0 ? 0 : powerOf(suffix, exponentText);
  if (Math.abs(scale) > maxExponent) return undefined;
  const factor = binary > 0 ? 1024n ** BigInt(binary) : 1n;
  const exact = scaled(BigInt(`${whole}${fraction}`) * factor, scale - fraction.length + 9);
  const nanos = precision === 'exact' ? exact : roundedUp(exact);
  const text = textOf(nanos, binary > 0, exponentText !== undefined);
  return sign === '-' && nanos > 0n ? `-${text}` : text;
}

function textOf(nanos: bigint, isBinary: boolean, asExponent: boolean): string {
  return isBinary && isWholeKi(nanos) ? binaryText(nanos) : decimalText(nanos, asExponent);
}

function isWholeKi(nanos: bigint): boolean {
  return nanos >= 1024n * nano && nanos % nano === 0n;
}

function roundedUp(nanos: bigint): bigint {
  return ((nanos + milli - 1n) / milli) * milli;
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
  let amount = nanos / nano;
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

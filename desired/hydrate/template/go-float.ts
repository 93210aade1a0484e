/** The shortest digits of a number and its exponent: 1234.5 is `12345` and 3. */
function digitsOf(value: number): { readonly digits: string; readonly exponent: number } {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e');
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) };
}

/** Formats a float64 as Go's `%v` and `%g`; `precision` is the number of digits, if it is given. */
export function formatG(value: number, precision?: number): string {
  const special = specialFloat(value);
  if (special !== undefined) return special;
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const { digits, exponent } = precision === undefined ? digitsOf(value) : rounded(value, Math.max(1, precision));
  const shown = digits.replace(/0+$/, '') || '0';
  const usual = precision === undefined ? 6 : Math.max(1, precision);
  const limit = precision !== undefined && usual > shown.length && shown.length >= exponent + 1 ? shown.length : usual;
  const sign = value < 0 ? '-' : '';
  if (exponent < -4 || exponent >= limit) {
    const fraction = shown.length > 1 ? `.${shown.slice(1)}` : '';
    return `${sign}${shown.slice(0, 1)}${fraction}e${exponentText(exponent)}`;
  }
  return `${sign}${plainDigits(shown, exponent)}`;
}

/** The first `precision` digits, rounded half to even as in Go. */
function rounded(value: number, precision: number): { readonly digits: string; readonly exponent: number } {
  const { exponent } = digitsOf(value);
  const digits = String(scaledToWhole(Math.abs(value), precision - 1 - exponent));
  // Rounding up may add a digit: 9.99 becomes 10.
  return digits.length > precision ? { digits: digits.slice(0, -1), exponent: exponent + 1 } : { digits, exponent };
}

/** The number times 10 to the power of `places` as a whole number; ties go to the even one. */
function scaledToWhole(value: number, places: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const [power, fraction] = [Number((raw >> 52n) & 0x7ffn), raw & (2n ** 52n - 1n)];
  const shift = Math.max(power, 1) - 1075;
  const numerator = (power === 0 ? fraction : fraction + 2n ** 52n) * 2n ** BigInt(Math.max(0, shift)) * tenTo(places);
  const denominator = 2n ** BigInt(Math.max(0, -shift)) * tenTo(-places);
  const [whole, rest] = [numerator / denominator, (numerator % denominator) * 2n];
  const isUp = rest > denominator || (rest === denominator && whole % 2n === 1n);
  return isUp ? whole + 1n : whole;
}

function tenTo(power: number): bigint {
  return 10n ** BigInt(Math.max(0, power));
}

function plainDigits(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return digits.padEnd(exponent + 1, '0');
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

/** Formats as `%e`. */
export function formatE(value: number, precision: number): string {
  const special = specialFloat(value);
  if (special !== undefined) return special;
  const { digits, exponent } =
    value === 0 ? { digits: '0'.repeat(precision + 1), exponent: 0 } : rounded(value, precision + 1);
  const fraction = precision > 0 ? `.${digits.slice(1)}` : '';
  return `${signText(value)}${digits.slice(0, 1)}${fraction}e${exponentText(exponent)}`;
}

/** Formats as `%f`. */
export function formatF(value: number, precision: number): string {
  const special = specialFloat(value);
  if (special !== undefined) return special;
  const digits = String(scaledToWhole(Math.abs(value), precision)).padStart(precision + 1, '0');
  const whole = digits.slice(0, digits.length - precision);
  return `${signText(value)}${whole}${precision > 0 ? `.${digits.slice(-precision)}` : ''}`;
}

function signText(value: number): string {
  return value < 0 || Object.is(value, -0) ? '-' : '';
}

function specialFloat(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return undefined;
  return value > 0 ? '+Inf' : '-Inf';
}

function exponentText(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

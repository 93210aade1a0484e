import { TemplateError } from '../template-error.ts';

/** A decimal number: `digits` times 10 to the power of `exponent`. */
export interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Digits behind the point of a quotient, as in Sprig's decimal library. */
const quotientDigits = 16;

/** The shortest decimal number that is this float. @throws TemplateError */
export function decimalOf(value: number): Decimal {
  if (!Number.isFinite(value)) throw new TemplateError(`cannot create a Decimal from ${value}`);
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

export function numberOf({ digits, exponent }: Decimal): number {
  return Number(`${digits}e${exponent}`);
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent);
  return { digits: scaled(a, exponent) + scaled(b, exponent), exponent };
}

export function subtractDecimals(a: Decimal, b: Decimal): Decimal {
  return addDecimals(a, { ...b, digits: -b.digits });
}

export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, exponent: a.exponent + b.exponent };
}

/**
 * The quotient to 16 digits behind the point, rounded away from zero at the half.
 * @throws TemplateError
 */
export function divideDecimals(a: Decimal, b: Decimal): Decimal {
  if (b.digits === 0n) throw new TemplateError('decimal division by 0');
  const power = a.exponent - b.exponent + quotientDigits;
  const numerator = a.digits * 10n ** BigInt(Math.max(0, power));
  const denominator = b.digits * 10n ** BigInt(Math.max(0, -power));
  const twice = (numerator * 2n) / denominator;
  return { digits: (twice + (twice < 0n ? -1n : 1n)) / 2n, exponent: -quotientDigits };
}

import { addDecimals, decimalOf, divideDecimals, multiplyDecimals, numberOf, subtractDecimals } from './decimal.ts';
import type { Decimal } from './decimal.ts';
import { parseGoFloat } from '#base';
import { sprint } from '../go-print.ts';
import { wholeNumber } from '../template-literals.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable, TemplateFunction } from '../template-function.ts';
import { GoInt, GoList } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

const int64 = (value: bigint): GoInt => new GoInt(value, 'int64');

const max = fn('any,any...', ({ args }) => int64(args.map(toInt).reduce((a, b) => (b > a ? b : a))));

/** Numbers. Those of 64 bits overflow as in Go. */
export const numberFunctions: FunctionTable = {
  atoi: fn('string', (call) => {
    const value = /^[-+]?\d+$/.test(call.text(0)) ? BigInt(call.text(0).replace(/^\+/, '')) : 0n;
    return new GoInt(BigInt.asIntN(64, value) === value ? value : value < 0n ? -(2n ** 63n) : 2n ** 63n - 1n);
  }),
  int: fn('any', (call) => new GoInt(toInt(call.value(0)))),
  int64: fn('any', (call) => int64(toInt(call.value(0)))),
  float64: fn('any', (call) => toFloat(call.value(0))),
  toDecimal: fn('any', ({ args: [value = null], budget }) => {
    const digits = /^([-+]?)([0-7]+)$/.exec(sprint(value, budget));
    if (digits === null || (digits[2] ?? '').length > 21) return int64(0n);
    const size = BigInt(`0o${digits[2] ?? '0'}`);
    return int64(digits[1] === '-' ? -size : size);
  }),
  add1: fn('any', (call) => int64(toInt(call.value(0)) + 1n)),
  add: fn('any...', ({ args }) => int64(args.map(toInt).reduce((a, b) => a + b, 0n))),
  sub: fn('any,any', (call) => int64(toInt(call.value(0)) - toInt(call.value(1)))),
  div: fn('any,any', (call) => int64(toInt(call.value(0)) / divisor(call))),
  mod: fn('any,any', (call) => int64(toInt(call.value(0)) % divisor(call))),
  mul: fn('any,any...', ({ args }) => int64(args.map(toInt).reduce((a, b) => BigInt.asIntN(64, a * b)))),
  max,
  biggest: max,
  min: fn('any,any...', ({ args }) => int64(args.map(toInt).reduce((a, b) => (b < a ? b : a)))),
  maxf: fn('any,any...', ({ args }) => Math.max(...args.map(toFloat))),
  minf: fn('any,any...', ({ args }) => Math.min(...args.map(toFloat))),
  add1f: fn('any', (call) => numberOf(addDecimals(decimalOf(toFloat(call.value(0))), decimalOf(1)))),
  addf: fn('any...', ({ args }) => numberOf(args.map(decimalArgument).reduce(addDecimals, decimalOf(0)))),
  subf: fn('any,any...', ({ args }) => numberOf(args.map(decimalArgument).reduce(subtractDecimals))),
  mulf: fn('any,any...', ({ args }) => numberOf(args.map(decimalArgument).reduce(multiplyDecimals))),
  divf: fn('any,any...', ({ args }) => numberOf(args.map(decimalArgument).reduce(divideDecimals))),
  ceil: fn('any', (call) => Math.ceil(toFloat(call.value(0)))),
  floor: fn('any', (call) => Math.floor(toFloat(call.value(0)))),
  round: fn('any,int,float64...', rounded),
  ...sequences(),
};

function sequences(): FunctionTable {
  const list = (call: FunctionCall, steps: Steps): GoList =>
    new GoList(
      intsOf(call, steps).map((value) => new GoInt(value)),
      'int',
    );
  const until: TemplateFunction = fn('int', (call) => {
    const count = call.int(0);
    return list(call, { start: 0, stop: count, step: count < 0 ? -1 : 1 });
  });
  return {
    until,
    untilStep: fn('int,int,int', (call) => list(call, { start: call.int(0), stop: call.int(1), step: call.int(2) })),
    seq: fn('int...', (call) => sequence(call)),
  };
}

interface Steps {
  readonly start: number;
  /** The first number that is not part of it. */
  readonly stop: number;
  readonly step: number;
}

function intsOf({ budget }: FunctionCall, { start, stop, step }: Steps): readonly number[] {
  if (stop < start ? step >= 0 : step <= 0) return [];
  const count = Math.ceil((stop - start) / step);
  budget.expectItems(count);
  return Array.from({ length: count }, (_, i) => start + i * step);
}

function sequence(call: FunctionCall): string {
  const numbers = call.args.map((_, i) => call.int(i));
  const [first = 1, second = 1, third = 1] = numbers;
  if (numbers.length === 0 || numbers.length > 3) return '';
  const start = numbers.length === 1 ? 1 : first;
  const end = numbers.length === 1 ? first : numbers.length === 2 ? second : third;
  const direction = end < start ? -1 : 1;
  const step = numbers.length === 3 ? second : direction;
  if (direction < 0 && step > 0) return '';
  return intsOf(call, { start, stop: end + direction, step }).join(' ');
}

/** Sprig's toInt64: what is no number counts as 0. */
export function toInt(value: TemplateValue): bigint {
  if (value instanceof GoInt) return BigInt.asIntN(64, value.value);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') {
    const whole = Math.trunc(value);
    return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : -(2n ** 63n);
  }
  if (typeof value !== 'string' || value.length > 100) return 0n;
  const whole = wholeNumber(value.replace(/\.0*$/, '')) ?? 0n;
  return BigInt.asIntN(64, whole) === whole ? whole : 0n;
}

function toFloat(value: TemplateValue): number {
  if (typeof value === 'number') return value;
  if (value instanceof GoInt) return Number(value.value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'string' ? (parseGoFloat(value) ?? 0) : 0;
}

function decimalArgument(value: TemplateValue): Decimal {
  return decimalOf(toFloat(value));
}

function divisor(call: FunctionCall): bigint {
  const by = toInt(call.value(1));
  if (by === 0n) throw new TemplateError('runtime error: integer divide by zero');
  return by;
}

function rounded(call: FunctionCall): number {
  const places = 10 ** call.int(1);
  const digits = toFloat(call.value(0)) * places;
  const from = call.args.length > 2 ? toFloat(call.value(2)) : 0.5;
  return (digits - Math.trunc(digits) >= from ? Math.ceil(digits) : Math.floor(digits)) / places;
}

import { describe, expect, it } from '@jest/globals';
import {
  asCount,
  compareIntegers,
  incrementInteger,
  largestInteger,
  parseGoAtoi,
  parseGoFloat,
  parseGoInt,
} from './go-number.ts';

describe('parseGoInt', () => {
  it.each([
    ['7', 7, 7],
    ['+7', 7, 7],
    ['-7', -7, -7],
    ['007', 7, 7],
    ['010', 10, 8],
    ['9223372036854775807', 2 ** 63, 2 ** 63],
    ['-9223372036854775808', -(2 ** 63), -(2 ** 63)],
    ['9223372036854775808', undefined, undefined],
    ['0x1f', undefined, 31],
    ['-0X1F', undefined, -31],
    ['0b11', undefined, 3],
    ['0o17', undefined, 15],
    ['1_000', undefined, 1000],
    ['0x_1f', undefined, 31],
    ['0_7', undefined, 7],
    ['1__0', undefined, undefined],
    ['_1', undefined, undefined],
    ['1_', undefined, undefined],
    ['08', 8, undefined],
    ['', undefined, undefined],
    ['+', undefined, undefined],
    [' 7', undefined, undefined],
    ['7\n', undefined, undefined],
    ['1e3', undefined, undefined],
    ['1.0', undefined, undefined],
    ['９', undefined, undefined],
    ['0x', undefined, undefined],
    ['abc', undefined, undefined],
  ])('"%s" is %s in the environment and %s as a flag', (text, decimal, prefixed) => {
    expect([parseGoInt(text), parseGoInt(text, { prefixes: true })]).toEqual([decimal, prefixed]);
  });
});

describe('exact integers', () => {
  const largest = 2n ** 63n - 1n;

  it('are numbers as far as a double represents them, then bigints', () => {
    expect(['9007199254740991', '9007199254740992', '-9007199254740993'].map(parseGoAtoi)).toEqual([
      9007199254740991,
      9007199254740992n,
      -9007199254740993n,
    ]);
  });

  it('are compared, counted on and cut without loss', () => {
    const sorted = [2n ** 60n + 1n, 3, -1, 2n ** 60n].sort(compareIntegers);
    expect(sorted).toEqual([-1, 3, 2n ** 60n, 2n ** 60n + 1n]);
    expect([largestInteger(sorted, 0), largestInteger([-5], 0)]).toEqual([2n ** 60n + 1n, 0]);
    expect([1, Number.MAX_SAFE_INTEGER, largest].map(incrementInteger)).toEqual([2, 2n ** 53n, largest]);
    expect([asCount(undefined, 7), asCount(null, 7), asCount(3, 7), asCount(largest, 7), asCount(-largest, 7)]).toEqual(
      [7, 7, 3, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    );
  });
});

describe('parseGoFloat', () => {
  it.each([
    ['1.5', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['-1e3', -1000],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['1e400', undefined],
    ['NaN', undefined],
    ['', undefined],
    ['0x10', undefined],
    [' 1', undefined],
    ['1,5', undefined],
  ])('"%s" is %s', (text, value) => {
    expect(parseGoFloat(text)).toEqual(value);
  });
});

import { describe, expect, it } from '@jest/globals';
import { parseGoFloat, parseGoInt } from './go-number.ts';

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

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalQuantityText, formatQuantity, parseQuantity } from './quantity.ts';

describe('quantities become canonical', () => {
  it.each([
    ['1000m', '1'],
    ['100m', '100m'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1.', '1'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['512', '512'],
    ['1Ki', '1Ki'],
    ['2000', '2k'],
    ['1000000', '1M'],
    ['128974848', '128974848'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['1E', '1E'],
    ['12E2', '1200'],
    ['0.1Mi', '104857600m'],
    ['0.5Ki', '512'],
    ['1n', '1n'],
    ['0.0000000001', '1n'],
    ['-1', '-1'],
    ['-1500m', '-1500m'],
    ['0', '0'],
    ['0Gi', '0'],
    ['+2', '2'],
    ['9007199254740993', '9007199254740993'],
  ])('%s -> %s', (text, canonical) => {
    expect(canonicalQuantityText(text)).toBe(canonical);
  });

  it.each([
    [1, '1'],
    [0.5, '500m'],
    [2500, '2500'],
    [9007199254740993n, '9007199254740993'],
  ])('the number %s -> %s', (value, canonical) => {
    expect(canonicalQuantityText(value)).toBe(canonical);
  });

  it.each([
    ['', /must match the regular expression/],
    ['abc', /must match the regular expression/],
    ['.', /must match the regular expression/],
    ['1Q', /must match the regular expression/],
    ['1mm', /unable to parse quantity's suffix/],
    ['1Kk', /unable to parse quantity's suffix/],
  ])('rejects "%s"', (text, why) => {
    expect(parseQuantity(text)).toEqual(expect.stringMatching(why));
  });

  it('loses nothing: the canonical text parses to the same amount and is stable', () => {
    const suffix = fc.constantFrom('n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e2', 'E-2');
    fc.assert(
      fc.property(fc.integer({ min: -100_000, max: 1_000_000 }), suffix, (digits, unit) => {
        const parsed = parseQuantity(`${digits}${unit}`);
        if (typeof parsed === 'string') throw new Error(parsed);
        const text = formatQuantity(parsed);
        const again = parseQuantity(text);
        expect(again).toMatchObject({ nanos: parsed.nanos });
        expect(canonicalQuantityText(text)).toBe(text);
      }),
    );
  });
});

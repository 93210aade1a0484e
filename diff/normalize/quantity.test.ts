import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalQuantity } from './quantity.ts';

const [, ...quantities] = readFileSync(new URL('../testdata/quantities.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { readonly text: string; readonly canonical: string | null });

describe('canonicalQuantity', () => {
  it.each(quantities)('writes $text as $canonical', ({ text, canonical }) => {
    expect(canonicalQuantity(text)).toBe(canonical ?? undefined);
  });

  it('reads a suffix without digits as zero, like Go, but no empty text', () => {
    expect(['m', 'Ki', '-', '+k', '.', 'e3'].map((text) => canonicalQuantity(text))).toEqual(Array(6).fill('0'));
    expect(canonicalQuantity('')).toBeUndefined();
  });

  it('cuts off outer spaces, which the API server does, but no tab, which JSON escapes', () => {
    expect([' 1Gi', '1000m ', '\u00a00.5\u3000'].map((text) => canonicalQuantity(text))).toEqual(['1Gi', '1', '500m']);
    expect(['\t1', '1\n', '1 Gi', ' '].map((text) => canonicalQuantity(text))).toEqual(Array(4).fill(undefined));
  });

  it('accepts numbers and is idempotent', () => {
    expect([0.5, 1, 1500n, -2].map((value) => canonicalQuantity(value))).toEqual(['500m', '1', '1500', '-2']);
    const quantity = fc.tuple(
      fc.integer({ min: 0, max: 10 ** 9 }),
      fc.constantFrom('', 'm', 'k', 'Mi', 'Gi', 'e3', 'n'),
    );
    fc.assert(
      fc.property(quantity, ([amount, suffix]) => {
        const once = canonicalQuantity(`${amount}${suffix}`)!;
        expect(canonicalQuantity(once)).toBe(once);
      }),
    );
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json } from '#base';
import { DiffRulesError } from './errors.ts';
import { compileRemover } from './jq.ts';
import { canonicalQuantity } from './quantity.ts';

function lines(name: string): unknown[] {
  const text = readFileSync(new URL(`./testdata/${name}`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
const [head, ...vectors] = lines('jq.ndjson') as [{ input: Json }, ...{ expression: string; result: Json }[]];

describe('compileRemover', () => {
  it.each(vectors)('removes as jq does: $expression', ({ expression, result }) => {
    const before = JSON.stringify(head.input);
    expect(compileRemover(expression)(head.input)).toEqual(result ?? head.input);
    expect(JSON.stringify(head.input)).toBe(before);
  });

  it.each([
    '.a | @base64d',
    '.l | map(.image)',
    '.l[1:]',
    '.. | objects',
    '.a + 1',
    '.a as $x | $x',
    'if .a then .b else .c end',
    '.a = 1',
    '"\\(.a)"',
    '.a |',
    '.[',
    '(.a',
    '.a)',
    '.a..b',
    'select(.a)(.b)',
    'select()',
    'has("a"; "b")',
    '',
    '.'.repeat(5000),
    `${'('.repeat(200)}.a${')'.repeat(200)}`,
    '.a | select(test("(a+)+$"))',
    '.a | select(test("(a|a)*$"))',
    '.a | select(test("(.)\\\\1"))',
    '.a | select(test(".*.*.*.*x"))',
    '.a | select(test(.b))',
  ])('refuses %s and names it', (expression) => {
    const refusal = (): unknown => compileRemover(expression);
    expect(refusal).toThrow(DiffRulesError);
    expect(refusal).toThrow(`"${expression.slice(0, 80)}`);
  });

  it('keeps the reference when there is nothing to remove', () => {
    expect(compileRemover('.nothing.here')(head.input)).toBe(head.input);
    expect(compileRemover('.l[] | .nothing?')(head.input)).toBe(head.input);
  });

  it('gives up on too much work and leaves the value', () => {
    const value = (n: number): Json => ({ l: Array.from({ length: n }, (_x, i) => i) });
    const square = compileRemover('select(.l[] == .l[]) | .l');
    const [small, large] = [value(20), value(2000)];
    expect(square(small)).toEqual({});
    expect(square(large)).toBe(large);
  });

  it('an error behind `?` does not pass through it, and one before it does not stop what follows', () => {
    expect(compileRemover('(.s | .[]?) , .a')(head.input)).not.toHaveProperty('a');
    expect(compileRemover('(.a?) | .b | .c')({ a: { b: 'text' } })).toEqual({ a: { b: 'text' } });
  });

  it('never touches Object.prototype', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":2}') as Json;
    expect(JSON.stringify(compileRemover('.__proto__.a')(value))).toBe('{"__proto__":{},"b":2}');
    expect(JSON.stringify(compileRemover('.constructor')(value))).toBe(JSON.stringify(value));
    expect(compileRemover('.["__proto__"]')({ b: 2 })).toEqual({ b: 2 });
  });

  it('any text is an expression or a DiffRulesError', () => {
    const pieces = fc.constantFrom(
      '.a',
      '.',
      '[',
      ']',
      '|',
      ',',
      '(',
      ')',
      'select',
      '"x"',
      '==',
      '1',
      '..',
      '?',
      'and',
      '//',
      ' ',
      ';',
      '-',
      'test',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 10 }), (parts) => {
        try {
          compileRemover(parts.join(''))(head.input);
        } catch (error) {
          expect(error).toBeInstanceOf(DiffRulesError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('canonicalQuantity', () => {
  const [, ...quantities] = lines('quantities.ndjson') as { text: string; canonical: string | null }[];
  it.each(quantities)('$text is $canonical', ({ text, canonical }) => {
    expect(canonicalQuantity(text)).toBe(canonical ?? undefined);
  });

  it('reads numbers, and is idempotent', () => {
    expect([0.5, 1, 1500n, -2].map(canonicalQuantity)).toEqual(['500m', '1', '1500', '-2']);
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

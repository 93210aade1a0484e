import { env } from 'node:process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compileGlob, compileLinearPattern, formatYaml, outsideText, parseJson, parseYamlDocuments } from '#base';
import { aboutSecret } from '#model';

/**
 * Parsers of foreign input, with random malformed texts. Each must parse a text or reject it with
 * one of our error codes: no stack overflow, no TypeError, no prototype pollution. 1,000 inputs
 * each, more with DRIFTLESS_LONG_FACTOR.
 */
const factor = Number(env['DRIFTLESS_LONG_FACTOR'] ?? '1');
/** Compiling a regular expression takes a millisecond, so there are fewer of them. */
const runsOf = (name: string): number => factor * (name === 'regular expressions' ? 100 : 1_000);

/** Single characters, and fragments that did harm before. */
const piece = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      ' ',
      '\n',
      '\t',
      '- ',
      '? ',
      '---\n',
      '|',
      '>',
      '#',
      '%',
    ),
    weight: 6,
  },
  {
    arbitrary: fc.constantFrom(
      '<<: ',
      '*a',
      '&a ',
      '!!binary ',
      '!x ',
      '0x',
      '1e999',
      '12345678901234567890',
      '.inf',
      '~',
      'null',
      'yes',
    ),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom(
      '__proto__',
      'constructor',
      'toString',
      '"__proto__":{"polluted":1}',
      '__proto__: {polluted: 1}\n',
    ),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom('{1,}', '(a+)+', '**/', '{a,a}', '[z-a]', '[!', 'eyJ', '.', '://', '@', 'bearer '),
    weight: 2,
  },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 3 }), weight: 2 },
);
const text = fc.oneof(
  { arbitrary: fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')), weight: 19 },
  // The same fragment repeated: deep nesting, long runs, many wildcards.
  {
    arbitrary: fc
      .tuple(piece, fc.integer({ min: 1, max: 600 }), piece)
      .map(([one, times, other]) => `${one.repeat(times)}${other}`),
    weight: 1,
  },
);

const readers: Readonly<Record<string, (input: string) => unknown>> = {
  JSON: (input) => parseJson(input),
  YAML: (input) => parseYamlDocuments(input),
  'YAML round trip': (input) => {
    for (const value of parseYamlDocuments(input)) parseYamlDocuments(formatYaml(value));
  },
  globs: (input) => compileGlob(input.slice(0, 300))?.(input),
  'regular expressions': (input) => {
    const pattern = compileLinearPattern(input.slice(0, 300));
    return pattern.ok && pattern.test(input.slice(0, 1000));
  },
  'texts from outside': (input) => {
    const instead = aboutSecret({ what: 'this Secret' });
    for (const source of ['program', 'rpc', 'parser', 'credential plugin', 'field'] as const)
      outsideText(source, input);
    return outsideText('server', input, { hidden: [input.slice(0, 7)], instead });
  },
};

describe('foreign input', () => {
  it.each(Object.entries(readers))('%s: is parsed, or rejected with an error code', (name, read) => {
    const before = Object.getOwnPropertyNames(Object.prototype).length;
    fc.assert(
      fc.property(text, (input) => {
        try {
          read(input);
        } catch (error) {
          expect(error).toHaveProperty('code', expect.stringMatching(/^[A-Z_]+$/));
        }
      }),
      { numRuns: runsOf(name) },
    );
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(before);
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json } from '#base';
import { DiffRulesError } from '../shared/errors.ts';
import { removePaths } from '../shared/removal.ts';
import { compileExpression } from './compile.ts';

function lines(name: string): unknown[] {
  const text = readFileSync(new URL(`../testdata/${name}`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
const [head, ...vectors] = lines('jq.ndjson') as [{ input: Json }, ...{ expression: string; result: Json }[]];

interface GojqVector {
  readonly expression: string;
  readonly result: Json;
  readonly invalid?: true;
}
const [, ...gojq] = lines('gojq.ndjson') as [unknown, ...GojqVector[]];

/** Returns `del(<expression>)`. */
function remover(expression: string): (value: Json) => Json {
  const { find } = compileExpression(expression);
  return (value) => {
    const paths = find(value);
    return paths.length === 0 ? value : removePaths(value, paths);
  };
}

describe('gojq programs', () => {
  /** Only real jq evaluates these paths (controller/comparison/jq-runner.slow.test.ts). */
  const forJq = [
    '(try .s.x catch .), .a',
    'limit(1; .l[])',
    '.l[] | select(.name as $n | ["web"] | index($n))',
    'reduce .l[] as $x (.; .a)',
    'def f: .a; f',
    '.l[] | select(.name | IN("web"))',
    'label $f | .a, break $f',
    '.a | select(.b + 1 == 2)',
  ];
  const runs = gojq.filter(({ expression, invalid }) => invalid !== true && !forJq.includes(expression));

  it.each(runs)('removes what gojq removes: $expression', ({ expression, result }) => {
    expect(remover(expression)(head.input)).toEqual(result ?? head.input);
  });

  it.each(gojq.filter((vector) => !runs.includes(vector)))('refuses $expression', ({ expression }) => {
    expect(() => remover(expression)(head.input)).toThrow(DiffRulesError);
  });

  it.each(forJq)('leaves %s to jq', (expression) => {
    expect(compileExpression(expression).isForJq).toBe(true);
  });

  it('warns about a program that selects no path', () => {
    expect(compileExpression('.l | map(.image)').warning).toBe('selects no path of the object, so it has no effect');
    expect(compileExpression('.l[1:]').warning).toBeUndefined();
  });
});

describe('compileExpression', () => {
  it.each(vectors)('removes as jq does: $expression', ({ expression, result }) => {
    const before = JSON.stringify(head.input);
    expect(remover(expression)(head.input)).toEqual(result ?? head.input);
    expect(JSON.stringify(head.input)).toBe(before);
  });

  it.each([
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
    `.a | select(test("${'a'.repeat(4100)}"))`,
    `.a | select(test("${'a{1000}'.repeat(100)}"))`,
  ])('refuses %s', (expression) => {
    expect(() => remover(expression)).toThrow(DiffRulesError);
  });

  it.each([
    ['.a | select(test("^(a+)+$"))', 'aaa', true],
    ['.a | select(test("^(a|a)*$"))', 'aaab', false],
    ['.a | select(test(".*-.*-.*-.*x"))', 'a-b-c-dx', true],
    ['.a | select(test("A"; "i"))', 'xax', true],
    ['.a | select(test("a.b"; "m"))', 'a\nb', true],
    ['.a | select(test("a.b"; "gi"))', 'a\nb', false],
    ['.a | select(test("a"; null))', 'a', true],
    ['.a | select(test(.))', 'a', true],
    // A failure in gojq removes nothing, and `?` hides an error.
    ['.a | select(test("a"; "x"))', 'a', false],
    ['.a | select(test("(?=a)"))', 'a', false],
    ['.a | select((test("(")?) // true)', 'a', true],
    ['.a | select(test(["a"]))', 'a', false],
  ])('tests patterns as Go does: %s on %j', (expression, text, removed) => {
    expect(remover(expression)({ a: text, b: 1 })).toEqual(removed ? { b: 1 } : { a: text, b: 1 });
  });

  it.each(['^((a|a))*b$', '^(a+)+b$', '^(a|aa)*b$', '(a{1,}){1,}b'])(
    'finishes a pattern with catastrophic backtracking: %s',
    (pattern) => {
      const object = { a: 'a'.repeat(5000), b: 1 };
      expect(remover(`.a | select(test(${JSON.stringify(pattern)}))`)(object)).toEqual(object);
    },
  );

  it('warns about a malformed pattern, with the pattern', () => {
    expect(compileExpression('.a | select(test("(") or .b)').warning).toBe(
      'does nothing where it tests this pattern: "(" is not a regular expression: error parsing regexp: missing closing ): `(`',
    );
    expect(compileExpression('.a | select(test("(a)"))').warning).toBeUndefined();
  });

  it('charges patterns by the length of their texts', () => {
    const texts = (n: number): Json => ({ l: Array.from({ length: n }, () => 'ab'.repeat(500)) });
    const rule = remover('.l[] | select(test("(((.?){10}){10}){10}c"))');
    expect(rule(texts(2))).toEqual(texts(2));
    expect(() => rule(texts(200))).toThrow(/takes too much work on this object/);
  });

  // Results of gojq 0.12.19.
  it.each([
    ['.l[]?.env[]?', '{"l":[{"n":1},{"env":[]},{"env":{}},{"env":"s"},{"env":[]}]}'],
    ['.l[].env[]?', '{"l":[{"n":1},{"env":[]},{"env":{}},{"env":"s"},{"env":[]}]}'],
    ['(.l[].env[])?', '{"l":[{"n":1},{"env":[{"x":1},{"x":2}]},{"env":{"x":1,"y":2}},{"env":"s"},{"env":[5]}]}'],
    ['.l[].env.x?', '{"l":[{"n":1},{"env":[{"x":1},{"x":2}]},{"env":{"y":2}},{"env":"s"},{"env":[5]}]}'],
    ['.l[].env["x"]?', '{"l":[{"n":1},{"env":[{"x":1},{"x":2}]},{"env":{"y":2}},{"env":"s"},{"env":[5]}]}'],
    ['.l[].env?[]?', '{"l":[{"n":1},{"env":[]},{"env":{}},{"env":"s"},{"env":[]}]}'],
    ['.. | .env?', '{"l":[{"n":1},{},{},{},{}]}'],
  ])('`?` applies to the last step only: %s', (expression, expected) => {
    const value: Json = {
      l: [{ n: 1 }, { env: [{ x: 1 }, { x: 2 }] }, { env: { x: 1, y: 2 } }, { env: 's' }, { env: [5] }],
    };
    expect(JSON.stringify(remover(expression)(value))).toBe(expected);
  });

  it('returns the same reference when there is nothing to remove', () => {
    expect(remover('.nothing.here')(head.input)).toBe(head.input);
    expect(remover('.l[] | .nothing?')(head.input)).toBe(head.input);
  });

  it('throws when a run takes too much work', () => {
    const value = (n: number): Json => ({ l: Array.from({ length: n }, (_x, i) => i) });
    const square = remover('select(.l[] == .l[]) | .l');
    const [small, large] = [value(20), value(2000)];
    expect(square(small)).toEqual({});
    expect(() => square(large)).toThrow(new DiffRulesError('takes too much work on this object'));
  });

  it('`?` catches neither errors after it nor stops what follows an error before it', () => {
    expect(remover('(.s | .[]?) , .a')(head.input)).not.toHaveProperty('a');
    expect(remover('(.a?) | .b | .c')({ a: { b: 'text' } })).toEqual({ a: { b: 'text' } });
  });

  it('never touches Object.prototype', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":2}') as Json;
    expect(JSON.stringify(remover('.__proto__.a')(value))).toBe('{"__proto__":{},"b":2}');
    expect(JSON.stringify(remover('.constructor')(value))).toBe(JSON.stringify(value));
    expect(remover('.["__proto__"]')({ b: 2 })).toEqual({ b: 2 });
  });

  it('parses any text or throws DiffRulesError', () => {
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
          remover(parts.join(''))(head.input);
        } catch (error) {
          expect(error).toBeInstanceOf(DiffRulesError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

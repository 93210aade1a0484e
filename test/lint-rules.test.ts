import { describe, expect, it } from '@jest/globals';
import { ESLint, Linter } from 'eslint';
import { noNestedQuantifiers } from '../scripts/lint/no-nested-quantifiers.mjs';

/** Our own ESLint rules in scripts/lint/. */
describe('the lint rule about nested quantifiers in regular expressions', () => {
  const rule = 'driftless/no-nested-quantifiers';
  const plugins = { driftless: { rules: { 'no-nested-quantifiers': noNestedQuantifiers } } };
  const faults = (expression: string): readonly (string | null)[] =>
    new Linter()
      .verify(`export const pattern = ${expression};\n`, [{ plugins, rules: { [rule]: 'error' } }])
      .map(({ ruleId }) => ruleId);

  it('applies to all code', async () => {
    const eslint = new ESLint();
    for (const file of ['base/secret.ts', 'desired/fetch/shared/semver.ts', 'test/lint-rules.test.ts']) {
      const config = (await eslint.calculateConfigForFile(file)) as {
        readonly rules: Readonly<Record<string, unknown>>;
      };
      expect(config.rules[rule]).toEqual([2]);
    }
  });

  it.each([
    ['/(a+)+b/'],
    ['/(?:a*)*$/'],
    ['/(x{1,}){1,}/'],
    ['/(a+a)+b/'],
    ['/(?:\\s*,?\\s*)*!/'],
    ['/(?:(?:a+)b?)*c/'],
    ["new RegExp('(a+)+b')"],
    ["RegExp('(?:[a-z]+x)+!', 'i')"],
  ])('rejects %s', (expression) => {
    expect(faults(expression)).toEqual([rule]);
  });

  it.each([
    ['/(?:\\.[a-z]+)*/'],
    ['/([a-z]+,)*/'],
    ['/"(?:[^"\\\\]|\\\\.)*"/'],
    ['/(?:[0-9]{1,3}\\.){3}/'],
    ["new RegExp('a+b+')"],
  ])('accepts %s', (expression) => {
    expect(faults(expression)).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compareVersions, highestMatch, parseConstraint, parseVersion } from './semver.ts';

const admits = (constraint: string, version: string): boolean | undefined => {
  const parsed = parseVersion(version);
  return parsed && parseConstraint(constraint)?.(parsed);
};

describe('versions', () => {
  it.each(['1.2.3', 'v1.2.3', '1', 'v1', '1.2', '1.2.3-beta.1', '1.2.3+build.5', '1.2-rc', '01.2.3'])(
    '%s is one',
    (text) => {
      expect(parseVersion(text)).toBeDefined();
    },
  );
  it.each(['', 'v', 'main', '1.2.3.4', '1.x', '*', '1.2.3-', '1.2.3-01', 'release-1', '99999999999999999999', 'V1'])(
    '%s is none',
    (text) => {
      expect(parseVersion(text)).toBeUndefined();
    },
  );

  it('are ordered as in semver.org', () => {
    const order = [
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1',
      '1.1.0',
      '2.0.0',
    ];
    const versions = order.map((text) => parseVersion(text)!);
    for (let i = 0; i < versions.length; i += 1)
      for (let j = 0; j < versions.length; j += 1)
        expect(Math.sign(compareVersions(versions[i]!, versions[j]!))).toBe(Math.sign(i - j));
  });
});

// The semantics of Masterminds/semver 3.4 according to its documentation and tables.
describe('constraints', () => {
  it.each([
    ['1.2.3', '1.2.3', true],
    ['=1.2.3', '1.2.4', false],
    ['!=1.2.3', '1.2.4', true],
    ['!=1', '1.9.9', false],
    ['!=1', '2.0.0', true],
    ['!=1.1', '1.1.7', false],
    ['!=1.1', '1.2.0', true],
    ['>1.2.3', '1.2.4', true],
    ['>11', '11.1.0', false],
    ['>11', '12.0.0', true],
    ['>11.1', '11.1.1', false],
    ['>11.1', '11.2.0', true],
    ['<1.2', '1.1.9', true],
    ['<1.2', '1.2.0', false],
    ['>=1.2', '1.2.0', true],
    ['=>1.2', '1.1.0', false],
    ['<=11', '11.9.9', true],
    ['<=11', '12.0.0', false],
    ['=<11.1', '11.1.9', true],
    ['<=11.1', '11.2.0', false],
    ['~1.2.3', '1.2.9', true],
    ['~1.2.3', '1.3.0', false],
    ['~1', '1.9.0', true],
    ['~>1.2', '1.2.9', true],
    ['~0.0.0', '5.0.0', true],
    ['^1.2.3', '1.9.0', true],
    ['^1.2.3', '2.0.0', false],
    ['^1.2.3', '1.2.2', false],
    ['^0.2.3', '0.2.9', true],
    ['^0.2.3', '0.3.0', false],
    ['^0.0.3', '0.0.3', true],
    ['^0.0.3', '0.0.4', false],
    ['^0.0', '0.0.9', true],
    ['^0', '0.9.0', true],
    ['^0', '1.0.0', false],
    ['1.x', '1.5.0', true],
    ['1.*', '2.0.0', false],
    ['1.2.X', '1.2.9', true],
    ['*', '9.9.9', true],
    ['x', '0.0.0', true],
    ['1.2 - 1.4.5', '1.4.5', true],
    ['1.2 - 1.4.5', '1.4.6', false],
    ['>=1, <2', '1.5.0', true],
    ['>=1 <2', '2.0.0', false],
    ['<1 || >=2', '2.1.0', true],
    ['<1 || >=2', '1.5.0', false],
    ['>=1.0.0', '1.1.0-beta', false],
    ['>=1.0.0-0', '1.1.0-beta', true],
    ['>=1.0.0-0, <3', '2.0.0-rc.1', true],
    ['>=1.0.0-0 || <0.1', '0.0.1-rc', false],
    ['*-0', '1.0.0-rc', true],
    ['>= 1.2.3', '1.2.3', true],
    ['v1.x', '1.9.0', true],
  ])('%s with %s: %s', (constraint, version, expected) => {
    expect(admits(constraint, version)).toBe(expected);
  });

  it.each(['main', 'feature/x-1', 'release-1.0', '', '>=', '^^1', '1.2.3.4', '>1 &&2', 'HEAD'])(
    '%s is none',
    (text) => {
      expect(parseConstraint(text)).toBeUndefined();
    },
  );

  it('pick the highest tag, in its original spelling', () => {
    expect(highestMatch('1.*', ['v1.0', 'v1.10.0', 'v1.9.9', 'v2.0.0', 'junk', '1.11.0-rc.1'])).toBe('v1.10.0');
    expect(highestMatch('3.*', ['v1.0'])).toBeUndefined();
  });

  it.each([
    ['spaces', `${`1${' '.repeat(9)}`.repeat(20)}!`],
    ['commas', `${'1 , '.repeat(60)}!`],
    ['ranges', `${'1 - '.repeat(60)}!`],
  ])('reject this text without backtracking: %s', (_name, text) => {
    expect(parseConstraint(text)).toBeUndefined();
  });

  it('mean the same with any whitespace', () => {
    expect(highestMatch('  >=  1.0 \t , <   2 ', ['1.5.0', '2.5.0'])).toBe('1.5.0');
    expect(highestMatch(' 1.0   -  2.0 ', ['1.5.0', '2.5.0'])).toBe('1.5.0');
  });

  it('parse any text in linear time (fuzz)', () => {
    const piece = fc.constantFrom(
      '1',
      '.',
      'x',
      '*',
      ' ',
      ',',
      '||',
      '-',
      '>=',
      '<',
      '~',
      '^',
      '=',
      'v',
      '|',
      '+',
      'a',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 250 }), (parts) => {
        parseConstraint(parts.join(''))?.({ major: 1, minor: 2, patch: 3, pre: '' });
      }),
      { numRuns: 2000 },
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRefs, resolveInRefs } from './refs.ts';
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

  it('come in the order of semver.org', () => {
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

// The meaning of Masterminds/semver 3.4 as its documentation and tables state it.
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

  it('picks the highest tag, in the form in which it was written', () => {
    expect(highestMatch('1.*', ['v1.0', 'v1.10.0', 'v1.9.9', 'v2.0.0', 'junk', '1.11.0-rc.1'])).toBe('v1.10.0');
    expect(highestMatch('3.*', ['v1.0'])).toBeUndefined();
  });

  it.each([
    ['spaces', `${`1${' '.repeat(9)}`.repeat(20)}!`],
    ['commas', `${'1 , '.repeat(60)}!`],
    ['ranges', `${'1 - '.repeat(60)}!`],
  ])('14.1: are parsed at once, although no constraint: %s', (_name, text) => {
    expect(parseConstraint(text)).toBeUndefined();
  });

  it('14.1: mean the same with any white space', () => {
    expect(highestMatch('  >=  1.0 \t , <   2 ', ['1.5.0', '2.5.0'])).toBe('1.5.0');
    expect(highestMatch(' 1.0   -  2.0 ', ['1.5.0', '2.5.0'])).toBe('1.5.0');
  });

  it('parse in time in proportion to their length, whatever they are (fuzz)', () => {
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

describe('refs', () => {
  const sha = (digit: string): string => digit.repeat(40);
  const refs = parseRefs(
    [
      `${sha('1')}\tHEAD`,
      `${sha('1')}\trefs/heads/main`,
      `${sha('2')}\trefs/heads/1.x`,
      `${sha('3')}\trefs/heads/both`,
      `${sha('4')}\trefs/tags/both`,
      `${sha('5')}\trefs/tags/v2.0.0`,
      `${sha('6')}\trefs/tags/v2.0.0^{}`,
      `${sha('7')}\trefs/pull/12/head`,
      `${sha('8')}\trefs/tags/2`,
      'warning: something',
      '',
    ].join('\n'),
  );
  it.each([
    ['', '1'],
    ['HEAD', '1'],
    ['main', '1'],
    ['refs/heads/main', '1'],
    ['both', '4'],
    ['refs/heads/both', '3'],
    ['v2.0.0', '6'],
    ['pull/12/head', '7'],
    ['refs/pull/12/head', '7'],
    // A branch that is named like a constraint is found when no tag matches.
    ['1.x', '2'],
    // A bare version is a pin.
    ['2', '8'],
    ['2.x', '6'],
    ['>=1', '6'],
  ])('%j', (revision, digit) => {
    expect(resolveInRefs(revision, refs)?.commit).toBe(sha(digit));
  });
  it.each([
    ['2.x', '9'],
    ['2.0.1', '9'],
    ['>=2.1', 'a'],
    // What is no version of these tags is looked for as it is.
    ['main', '1'],
    ['1.x', '2'],
  ])('10.1: %j among the tags of a prefix', (revision, digit) => {
    const tagged = parseRefs(
      [
        `${sha('1')}\trefs/heads/main`,
        `${sha('2')}\trefs/heads/1.x`,
        `${sha('8')}\trefs/tags/2.5.0`,
        `${sha('9')}\trefs/tags/app/2.0.1`,
        `${sha('a')}\trefs/tags/app/3.0.0`,
        `${sha('b')}\trefs/tags/apple/2.0.9`,
      ].join('\n'),
    );
    expect(resolveInRefs(revision, tagged, 'app/')?.commit).toBe(sha(digit));
    expect(resolveInRefs('2.5.0', tagged, 'app/')).toBeUndefined();
  });
  it.each(['nope', 'refs/heads/nope', '3', 'ain', 'HEA'])('%j is not there', (revision) => {
    expect(resolveInRefs(revision, refs)).toBeUndefined();
  });
});

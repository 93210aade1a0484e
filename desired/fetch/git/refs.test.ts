import { describe, expect, it } from '@jest/globals';
import { parseRefs, resolveInRefs } from './refs.ts';

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
    // A branch named like a constraint is found if no tag matches.
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
    // A name that is no version is looked up as it is.
    ['main', '1'],
    ['1.x', '2'],
  ])('%j among the tags of a prefix', (revision, digit) => {
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
  it.each(['nope', 'refs/heads/nope', '3', 'ain', 'HEA'])('%j does not match', (revision) => {
    expect(resolveInRefs(revision, refs)).toBeUndefined();
  });
});

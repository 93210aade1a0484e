import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { matchesNamespacePattern, namespacePatternFault } from './index.ts';

interface Vectors {
  readonly texts: readonly string[];
  readonly rows: readonly (readonly [pattern: string, matches: 'refused' | readonly string[]])[];
}
const vectors = JSON.parse(
  readFileSync(new URL('./testdata/namespace-patterns.json', import.meta.url), 'utf8'),
) as Vectors;

describe('regular expressions of namespaces', () => {
  it.each(vectors.rows)("match no more than Argo CD's engine: %s", (source, matches) => {
    const pattern = `/${source}/`;
    const found = vectors.texts.filter((text) => matchesNamespacePattern(pattern, text));
    if (namespacePatternFault(pattern) === undefined) expect(found).toEqual(matches === 'refused' ? [] : matches);
    else expect(found).toEqual([]);
  });

  it('match as much for most patterns', () => {
    const good = vectors.rows.filter(([, matches]) => matches !== 'refused');
    const used = good.filter(([source]) => namespacePatternFault(`/${source}/`) === undefined);
    expect(used.length / good.length).toBeGreaterThan(0.6);
  });

  it.each([
    ['/^(a+)+(b+)+(c+)+(d+)+(e+)+$/', 'aabbccddee', 'aabbccddeef'],
    ['/^([a-z0-9]+-)*([a-z0-9]+-)*([a-z0-9]+-)*prod$/', 'a-b-c-d-prod', 'a-b-c-d-dev'],
    ['/^[a-z]+-[a-z]+-[a-z]+-[a-z]+-[a-z]+-[a-z]+[0-9]*$/', 'a-b-c-d-e-f1', 'a-b-c-d-e-1'],
    ['/^(team|group)-(a|b|c)*-(dev|test){1,2}$/', 'team-abc-devtest', 'team-abc-devtestdev'],
    ['/(?i)^TEAM-.*-.*-.*-.*-.*$/', 'team-a-b-c-d-e', 'team-a-b-c-d'],
    [`/^${'(x?)'.repeat(60)}${'x'.repeat(60)}$/`, 'x'.repeat(60), 'x'.repeat(59)],
    [`/${'a|'.repeat(200)}zz/`, 'zz', 'b'],
  ])('work with any number of quantifiers: %s', (pattern, yes, no) => {
    expect(namespacePatternFault(pattern)).toBeUndefined();
    expect([yes, no].map((text) => matchesNamespacePattern(pattern, text))).toEqual([true, false]);
  });

  it.each(['/^(a*)*$/', '/^(a|aa)+$/', '/^(.*a){20}$/', '/(x+x+)+y/', '/^([a-z]+)*!$/', '/^a{1,}{1,}{1,}!$/'])(
    'cannot block the controller: %s',
    (pattern) => {
      // A backtracking engine would not return within the age of the universe.
      expect(matchesNamespacePattern(pattern, `${'a'.repeat(5000)}?`)).toBe(false);
    },
  );

  it.each([
    ['/(?=a)/', /is not a regular expression: .*`\(\?=`/],
    ['/(?!a)/', /`\(\?!`/],
    ['/(?<=a)b/', /`\(\?<=?/],
    ['/(a)\\1/', /`\\1`/],
    ['/(?>a)/', /`\(\?>`/],
    ['/a++/', /`\+\+`/],
    ['/[a-z-[aeiou]]/', /^-\[ is read differently/],
    ['/[[:alpha:]]/', /^\[: is read differently/],
    ['/\\Qa\\E/', /^\\Q is read differently/],
    ['/a(?i)*/', /^\(\?i\) is read differently/],
    ['/\\p{Greek}/', /^\\p\{Greek\} is read differently/],
    ['/(?P<n>a)/', /^\(\?P is read differently/],
    ['/(a{1000}){1000}/', /is (?:too large|not a regular expression)/],
    [`/${'a'.repeat(5000)}/`, /5000 characters is too long/],
  ])('match nothing if they are not supported, and report the reason: %s', (pattern, reason) => {
    expect(namespacePatternFault(pattern)).toMatch(reason);
    expect(['', 'a', 'aa', 'ab', 'b', 'team'].some((text) => matchesNamespacePattern(pattern, text))).toBe(false);
  });

  it.each(['a*', '/a', 'a/', '/', '//', '', '/\\\\Q/', '/\\p{L}/', '/(?i)a/', '/[]a]/'])(
    'report nothing for %s',
    (pattern) => {
      expect(namespacePatternFault(pattern)).toBeUndefined();
    },
  );
});

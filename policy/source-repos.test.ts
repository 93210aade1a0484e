import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isRefused, readAddress } from '#model';
import type { AppProject } from '#model';
import { comparableUrl } from './git-url.ts';
import { isSourcePermitted } from './index.ts';
import { invalidLists, projectWith } from './testing/index.ts';

const gh = 'https://github.com';

/** As the check of a spec: an address that cannot be read is never permitted. */
function isTextPermitted(project: AppProject, text: string): boolean {
  const address = readAddress(text, 'any');
  return !isRefused(address) && isSourcePermitted(project, address);
}

/** Entries of sourceRepos, permitted URLs, denied URLs; by section 4.3 of the reference. */
const longName = 'a'.repeat(600);
const table: readonly (readonly [
  what: string,
  entries: readonly string[],
  yes: readonly string[],
  no: readonly string[],
])[] = [
  ['nothing is listed', [], [], [`${gh}/a/b`, '', '*']],
  ['a star is everything readable', ['*'], [`${gh}/a/b`, 'git@h:a', 'oci://r/x'], ['', `${gh}/../a`]],
  [
    'one repository',
    [`${gh}/a/b`],
    [
      `${gh}/a/b`,
      `${gh}/a/b.git`,
      `${gh}/A/B`,
      `  ${gh}/a/b `,
      'HTTPS://GitHub.com/a/b.git',
      `${gh}/a/b/`,
      `${gh}:443/a/b`,
      `${gh}/%61/b`,
    ],
    [`${gh}/a/bc`, `${gh}/a`, 'http://github.com/a/b', `${gh}/a/b.git.git`, `${gh}/a/b#x`, `${gh}/a/b?x`],
  ],
  ['the entry itself with .git and in capitals', ['https://GITHUB.com/A/B.git'], [`${gh}/a/b`], [`${gh}/a/b/c`]],
  [
    'a star stops at slashes',
    [`${gh}/a/*`],
    [`${gh}/a/b`, `${gh}/a/b.git`],
    [`${gh}/a/b/c`, `${gh}/a`, `${gh}/a/`, `${gh}/b/a`],
  ],
  ['two stars do not', [`${gh}/a/**`], [`${gh}/a/b`, `${gh}/a/b/c`, `${gh}/a/b/c/d`], [`${gh}/a`, `${gh}/ab/c`]],
  [
    'a star in the host',
    ['https://*.corp/x/*'],
    ['https://git.corp/x/y', 'https://a.b.corp/x/y'],
    ['https://git.corp.evil/x/y', 'https://evil/.corp/x/y', 'https://corp/x/y'],
  ],
  [
    'a star in the scheme cannot be parsed',
    ['*://github.com/a/b'],
    [],
    ['127.0.0.1:1/x', `${gh}/a/b`, 'http://github.com/a/b'],
  ],
  ['a question mark at the end is a glob', [`${gh}/a/?`], [`${gh}/a/b`], [`${gh}/a/?`, `${gh}/a/bc`, `${gh}/a/`]],
  ['a class is a class', [`${gh}/[ab]/x`], [`${gh}/a/x`, `${gh}/b/x`], [`${gh}/c/x`, `${gh}/ab/x`]],
  ['braces are encoded by the normal form, and match nothing', [`${gh}/{a,b}/x`], [], [`${gh}/a/x`, `${gh}/b/x`]],
  [
    'scp form equals ssh',
    ['git@github.com:a/b.git'],
    ['git@github.com:a/b', 'ssh://git@github.com/a/b', 'GIT@github.com:A/B.git', 'ssh://git@github.com:22/a/b'],
    [`${gh}/a/b`, 'github.com:a/b', 'x@github.com:a/b', 'ssh://git@github.com:23/a/b'],
  ],
  [
    'scp form with a star',
    ['git@github.com:a/*'],
    ['git@github.com:a/b', 'ssh://git@github.com/a/b.git'],
    ['git@github.com:b/a', 'git@github.com:a/b/c'],
  ],
  ['user names count', ['https://user@h/x'], ['https://user@h/x'], ['https://h/x', 'https://other@h/x']],
  ['a deny entry', ['*', `!${gh}/a/b`], [`${gh}/a/c`, `${gh}/a/b/c`], [`${gh}/a/b`, `${gh}/A/B.git`]],
  ['its place does not matter', [`!${gh}/a/b`, '*'], [`${gh}/a/c`], [`${gh}/a/b`]],
  ['a deny entry alone permits the rest', [`!${gh}/a/b`], [`${gh}/a/c`, 'git@x:y'], ['', `${gh}/a/b`, `${gh}/a/b.git`]],
  ['a deny entry with a star', [`!${gh}/a/*`], [`${gh}/b/a`, `${gh}/a/b/c`], [`${gh}/a/b`]],
  ['a deny entry with two stars', [`!${gh}/a/**`, '*'], [`${gh}/b/a`], [`${gh}/a/b`, `${gh}/a/b/c`]],
  ['several deny entries', ['!https://a/**', '!https://b/**'], ['https://c/x'], ['https://a/x', 'https://b/x']],
  ['a denied star stops at slashes, too', ['!*'], [`${gh}/a`], ['name', '']],
  ['a denied double star is everything', ['*', '!**'], [], [`${gh}/a`, 'name', '']],
  ['deny wins over the exact entry', [`${gh}/a/b`, `!${gh}/a/*`], [], [`${gh}/a/b`, `${gh}/a/c`]],
  ['an exclamation mark inside is a character', [`${gh}/!a`], [`${gh}/!a`], [`${gh}/a`, `${gh}/b`]],
  ['two exclamation marks deny what begins with one', ['*', '!!x'], [`${gh}/a`], ['!x']],
  [
    'a registry that Go cannot parse is itself only',
    ['127.0.0.1:5000/x', '10.0.0.1:80/*'],
    ['127.0.0.1:5000/x', '10.0.0.1:80/y'],
    ['127.0.0.1:5000/y', '10.0.0.2:80/y', ':', `${gh}/%zz`, `${gh}/a`, 'localhost:5000/x'],
  ],
  [
    'a host with a port and no scheme survives',
    ['registry:5000/x'],
    ['registry:5000/x', 'REGISTRY:5000/X'],
    ['registry:5001/x', 'registry/x'],
  ],
  ['an empty entry permits nothing', [''], [], ['', '127.0.0.1:1/x', 'x', `${gh}/a`]],
  [
    'OCI and Helm repositories',
    ['oci://r.io/charts/*', 'r.io/charts'],
    ['oci://r.io/charts/x', 'OCI://R.io/charts/x', 'r.io/charts'],
    ['oci://r.io/charts', 'oci://r.io/charts/x/y', 'r.io/charts/x'],
  ],
  ['an entry that is no glob matches nothing', [`${gh}/[a`, '[', `${gh}/[]x`], [], [`${gh}/[a`, '[', `${gh}/a`]],
  ['a deny entry that is no glob denies everything', ['*', `!${gh}/[a`], [], [`${gh}/[a`, `${gh}/b`]],
  [
    'a question mark of the entry may stand for the one of a query',
    ['https://h/f.tgz?sig=*', 'https://h/g?.tgz'],
    ['https://h/f.tgz?sig=a', 'https://h/g1.tgz', 'https://h/g?.tgz'],
    ['https://h/f.tgz?x=a', 'https://h/other.tgz?sig=a', 'https://h/f.tgz'],
  ],
  [
    'a query makes no entry match',
    ['https://h/a/*', 'https://other?*'],
    ['https://h/a/f.tgz', 'https://h/a/f.tgz?x=1'],
    ['https://h/b?/a/f', 'https://h?/a/f.tgz', 'https://h/b/f.tgz?x=/a/f'],
  ],
  ['an entry with a broken escape is itself only', [`${gh}/%zz/*`, `!${gh}/%zz`], [`${gh}/b`], []],
  [`an entry of ${longName.length} characters`, [`${gh}/${longName}`], [`${gh}/${longName}`], [`${gh}/a`]],
  ['and allows nothing by itself', [`!${gh}/[a`, '![', '!x[b-a]'], [], [`${gh}/[a`, `${gh}/b`, 'x']],
];
const rows = table.flatMap(([what, entries, yes, no]) => [
  ...yes.map((url) => [what, entries, url, true] as const),
  ...no.map((url) => [what, entries, url, false] as const),
]);

describe('source repositories', () => {
  it.each(rows)('%s: %j, "%s": %j', (_what, sourceRepos, url, expected) => {
    expect(isTextPermitted(projectWith({ sourceRepos }), url)).toBe(expected);
  });

  it.each([undefined, null, ...invalidLists].map((value) => [value]))(
    'permit nothing if they are %j',
    (sourceRepos) => {
      for (const url of ['', '*', `${gh}/a`, '5', 'null', '[object Object]'])
        expect(isTextPermitted(projectWith({ sourceRepos }), url)).toBe(false);
    },
  );

  it.each<[unknown, boolean]>([
    [null, true],
    // An unreadable entry may have been a deny entry.
    [5, false],
    [true, false],
    [{}, false],
    [['*'], false],
    [undefined, false],
  ])('beside an entry %j the others permit: %j', (entry, isSkipped) => {
    for (const sourceRepos of [
      [entry, 'https://h/a', '!https://h/b'],
      ['https://h/a', '!https://h/b', entry],
    ]) {
      const project = projectWith({ sourceRepos });
      expect(['https://h/a', 'https://h/b'].map((url) => isTextPermitted(project, url))).toEqual([isSkipped, false]);
    }
  });

  const url = fc
    .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
    .map((words) => `https://h/${words.join('/')}`);
  const pattern = fc
    .array(fc.constantFrom('a', 'b', 'ab', '*', '**', 'a*'), { minLength: 1, maxLength: 3 })
    .map((words) => `https://h/${words.join('/')}`);
  const entries = fc.array(fc.tuple(fc.boolean(), pattern), { maxLength: 4 });

  /** An independent glob: two stars cross slashes, one does not. */
  function plainly(glob: string, text: string): boolean {
    const source = glob.replace(/\*+/g, (stars) => (stars.length > 1 ? '@' : '[^/]*')).replaceAll('@', '.*');
    return new RegExp(`^${source}$`).test(text);
  }

  it('agree with a naive model: one entry matches, and none denies', () => {
    fc.assert(
      fc.property(entries, url, (list, wanted) => {
        const sourceRepos = list.map(([deny, glob]) => (deny ? `!${glob}` : glob));
        const hits = list.map(([deny, glob]) => ({ deny, hit: plainly(glob, wanted) }));
        const denied = hits.some(({ deny, hit }) => deny && hit);
        const positive = hits.some(({ deny, hit }) => deny !== hit);
        expect(isTextPermitted(projectWith({ sourceRepos }), wanted)).toBe(positive && !denied);
      }),
      { numRuns: 2000 },
    );
  });

  it('never permit more with one more deny entry, if an entry permits', () => {
    fc.assert(
      fc.property(entries, pattern, url, (list, more, wanted) => {
        const sourceRepos = ['**', ...list.map(([deny, glob]) => (deny ? `!${glob}` : glob))];
        const before = isTextPermitted(projectWith({ sourceRepos }), wanted);
        const after = isTextPermitted(projectWith({ sourceRepos: [...sourceRepos, `!${more}`] }), wanted);
        expect(after && !before).toBe(false);
        if (plainly(more, wanted)) expect(after).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('never throw, whatever the list contains', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ unit: 'binary' }), (sourceRepos, wanted) => {
        expect(typeof isTextPermitted(projectWith({ sourceRepos }), wanted)).toBe('boolean');
        expect(comparableUrl(wanted)).toBe(comparableUrl(wanted));
      }),
      { numRuns: 500 },
    );
  });
});

describe('comparable URLs', () => {
  it.each([
    ['https://[::1]:80/x', 'https://[::1]:80/x'],
    ['https://[fe80::1%25en0]/x', 'https://[fe80::1%25en0]/x'],
    ['https://[fe80::1%25]/x', ''],
    ['https://[fe80::1%2541]/x', 'https://[fe80::1%2541]/x'],
    ['https://[1.2.3.4]/x', ''],
    ['https://[::1/x', ''],
    ['https://[::1]x/', ''],
    ['https://a[::1]/', ''],
    ['https://h:80:80/', ''],
    ['ssh://h:80:81/x', 'h:80:81/x'],
    ['https://a%20b/', ''],
    ['https://a%C3%A9/', 'https://a%C3%A9/'],
    ['https://h/*', 'https://h/*'],
    ['https://u:%41@h/x', 'https://u:A@h/x'],
    ['https://u|x@h/x', ''],
    ['///x', '///x'],
    ['x#%zz', ''],
    ['x#a{', 'x#a%7B'],
    ['x?', 'x?'],
    ['x?#', 'x?'],
  ])('writes %s as %j', (text, expected) => {
    expect(comparableUrl(text)).toBe(expected);
  });

  it('take time in proportion to the text', () => {
    for (const text of [
      ' '.repeat(200_000),
      `x${' '.repeat(200_000)}y`,
      '@'.repeat(200_000),
      `https://${'%41'.repeat(60_000)}`,
    ])
      expect(typeof comparableUrl(text)).toBe('string');
  });
});

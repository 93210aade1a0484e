import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DriftlessError } from '#base';
import { checkAppPath, checkRevision, checkUrl } from './input-checks.ts';

describe('repositories on the local disk', () => {
  it.each([
    '/proc/self/cwd/git/x',
    '/proc/self/cwd',
    'file:///proc/1/cwd/srv',
    'file://localhost/proc/self/environ',
    '/dev/shm/x',
    '/sys/x',
    '/cache/git',
  ])('refuses %s as a repository', (url) => {
    expect(() => checkUrl(url, '/cache')).toThrow('the repository URL is refused: it points into');
  });

  it('accepts a path that only starts like one of them', () => {
    expect(checkUrl('/process/x', '/cache').url).toBe('/process/x');
  });
});

describe('untrusted input (fuzz)', () => {
  const piece = fc.constantFrom(
    'a',
    '..',
    '.',
    '/',
    '-',
    ':',
    '@',
    '%2e',
    '%00',
    '\u0000',
    '\n',
    '//',
    'ext::',
    'ssh://',
    'http://',
    'file://',
    'git',
    '$(id)',
    ' ',
    '\\',
    '~',
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((parts) => parts.join('')),
    fc.string(),
  );

  it('accepts no option, no remote helper and no control characters', () => {
    fc.assert(
      fc.property(text, (raw) => {
        try {
          const { url, host, transport } = checkUrl(raw, '/cache');
          expect(url).not.toMatch(/^-|^[\w+.-]*::|[\u0000-\u001f]/);
          expect(host).not.toMatch(/^-/);
          if (transport === 'local') expect(url).toMatch(/^\/(?!cache(?:\/|$))/);
          if (transport === 'http') expect(new URL(url).username + new URL(url).password).toBe('');
        } catch (error) {
          expect(error).toBeInstanceOf(DriftlessError);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it('accepts only paths below the root', () => {
    fc.assert(
      fc.property(text, (raw) => {
        try {
          const segments = checkAppPath(raw);
          expect(segments.every((s) => s !== '..' && s !== '.' && s !== '' && !s.includes('/'))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(DriftlessError);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['https://Git.Example.com/Org/Repo.git', 'https://git.example.com/Org/Repo.git', 'http'],
    ['https://u:p%40@h:8443/x.tgz?y=1', 'https://h:8443/x.tgz?y=1', 'http'],
    ['ssh://git@h:22/x.git', 'ssh://git@h/x.git', 'ssh'],
    ['git@github.com:org/repo.git', 'git@github.com:org/repo.git', 'ssh'],
    ['github.com:org/repo.git', 'github.com:org/repo.git', 'ssh'],
    ['file:///srv/a%20b.git', '/srv/a b.git', 'local'],
    ['file://localhost/srv/a.git', '/srv/a.git', 'local'],
    [' /srv/y.git/ ', '/srv/y.git', 'local'],
    ['git://h/x', 'git://h/x', 'ssh'],
  ])('passes %j to git as %j', (raw, url, transport) => {
    expect(checkUrl(raw, '/cache')).toMatchObject({ url, transport });
  });

  it('removes user and password from the URL', () => {
    expect(checkUrl('https://u:p%40@h/x', '/c')).toMatchObject({ username: 'u', password: 'p@' });
    expect(() => checkRevision('feature/ä#1')).not.toThrow();
  });
});

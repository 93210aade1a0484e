import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defined } from './defined.ts';
import { formatGoDuration, parseArgoDuration, parseGoDuration, parseSecondsOrDuration } from './go/duration.ts';
import {
  DeadlineExceeded,
  DriftlessError,
  isAbort,
  messageOf,
  OwnershipLost,
  Shutdown,
  Superseded,
  UsageError,
} from './errors.ts';
import { seededRandom, systemRandom } from './random.ts';
import { scrub, scrubAll, SecretValue } from './secret.ts';

it('keeps the members that have a value, null and empty ones too', () => {
  const kept = defined({ a: undefined, b: null, c: '', d: 0 });
  expect(Object.entries(kept)).toEqual([
    ['b', null],
    ['c', ''],
    ['d', 0],
  ]);
});

describe('durations', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['+5s', 5000],
    ['-1.5h', -5_400_000],
    ['1h30m', 5_400_000],
    ['2m0.5s', 120_500],
    ['.5s', 500],
    ['1.s', 1000],
    ['250ms', 250],
    ['3µs', 0.003],
    ['3us', 0.003],
    ['876000h', 3_153_600_000_000],
  ])('reads %s as Go does', (text, ms) => {
    expect(parseGoDuration(text)).toBeCloseTo(ms, 9);
  });

  it.each(['', '5', '1', '-', '+', 's', '.s', '1 s', '1d', '1h-3m', '1S', '5m ', '--1s', '9999999h', '1e3s'])(
    'refuses %j',
    (text) => {
      expect(parseGoDuration(text)).toBeUndefined();
    },
  );

  it('reads days where Argo CD does, and seconds where it does', () => {
    expect(parseArgoDuration('3d')).toBe(259_200_000);
    expect(parseArgoDuration('3m')).toBe(180_000);
    expect(parseArgoDuration('1h1m')).toBe(3_660_000);
    for (const text of ['180', '1d12h', '1.5d', 'd', '-1d']) expect(parseArgoDuration(text)).toBeUndefined();
    expect(parseSecondsOrDuration('5')).toBe(5000);
    expect(parseSecondsOrDuration('-5')).toBe(-5000);
    expect(parseSecondsOrDuration('5m')).toBe(300_000);
    expect(parseSecondsOrDuration('5.5')).toBeUndefined();
    expect(parseSecondsOrDuration('9223372037')).toBeUndefined();
    expect(parseSecondsOrDuration('99999999999999999999')).toBeUndefined();
  });

  it.each([
    [0, '0s'],
    [3_600_000, '1h0m0s'],
    [90_000, '1m30s'],
    [1500, '1.5s'],
    [250, '250ms'],
    [1.5, '1.5ms'],
    [0.0015, '1.5µs'],
    [0.0005, '500ns'],
    [-61_000, '-1m1s'],
    [119_999.999_999_9, '2m0s'],
    [259_200_001, '72h0m0.001s'],
  ])('writes %d ms as Go does', (ms, text) => {
    expect(formatGoDuration(ms)).toBe(text);
  });

  it('parse back to the same number', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), fc.nat(999_999), (ms, ns) => {
        expect(parseGoDuration(formatGoDuration(ms))).toBe(ms);
        // Below a day and a half a double carries nanoseconds.
        const fine = (ms % 1e8) + (ms < 0 ? -ns : ns) / 1e6;
        expect(parseGoDuration(formatGoDuration(fine))).toBeCloseTo(fine, 6);
      }),
    );
  });
});

describe('errors', () => {
  it('carry code, retry, fields and cause', () => {
    const cause = new Error('deep');
    const error = new DriftlessError('X_Y', 'it failed', { cause, retry: { afterMs: 5 }, fields: { key: 'a' } });
    expect(error).toMatchObject({
      name: 'DriftlessError',
      code: 'X_Y',
      retry: { afterMs: 5 },
      fields: { key: 'a' },
      cause,
    });
    expect(new DriftlessError('X', 'y')).toMatchObject({ retry: 'backoff', fields: {} });
    expect('cause' in new DriftlessError('X', 'y')).toBe(false);
    expect(new UsageError('bad flag')).toMatchObject({ name: 'UsageError', code: 'USAGE', retry: 'never' });
    expect(messageOf('text')).toBe('text');
  });

  it('distinguish an abort from a failure', () => {
    const aborts = [new Shutdown(), new Superseded('b'), new OwnershipLost('a'), new DOMException('x', 'AbortError')];
    expect(aborts.map(isAbort)).toEqual([true, true, true, true]);
    expect([new DeadlineExceeded('it', 1), new Error('AbortError'), 'AbortError', undefined].map(isAbort)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('random', () => {
  it('repeats from its seed, on every machine', () => {
    const random = seededRandom(42);
    expect([random.next(), random.next(), random.next()]).toEqual([
      0.6011037519201636, 0.44829055899754167, 0.8524657934904099,
    ]);
    expect(seededRandom(1).next()).not.toBe(seededRandom(2).next());
  });

  it('stays in its range and gives well-formed suffixes and UUIDs', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(20), (seed, length) => {
        for (const random of [seededRandom(seed), systemRandom]) {
          const value = random.next();
          expect(value >= 0 && value < 1).toBe(true);
          expect(random.suffix(length)).toMatch(new RegExp(`^[bcdfghjklmnpqrstvwxz2456789]{${length}}$`));
          expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        }
      }),
    );
  });

  it('is evenly distributed', () => {
    const random = seededRandom(7);
    const buckets = new Array<number>(10).fill(0);
    for (let i = 0; i < 10_000; i += 1) buckets[Math.floor(random.next() * 10)]! += 1;
    for (const count of buckets) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});

describe('secrets', () => {
  it('never print', () => {
    const secret = new SecretValue('hunter2');
    const prints = [
      String(secret),
      JSON.stringify({ secret }),
      inspect({ secret }, { showHidden: true }),
      inspect(secret),
    ];
    for (const print of prints) {
      expect(print).toContain('***');
      expect(print).not.toContain('hunter2');
    }
    expect(Object.keys(secret)).toEqual([]);
    expect(secret.reveal()).toBe('hunter2');
  });

  it.each([
    ['clone https://user:hunter2@host/repo.git failed', 'clone https://***@host/repo.git failed'],
    ['https://hunter2@host', 'https://***@host'],
    ['https://user:hun@ter2@host/x', 'https://***@host/x'],
    ['redis://:hunter2@redis:6379', 'redis://***@redis:6379'],
    ['Authorization: Bearer abc.DEF-123_hunter2', 'Authorization: Bearer ***'],
    ['authorization: basic dXNlcjpodW50ZXIy=', 'authorization: basic ***'],
    ['GET /x?a=1&access_token=hunter2&b=2', 'GET /x?a=1&access_token=***&b=2'],
    ['?X-Amz-Signature=hunter2&client_secret=hunter2', '?X-Amz-Signature=***&client_secret=***'],
    ['token eyJhbGciOi.eyJpc3MiOi.hunter2 is bad', 'token *** is bad'],
    ['remote: ghp_abcdefghijklmnopqrst1234 expired', 'remote: *** expired'],
  ])('are scrubbed from %j', (text, clean) => {
    expect(scrub(text)).toBe(clean);
    expect(scrub(clean)).toBe(clean);
  });

  it.each([
    'basic authentication failed for bearer of bad news',
    'git@github.com:org/repo.git: permission denied',
    'https://host:8080/path?ref=main&version=2',
    'deployments.apps "guestbook" not found',
    'mail admin@example.com about https://example.com/x',
  ])('are not found in plain words: %j', (text) => {
    expect(scrub(text)).toBe(text);
  });

  it('are found by the quick search of a text wherever the patterns find them', () => {
    const words = ['a', ' ', '\n', '.', '&', '"', 'Bearer ', 'basic ', 'aB3-='.repeat(4), 'word'.repeat(5), '://', '@'];
    const names = ['?sig', 'password=', 'TOKEN=', 'api-key=', 'secret":"', 'passphrase\\": \\"', 'eyJa', 'eyJa.b.c'];
    const marks = ['-----BEGIN ', 'PRIVATE KEY-----', 'ghp_', 'GHS_', 'github_pat_', 'glpat-'];
    const text = fc
      .array(fc.constantFrom(...words, ...names, ...marks), { maxLength: 8 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (given) => {
        expect(scrub(given)).toBe(scrubAll(given));
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['dots', 'a.'],
    ['schemes', 'a+'],
    ['tokens', 'eyJ-'],
    ['parts of tokens', 'eyJa.'],
    ['words', 'bearer '],
    ['queries', '?a_token'],
    ['addresses', 'a://b'],
  ])('are searched in linear time: %s', (_name, piece) => {
    // A quadratic reader would take minutes for this.
    expect(scrub(piece.repeat(1_000_000 / piece.length)).length).toBeGreaterThan(0);
  });

  it.each([
    ['x-eyJhbGciOi.eyJzdWI.c2ln and more', 'x-*** and more'],
    ['a.eyJhbGciOi.eyJzdWI.c2ln', 'a.***'],
    ['eyJhbGciOi.eyJzdWI.', '***'],
    ['eyJhbGciOi.eyJzdWI', 'eyJhbGciOi.eyJzdWI'],
    ['monkeyJhbGciOi.a.b', 'monkeyJhbGciOi.a.b'],
  ])('loses web tokens: %j', (text, clean) => {
    expect(scrub(text)).toBe(clean);
  });
});

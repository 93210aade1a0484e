import { RE2JS } from 're2js';
import { DriftlessError, messageOf } from './errors.ts';

/** A compiled regular expression, or the reason it cannot be compiled. */
export type LinearPattern =
  | {
      readonly ok: true;
      readonly test: (text: string) => boolean;
      readonly matchesWhole: (text: string) => boolean;
      /**
       * Instructions of the compiled program: a match takes at most about this many steps per
       * character.
       */
      readonly size: number;
    }
  | {
      readonly ok: false;
      readonly message: string;
      /** `malformed`: Go refuses it too. `limit`: only Driftless does, because of its size. */
      readonly reason: 'malformed' | 'limit';
    };

/** Longer sources, and sources whose repeat counts expand further, would take long to compile. */
const maxSourceLength = 4096;
const maxUnfoldedLength = 200_000;
const maxProgramSize = 10_000;

/** Instructions × characters: the worst case within it takes about a second. */
const maxMatchSteps = 100_000_000;

const maxCachedPatterns = 512;
/** Total instructions of cached patterns; each takes a few hundred bytes. */
const maxCachedSize = 100_000;
const patternCache = new Map<string, LinearPattern>();
let cachedSize = 0;

const flagBits: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
};

/**
 * Compiles a regular expression with the syntax of Go's `regexp` (RE2): no back references, no
 * look-around, `$` is the end of the text. Matches in time linear in the text. Flags: `i`, `m`,
 * `s`. Caches the last few hundred patterns.
 * Never throws: a malformed, too long or too large pattern returns `ok: false` with a bounded
 * message. `test` (anywhere in the text) and `matchesWhole` throw DriftlessError PATTERN_TOO_COSTLY
 * only if the text is so long that this pattern would take seconds; 10,000 characters never are.
 */
export function compileLinearPattern(source: string, flags = ''): LinearPattern {
  const key = `${flags}/${source}`;
  const known = patternCache.get(key);
  if (known !== undefined) return known;
  const compiled = compileUncached(source, flags);
  if (source.length > maxSourceLength) return compiled;
  patternCache.set(key, compiled);
  cachedSize += weightOf(compiled);
  for (const [oldest, pattern] of patternCache) {
    if (patternCache.size <= maxCachedPatterns && cachedSize <= maxCachedSize) break;
    patternCache.delete(oldest);
    cachedSize -= weightOf(pattern);
  }
  return compiled;
}

function weightOf(pattern: LinearPattern): number {
  return pattern.ok ? pattern.size : 1;
}

/** Number and total size of the cached patterns, for tests. */
export function cachedPatterns(): { readonly count: number; readonly size: number } {
  return { count: patternCache.size, size: cachedSize };
}

function compileUncached(source: string, flags: string): LinearPattern {
  const unknown = [...flags].find((flag) => !Object.hasOwn(flagBits, flag));
  if (unknown !== undefined)
    return {
      ok: false,
      reason: 'malformed',
      message: `the flag "${unknown}" of a regular expression is not supported`,
    };
  if (source.length > maxSourceLength)
    return {
      ok: false,
      reason: 'limit',
      message: `a regular expression of ${source.length} characters is too long (at most ${maxSourceLength})`,
    };
  if (source.length * unfolding(source) > maxUnfoldedLength) return tooLarge(source);
  try {
    const bits = [...flags].reduce((sum, flag) => sum | (flagBits[flag] ?? 0), 0);
    const engine = RE2JS.compile(source, bits);
    const size = engine.programSize();
    if (size > maxProgramSize) return tooLarge(source);
    return {
      ok: true,
      size,
      test: (text) => engine.test(affordableText(size, text)),
      matchesWhole: (text) => engine.testExact(affordableText(size, text)),
    };
  } catch (error) {
    return {
      ok: false,
      reason: 'malformed',
      message: `"${shortenedSource(source)}" is not a regular expression: ${shortenedSource(messageOf(error))}`,
    };
  }
}

/**
 * Upper bound on the copies of any part of the pattern: the engine refuses nested counts whose
 * product exceeds 1000.
 */
function unfolding(source: string): number {
  let product = 1;
  for (const [, from, to] of source.matchAll(/\{([0-9]+)(?:,([0-9]*))?\}/g))
    product = Math.min(1000, product * Math.max(1, Number(from), Number(to ?? '')));
  return product;
}

function tooLarge(source: string): LinearPattern {
  return {
    ok: false,
    reason: 'limit',
    message: `the regular expression "${shortenedSource(source)}" is too large: use smaller counts in its repeats`,
  };
}

function affordableText(size: number, text: string): string {
  if (size * text.length <= maxMatchSteps) return text;
  const what = `a regular expression of ${size} steps on a text of ${text.length} characters would take too long`;
  throw new DriftlessError('PATTERN_TOO_COSTLY', what, { retry: 'never' });
}

function shortenedSource(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 117)}...`;
}

import { RE2JS } from 're2js';
import { DriftlessError, messageOf } from './errors.ts';

/** A compiled regular expression, or why there is none. */
export type LinearPattern =
  | {
      readonly ok: true;
      readonly test: (text: string) => boolean;
      readonly matchesWhole: (text: string) => boolean;
      /** Instructions of its program: a match takes at most about this many steps per character. */
      readonly size: number;
    }
  | {
      readonly ok: false;
      readonly message: string;
      /** Go would refuse it too, or only we do, because it is too large. */
      readonly reason: 'malformed' | 'limit';
    };

/** Longer sources, and those whose counted repeats unfold to more, would take long to compile. */
const maxSource = 4096;
const maxUnfolded = 200_000;
const maxProgram = 10_000;

/** Instructions times characters: the worst pattern and text within it take about a second. */
const maxWork = 100_000_000;

const maxCached = 512;
/** Instructions of all that are kept: some hundred bytes each. */
const maxCachedSize = 100_000;
const cache = new Map<string, LinearPattern>();
let cachedSize = 0;

const flagBits: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
};

/**
 * Compiles a regular expression with the syntax and meaning of Go's `regexp` (RE2): no back references, no look-around, `$` is the end of the
 * text. The time of a match is proportional to the text, whatever the pattern. Flags: `i`, `m`, `s`. The last few hundred patterns are kept.
 *
 * Never throws: what is malformed, too long or too large comes back with `ok: false` and a message that says so and does not repeat a long
 * source. `test` (anywhere in the text) and `matchesWhole` throw DriftlessError PATTERN_TOO_COSTLY only for a text so long that this pattern
 * would take seconds: 10,000 characters never are.
 */
export function compileLinearPattern(source: string, flags = ''): LinearPattern {
  const key = `${flags}/${source}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const compiled = compile(source, flags);
  if (source.length > maxSource) return compiled;
  cache.set(key, compiled);
  cachedSize += weightOf(compiled);
  for (const [oldest, pattern] of cache) {
    if (cache.size <= maxCached && cachedSize <= maxCachedSize) break;
    cache.delete(oldest);
    cachedSize -= weightOf(pattern);
  }
  return compiled;
}

function weightOf(pattern: LinearPattern): number {
  return pattern.ok ? pattern.size : 1;
}

/** What the patterns that are kept weigh, for tests of that. */
export function cachedPatterns(): { readonly count: number; readonly size: number } {
  return { count: cache.size, size: cachedSize };
}

function compile(source: string, flags: string): LinearPattern {
  const unknown = [...flags].find((flag) => !Object.hasOwn(flagBits, flag));
  if (unknown !== undefined)
    return {
      ok: false,
      reason: 'malformed',
      message: `the flag "${unknown}" of a regular expression is not supported`,
    };
  if (source.length > maxSource)
    return {
      ok: false,
      reason: 'limit',
      message: `a regular expression of ${source.length} characters is too long (at most ${maxSource})`,
    };
  if (source.length * unfolding(source) > maxUnfolded) return tooLarge(source);
  try {
    const bits = [...flags].reduce((sum, flag) => sum | (flagBits[flag] ?? 0), 0);
    const engine = RE2JS.compile(source, bits);
    const size = engine.programSize();
    if (size > maxProgram) return tooLarge(source);
    return {
      ok: true,
      size,
      test: (text) => engine.test(affordable(size, text)),
      matchesWhole: (text) => engine.testExact(affordable(size, text)),
    };
  } catch (error) {
    return {
      ok: false,
      reason: 'malformed',
      message: `"${shortened(source)}" is not a regular expression: ${shortened(messageOf(error))}`,
    };
  }
}

/** How many times a part of the pattern is copied at most: the engine itself refuses nested counts whose product is above 1000. */
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
    message: `the regular expression "${shortened(source)}" is too large: use smaller counts in its repeats`,
  };
}

function affordable(size: number, text: string): string {
  if (size * text.length <= maxWork) return text;
  const what = `a regular expression of ${size} steps on a text of ${text.length} characters would take too long`;
  throw new DriftlessError('PATTERN_TOO_COSTLY', what, { retry: 'never' });
}

function shortened(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 117)}...`;
}

/**
 * Go's path/filepath.Match, which projects use to allow and deny kinds: `*` and `?` stop at `/`,
 * `[a-z]` and `[^a-z]` are classes, `\` escapes; no braces, no `**`. An invalid pattern matches
 * nothing (upstream drops the error).
 */
export function fileMatch(pattern: string, text: string): boolean {
  if (pattern === text && !/[*?[\\]/.test(pattern)) return true;
  const steps = parse([...pattern]);
  return steps !== undefined && matchSteps(steps, [...text]);
}

/** Reports whether a pattern can be read. */
export function isFilePattern(pattern: string): boolean {
  return parse([...pattern]) !== undefined;
}

type PatternStep = 'star' | ((char: string) => boolean);

function parse(chars: readonly string[]): PatternStep[] | undefined {
  const steps: PatternStep[] = [];
  for (let i = 0; i < chars.length; i += 1) {
    const char = chars[i] ?? '';
    if (char === '*') {
      if (steps.at(-1) !== 'star') steps.push('star');
    } else if (char === '?') steps.push((c) => c !== '/');
    else if (char === '[') {
      const parsed = parseClass(chars, i + 1);
      if (parsed === undefined) return undefined;
      steps.push(parsed.matches);
      i = parsed.end;
    } else {
      if (char === '\\') i += 1;
      const literal = chars[i];
      if (literal === undefined) return undefined;
      steps.push((c) => c === literal);
    }
  }
  return steps;
}

interface CharClass {
  readonly matches: (char: string) => boolean;
  /** Index of the closing bracket. */
  readonly end: number;
}

function parseClass(chars: readonly string[], from: number): CharClass | undefined {
  let at = from;
  const negated = chars[at] === '^';
  if (negated) at += 1;
  const ranges: [number, number][] = [];
  while (chars[at] !== ']' || ranges.length === 0) {
    const low = classChar(chars, at);
    if (low === undefined) return undefined;
    at = low.next;
    let high: typeof low | undefined = low;
    if (chars[at] === '-') high = classChar(chars, at + 1);
    if (high === undefined) return undefined;
    at = high.next;
    ranges.push([low.code, high.code]);
  }
  const matches = (char: string): boolean => {
    const code = char.codePointAt(0) ?? 0;
    return ranges.some(([low, high]) => low <= code && code <= high) !== negated;
  };
  return { matches, end: at };
}

/** Reads one character of a class; undefined where Go returns "syntax error in pattern". */
function classChar(chars: readonly string[], at: number): { readonly code: number; readonly next: number } | undefined {
  const escaped = chars[at] === '\\';
  const char = chars[escaped ? at + 1 : at];
  if (char === undefined || (!escaped && (char === '-' || char === ']'))) return undefined;
  const next = at + (escaped ? 2 : 1);
  return next >= chars.length ? undefined : { code: char.codePointAt(0) ?? 0, next };
}

/** Matches in linear time: only the last star ever needs to be retried. */
function matchSteps(steps: readonly PatternStep[], chars: readonly string[]): boolean {
  let [step, at] = [0, 0];
  let [starStep, starAt] = [-1, -1];
  while (at < chars.length) {
    const here = steps[step];
    const char = chars[at] ?? '';
    if (here === 'star') {
      [starStep, starAt] = [step, at];
      step += 1;
    } else if (here?.(char) === true) {
      step += 1;
      at += 1;
    } else if (starStep >= 0 && chars[starAt] !== '/') {
      starAt += 1;
      at = starAt;
      step = starStep + 1;
    } else return false;
  }
  return steps.slice(step).every((rest) => rest === 'star');
}

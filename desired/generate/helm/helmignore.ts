import { DesiredError } from '../../errors.ts';

interface IgnoreRule {
  readonly negate: boolean;
  readonly mustDir: boolean;
  readonly matches: (path: string) => boolean;
}

/** Whether a path of a chart is excluded. */
export type IgnoreTest = (path: string, isDirectory: boolean) => boolean;

/**
 * Parses a `.helmignore` (helm pkg/ignore): one pattern of Go's filepath.Match per line. Unlike in
 * `.gitignore`, a negated rule excludes everything that does not match it. Hidden files in
 * templates/ are always excluded.
 * @throws DesiredError for a file that helm refuses
 */
export function parseIgnoreRules(text: string): IgnoreTest {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  const rules = [...lines, 'templates/.?*'].flatMap((line) => ruleOf(line.trim()));
  return (path, isDirectory) => {
    for (const { negate, mustDir, matches } of rules) {
      if (negate) {
        if ((mustDir && !isDirectory) || !matches(path)) return true;
      } else if ((!mustDir || isDirectory) && matches(path)) return true;
    }
    return false;
  };
}

function ruleOf(line: string): readonly IgnoreRule[] {
  if (line === '' || line.startsWith('#')) return [];
  if (line.includes('**')) throw refused('double-star (**) syntax is not supported');
  const negate = line.startsWith('!');
  const positive = negate ? line.slice(1) : line;
  const mustDir = positive.endsWith('/');
  const pattern = mustDir ? positive.slice(0, -1) : positive;
  if (pattern.startsWith('/')) return [{ negate, mustDir, matches: matcherOf(pattern.slice(1)) }];
  const matches = matcherOf(pattern);
  if (pattern.includes('/')) return [{ negate, mustDir, matches }];
  return [{ negate, mustDir, matches: (path) => matches(path.slice(path.lastIndexOf('/') + 1)) }];
}

/** Go's filepath.Match: `*` and `?` stay in one segment; classes; `\` escapes a character. */
function matcherOf(pattern: string): (path: string) => boolean {
  const parts = pattern.match(/\*+|\?|\[\^?(?:\\[\s\S]|[^\]\\])+\]|\\[\s\S]|[^\\[]/gu) ?? [];
  if (parts.join('') !== pattern) throw refused('syntax error in pattern');
  const steps = parts.map(stepOf);
  return (path) => {
    const chars = [...path];
    // All positions of the pattern advance together, so the time is at most the product of both
    // lengths.
    let open = reached(steps, new Set([0]));
    for (const char of chars) {
      const next = new Set<number>();
      for (const at of open) {
        const step = steps[at];
        if (step?.takes(char) === true) next.add(step.repeats ? at : at + 1);
      }
      open = reached(steps, next);
    }
    return open.has(steps.length);
  };
}

interface PatternStep {
  readonly repeats: boolean;
  readonly takes: (char: string) => boolean;
}

function reached(steps: readonly PatternStep[], from: ReadonlySet<number>): Set<number> {
  const all = new Set(from);
  for (const at of all) if (steps[at]?.repeats === true) all.add(at + 1);
  return all;
}

function stepOf(part: string): PatternStep {
  if (part.startsWith('*')) return { repeats: true, takes: (char) => char !== '/' };
  if (part === '?') return { repeats: false, takes: (char) => char !== '/' };
  if (part.startsWith('[')) return { repeats: false, takes: classOf(part) };
  const wanted = part.startsWith('\\') ? part.slice(1) : part;
  return { repeats: false, takes: (char) => char === wanted };
}

function classOf(part: string): (char: string) => boolean {
  const isNegated = part.startsWith('[^');
  const inner = part.slice(isNegated ? 2 : 1, -1);
  const ranges: (readonly [string, string])[] = [];
  const items = inner.match(/(?:\\[\s\S]|[^\\])(?:-(?:\\[\s\S]|[^\\]))?/gu) ?? [];
  for (const item of items) {
    const [low = '', , high = low] = item.match(/\\[\s\S]|[^\\]/gu) ?? [];
    ranges.push([low.replace(/^\\/, ''), high.replace(/^\\/, '')]);
  }
  const isIn = (char: string): boolean => ranges.some(([low, high]) => low <= char && char <= high);
  return (char) => isIn(char) !== isNegated;
}

function refused(why: string): DesiredError {
  return new DesiredError('DESIRED_RENDER', `.helmignore cannot be read: ${why}`);
}

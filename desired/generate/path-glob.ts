/**
 * The parts of a pattern: `**` as a whole segment, a class, an escaped character, any other
 * character.
 */
const token = /(?<=^|\/)\*\*(?:\/|$)|\[[!^]?(?:\\.|[^\]\\])+\]|\\.|[\s\S]/gu;

/**
 * A state of the automaton: consumes one character, or branches. A state without `next` accepts.
 */
interface GlobState {
  readonly takes?: (char: string) => boolean;
  next: readonly GlobState[];
}

/**
 * Compiles a path pattern with the syntax of Go's doublestar: `*` and `?` stay in one segment, `**`
 * as a whole segment spans any number of them, including none; also classes, and alternatives in
 * braces. Unbalanced braces are literal. A class with a reversed range, and braces that close
 * before they open, match nothing.
 *
 * Tenants write such patterns: all states advance together, so a path is scanned once whatever the
 * pattern is.
 */
export function compilePathGlob(pattern: string): (path: string) => boolean {
  const parts = pattern.match(token) ?? [];
  const isBalanced = parts.filter((part) => part === '{').length === parts.filter((part) => part === '}').length;
  const accept: GlobState = { next: [] };
  let start: GlobState;
  try {
    start = isBalanced ? new BraceParser(parts).chain(accept) : parts.reduceRight(before, accept);
  } catch {
    return () => false;
  }
  return (path) => {
    let states = new Set<GlobState>();
    enter(start, states);
    for (const char of path) {
      states = step(states, char);
      if (states.size === 0) return false;
    }
    return states.has(accept);
  };
}

function step(states: ReadonlySet<GlobState>, char: string): Set<GlobState> {
  const after = new Set<GlobState>();
  for (const state of states) if (state.takes?.(char) === true) for (const next of state.next) enter(next, after);
  return after;
}

function enter(start: GlobState, into: Set<GlobState>): void {
  const open = [start];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (into.has(state)) continue;
    into.add(state);
    if (state.takes === undefined) open.push(...state.next);
  }
}

/** Parses a pattern from its end, so that each part knows what follows it. */
class BraceParser {
  readonly #parts: readonly string[];
  #at: number;

  constructor(parts: readonly string[]) {
    this.#parts = parts;
    this.#at = parts.length - 1;
  }

  /** @throws if a brace closes before it opens, or a class is invalid */
  chain(accept: GlobState): GlobState {
    const start = this.#sequence(accept, false);
    if (this.#at >= 0) throw new Error('a brace opens that was closed before');
    return start;
  }

  /** Parses back to the start of the pattern, or of the current alternative. */
  #sequence(last: GlobState, inBraces: boolean): GlobState {
    let next = last;
    for (; this.#at >= 0; this.#at -= 1) {
      const part = this.#parts[this.#at] ?? '';
      if (part === '{' || (inBraces && part === ',')) return next;
      next = part === '}' ? this.#either(next) : before(next, part);
    }
    if (inBraces) throw new Error('a brace closes that was not opened');
    return next;
  }

  #either(last: GlobState): GlobState {
    const branches: GlobState[] = [];
    do {
      this.#at -= 1;
      branches.push(this.#sequence(last, true));
    } while (this.#parts[this.#at] === ',');
    return { next: branches };
  }
}

const inSegment = (char: string): boolean => char !== '/';

function before(next: GlobState, part: string): GlobState {
  if (part === '**/') return segments(next);
  if (part === '**') return loop(() => true, next);
  if (part === '*') return loop(inSegment, next);
  return { takes: part === '?' ? inSegment : characterTest(part), next: [next] };
}

function loop(takes: (char: string) => boolean, next: GlobState): GlobState {
  const again: GlobState = { takes, next: [] };
  const fork: GlobState = { next: [next, again] };
  again.next = [fork];
  return fork;
}

/** Any number of whole segments, each with its trailing slash. */
function segments(next: GlobState): GlobState {
  const inside: GlobState = { takes: inSegment, next: [] };
  const slash: GlobState = { takes: (char) => char === '/', next: [] };
  const fork: GlobState = { next: [next, inside] };
  inside.next = [inside, slash];
  slash.next = [fork];
  return fork;
}

function characterTest(part: string): (char: string) => boolean {
  if (part.startsWith('[') && [...part].length > 1) {
    const isNegated = /^\[[!^]/.test(part);
    const members = part.slice(isNegated ? 2 : 1, -1).replaceAll(/[[\]^&~|]/g, '\\$&');
    const one = new RegExp(`^[${isNegated ? '^' : ''}${members}]$`, 'su');
    return (char) => char !== '/' && one.test(char);
  }
  const literal = part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
  return (char) => char === literal;
}

/** `**` as a whole segment, a class, an escaped character, any other character. */
const token = /(?<=^|\/)\*\*(?:\/|$)|\[[!^]?(?:\\.|[^\]\\])+\]|\\.|[\s\S]/gu;

/** A step: take one character and go on, or go on at several places. One without `next` accepts. */
interface State {
  readonly takes?: (char: string) => boolean;
  next: readonly State[];
}

/**
 * A test for paths by a pattern as Go's doublestar reads it: `*` and `?` stay in one segment, `**` as a whole segment spans any number of
 * them, none included; classes, and alternatives in braces. Braces that are not closed are text. A class with its ends in the wrong order, and
 * braces that close before they open, match nothing.
 *
 * Tenants write such patterns: a path is walked once, at all places of the pattern at the same time, whatever the pattern is.
 */
export function compilePathGlob(pattern: string): (path: string) => boolean {
  const parts = pattern.match(token) ?? [];
  const isBalanced = parts.filter((part) => part === '{').length === parts.filter((part) => part === '}').length;
  const accept: State = { next: [] };
  let start: State;
  try {
    start = isBalanced ? new Braces(parts).chain(accept) : parts.reduceRight(before, accept);
  } catch {
    return () => false;
  }
  return (path) => {
    let states = new Set<State>();
    enter(start, states);
    for (const char of path) {
      states = step(states, char);
      if (states.size === 0) return false;
    }
    return states.has(accept);
  };
}

function step(states: ReadonlySet<State>, char: string): Set<State> {
  const after = new Set<State>();
  for (const state of states) if (state.takes?.(char) === true) for (const next of state.next) enter(next, after);
  return after;
}

function enter(start: State, into: Set<State>): void {
  const open = [start];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    if (into.has(state)) continue;
    into.add(state);
    if (state.takes === undefined) open.push(...state.next);
  }
}

/** Reads a pattern from its end, so that each part knows what follows it. */
class Braces {
  readonly #parts: readonly string[];
  #at: number;

  constructor(parts: readonly string[]) {
    this.#parts = parts;
    this.#at = parts.length - 1;
  }

  /** @throws for braces that close before they open, and for classes that are none. */
  chain(accept: State): State {
    const start = this.#sequence(accept, false);
    if (this.#at >= 0) throw new Error('a brace opens that was closed before');
    return start;
  }

  /** Back to the beginning of the pattern, or of the alternative that it is in. */
  #sequence(last: State, inBraces: boolean): State {
    let next = last;
    for (; this.#at >= 0; this.#at -= 1) {
      const part = this.#parts[this.#at] ?? '';
      if (part === '{' || (inBraces && part === ',')) return next;
      next = part === '}' ? this.#either(next) : before(next, part);
    }
    if (inBraces) throw new Error('a brace closes that was not opened');
    return next;
  }

  #either(last: State): State {
    const branches: State[] = [];
    do {
      this.#at -= 1;
      branches.push(this.#sequence(last, true));
    } while (this.#parts[this.#at] === ',');
    return { next: branches };
  }
}

const inSegment = (char: string): boolean => char !== '/';

function before(next: State, part: string): State {
  if (part === '**/') return segments(next);
  if (part === '**') return loop(() => true, next);
  if (part === '*') return loop(inSegment, next);
  return { takes: part === '?' ? inSegment : taking(part), next: [next] };
}

function loop(takes: (char: string) => boolean, next: State): State {
  const again: State = { takes, next: [] };
  const fork: State = { next: [next, again] };
  again.next = [fork];
  return fork;
}

/** Any number of whole segments, each with the slash behind it. */
function segments(next: State): State {
  const inside: State = { takes: inSegment, next: [] };
  const slash: State = { takes: (char) => char === '/', next: [] };
  const fork: State = { next: [next, inside] };
  inside.next = [inside, slash];
  slash.next = [fork];
  return fork;
}

function taking(part: string): (char: string) => boolean {
  if (part.startsWith('[') && [...part].length > 1) {
    const isNegated = /^\[[!^]/.test(part);
    const members = part.slice(isNegated ? 2 : 1, -1).replaceAll(/[[\]^&~|]/g, '\\$&');
    const one = new RegExp(`^[${isNegated ? '^' : ''}${members}]$`, 'su');
    return (char) => char !== '/' && one.test(char);
  }
  const literal = part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
  return (char) => char === literal;
}

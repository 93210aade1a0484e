import { DiffRulesError } from './errors.ts';

/** The part of jq that names paths. */
export type Expression =
  | { readonly kind: 'identity' | 'recurse' | 'empty' }
  | { readonly kind: 'field'; readonly from: Expression; readonly name: Expression }
  | { readonly kind: 'iterate'; readonly from: Expression }
  | { readonly kind: 'try'; readonly body: Expression }
  | { readonly kind: 'literal'; readonly value: null | boolean | number | string }
  | { readonly kind: 'list'; readonly body: Expression }
  | {
      readonly kind: 'pipe' | 'comma' | 'and' | 'or' | 'alternative';
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] };

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** Functions that are known, by the numbers of arguments that they take. */
const functions: Readonly<Record<string, readonly number[]>> = {
  select: [1],
  test: [1, 2],
  startswith: [1],
  endswith: [1],
  contains: [1],
  inside: [1],
  has: [1],
  any: [0, 1, 2],
  all: [0, 1, 2],
  first: [0, 1],
  last: [0],
  not: [0],
  length: [0],
  type: [0],
  keys: [0],
  tostring: [0],
  ascii_downcase: [0],
  getpath: [1],
  recurse: [0],
  empty: [0],
};

const token =
  /\s*(?:#[^\n]*)?(?:(\.\.|\.[A-Za-z_][A-Za-z0-9_]*|\.(?=["[\]|,)?;\s]|$)|\.|\/\/|==|!=|<=|>=|[|,()[\]?<>:;+*/%{}$-])|("(?:[^"\\]|\\.)*")|([0-9]+(?:\.[0-9]+)?)|([A-Za-z_][A-Za-z0-9_]*))/y;
const maxLength = 4096;

interface Token {
  readonly kind: 'mark' | 'text' | 'number' | 'word';
  readonly text: string;
}

/**
 * Parses a jq path expression: `.a.b`, `.["a"]`, `.[]`, `.[0]`, `|`, `,`, `//`, `and`, `or`, comparisons, `..`, `?`, `[…]`, literals and the
 * functions above. Precedence as in jq: `|` < `,` < `//` < `or` < `and` < comparisons < postfix.
 *
 * @throws DiffRulesError for anything else: a rule that is not understood must not be skipped in silence.
 */
export function parsePathExpression(source: string): Expression {
  if (source.length > maxLength) throw new DiffRulesError(`is longer than ${maxLength} characters`);
  return new Parser(source).parse();
}

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = this.#scan();
  }

  parse(): Expression {
    const expression = this.#pipe();
    const rest = this.#tokens[this.#at];
    if (rest !== undefined) this.#fail(`is not understood at "${rest.text}"`);
    return expression;
  }

  #scan(): Token[] {
    const tokens: Token[] = [];
    token.lastIndex = 0;
    const end = this.#source.trimEnd().length;
    while (token.lastIndex < end) {
      const from = token.lastIndex;
      const match = token.exec(this.#source);
      if (match === null) this.#fail(`is not understood at "${this.#source.slice(from, from + 10)}"`);
      const [, mark, text, number, word] = match;
      if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
      else if (text !== undefined) tokens.push({ kind: 'text', text });
      else if (number !== undefined) tokens.push({ kind: 'number', text: number });
      else tokens.push({ kind: 'word', text: word ?? '' });
    }
    return tokens;
  }

  #pipe(): Expression {
    this.#depth += 1;
    if (this.#depth > 100) this.#fail('is nested too deeply');
    const left = this.#comma();
    const result: Expression = this.#take('|') ? { kind: 'pipe', left, right: this.#pipe() } : left;
    this.#depth -= 1;
    return result;
  }

  #comma(): Expression {
    let left = this.#alternative();
    while (this.#take(',')) left = { kind: 'comma', left, right: this.#alternative() };
    return left;
  }

  #alternative(): Expression {
    const left = this.#or();
    return this.#take('//') ? { kind: 'alternative', left, right: this.#alternative() } : left;
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#take('or')) left = { kind: 'or', left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#comparison();
    while (this.#take('and')) left = { kind: 'and', left, right: this.#comparison() };
    return left;
  }

  #comparison(): Expression {
    const left = this.#postfix();
    const operator = (['==', '!=', '<=', '>=', '<', '>'] as const).find((text) => this.#take(text));
    return operator === undefined ? left : { kind: 'compare', operator, left, right: this.#postfix() };
  }

  #postfix(): Expression {
    let term = this.#term();
    for (let suffixed = false; ;) {
      const next = this.#tokens[this.#at];
      if (next?.kind !== 'mark') return term;
      if (/^\.[A-Za-z_]/.test(next.text)) term = this.#named(term);
      else if (next.text === '.') {
        this.#at += 1;
        term = this.#afterDot(term);
      } else if (next.text === '[') term = this.#bracket(term);
      else if (next.text === '?') {
        this.#at += 1;
        term = suffixed ? optional(term) : { kind: 'try', body: term };
      } else return term;
      suffixed = next.text !== '?';
    }
  }

  #named(from: Expression): Expression {
    const text = this.#tokens[this.#at]?.text ?? '';
    this.#at += 1;
    return { kind: 'field', from, name: { kind: 'literal', value: text.slice(1) } };
  }

  /** After a bare dot that follows a term: `."name"` or `.[…]`. */
  #afterDot(from: Expression): Expression {
    const next = this.#tokens[this.#at];
    if (next?.kind === 'text') {
      this.#at += 1;
      return { kind: 'field', from, name: { kind: 'literal', value: this.#text(next.text) } };
    }
    return next?.text === '[' ? this.#bracket(from) : this.#fail('ends in a dot');
  }

  #bracket(from: Expression): Expression {
    this.#expect('[');
    if (this.#take(']')) return { kind: 'iterate', from };
    const negative = this.#take('-');
    const name = this.#pipe();
    this.#expect(']');
    if (!negative) return { kind: 'field', from, name };
    if (name.kind !== 'literal' || typeof name.value !== 'number') return this.#fail('has a computed negative index');
    return { kind: 'field', from, name: { kind: 'literal', value: -name.value } };
  }

  #term(): Expression {
    const next = this.#tokens[this.#at];
    if (next === undefined) return this.#fail('ends too early');
    if (next.kind === 'mark') return this.#marked(next.text);
    this.#at += 1;
    if (next.kind === 'text') return { kind: 'literal', value: this.#text(next.text) };
    if (next.kind === 'number') return { kind: 'literal', value: Number(next.text) };
    return this.#word(next.text);
  }

  #marked(mark: string): Expression {
    if (/^\.[A-Za-z_]/.test(mark)) return this.#named({ kind: 'identity' });
    this.#at += 1;
    switch (mark) {
      case '..':
        return { kind: 'recurse' };
      case '.':
        return ['text', 'mark'].includes(this.#tokens[this.#at]?.kind ?? '') &&
          /^["[]/.test(this.#tokens[this.#at]?.text ?? '')
          ? this.#afterDot({ kind: 'identity' })
          : { kind: 'identity' };
      case '(': {
        const inner = this.#pipe();
        this.#expect(')');
        return inner;
      }
      case '[': {
        if (this.#take(']')) return { kind: 'list', body: { kind: 'empty' } };
        const body = this.#pipe();
        this.#expect(']');
        return { kind: 'list', body };
      }
      case '-': {
        const number = this.#term();
        if (number.kind === 'literal' && typeof number.value === 'number')
          return { kind: 'literal', value: -number.value };
        return this.#fail('uses arithmetic, which is not supported');
      }
      default:
        return this.#fail(`uses "${mark}", which is not supported here`);
    }
  }

  #word(word: string): Expression {
    if (word === 'true' || word === 'false') return { kind: 'literal', value: word === 'true' };
    if (word === 'null') return { kind: 'literal', value: null };
    const args: Expression[] = [];
    if (this.#take('(')) {
      do args.push(this.#pipe());
      while (this.#take(';'));
      this.#expect(')');
    }
    const arities = Object.hasOwn(functions, word) ? functions[word] : undefined;
    if (arities === undefined) return this.#fail(`uses the function "${word}", which is not supported`);
    if (!arities.includes(args.length)) return this.#fail(`calls "${word}" with ${args.length} arguments`);
    if (word === 'empty') return { kind: 'empty' };
    return word === 'recurse' ? { kind: 'recurse' } : { kind: 'call', name: word, args };
  }

  #text(quoted: string): string {
    if (quoted.includes('\\(')) return this.#fail('uses string interpolation, which is not supported');
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return this.#fail(`holds a broken string ${quoted}`);
    }
  }

  #take(text: string): boolean {
    const next = this.#tokens[this.#at];
    if (next === undefined || next.kind === 'text' || next.text !== text) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(`lacks a "${text}"`);
  }

  #fail(why: string): never {
    throw new DiffRulesError(why);
  }
}

/** `?` is about the last step only: an error there does not end what comes before it, such as the other items of a list. */
function optional(term: Expression): Expression {
  const here: Expression = { kind: 'identity' };
  if (term.kind === 'iterate')
    return { kind: 'pipe', left: term.from, right: { kind: 'try', body: { ...term, from: here } } };
  if (term.kind === 'field' && term.name.kind === 'literal')
    return { kind: 'pipe', left: term.from, right: { kind: 'try', body: { ...term, from: here } } };
  return { kind: 'try', body: term };
}

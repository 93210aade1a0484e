import { DiffRulesError } from './errors.ts';
import { isPlaceless } from './jq-expression.ts';
import type { Expression } from './jq-expression.ts';
import { defined, evaluated, knownCall } from './jq-functions.ts';

const token =
  /\s*(?:#[^\n]*)?(?:(\.\.|\.[A-Za-z_][A-Za-z0-9_]*|\.(?=["[\]|,)?;\s]|$)|\.|\?\/\/|\/\/=|\/\/|==|!=|<=|>=|\|=|[-+*/%]=|[|,()[\]?<>:;+*/%{}=-])|("(?:[^"\\]|\\\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*\)|\\[^(])*")|([0-9]+(?:\.[0-9]+)?)|([$@]?[A-Za-z_][A-Za-z0-9_]*))/y;
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
  /** Functions and variables that the program makes itself. */
  readonly #made = new Set<string>(['$ENV', '$__loc__', '$__prog_args']);

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
    const result = this.#take('def') ? this.#definition() : this.#take('label') ? this.#label() : this.#piped();
    this.#depth -= 1;
    return result;
  }

  #piped(): Expression {
    const left = this.#comma();
    return this.#take('|') ? { kind: 'pipe', left, right: this.#pipe() } : left;
  }

  /** `def name(parameters): body; rest` */
  #definition(): Expression {
    this.#made.add(this.#name());
    if (this.#take('('))
      do {
        const parameter = this.#name();
        this.#made.add(parameter);
        this.#made.add(parameter.replace('$', ''));
      } while (this.#take(';') || !this.#closes());
    this.#expect(':');
    this.#pipe();
    this.#expect(';');
    return hidden('functions of its own', this.#pipe());
  }

  #closes(): boolean {
    this.#expect(')');
    return true;
  }

  #label(): Expression {
    this.#made.add(this.#name());
    this.#expect('|');
    return hidden('labels', this.#pipe());
  }

  #name(): string {
    const next = this.#tokens[this.#at];
    if (next?.kind !== 'word') return this.#fail('lacks a name');
    this.#at += 1;
    return next.text;
  }

  #comma(): Expression {
    let left = this.#alternative();
    while (this.#take(',')) left = { kind: 'comma', left, right: this.#alternative() };
    return left;
  }

  #alternative(): Expression {
    const left = this.#assignment();
    return this.#take('//') ? { kind: 'alternative', left, right: this.#alternative() } : left;
  }

  #assignment(): Expression {
    const left = this.#or();
    const operator = ['=', '|=', '+=', '-=', '*=', '/=', '%=', '//='].find((text) => this.#take(text));
    if (operator === undefined) return left;
    this.#alternative();
    return value('assignments');
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
    const left = this.#arithmetic();
    const operator = (['==', '!=', '<=', '>=', '<', '>'] as const).find((text) => this.#take(text));
    return operator === undefined ? left : { kind: 'compare', operator, left, right: this.#arithmetic() };
  }

  #arithmetic(): Expression {
    let left = this.#bound();
    while (['+', '-', '*', '/', '%'].some((operator) => this.#take(operator))) {
      this.#bound();
      left = value('arithmetic');
    }
    return left;
  }

  /** A term, or `term as $name | body`. */
  #bound(): Expression {
    const term = this.#postfix();
    if (!this.#take('as')) return term;
    this.#pattern();
    this.#expect('|');
    return hidden('variables', this.#pipe());
  }

  /** Up to the `|` or the bracket that follows it. */
  #pattern(): void {
    for (let depth = 0; ; this.#at += 1) {
      const next = this.#tokens[this.#at] ?? this.#fail('ends too early');
      if (next.kind === 'word' && next.text.startsWith('$')) this.#made.add(next.text);
      if (next.kind !== 'mark') continue;
      if (depth === 0 && (next.text === '|' || next.text === '(')) return;
      if ('[{('.includes(next.text)) depth += 1;
      if (']})'.includes(next.text)) depth -= 1;
    }
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
    if (this.#take(':')) {
      const high = this.#pipe();
      this.#expect(']');
      return { kind: 'slice', from, low: undefined, high };
    }
    const name = this.#pipe();
    if (this.#take(':')) {
      const high = this.#take(']') ? undefined : this.#pipe();
      if (high !== undefined) this.#expect(']');
      return { kind: 'slice', from, low: name, high };
    }
    this.#expect(']');
    return { kind: 'field', from, name };
  }

  #term(): Expression {
    const next = this.#tokens[this.#at];
    if (next === undefined) return this.#fail('ends too early');
    if (next.kind === 'mark') return this.#marked(next.text);
    this.#at += 1;
    if (next.kind === 'text')
      return next.text.includes('\\(')
        ? value('string interpolation')
        : { kind: 'literal', value: this.#text(next.text) };
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
      case '{':
        return this.#object();
      case '-':
        return this.#negative();
      default:
        return this.#fail(`uses "${mark}", which is not supported here`);
    }
  }

  #negative(): Expression {
    const number = this.#postfix();
    return number.kind === 'literal' && typeof number.value === 'number'
      ? { kind: 'literal', value: -number.value }
      : value('arithmetic');
  }

  /** Up to its closing brace. */
  #object(): Expression {
    for (let depth = 1; depth > 0; this.#at += 1) {
      const next = this.#tokens[this.#at] ?? this.#fail('lacks a "}"');
      if (next.kind === 'mark' && next.text === '{') depth += 1;
      if (next.kind === 'mark' && next.text === '}') depth -= 1;
    }
    return value('objects');
  }

  #word(word: string): Expression {
    switch (word) {
      case 'true':
      case 'false':
        return { kind: 'literal', value: word === 'true' };
      case 'null':
        return { kind: 'literal', value: null };
      case 'if':
        return this.#if();
      case 'try':
        return this.#try();
      case 'reduce':
      case 'foreach':
        return this.#fold(word);
      case 'break':
        this.#name();
        return { kind: 'opaque', what: 'labels', places: true };
      default:
        return this.#callOf(word);
    }
  }

  #callOf(word: string): Expression {
    if (word.startsWith('@')) {
      if (this.#tokens[this.#at]?.kind === 'text') this.#at += 1;
      return value(`the format ${word}`);
    }
    if (word.startsWith('$'))
      return this.#made.has(word) ? value('variables') : this.#fail(`uses the variable ${word}, which is not known`);
    const args: Expression[] = [];
    if (this.#take('(')) {
      do args.push(this.#pipe());
      while (this.#take(';'));
      this.#expect(')');
    }
    return this.#called(word, args);
  }

  #called(word: string, args: readonly Expression[]): Expression {
    if (this.#made.has(word)) return { kind: 'opaque', what: 'functions of its own', places: true };
    const definition = args.length === 0 && Object.hasOwn(defined, word) ? defined[word] : undefined;
    if (definition !== undefined) return new Parser(definition).parse();
    if (Object.hasOwn(evaluated, word) && evaluated[word]?.includes(args.length) === true) {
      if (word === 'empty') return { kind: 'empty' };
      return word === 'recurse' ? { kind: 'recurse' } : { kind: 'call', name: word, args };
    }
    const known = knownCall(word, args.length);
    if (known !== undefined) return { kind: 'opaque', what: `the function "${word}"`, places: known === 'places' };
    return Object.hasOwn(evaluated, word)
      ? this.#fail(`calls "${word}" with ${args.length} arguments`)
      : this.#fail(`uses the function "${word}", which is not supported`);
  }

  #if(): Expression {
    const condition = this.#pipe();
    this.#expect('then');
    const then = this.#pipe();
    if (this.#take('elif')) return { kind: 'if', condition, then, otherwise: this.#if() };
    const otherwise: Expression = this.#take('else') ? this.#pipe() : { kind: 'identity' };
    this.#expect('end');
    return { kind: 'if', condition, then, otherwise };
  }

  #try(): Expression {
    const body = this.#postfix();
    if (!this.#take('catch')) return { kind: 'try', body };
    const handler = this.#postfix();
    return { kind: 'opaque', what: '"catch"', places: !(isPlaceless(body) && isPlaceless(handler)) };
  }

  #fold(word: string): Expression {
    this.#postfix();
    this.#expect('as');
    this.#pattern();
    this.#expect('(');
    do this.#pipe();
    while (this.#take(';'));
    this.#expect(')');
    return { kind: 'opaque', what: `"${word}"`, places: true };
  }

  #text(quoted: string): string {
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

/** An expression that makes a value of its own. */
function value(what: string): Expression {
  return { kind: 'opaque', what, places: false };
}

/** An expression around another one, whose results it has. */
function hidden(what: string, body: Expression): Expression {
  return { kind: 'opaque', what, places: !isPlaceless(body) };
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

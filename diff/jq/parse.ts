import { DiffRulesError } from '../shared/errors.ts';
import { yieldsNoPath } from './expression.ts';
import type { JqExpression } from './expression.ts';
import { definedFunctions, evaluatedFunctions, knownCall } from './functions.ts';

const tokenPattern =
  /\s*(?:#[^\n]*)?(?:(\.\.|\.[A-Za-z_][A-Za-z0-9_]*|\.(?=["[\]|,)?;\s]|$)|\.|\?\/\/|\/\/=|\/\/|==|!=|<=|>=|\|=|[-+*/%]=|[|,()[\]?<>:;+*/%{}=-])|("(?:[^"\\]|\\\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*\)|\\[^(])*")|([0-9]+(?:\.[0-9]+)?)|([$@]?[A-Za-z_][A-Za-z0-9_]*))/y;
const maxProgramLength = 4096;

interface JqToken {
  readonly kind: 'mark' | 'text' | 'number' | 'word';
  readonly text: string;
}

/**
 * Parses a jq path expression: `.a.b`, `.["a"]`, `.[]`, `.[0]`, `|`, `,`, `//`, `and`, `or`,
 * comparisons, `..`, `?`, `[…]`, literals and the functions of functions.ts. Precedence as in jq:
 * `|` < `,` < `//` < `or` < `and` < comparisons < postfix.
 *
 * @throws DiffRulesError for a syntax error: a rule must not be skipped silently.
 */
export function parsePathExpression(source: string): JqExpression {
  if (source.length > maxProgramLength) throw new DiffRulesError(`is longer than ${maxProgramLength} characters`);
  return new JqParser(source).parse();
}

class JqParser {
  readonly #source: string;
  readonly #tokens: readonly JqToken[];
  #at = 0;
  #depth = 0;
  /** Functions and variables that the program defines. */
  readonly #ownNames = new Set<string>(['$ENV', '$__loc__', '$__prog_args']);

  constructor(source: string) {
    this.#source = source;
    this.#tokens = this.#scan();
  }

  parse(): JqExpression {
    const expression = this.#pipe();
    const rest = this.#tokens[this.#at];
    if (rest !== undefined) this.#fail(`cannot be parsed at "${rest.text}"`);
    return expression;
  }

  #scan(): JqToken[] {
    const tokens: JqToken[] = [];
    tokenPattern.lastIndex = 0;
    const end = this.#source.trimEnd().length;
    while (tokenPattern.lastIndex < end) {
      const from = tokenPattern.lastIndex;
      const match = tokenPattern.exec(this.#source);
      if (match === null) this.#fail(`cannot be parsed at "${this.#source.slice(from, from + 10)}"`);
      const [, mark, text, number, word] = match;
      if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
      else if (text !== undefined) tokens.push({ kind: 'text', text });
      else if (number !== undefined) tokens.push({ kind: 'number', text: number });
      else tokens.push({ kind: 'word', text: word ?? '' });
    }
    return tokens;
  }

  #pipe(): JqExpression {
    this.#depth += 1;
    if (this.#depth > 100) this.#fail('is nested too deeply');
    const result = this.#take('def') ? this.#definition() : this.#take('label') ? this.#label() : this.#piped();
    this.#depth -= 1;
    return result;
  }

  #piped(): JqExpression {
    const left = this.#comma();
    return this.#take('|') ? { kind: 'pipe', left, right: this.#pipe() } : left;
  }

  /** `def name(parameters): body; rest` */
  #definition(): JqExpression {
    this.#ownNames.add(this.#name());
    if (this.#take('('))
      do {
        const parameter = this.#name();
        this.#ownNames.add(parameter);
        this.#ownNames.add(parameter.replace('$', ''));
      } while (this.#take(';') || !this.#closes());
    this.#expect(':');
    this.#pipe();
    this.#expect(';');
    return unsupportedAround('functions of its own', this.#pipe());
  }

  #closes(): boolean {
    this.#expect(')');
    return true;
  }

  #label(): JqExpression {
    this.#ownNames.add(this.#name());
    this.#expect('|');
    return unsupportedAround('labels', this.#pipe());
  }

  #name(): string {
    const next = this.#tokens[this.#at];
    if (next?.kind !== 'word') return this.#fail('lacks a name');
    this.#at += 1;
    return next.text;
  }

  #comma(): JqExpression {
    let left = this.#alternative();
    while (this.#take(',')) left = { kind: 'comma', left, right: this.#alternative() };
    return left;
  }

  #alternative(): JqExpression {
    const left = this.#assignment();
    return this.#take('//') ? { kind: 'alternative', left, right: this.#alternative() } : left;
  }

  #assignment(): JqExpression {
    const left = this.#or();
    const operator = ['=', '|=', '+=', '-=', '*=', '/=', '%=', '//='].find((text) => this.#take(text));
    if (operator === undefined) return left;
    this.#alternative();
    return computedValue('assignments');
  }

  #or(): JqExpression {
    let left = this.#and();
    while (this.#take('or')) left = { kind: 'or', left, right: this.#and() };
    return left;
  }

  #and(): JqExpression {
    let left = this.#comparison();
    while (this.#take('and')) left = { kind: 'and', left, right: this.#comparison() };
    return left;
  }

  #comparison(): JqExpression {
    const left = this.#arithmetic();
    const operator = (['==', '!=', '<=', '>=', '<', '>'] as const).find((text) => this.#take(text));
    return operator === undefined ? left : { kind: 'compare', operator, left, right: this.#arithmetic() };
  }

  #arithmetic(): JqExpression {
    let left = this.#bound();
    while (['+', '-', '*', '/', '%'].some((operator) => this.#take(operator))) {
      this.#bound();
      left = computedValue('arithmetic');
    }
    return left;
  }

  /** A term, or `term as $name | body`. */
  #bound(): JqExpression {
    const term = this.#postfix();
    if (!this.#take('as')) return term;
    this.#pattern();
    this.#expect('|');
    return unsupportedAround('variables', this.#pipe());
  }

  /** Skips a pattern up to the `|` or bracket that follows it. */
  #pattern(): void {
    for (let depth = 0; ; this.#at += 1) {
      const next = this.#tokens[this.#at] ?? this.#fail('ends too early');
      if (next.kind === 'word' && next.text.startsWith('$')) this.#ownNames.add(next.text);
      if (next.kind !== 'mark') continue;
      if (depth === 0 && (next.text === '|' || next.text === '(')) return;
      if ('[{('.includes(next.text)) depth += 1;
      if (']})'.includes(next.text)) depth -= 1;
    }
  }

  #postfix(): JqExpression {
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

  #named(from: JqExpression): JqExpression {
    const text = this.#tokens[this.#at]?.text ?? '';
    this.#at += 1;
    return { kind: 'field', from, name: { kind: 'literal', value: text.slice(1) } };
  }

  /** After a dot that follows a term: `."name"` or `.[…]`. */
  #afterDot(from: JqExpression): JqExpression {
    const next = this.#tokens[this.#at];
    if (next?.kind === 'text') {
      this.#at += 1;
      return { kind: 'field', from, name: { kind: 'literal', value: this.#text(next.text) } };
    }
    return next?.text === '[' ? this.#bracket(from) : this.#fail('ends in a dot');
  }

  #bracket(from: JqExpression): JqExpression {
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

  #term(): JqExpression {
    const next = this.#tokens[this.#at];
    if (next === undefined) return this.#fail('ends too early');
    if (next.kind === 'mark') return this.#marked(next.text);
    this.#at += 1;
    if (next.kind === 'text')
      return next.text.includes('\\(')
        ? computedValue('string interpolation')
        : { kind: 'literal', value: this.#text(next.text) };
    if (next.kind === 'number') return { kind: 'literal', value: Number(next.text) };
    return this.#word(next.text);
  }

  #marked(mark: string): JqExpression {
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

  #negative(): JqExpression {
    const number = this.#postfix();
    return number.kind === 'literal' && typeof number.value === 'number'
      ? { kind: 'literal', value: -number.value }
      : computedValue('arithmetic');
  }

  /** Skips an object construction up to its closing brace. */
  #object(): JqExpression {
    for (let depth = 1; depth > 0; this.#at += 1) {
      const next = this.#tokens[this.#at] ?? this.#fail('lacks a "}"');
      if (next.kind === 'mark' && next.text === '{') depth += 1;
      if (next.kind === 'mark' && next.text === '}') depth -= 1;
    }
    return computedValue('objects');
  }

  #word(word: string): JqExpression {
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
        return { kind: 'opaque', what: 'labels', yieldsPaths: true };
      default:
        return this.#callOf(word);
    }
  }

  #callOf(word: string): JqExpression {
    if (word.startsWith('@')) {
      if (this.#tokens[this.#at]?.kind === 'text') this.#at += 1;
      return computedValue(`the format ${word}`);
    }
    if (word.startsWith('$'))
      return this.#ownNames.has(word)
        ? computedValue('variables')
        : this.#fail(`uses the variable ${word}, which is not known`);
    const args: JqExpression[] = [];
    if (this.#take('(')) {
      do args.push(this.#pipe());
      while (this.#take(';'));
      this.#expect(')');
    }
    return this.#called(word, args);
  }

  #called(word: string, args: readonly JqExpression[]): JqExpression {
    if (this.#ownNames.has(word)) return { kind: 'opaque', what: 'functions of its own', yieldsPaths: true };
    const definition = args.length === 0 && Object.hasOwn(definedFunctions, word) ? definedFunctions[word] : undefined;
    if (definition !== undefined) return new JqParser(definition).parse();
    if (Object.hasOwn(evaluatedFunctions, word) && evaluatedFunctions[word]?.includes(args.length) === true) {
      if (word === 'empty') return { kind: 'empty' };
      return word === 'recurse' ? { kind: 'recurse' } : { kind: 'call', name: word, args };
    }
    const known = knownCall(word, args.length);
    if (known !== undefined) return { kind: 'opaque', what: `the function "${word}"`, yieldsPaths: known === 'places' };
    return Object.hasOwn(evaluatedFunctions, word)
      ? this.#fail(`calls "${word}" with ${args.length} arguments`)
      : this.#fail(`uses the function "${word}", which is not supported`);
  }

  #if(): JqExpression {
    const condition = this.#pipe();
    this.#expect('then');
    const then = this.#pipe();
    if (this.#take('elif')) return { kind: 'if', condition, then, otherwise: this.#if() };
    const otherwise: JqExpression = this.#take('else') ? this.#pipe() : { kind: 'identity' };
    this.#expect('end');
    return { kind: 'if', condition, then, otherwise };
  }

  #try(): JqExpression {
    const body = this.#postfix();
    if (!this.#take('catch')) return { kind: 'try', body };
    const handler = this.#postfix();
    return { kind: 'opaque', what: '"catch"', yieldsPaths: !(yieldsNoPath(body) && yieldsNoPath(handler)) };
  }

  #fold(word: string): JqExpression {
    this.#postfix();
    this.#expect('as');
    this.#pattern();
    this.#expect('(');
    do this.#pipe();
    while (this.#take(';'));
    this.#expect(')');
    return { kind: 'opaque', what: `"${word}"`, yieldsPaths: true };
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

/** An expression that computes a value, so it yields no path. */
function computedValue(what: string): JqExpression {
  return { kind: 'opaque', what, yieldsPaths: false };
}

/** An unsupported construct that yields the results of its body. */
function unsupportedAround(what: string, body: JqExpression): JqExpression {
  return { kind: 'opaque', what, yieldsPaths: !yieldsNoPath(body) };
}

/**
 * Limits `?` to the last step: an error there does not end the evaluation of what comes before,
 * such as the other items of a list.
 */
function optional(term: JqExpression): JqExpression {
  const here: JqExpression = { kind: 'identity' };
  if (term.kind === 'iterate')
    return { kind: 'pipe', left: term.from, right: { kind: 'try', body: { ...term, from: here } } };
  if (term.kind === 'field' && term.name.kind === 'literal')
    return { kind: 'pipe', left: term.from, right: { kind: 'try', body: { ...term, from: here } } };
  return { kind: 'try', body: term };
}

import { readTokens } from './template-tokens.ts';
import type { TemplateToken } from './template-tokens.ts';
import { TemplateError } from './template-error.ts';

/** An operand or a call: the first term is a function or a value, the others are arguments. */
export type TemplateCommand = readonly TemplateTerm[];

export interface TemplatePipeline {
  /** The variable that gets the value, and whether it is new. */
  readonly assigns?: { readonly name: string; readonly isNew: boolean };
  readonly commands: readonly TemplateCommand[];
}

export type TemplateTerm =
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
  | { readonly kind: 'function'; readonly name: string }
  /** `.a.b`, or `.` without fields. */
  | { readonly kind: 'field'; readonly fields: readonly string[] }
  /** `$x.a.b`; `$` is the whole data. */
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[] }
  | { readonly kind: 'pipeline'; readonly pipeline: TemplatePipeline; readonly fields: readonly string[] };

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipeline: TemplatePipeline }
  | BranchNode;

export interface BranchNode {
  readonly kind: 'if' | 'with' | 'range';
  readonly pipeline: TemplatePipeline;
  /** The variables of a range: of the value, or of key and value. */
  readonly variables: readonly string[];
  readonly body: readonly TemplateNode[];
  readonly otherwise: readonly TemplateNode[];
}

/** Nesting beyond this is refused. */
const maxDepth = 100;

/**
 * Parses a text/template of Go: texts, variables, pipelines, `if`, `with`, `range`. Definitions of
 * templates, methods, `break` and `continue` are refused.
 * @throws TemplateError
 */
export function parseTemplate(text: string): readonly TemplateNode[] {
  const parser = new TemplateParser(readTokens(text));
  const nodes = parser.list(0);
  parser.expectEnd();
  return nodes;
}

class TemplateParser {
  readonly #tokens: readonly TemplateToken[];
  #at = 0;

  constructor(tokens: readonly TemplateToken[]) {
    this.#tokens = tokens;
  }

  /** Reads up to `end`, `else` or the end of the template, which it leaves. */
  list(depth: number): readonly TemplateNode[] {
    if (depth > maxDepth) throw new TemplateError(`more than ${maxDepth} blocks within each other`);
    const nodes: TemplateNode[] = [];
    for (;;) {
      const token = this.#peek();
      if (token === undefined) return nodes;
      if (token.kind === 'text') {
        this.#at += 1;
        nodes.push({ kind: 'text', text: token.text });
        continue;
      }
      const word = this.#wordOfAction();
      if (word === 'end' || word === 'else') return nodes;
      nodes.push(this.#action(word, depth));
    }
  }

  expectEnd(): void {
    if (this.#peek() !== undefined) throw new TemplateError(`unexpected {{${this.#wordOfAction() ?? ''}}}`);
  }

  #action(word: string | undefined, depth: number): TemplateNode {
    if (word === 'if' || word === 'with' || word === 'range') {
      this.#at += 2;
      return this.#branch(word, depth);
    }
    if (['define', 'template', 'block', 'break', 'continue'].includes(word ?? ''))
      throw new TemplateError(`the action "${word ?? ''}" is not supported`);
    this.#take('open');
    const pipeline = this.#pipeline('close');
    return { kind: 'action', pipeline };
  }

  #branch(kind: BranchNode['kind'], depth: number): BranchNode {
    const variables = kind === 'range' ? this.#rangeVariables() : [];
    const pipeline = this.#pipeline('close');
    const body = this.list(depth + 1);
    const otherwise = this.#otherwise(kind, depth);
    return { kind, pipeline, variables, body, otherwise };
  }

  /** Reads `{{end}}`, or `{{else}} … {{end}}`, or `{{else if …}} … {{end}}`. */
  #otherwise(kind: BranchNode['kind'], depth: number): readonly TemplateNode[] {
    const word = this.#wordOfAction();
    if (word === undefined) throw new TemplateError('unexpected EOF');
    this.#at += 2;
    if (word === 'end') {
      this.#take('close');
      return [];
    }
    const next = this.#peek();
    if (next?.kind === 'word' && (next.text === 'if' || next.text === 'with') && next.text === kind) {
      this.#at += 1;
      return [this.#branch(kind, depth + 1)];
    }
    this.#take('close');
    const nodes = this.list(depth + 1);
    if (this.#wordOfAction() !== 'end') throw new TemplateError('expected {{end}}');
    this.#at += 2;
    this.#take('close');
    return nodes;
  }

  #rangeVariables(): readonly string[] {
    const [first, comma, second] = [0, 1, 2].map((i) => this.#tokens[this.#at + i]);
    if (first?.kind !== 'variable') return [];
    const isPair = comma?.kind === 'comma' && second?.kind === 'variable';
    const assign = this.#tokens[this.#at + (isPair ? 3 : 1)];
    if (assign?.kind !== 'assign') return [];
    if (assign.text !== ':=') throw new TemplateError('a range with "=" is not supported');
    this.#at += isPair ? 4 : 2;
    return isPair ? [first.text, second.text] : [first.text];
  }

  #pipeline(end: 'close' | 'rightParen'): TemplatePipeline {
    const assigns = this.#assignment();
    const commands: TemplateCommand[] = [];
    for (;;) {
      commands.push(this.#command());
      const token = this.#next();
      if (token.kind === end) break;
      if (token.kind !== 'pipe') throw new TemplateError(`unexpected "${token.text}"`);
    }
    return { ...(assigns === undefined ? {} : { assigns }), commands };
  }

  #assignment(): TemplatePipeline['assigns'] {
    const [variable, assign] = [this.#peek(), this.#tokens[this.#at + 1]];
    if (variable?.kind !== 'variable' || assign?.kind !== 'assign') return undefined;
    this.#at += 2;
    return { name: variable.text, isNew: assign.text === ':=' };
  }

  #command(): TemplateCommand {
    const terms: TemplateTerm[] = [];
    for (;;) {
      const term = this.#term();
      if (term === undefined) break;
      terms.push(term);
    }
    if (terms.length === 0) throw new TemplateError('missing value for command');
    return terms;
  }

  #term(): TemplateTerm | undefined {
    const token = this.#peek();
    switch (token?.kind) {
      case 'literal':
        this.#at += 1;
        return { kind: 'literal', value: token.value ?? null };
      case 'word':
        this.#at += 1;
        return wordTerm(token.text);
      case 'field':
        this.#at += 1;
        return { kind: 'field', fields: fieldsOf(token.text) };
      case 'variable':
        this.#at += 1;
        return { kind: 'variable', name: token.text, fields: this.#fields() };
      case 'leftParen': {
        this.#at += 1;
        const pipeline = this.#pipeline('rightParen');
        return { kind: 'pipeline', pipeline, fields: this.#fields() };
      }
      default:
        return undefined;
    }
  }

  /** Fields directly behind a variable or a parenthesis. */
  #fields(): readonly string[] {
    const token = this.#peek();
    if (token?.kind !== 'field' || token.isSpaced) return [];
    this.#at += 1;
    return fieldsOf(token.text);
  }

  #peek(): TemplateToken | undefined {
    return this.#tokens[this.#at];
  }

  #next(): TemplateToken {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new TemplateError('unexpected EOF');
    this.#at += 1;
    return token;
  }

  #take(kind: TemplateToken['kind']): void {
    const token = this.#next();
    if (token.kind !== kind) throw new TemplateError(`unexpected "${token.text}"`);
  }

  /** The first word of the action that begins here. */
  #wordOfAction(): string | undefined {
    const next = this.#tokens[this.#at + 1];
    return this.#peek()?.kind === 'open' && next?.kind === 'word' ? next.text : undefined;
  }
}

function wordTerm(word: string): TemplateTerm {
  if (word === 'true' || word === 'false') return { kind: 'literal', value: word === 'true' };
  if (word === 'nil') return { kind: 'literal', value: null };
  return { kind: 'function', name: word };
}

function fieldsOf(text: string): readonly string[] {
  return text.split('.').filter((name) => name !== '');
}

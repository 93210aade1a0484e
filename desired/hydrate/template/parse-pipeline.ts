import { TemplateError } from './template-error.ts';
import type { TemplateCommand, TemplatePipeline, TemplateTerm } from './template-nodes.ts';
import type { TemplateToken } from './template-tokens.ts';

/** Parentheses within each other. */
const maxParentheses = 100;

/** Reads the tokens of a template, and the pipelines within its actions. */
export class PipelineParser {
  readonly #tokens: readonly TemplateToken[];
  readonly #isFunction: (name: string) => boolean;
  #at = 0;
  #parentheses = 0;
  /** The names of the variables that are declared here, innermost last. */
  variables: string[] = ['$'];

  constructor(tokens: readonly TemplateToken[], isFunction: (name: string) => boolean) {
    this.#tokens = tokens;
    this.#isFunction = isFunction;
  }

  peek(ahead = 0): TemplateToken | undefined {
    return this.#tokens[this.#at + ahead];
  }

  /** @throws TemplateError */
  next(): TemplateToken {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new TemplateError('unexpected EOF');
    this.#at += 1;
    return token;
  }

  /** @throws TemplateError */
  take(kind: TemplateToken['kind'], context: string): TemplateToken {
    const token = this.next();
    if (token.kind !== kind) throw unexpected(token, context);
    return token;
  }

  /** Reads up to the end of the action or parenthesis, which it takes. @throws TemplateError */
  pipeline(end: 'close' | 'rightParen', context: string): TemplatePipeline {
    const { variables, declares } = this.#assignment(context);
    const commands: TemplateCommand[] = [];
    for (;;) {
      const command = this.#command(context);
      if (commands.length > 0 && isConstant(command[0]))
        throw new TemplateError(`non executable command in pipeline stage ${commands.length + 1}`);
      commands.push(command);
      const token = this.next();
      if (token.kind === end) break;
      if (token.kind !== 'pipe') throw unexpected(token, context);
    }
    if (declares) this.variables.push(...variables);
    return { variables, declares, commands };
  }

  #assignment(context: string): Pick<TemplatePipeline, 'variables' | 'declares'> {
    const none = { variables: [], declares: false };
    const [first, second, third] = [0, 1, 2].map((ahead) => this.peek(ahead));
    if (first?.kind !== 'variable') return none;
    const isPair = context === 'range' && second?.kind === 'comma' && third?.kind === 'variable';
    const assign = this.peek(isPair ? 3 : 1);
    if (assign?.kind !== 'assign') return none;
    this.#at += isPair ? 4 : 2;
    const variables = isPair ? [first.text, third.text] : [first.text];
    const declares = assign.text === ':=';
    if (!declares) for (const name of variables) this.#expectVariable(name);
    return { variables, declares };
  }

  #command(context: string): TemplateCommand {
    const terms: TemplateTerm[] = [];
    for (;;) {
      const token = this.peek();
      const term = this.#term();
      if (term === undefined) break;
      if (token !== undefined && terms.length > 0 && !token.isSpaced) throw unexpected(token, 'operand');
      terms.push(term);
    }
    if (terms.length > 0) return terms;
    const token = this.peek();
    if (token !== undefined && token.kind !== 'close' && token.kind !== 'rightParen' && token.kind !== 'pipe')
      throw unexpected(token, context);
    throw new TemplateError(`missing value for ${context}`);
  }

  #term(): TemplateTerm | undefined {
    const token = this.peek();
    switch (token?.kind) {
      case 'string':
        this.#at += 1;
        return this.#constant({ kind: 'literal', value: token.text });
      case 'number':
        this.#at += 1;
        return token.number && this.#constant({ kind: 'number', number: token.number, text: token.text });
      case 'word':
        this.#at += 1;
        return this.#word(token.text);
      case 'field':
        this.#at += 1;
        return this.#fieldTerm(token.text);
      case 'variable':
        this.#at += 1;
        this.#expectVariable(token.text);
        return { kind: 'variable', name: token.text, fields: this.#fields() };
      case 'leftParen':
        this.#at += 1;
        return this.#parenthesis();
      default:
        return undefined;
    }
  }

  #parenthesis(): TemplateTerm {
    this.#parentheses += 1;
    if (this.#parentheses > maxParentheses) throw new TemplateError('max expression depth exceeded');
    const pipeline = this.pipeline('rightParen', 'parenthesized pipeline');
    this.#parentheses -= 1;
    return { kind: 'pipeline', pipeline, fields: this.#fields() };
  }

  #word(name: string): TemplateTerm {
    if (name === 'true' || name === 'false') return this.#constant({ kind: 'literal', value: name === 'true' });
    if (name === 'nil') return this.#constant({ kind: 'literal', value: null });
    if (!this.#isFunction(name)) throw new TemplateError(`function ${JSON.stringify(name)} not defined`);
    return { kind: 'function', name, fields: this.#fields() };
  }

  #fieldTerm(name: string): TemplateTerm {
    if (name === '') return this.#constant({ kind: 'field', fields: [] });
    return { kind: 'field', fields: [name, ...this.#fields()] };
  }

  /** A constant has no fields. */
  #constant(term: TemplateTerm): TemplateTerm {
    const token = this.peek();
    if (token?.kind === 'field' && !token.isSpaced) throw new TemplateError('unexpected . after term');
    return term;
  }

  /** Fields directly behind a variable, a field or a parenthesis. */
  #fields(): readonly string[] {
    const fields: string[] = [];
    for (let token = this.peek(); token?.kind === 'field' && !token.isSpaced; token = this.peek()) {
      if (token.text === '') throw new TemplateError('unexpected <.> in operand');
      fields.push(token.text);
      this.#at += 1;
    }
    return fields;
  }

  #expectVariable(name: string): void {
    if (!this.variables.includes(name)) throw new TemplateError(`undefined variable "${name}"`);
  }
}

function isConstant(term: TemplateTerm | undefined): boolean {
  const isDot = term?.kind === 'field' && term.fields.length === 0;
  return isDot || term?.kind === 'literal' || term?.kind === 'number';
}

function unexpected({ kind, text }: TemplateToken, context: string): TemplateError {
  return new TemplateError(`unexpected ${kind === 'text' ? 'text' : JSON.stringify(text)} in ${context}`);
}

import { PipelineParser } from './parse-pipeline.ts';
import { TemplateError } from './template-error.ts';
import type { BranchNode, ParsedTemplate, TemplateNode } from './template-nodes.ts';
import { readTokens } from './template-tokens.ts';

/** Blocks within each other. */
const maxDepth = 100;

/**
 * Parses a text/template of Go. An action of Go that is not known here does not exist.
 * @throws TemplateError
 */
export function parseTemplate(text: string, isFunction: (name: string) => boolean): ParsedTemplate {
  return new TemplateParser(new PipelineParser(readTokens(text), isFunction)).template();
}

class TemplateParser {
  readonly #parser: PipelineParser;
  readonly #named = new Map<string, readonly TemplateNode[]>();
  #ranges = 0;

  constructor(parser: PipelineParser) {
    this.#parser = parser;
  }

  template(): ParsedTemplate {
    const nodes: TemplateNode[] = [];
    for (;;) {
      nodes.push(...this.#list(0));
      const word = this.#wordOfAction();
      if (word === undefined) return { nodes, named: this.#named };
      if (word !== 'define') throw new TemplateError(`unexpected {{${word}}}`);
      this.#define();
    }
  }

  /** Reads up to an `end`, `else` or `define`, or the end of the template, and leaves it. */
  #list(depth: number): readonly TemplateNode[] {
    if (depth > maxDepth) throw new TemplateError(`more than ${maxDepth} blocks within each other`);
    const nodes: TemplateNode[] = [];
    for (;;) {
      const token = this.#parser.peek();
      if (token === undefined) return nodes;
      if (token.kind === 'text') {
        this.#parser.next();
        nodes.push({ kind: 'text', text: token.text });
        continue;
      }
      const word = this.#wordOfAction();
      if (word === 'end' || word === 'else' || word === 'define') return nodes;
      nodes.push(this.#action(word, depth));
    }
  }

  #action(word: string | undefined, depth: number): TemplateNode {
    this.#parser.next();
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        this.#parser.next();
        return this.#branch(word, depth);
      case 'break':
      case 'continue':
        this.#parser.next();
        this.#parser.take('close', `{{${word}}}`);
        if (this.#ranges === 0) throw new TemplateError(`{{${word}}} outside {{range}}`);
        return { kind: word };
      case 'template':
        this.#parser.next();
        return this.#call(this.#name('template clause'));
      case 'block':
        this.#parser.next();
        return this.#block(depth);
      default:
        return { kind: 'action', pipeline: this.#parser.pipeline('close', 'command') };
    }
  }

  #branch(kind: BranchNode['kind'], depth: number): BranchNode {
    const declared = this.#parser.variables.length;
    const pipeline = this.#parser.pipeline('close', kind);
    if (kind === 'range') this.#ranges += 1;
    const body = this.#list(depth + 1);
    if (kind === 'range') this.#ranges -= 1;
    const otherwise = this.#otherwise(kind, depth);
    this.#parser.variables.length = declared;
    return { kind, pipeline, body, otherwise };
  }

  /** Reads `{{end}}`, or `{{else}} … {{end}}`, or `{{else if …}} … {{end}}`. */
  #otherwise(kind: BranchNode['kind'], depth: number): readonly TemplateNode[] {
    if (this.#closing() === 'end') return [];
    const next = this.#parser.peek();
    if (kind !== 'range' && next?.kind === 'word' && next.text === kind) {
      this.#parser.next();
      return [this.#branch(kind, depth + 1)];
    }
    this.#parser.take('close', 'else');
    const nodes = this.#list(depth + 1);
    this.#end();
    return nodes;
  }

  /** Takes `{{end}}`, or the beginning of `{{else`. */
  #closing(): 'end' | 'else' {
    const word = this.#wordOfAction();
    if (word === undefined) throw new TemplateError('unexpected EOF');
    if (word !== 'end' && word !== 'else') throw new TemplateError(`unexpected {{${word}}}`);
    this.#parser.next();
    this.#parser.next();
    if (word === 'end') this.#parser.take('close', 'end');
    return word;
  }

  #end(): void {
    if (this.#closing() !== 'end') throw new TemplateError('expected end; found {{else}}');
  }

  #define(): void {
    this.#parser.next();
    this.#parser.next();
    const name = this.#name('define clause');
    this.#parser.take('close', 'define clause');
    this.#body(name, 0);
  }

  #block(depth: number): TemplateNode {
    const name = this.#name('block clause');
    const node = this.#call(name);
    this.#body(name, depth);
    return node;
  }

  /** Reads the body of a template of its own: with no variables, and outside of all ranges. */
  #body(name: string, depth: number): void {
    const [variables, ranges] = [this.#parser.variables, this.#ranges];
    this.#parser.variables = ['$'];
    this.#ranges = 0;
    const nodes = this.#list(depth + 1);
    this.#end();
    this.#parser.variables = variables;
    this.#ranges = ranges;
    this.#add(name, nodes);
  }

  #add(name: string, nodes: readonly TemplateNode[]): void {
    const known = this.#named.get(name);
    if (known === undefined || isEmpty(known)) this.#named.set(name, nodes);
    else if (!isEmpty(nodes)) throw new TemplateError(`multiple definition of template ${JSON.stringify(name)}`);
  }

  #call(name: string): TemplateNode {
    const isAlone = this.#parser.peek()?.kind === 'close';
    if (isAlone) this.#parser.next();
    return {
      kind: 'template',
      name,
      pipeline: isAlone ? undefined : this.#parser.pipeline('close', 'template clause'),
    };
  }

  #name(context: string): string {
    return this.#parser.take('string', context).text;
  }

  /** The first word of the action that begins here. */
  #wordOfAction(): string | undefined {
    const next = this.#parser.peek(1);
    return this.#parser.peek()?.kind === 'open' && next?.kind === 'word' ? next.text : undefined;
  }
}

/** Templates of white space alone do not replace others. */
function isEmpty(nodes: readonly TemplateNode[]): boolean {
  return nodes.every((node) => node.kind === 'text' && node.text.trim() === '');
}

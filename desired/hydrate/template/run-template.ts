import { parseTemplate } from './parse-template.ts';
import type { BranchNode, TemplateCommand, TemplateNode, TemplatePipeline, TemplateTerm } from './parse-template.ts';
import { TemplateError } from './template-error.ts';
import { templateFunctions } from './template-functions.ts';
import { GoStruct, isTrue, printed } from './template-values.ts';
import type { TemplateValue } from './template-values.ts';

/** The output of a template is limited, and so are the runs of its loops. */
const maxOutputLength = 1024 * 1024;
const maxSteps = 100_000;

/**
 * Executes a text/template of Go with functions of Sprig, as far as they are known here. A template
 * that needs more is refused, never rendered partly.
 * @throws TemplateError
 */
export function runTemplate(text: string, data: TemplateValue): string {
  const run = new TemplateRun(data);
  run.list(parseTemplate(text), { dot: data, variables: [{ name: '$', value: data }] });
  return run.output;
}

interface TemplateVariable {
  readonly name: string;
  value: TemplateValue;
}

interface TemplateScope {
  readonly dot: TemplateValue;
  /** The innermost last. */
  readonly variables: TemplateVariable[];
}

class TemplateRun {
  readonly #data: TemplateValue;
  #output = '';
  #steps = 0;

  constructor(data: TemplateValue) {
    this.#data = data;
  }

  get output(): string {
    return this.#output;
  }

  list(nodes: readonly TemplateNode[], scope: TemplateScope): void {
    for (const node of nodes) {
      this.#steps += 1;
      if (this.#steps > maxSteps) throw new TemplateError(`more than ${maxSteps} steps`);
      if (node.kind === 'text') this.#write(node.text);
      else if (node.kind === 'action') this.#act(node.pipeline, scope);
      else this.#branch(node, scope);
    }
  }

  #act(pipeline: TemplatePipeline, scope: TemplateScope): void {
    const value = this.#pipeline(pipeline, scope);
    if (pipeline.assigns === undefined) this.#write(printed(value));
  }

  #write(text: string): void {
    this.#output += text;
    if (this.#output.length > maxOutputLength)
      throw new TemplateError(`the output has more than ${maxOutputLength} characters`);
  }

  #branch({ kind, pipeline, variables, body, otherwise }: BranchNode, scope: TemplateScope): void {
    const inner = { dot: scope.dot, variables: [...scope.variables] };
    const value = this.#pipeline(pipeline, inner);
    if (kind === 'range') this.#range({ value, variables, body, otherwise }, inner);
    else if (isTrue(value)) this.list(body, kind === 'with' ? { ...inner, dot: value } : inner);
    else this.list(otherwise, inner);
  }

  #range(
    loop: Pick<BranchNode, 'variables' | 'body' | 'otherwise'> & { readonly value: TemplateValue },
    scope: TemplateScope,
  ): void {
    const entries = entriesOf(loop.value);
    if (entries.length === 0) this.list(loop.otherwise, scope);
    for (const [key, value] of entries) {
      const [first, second] = loop.variables;
      const named =
        second === undefined
          ? [[first, value] as const]
          : ([
              [first, key],
              [second, value],
            ] as const);
      const added = named.flatMap(([name, bound]) => (name === undefined ? [] : [{ name, value: bound }]));
      this.list(loop.body, { dot: value, variables: [...scope.variables, ...added] });
    }
  }

  #pipeline({ assigns, commands }: TemplatePipeline, scope: TemplateScope): TemplateValue {
    let value: TemplateValue = null;
    for (const [i, command] of commands.entries()) value = this.#command(command, scope, i === 0 ? [] : [value]);
    if (assigns === undefined) return value;
    if (assigns.isNew) scope.variables.push({ name: assigns.name, value });
    else variableOf(scope, assigns.name).value = value;
    return value;
  }

  /** @param piped the value of the command before, as last argument. */
  #command([first, ...rest]: TemplateCommand, scope: TemplateScope, piped: readonly TemplateValue[]): TemplateValue {
    if (first === undefined) return null;
    if (first.kind !== 'function') {
      if (rest.length + piped.length > 0)
        throw new TemplateError('an argument is given to something that is no function');
      return this.#term(first, scope);
    }
    if (first.name === 'and' || first.name === 'or') return this.#shortCircuit(first.name, rest, { scope, piped });
    const known = templateFunctions[first.name];
    if (known === undefined || !Object.hasOwn(templateFunctions, first.name))
      throw new TemplateError(`function "${first.name}" not defined`);
    return known([...rest.map((term) => this.#term(term, scope)), ...piped]);
  }

  #shortCircuit(
    name: 'and' | 'or',
    terms: readonly TemplateTerm[],
    { scope, piped }: { readonly scope: TemplateScope; readonly piped: readonly TemplateValue[] },
  ): TemplateValue {
    let value: TemplateValue = null;
    for (const term of terms) {
      value = this.#term(term, scope);
      if (isTrue(value) === (name === 'or')) return value;
    }
    return piped[0] ?? value;
  }

  #term(term: TemplateTerm, scope: TemplateScope): TemplateValue {
    switch (term.kind) {
      case 'literal':
        return term.value;
      case 'field':
        return fieldsOf(scope.dot, term.fields);
      case 'variable': {
        const value = term.name === '$' ? this.#data : variableOf(scope, term.name).value;
        return fieldsOf(value, term.fields);
      }
      case 'pipeline':
        return fieldsOf(this.#pipeline(term.pipeline, scope), term.fields);
      case 'function':
        return this.#command([term], scope, []);
    }
  }
}

function variableOf({ variables }: TemplateScope, name: string): TemplateVariable {
  const found = variables.findLast((one) => one.name === name);
  if (found === undefined) throw new TemplateError(`undefined variable "${name}"`);
  return found;
}

function fieldsOf(value: TemplateValue, fields: readonly string[]): TemplateValue {
  return fields.reduce<TemplateValue>((at, name) => fieldOf(at, name), value);
}

/** A missing field of a map is nil; one of a struct is an error, as in Go. */
function fieldOf(value: TemplateValue, name: string): TemplateValue {
  if (value instanceof GoStruct) {
    if (!Object.hasOwn(value.fields, name))
      throw new TemplateError(`can't evaluate field ${name} in type ${value.type}`);
    return value.fields[name] ?? null;
  }
  if (value === null) throw new TemplateError(`nil pointer evaluating interface {}.${name}`);
  if (typeof value !== 'object' || Array.isArray(value)) throw new TemplateError(`can't evaluate field ${name}`);
  const members = value as Readonly<Record<string, TemplateValue>>;
  return Object.hasOwn(members, name) ? (members[name] ?? null) : null;
}

function entriesOf(value: TemplateValue): readonly (readonly [TemplateValue, TemplateValue])[] {
  if (value === null) return [];
  if (Array.isArray(value)) return (value as readonly TemplateValue[]).map((item, i) => [i, item] as const);
  if (typeof value === 'object' && !(value instanceof GoStruct))
    return Object.entries(value as Readonly<Record<string, TemplateValue>>).sort(([a], [b]) => (a < b ? -1 : 1));
  throw new TemplateError("range can't iterate over this value");
}

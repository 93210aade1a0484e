import { DriftlessError, messageOf } from '#base';
import { parseTemplate } from './parse-template.ts';
import { TemplateBudget, templateLimits } from './template-budget.ts';
import { TemplateError } from './template-error.ts';
import { acceptsNil, checkArgument, FunctionCall, parameterName } from './template-function.ts';
import type { FunctionContext, ParameterType, TemplateFunction } from './template-function.ts';
import { functionOf, isFunctionName, methodOf } from './template-functions.ts';
import type { NumberLiteral } from './template-literals.ts';
import type {
  BranchNode,
  ParsedTemplate,
  TemplateCommand,
  TemplateNode,
  TemplatePipeline,
  TemplateTerm,
} from './template-nodes.ts';
import { printValue } from './go-print.ts';
import { GoInt, GoList, GoMap, GoStruct, isTrue, sortedMembers, typeName } from './template-values.ts';
import type { OptionalValue, TemplateValue } from './template-values.ts';

/** Blocks and templates that run within each other. */
const maxRunDepth = 1000;

/**
 * Executes a text/template of Go with the functions of Sprig that Argo CD's hydrator has. Every
 * cost is bounded, whatever the template and its data are.
 * @throws TemplateError
 */
export function runTemplate(text: string, data: TemplateValue, { nowMs }: { readonly nowMs: number }): string {
  const run = new TemplateRun(parseTemplate(text, isFunctionName), { budget: new TemplateBudget(), nowMs });
  return run.output(data);
}

/** The value that a pipe passes on; `none` for the first command. */
type PipedValue = { readonly value: OptionalValue } | undefined;

interface TemplateScope {
  readonly dot: OptionalValue;
  /** The innermost last. */
  readonly variables: { readonly name: string; value: OptionalValue }[];
}

type LoopSignal = 'break' | 'continue' | undefined;

class TemplateRun {
  readonly #template: ParsedTemplate;
  readonly #context: FunctionContext;
  #output = '';
  #depth = 0;

  constructor(template: ParsedTemplate, context: FunctionContext) {
    this.#template = template;
    this.#context = context;
  }

  output(data: TemplateValue): string {
    this.#list(this.#template.nodes, { dot: data, variables: [{ name: '$', value: data }] });
    return this.#output;
  }

  /** Variables that the nodes declare end with the list. */
  #list(nodes: readonly TemplateNode[], scope: TemplateScope): LoopSignal {
    this.#depth += 1;
    if (this.#depth > maxRunDepth) throw new TemplateError('exceeded maximum template depth');
    const declared = scope.variables.length;
    let signal: LoopSignal;
    for (const node of nodes) {
      signal = this.#node(node, scope);
      if (signal !== undefined) break;
    }
    scope.variables.length = declared;
    this.#depth -= 1;
    return signal;
  }

  #node(node: TemplateNode, scope: TemplateScope): LoopSignal {
    this.#context.budget.step();
    switch (node.kind) {
      case 'text':
        this.#write(node.text);
        return undefined;
      case 'action': {
        const value = this.#pipeline(node.pipeline, scope);
        if (node.pipeline.variables.length === 0) this.#write(printValue(value, this.#context.budget));
        return undefined;
      }
      case 'break':
      case 'continue':
        return node.kind;
      case 'template':
        this.#named(node.name, node.pipeline, scope);
        return undefined;
      default:
        return this.#branch(node, scope);
    }
  }

  #write(text: string): void {
    if (this.#output.length + text.length > templateLimits.textLength)
      throw new TemplateError(`the output has more than ${templateLimits.textLength} characters`);
    this.#output += text;
  }

  #named(name: string, pipeline: TemplatePipeline | undefined, scope: TemplateScope): void {
    const nodes = this.#template.named.get(name);
    if (nodes === undefined) throw new TemplateError(`template ${JSON.stringify(name)} not defined`);
    const dot = pipeline && this.#pipeline(pipeline, scope);
    this.#list(nodes, { dot, variables: [{ name: '$', value: dot }] });
  }

  #branch(node: BranchNode, scope: TemplateScope): LoopSignal {
    const declared = scope.variables.length;
    let signal: LoopSignal;
    if (node.kind === 'range') signal = this.#range(node, scope);
    else {
      const value = this.#pipeline(node.pipeline, scope);
      if (isTrue(value)) signal = this.#list(node.body, node.kind === 'with' ? { ...scope, dot: value } : scope);
      else signal = this.#list(node.otherwise, scope);
    }
    scope.variables.length = declared;
    return signal;
  }

  /** A `break` ends here, also in the `else`; a `continue` there belongs to the loop around it. */
  #range({ pipeline, body, otherwise }: BranchNode, scope: TemplateScope): LoopSignal {
    const value = this.#pipeline({ ...pipeline, variables: [] }, scope);
    const { variables, declares } = pipeline;
    let isEmpty = true;
    for (const { key, item } of rangeOf(value, variables.length, this.#context.budget)) {
      isEmpty = false;
      this.#context.budget.step();
      const declared = scope.variables.length;
      const [first, second] = variables;
      if (first !== undefined) assign(scope, first, { declares, value: second === undefined ? item : key });
      if (second !== undefined) assign(scope, second, { declares, value: item });
      const signal = this.#list(body, { ...scope, dot: item });
      scope.variables.length = declared;
      if (signal === 'break') break;
    }
    const signal = isEmpty ? this.#list(otherwise, scope) : undefined;
    return signal === 'break' ? undefined : signal;
  }

  #pipeline({ variables, declares, commands }: TemplatePipeline, scope: TemplateScope): OptionalValue {
    let piped: PipedValue;
    for (const command of commands) piped = { value: this.#command(command, scope, piped) ?? undefined };
    for (const name of variables) assign(scope, name, { declares, value: piped?.value });
    return piped?.value;
  }

  #command([first, ...rest]: TemplateCommand, scope: TemplateScope, piped: PipedValue): OptionalValue {
    this.#context.budget.step();
    if (first === undefined) return undefined;
    if (first.kind === 'function' && first.fields.length === 0) return this.#call(first.name, rest, { scope, piped });
    const hasArguments = rest.length > 0 || piped !== undefined;
    const fields = first.kind === 'literal' || first.kind === 'number' ? [] : first.fields;
    if (fields.length === 0) {
      if (hasArguments) throw new TemplateError("can't give argument to non-function");
      if (first.kind === 'literal' && first.value === null) throw new TemplateError('nil is not a command');
      return this.#term(first, scope);
    }
    const receiver = this.#chain(this.#start(first, scope), fields.slice(0, -1));
    return this.#field(receiver, fields.at(-1) ?? '', { rest, scope, piped });
  }

  #call(
    name: string,
    terms: readonly TemplateTerm[],
    { scope, piped }: { readonly scope: TemplateScope; readonly piped: PipedValue },
  ): OptionalValue {
    if (name === 'and' || name === 'or') return this.#shortCircuit(name, terms, { scope, piped });
    return this.#apply(name, functionOf(name), { rest: terms, scope, piped });
  }

  #shortCircuit(
    name: 'and' | 'or',
    terms: readonly TemplateTerm[],
    { scope, piped }: { readonly scope: TemplateScope; readonly piped: PipedValue },
  ): OptionalValue {
    if (terms.length === 0 && piped === undefined)
      throw new TemplateError(`wrong number of args for ${name}: want at least 1 got 0`);
    let value: OptionalValue;
    for (const term of terms) {
      value = this.#argument(term, 'any', scope);
      if (isTrue(value) === (name === 'or')) return value;
    }
    return piped === undefined ? value : piped.value;
  }

  #apply(
    name: string,
    called: TemplateFunction,
    {
      rest,
      scope,
      piped,
    }: { readonly rest: readonly TemplateTerm[]; readonly scope: TemplateScope; readonly piped: PipedValue },
  ): TemplateValue {
    const { parameters, rest: further } = called;
    const count = rest.length + (piped === undefined ? 0 : 1);
    if (further === undefined ? count !== parameters.length : count < parameters.length)
      throw new TemplateError(
        `wrong number of args for ${name}: want ${further === undefined ? '' : 'at least '}${parameters.length} got ${count}`,
      );
    const typeAt = (i: number): ParameterType => parameters[i] ?? further ?? 'any';
    const args = rest.map((term, i) => this.#argument(term, typeAt(i), scope));
    if (piped !== undefined) args.push(checkArgument(piped.value ?? null, typeAt(rest.length)));
    for (const arg of args) if (typeof arg === 'string') this.#context.budget.spend(arg.length);
    try {
      const result = called.run(new FunctionCall(args, this.#context));
      if (typeof result === 'string') this.#context.budget.expectText(result.length);
      return result;
    } catch (error) {
      if (error instanceof DriftlessError) throw new TemplateError(`error calling ${name}: ${messageOf(error)}`);
      throw error;
    }
  }

  /** The value of an argument; a constant gets the type of its parameter. */
  #argument(term: TemplateTerm, type: ParameterType, scope: TemplateScope): TemplateValue {
    this.#context.budget.step();
    if (term.kind === 'number') return numberArgument(term, type);
    if (term.kind !== 'literal') return checkArgument(this.#term(term, scope) ?? null, type);
    const { value } = term;
    if (value === null && !acceptsNil(type)) throw new TemplateError(`cannot assign nil to ${parameterName(type)}`);
    if (value === null || type === 'any' || typeof value === (type === 'bool' ? 'boolean' : type)) return value;
    throw new TemplateError(`expected ${expectedName(type)}; found ${JSON.stringify(value)}`);
  }

  #term(term: TemplateTerm, scope: TemplateScope): OptionalValue {
    if (term.kind === 'literal') return term.value;
    if (term.kind === 'number') return numberArgument(term, 'any');
    return this.#chain(this.#start(term, scope), term.fields);
  }

  #start(term: TemplateTerm, scope: TemplateScope): OptionalValue {
    switch (term.kind) {
      case 'field':
        return scope.dot;
      case 'variable':
        return variableOf(scope, term.name).value;
      case 'pipeline':
        return this.#pipeline(term.pipeline, scope);
      case 'function':
        return this.#call(term.name, [], { scope, piped: undefined });
      default:
        return this.#term(term, scope);
    }
  }

  #chain(start: OptionalValue, fields: readonly string[]): OptionalValue {
    return fields.reduce<OptionalValue>((at, name) => this.#field(at, name), start);
  }

  /** A field, or a method with its arguments. A key that a map lacks is no error, as in Go. */
  #field(
    value: OptionalValue,
    name: string,
    call?: { readonly rest: readonly TemplateTerm[]; readonly scope: TemplateScope; readonly piped: PipedValue },
  ): OptionalValue {
    if (value === undefined) return undefined;
    if (value === null) throw new TemplateError(`nil pointer evaluating interface {}.${name}`);
    const method = methodOf(value, name);
    const none = { rest: [], scope: { dot: undefined, variables: [] }, piped: undefined };
    if (method !== undefined) return this.#apply(name, method, call ?? none);
    const hasArguments = call !== undefined && (call.rest.length > 0 || call.piped !== undefined);
    if (value instanceof GoMap) {
      if (hasArguments) throw new TemplateError(`${name} is not a method but has arguments`);
      return value.members.get(name);
    }
    if (!(value instanceof GoStruct) || !Object.hasOwn(value.fields, name))
      throw new TemplateError(`can't evaluate field ${name} in type ${typeName(value)}`);
    if (hasArguments) throw new TemplateError(`${name} has arguments but cannot be invoked as function`);
    return value.fields[name];
  }
}

function assign(
  scope: TemplateScope,
  name: string,
  { declares, value }: { readonly declares: boolean; readonly value: OptionalValue },
): void {
  if (declares) scope.variables.push({ name, value });
  else variableOf(scope, name).value = value;
}

function variableOf({ variables }: TemplateScope, name: string): TemplateScope['variables'][number] {
  const found = variables.findLast((one) => one.name === name);
  if (found === undefined) throw new TemplateError(`undefined variable "${name}"`);
  return found;
}

function numberArgument(
  { number, text }: { readonly number: NumberLiteral; readonly text: string },
  type: ParameterType,
): TemplateValue {
  if (type === 'any' && number.isFloat && number.float !== undefined) return number.float;
  if (type === 'any' && number.isRune && number.int !== undefined) return new GoInt(number.int);
  if ((type === 'any' || type === 'int') && number.int !== undefined) return new GoInt(number.int);
  if (type === 'float64' && number.float !== undefined) return number.float;
  throw new TemplateError(`expected ${expectedName(type)}; found ${text}`);
}

function expectedName(type: ParameterType): string {
  return (
    { int: 'integer', float64: 'float', any: 'value', bool: 'bool', string: 'string' }[type as string] ??
    parameterName(type)
  );
}

interface RangeEntry {
  readonly key: TemplateValue;
  readonly item: TemplateValue;
}

function* rangeOf(value: OptionalValue, variables: number, budget: TemplateBudget): Iterable<RangeEntry> {
  if (value === null || value === undefined) return;
  if (value instanceof GoMap) budget.spend(value.members.size);
  if (value instanceof GoList) for (const [i, item] of value.items.entries()) yield { key: new GoInt(i), item };
  else if (value instanceof GoMap) for (const [key, item] of sortedMembers(value)) yield { key, item };
  else if (value instanceof GoInt) {
    if (variables > 1) throw new TemplateError(`can't use ${value.value} to iterate over more than one variable`);
    for (let i = 0n; i < value.value; i += 1n) yield { key: null, item: new GoInt(i, value.type) };
  } else throw new TemplateError(`range can't iterate over a value of type ${typeName(value)}`);
}

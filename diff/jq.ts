import { deepEqual, isObject, own, stringifyJson } from '#base';
import type { Json } from '#base';
import { DiffRulesError } from './errors.ts';
import { parsePathExpression } from './jq-parse.ts';
import type { Comparison, Expression } from './jq-parse.ts';
import { compilePattern, mayExplode } from './pattern.ts';
import { removeAll } from './remove.ts';
import type { Path } from './remove.ts';
import { isList } from './values.ts';

/** Takes out of a value what an expression names; the same reference when it names nothing that is there. */
export type Remover = (value: Json) => Json;

type Place = Path | 'root' | 'computed';
type Emit = (place: Place, value: Json) => void;
interface Input {
  readonly place: Place;
  readonly value: Json;
}
const identity: Expression = { kind: 'identity' };

/** One object, without a stack: `.. | .a?` throws one per value. */
const failed: Error = new Error('jq error');
/** The same, on its way past a `?` that it does not belong to. */
const carried: Error = new Error('jq error');
/** Steps of one run; upstream gives an expression a second. */
const maxSteps = 200_000;
const maxTestedLength = 2048;

/**
 * Compiles `del(<expression>)`. As Argo CD's ignore rules: a run that fails (wrong types, not a path, too much work) leaves the value as it
 * is, only an expression that cannot be understood is an error.
 *
 * @throws DiffRulesError naming the expression.
 */
export function compileRemover(source: string): Remover {
  const expression = parsePathExpression(source);
  checkPatterns(expression, source);
  return (value) => {
    const paths: Path[] = [];
    const run = new Run();
    try {
      run.evaluate(expression, 'root', value, (place) => {
        if (place === 'root' || place === 'computed') throw failed;
        paths.push(place);
      });
    } catch (error) {
      if (error === failed) return value;
      throw error;
    }
    return paths.length === 0 ? value : removeAll(value, paths);
  };
}

class Run {
  #steps = 0;

  evaluate(expression: Expression, place: Place, value: Json, emit: Emit): void {
    this.#step();
    switch (expression.kind) {
      case 'identity':
        emit(place, value);
        return;
      case 'empty':
        return;
      case 'literal':
        emit('computed', expression.value);
        return;
      case 'recurse':
        this.#recurse(place, value, emit);
        return;
      case 'field':
        this.#field(expression, place, value, emit);
        return;
      case 'iterate':
        this.evaluate(expression.from, place, value, (at, inner) => this.#iterate(at, inner, emit));
        return;
      case 'try':
        this.#attempt(() =>
          this.evaluate(expression.body, place, value, (at, inner) => this.#outside(() => emit(at, inner))),
        );
        return;
      case 'list':
        emit('computed', this.#all(expression.body, place, value));
        return;
      case 'call':
        this.#call(expression, place, value, emit);
        return;
      default:
        this.#binary(expression, place, value, emit);
    }
  }

  #binary(expression: Extract<Expression, { left: Expression }>, place: Place, value: Json, emit: Emit): void {
    switch (expression.kind) {
      case 'pipe':
        this.evaluate(expression.left, place, value, (at, inner) => this.evaluate(expression.right, at, inner, emit));
        return;
      case 'comma':
        this.evaluate(expression.left, place, value, emit);
        this.evaluate(expression.right, place, value, emit);
        return;
      case 'alternative':
        this.#alternative(expression, place, value, emit);
        return;
      case 'and':
      case 'or':
        this.#logic(expression, expression.kind === 'or', { place, value }, emit);
        return;
      case 'compare':
        for (const right of this.#all(expression.right, place, value))
          for (const left of this.#all(expression.left, place, value)) {
            this.#step();
            emit('computed', compares(expression.operator, left, right));
          }
    }
  }

  #step(): void {
    this.#steps += 1;
    if (this.#steps > maxSteps) throw failed;
  }

  #all(expression: Expression, place: Place, value: Json): readonly Json[] {
    const values: Json[] = [];
    this.evaluate(expression, place, value, (_at, inner) => {
      values.push(inner);
    });
    return values;
  }

  /** Errors of the body are swallowed, those of what comes after are not (they pass wrapped). */
  #attempt(body: () => void): void {
    try {
      body();
    } catch (error) {
      if (error === carried) throw failed;
      if (error !== failed || this.#steps > maxSteps) throw error;
    }
  }

  #outside(after: () => void): void {
    try {
      after();
    } catch (error) {
      if (error === failed) throw carried;
      throw error;
    }
  }

  #recurse(place: Place, value: Json, emit: Emit): void {
    this.#step();
    emit(place, value);
    if (isList(value) || isObject(value)) this.#iterate(place, value, (at, inner) => this.#recurse(at, inner, emit));
  }

  #iterate(place: Place, value: Json, emit: Emit): void {
    if (isList(value)) for (const [i, item] of value.entries()) emit(below(place, i), item);
    else if (isObject(value))
      for (const [key, member] of Object.entries(value)) emit(below(place, key), member ?? null);
    else throw failed;
  }

  #field(expression: Extract<Expression, { kind: 'field' }>, place: Place, value: Json, emit: Emit): void {
    for (const name of this.#all(expression.name, place, value))
      this.evaluate(expression.from, place, value, (at, inner) => {
        if (typeof name === 'string' && (inner === null || isObject(inner)))
          emit(below(at, name), inner === null ? null : (own(inner, name) ?? null));
        else if (typeof name === 'number' && (inner === null || isList(inner))) {
          const list = inner ?? [];
          const index = Math.floor(name) < 0 ? list.length + Math.floor(name) : Math.floor(name);
          emit(below(at, index), list[index] ?? null);
        } else throw failed;
      });
  }

  #alternative(expression: { left: Expression; right: Expression }, place: Place, value: Json, emit: Emit): void {
    const found: [Place, Json][] = [];
    this.#attempt(() =>
      this.evaluate(expression.left, place, value, (at, inner) => {
        if (truthy(inner)) found.push([at, inner]);
      }),
    );
    if (found.length === 0) this.evaluate(expression.right, place, value, emit);
    else for (const [at, inner] of found) emit(at, inner);
  }

  #logic(
    expression: { readonly left: Expression; readonly right: Expression },
    isOr: boolean,
    { place, value }: Input,
    emit: Emit,
  ): void {
    for (const left of this.#all(expression.left, place, value)) {
      if (truthy(left) === isOr) emit('computed', isOr);
      else for (const right of this.#all(expression.right, place, value)) emit('computed', truthy(right));
    }
  }

  #call({ name, args }: { name: string; args: readonly Expression[] }, place: Place, value: Json, emit: Emit): void {
    const [first, second] = args;
    switch (name) {
      case 'select':
        for (const verdict of this.#all(first ?? identity, place, value)) if (truthy(verdict)) emit(place, value);
        return;
      case 'first':
      case 'last':
        this.#edge(name, first, { place, value }, emit);
        return;
      case 'any':
      case 'all':
        emit('computed', this.#quantified(name, args, { place, value }));
        return;
      case 'getpath':
        for (const steps of this.#all(first ?? identity, place, value)) this.#getPath(steps, place, value, emit);
        return;
      default:
        if (first === undefined) emit('computed', plain(name, value));
        else
          for (const argument of this.#all(first, place, value)) {
            const flags = second === undefined ? '' : (this.#all(second, place, value)[0] ?? null);
            emit('computed', withArgument(name, value, argument, flags));
          }
    }
  }

  #quantified(name: 'any' | 'all', args: readonly Expression[], { place, value }: Input): boolean {
    const [source, test] = args.length === 2 ? args : [undefined, args[0]];
    const items = source === undefined ? itemsOf(value) : this.#all(source, place, value);
    const verdicts = items.flatMap((item) => this.#all(test ?? identity, 'computed', item));
    return name === 'any' ? verdicts.some(truthy) : verdicts.every(truthy);
  }

  #edge(name: 'first' | 'last', body: Expression | undefined, input: Input, emit: Emit): void {
    if (body === undefined) {
      const index = { kind: 'literal', value: name === 'first' ? 0 : -1 } as const;
      this.evaluate({ kind: 'field', from: { kind: 'identity' }, name: index }, input.place, input.value, emit);
      return;
    }
    let found: [Place, Json] | undefined;
    this.evaluate(body, input.place, input.value, (at, inner) => {
      found ??= [at, inner];
    });
    if (found !== undefined) emit(found[0], found[1]);
  }

  #getPath(steps: Json, place: Place, value: Json, emit: Emit): void {
    if (!isList(steps)) throw failed;
    let [at, here]: [Place, Json] = [place, value];
    for (const step of steps) {
      if (typeof step !== 'string' && typeof step !== 'number') throw failed;
      at = below(at, step);
      here = isList(here) ? (here[Number(step)] ?? null) : isObject(here) ? (own(here, String(step)) ?? null) : null;
    }
    emit(at, here);
  }
}

function below(place: Place, step: string | number): Place {
  if (place === 'computed') return 'computed';
  return { parent: place === 'root' ? undefined : place, step };
}

function truthy(value: Json): boolean {
  return value !== null && value !== false;
}

function itemsOf(value: Json): readonly Json[] {
  if (isList(value)) return value;
  if (isObject(value)) return Object.values(value).map((member) => member ?? null);
  throw failed;
}

function compares(operator: Comparison, left: Json, right: Json): boolean {
  if (operator === '==') return deepEqual(left, right);
  if (operator === '!=') return !deepEqual(left, right);
  const sign = orderOf(left) - orderOf(right) || scalarOrder(left, right);
  switch (operator) {
    case '<':
      return sign < 0;
    case '<=':
      return sign <= 0;
    case '>':
      return sign > 0;
    case '>=':
      return sign >= 0;
  }
}

/** Of two values of one type. Lists and objects have an order in jq that nobody asks for here. */
function scalarOrder(left: Json, right: Json): number {
  if (deepEqual(left, right)) return 0;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : 1;
  if (typeof left === 'object' || typeof right === 'object') throw failed;
  return Number(left) < Number(right) ? -1 : 1;
}

/** jq sorts null, false, true, numbers, strings, lists, objects. */
function orderOf(value: Json): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return value ? 2 : 1;
  if (typeof value === 'number' || typeof value === 'bigint') return 3;
  if (typeof value === 'string') return 4;
  return isList(value) ? 5 : 6;
}

const typeNames = ['null', 'boolean', 'boolean', 'number', 'string', 'array', 'object'];

function plain(name: string, value: Json): Json {
  switch (name) {
    case 'not':
      return !truthy(value);
    case 'type':
      return typeNames[orderOf(value)] ?? 'null';
    case 'length':
      return lengthOf(value);
    case 'tostring':
      return typeof value === 'string' ? value : stringifyJson(value);
    case 'ascii_downcase':
      if (typeof value !== 'string') throw failed;
      return value.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    case 'keys':
      if (isList(value)) return value.map((_item, i) => i);
      if (!isObject(value)) throw failed;
      return Object.keys(value).sort();
    default:
      throw failed;
  }
}

function lengthOf(value: Json): number {
  if (value === null) return 0;
  if (typeof value === 'string') return [...value].length;
  if (typeof value === 'number') return Math.abs(value);
  if (isList(value)) return value.length;
  if (isObject(value)) return Object.keys(value).length;
  throw failed;
}

function withArgument(name: string, value: Json, argument: Json, flags: Json): Json {
  switch (name) {
    case 'has':
      if (isObject(value) && typeof argument === 'string') return Object.hasOwn(value, argument);
      if (isList(value) && typeof argument === 'number') return argument >= 0 && argument < value.length;
      throw failed;
    case 'contains':
      return contains(value, argument);
    case 'inside':
      return contains(argument, value);
    default:
      if (typeof value !== 'string' || typeof argument !== 'string') throw failed;
      if (name === 'startswith') return value.startsWith(argument);
      if (name === 'endswith') return value.endsWith(argument);
      if (value.length > maxTestedLength) throw failed;
      {
        const pattern = compilePattern(argument, typeof flags === 'string' ? flags : '');
        if (pattern === undefined) throw failed;
        return pattern.test(value);
      }
  }
}

function contains(value: Json, part: Json): boolean {
  if (isObject(value) && isObject(part))
    return Object.entries(part).every(([key, member]) => {
      const here = own(value, key);
      return here !== undefined && contains(here, member ?? null);
    });
  if (isList(value) && isList(part))
    return part.every((item) => value.some((here) => sameType(here, item) && contains(here, item)));
  if (typeof value === 'string' && typeof part === 'string') return value.includes(part);
  if (sameType(value, part)) return deepEqual(value, part);
  throw failed;
}

function sameType(a: Json, b: Json): boolean {
  return typeNames[orderOf(a)] === typeNames[orderOf(b)];
}

/** Refuses dangerous patterns when the rule is read, not when it first runs. */
function checkPatterns(expression: Expression, source: string): void {
  if (expression.kind === 'call' && expression.name === 'test') {
    const [pattern] = expression.args;
    if (pattern?.kind !== 'literal' || typeof pattern.value !== 'string')
      throw new DiffRulesError(`the jqPathExpression "${source}" tests a pattern that is not a plain string`);
    if (mayExplode(pattern.value))
      throw new DiffRulesError(
        `the jqPathExpression "${source}" tests a pattern that could take very long; write it without repeats inside repeated groups`,
      );
  }
  for (const inner of partsOf(expression)) checkPatterns(inner, source);
}

function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'field':
      return [expression.from, expression.name];
    case 'iterate':
      return [expression.from];
    case 'try':
    case 'list':
      return [expression.body];
    case 'call':
      return expression.args;
    case 'pipe':
    case 'comma':
    case 'and':
    case 'or':
    case 'alternative':
    case 'compare':
      return [expression.left, expression.right];
    default:
      return [];
  }
}

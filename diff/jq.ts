import { compileLinearPattern, isObject, own } from '#base';
import type { Json } from '#base';
import { DiffRulesError } from './errors.ts';
import { isPlaceless, opaqueIn, partsOf } from './jq-expression.ts';
import type { Expression } from './jq-expression.ts';
import { parsePathExpression } from './jq-parse.ts';
import { compares, failed, plain, truthy, withArgument } from './jq-values.ts';
import type { Path } from './remove.ts';
import type { JqWork } from './types.ts';
import { isList } from './values.ts';

/** The places in a value that an expression names, whether or not something is there. Its steps are taken from `work`. */
export type Finder = (value: Json, work?: JqWork) => readonly Path[];

export interface CompiledExpression {
  readonly find: Finder;
  /** Why this expression cannot do what it looks like, although it may be run. */
  readonly warning?: string;
  /** Only jq itself can run it ({@link JqAnswers}); the finder throws. */
  readonly isForJq?: true;
}

/** Items of a list from one place up to another. */
interface Slice {
  readonly parent: Path | undefined;
  readonly slice: number;
  readonly end: number;
}
type Place = Path | Slice | 'root' | 'computed';
type Emit = (place: Place, value: Json) => void;
interface Input {
  readonly place: Place;
  readonly value: Json;
}
const identity: Expression = { kind: 'identity' };

/** The same, on its way past a `?` that it does not belong to. */
const carried: Error = new Error('jq error');
/** Steps of one run; upstream gives an expression a second. */
const maxSteps = 200_000;
export const tooMuchTogether = 'and the other jq programs take too much work together';
/** What a step of a regular expression costs, in steps of a run. */
const patternWork = 500;

/**
 * Compiles what `del(<expression>)` deletes. As in Argo CD's ignore rules, a run that fails as jq fails (wrong types, not a path, a malformed
 * pattern) names nothing. A run that only fails here, because it is too much work or asks for what is not known, throws.
 *
 * @throws DiffRulesError when the expression cannot be understood; the finder when it cannot be run to its end.
 */
export function compileExpression(source: string): CompiledExpression {
  const expression = parsePathExpression(source);
  if (isPlaceless(expression)) return { find: () => [], warning: 'names no place in an object, so it does nothing' };
  const unknown = opaqueIn(expression);
  if (unknown !== undefined) return { find: refusing(unknown), isForJq: true };
  const warning = patternWarning(expression);
  return { find: finderOf(expression), ...(warning === undefined ? {} : { warning }) };
}

function refusing(what: string): Finder {
  return () => {
    throw new DiffRulesError(`uses ${what}, which is not supported`);
  };
}

function finderOf(expression: Expression): Finder {
  return (value, work) => {
    const paths: Path[] = [];
    const run = new Run(work);
    try {
      run.evaluate(expression, 'root', value, (place) => {
        if (place === 'root' || place === 'computed') throw failed;
        if (!('slice' in place)) paths.push(place);
        else for (let i = place.slice; i < place.end; i += 1) paths.push({ parent: place.parent, step: i });
      });
    } catch (error) {
      if (error === failed) return [];
      throw error;
    }
    return paths;
  };
}

class Run {
  #steps = 0;
  readonly #work: JqWork | undefined;

  constructor(work: JqWork | undefined) {
    this.#work = work;
  }

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
      case 'if':
        for (const verdict of this.#all(expression.condition, place, value))
          this.evaluate(truthy(verdict) ? expression.then : expression.otherwise, place, value, emit);
        return;
      case 'slice':
        this.#slice(expression, place, value, emit);
        return;
      case 'opaque':
        throw new DiffRulesError(`uses ${expression.what}, which is not supported`);
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

  #step(cost = 1): void {
    this.#steps += cost;
    if (this.#steps > maxSteps) throw new DiffRulesError('takes too much work on this object');
    if (this.#work === undefined) return;
    this.#work.left -= cost;
    if (this.#work.left < 0) throw new DiffRulesError(tooMuchTogether);
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
      if (error !== failed) throw error;
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

  #slice(expression: Extract<Expression, { kind: 'slice' }>, place: Place, value: Json, emit: Emit): void {
    const bounds = (bound: Expression | undefined): readonly Json[] =>
      bound === undefined ? [null] : this.#all(bound, place, value);
    for (const high of bounds(expression.high))
      for (const low of bounds(expression.low))
        this.evaluate(expression.from, place, value, (at, inner) => {
          if (!isList(inner) && inner !== null) throw failed;
          const list = inner ?? [];
          const from = clamp(low, 0, list.length, Math.floor);
          const end = Math.max(from, clamp(high, list.length, list.length, Math.ceil));
          emit(sliceOf(at, from, end), inner === null ? null : list.slice(from, end));
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
        else this.#withArguments(name, [first, second], { place, value }, emit);
    }
  }

  #withArguments(
    name: string,
    [first, second]: readonly [Expression, Expression | undefined],
    { place, value }: Input,
    emit: Emit,
  ): void {
    for (const argument of this.#all(first, place, value)) {
      const flags = second === undefined ? null : (this.#all(second, place, value)[0] ?? null);
      emit('computed', name === 'test' ? this.#tests(value, argument, flags) : withArgument(name, value, argument));
    }
  }

  /** gojq's `test`: Go's regular expressions, with flags of its own (`g` says nothing here, `m` lets the dot match a line break). */
  #tests(value: Json, source: Json, flags: Json): boolean {
    if (typeof value !== 'string' || typeof source !== 'string') throw failed;
    if (flags !== null && (typeof flags !== 'string' || /[^gim]/.test(flags))) throw failed;
    const pattern = compileLinearPattern(source, (flags ?? '').replaceAll('g', '').replaceAll('m', 's'));
    if (!pattern.ok) {
      if (pattern.reason === 'malformed') throw failed;
      throw new DiffRulesError('tests a pattern that is too long or too large');
    }
    this.#step(Math.ceil((pattern.size * value.length) / patternWork));
    return pattern.test(value);
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
  if (place === 'root') return { parent: undefined, step };
  if (!('slice' in place)) return { parent: place, step };
  return typeof step === 'number' ? { parent: place.parent, step: place.slice + step } : 'computed';
}

function sliceOf(place: Place, from: number, end: number): Place {
  if (place === 'computed') return 'computed';
  if (place === 'root') return { parent: undefined, slice: from, end };
  if (!('slice' in place)) return { parent: place, slice: from, end };
  return { parent: place.parent, slice: place.slice + from, end: place.slice + end };
}

/** A bound of a slice, from the end when it is negative. */
function clamp(bound: Json, absent: number, length: number, round: (value: number) => number): number {
  if (bound === null) return absent;
  if (typeof bound !== 'number') throw failed;
  const at = round(bound);
  return Math.min(length, Math.max(0, at < 0 ? length + at : at));
}

function itemsOf(value: Json): readonly Json[] {
  if (isList(value)) return value;
  if (isObject(value)) return Object.values(value).map((member) => member ?? null);
  throw failed;
}

/** A pattern that stands in the expression is looked at when the rule is read: too large is an error, malformed a warning. */
function patternWarning(expression: Expression): string | undefined {
  const [source] = expression.kind === 'call' && expression.name === 'test' ? expression.args : [];
  if (source?.kind === 'literal' && typeof source.value === 'string') {
    const pattern = compileLinearPattern(source.value);
    if (!pattern.ok && pattern.reason === 'limit') throw new DiffRulesError(`cannot be run: ${pattern.message}`);
    if (!pattern.ok) return `does nothing where it tests this pattern: ${pattern.message}`;
  }
  for (const inner of partsOf(expression)) {
    const warning = patternWarning(inner);
    if (warning !== undefined) return warning;
  }
  return undefined;
}

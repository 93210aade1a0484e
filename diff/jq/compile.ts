import { compileLinearPattern, isObject, ownMember } from '#base';
import type { Json } from '#base';
import { DiffRulesError } from '../shared/errors.ts';
import type { ValuePath } from '../shared/removal.ts';
import { isList } from '../shared/values.ts';
import { subexpressions, unsupportedPart, yieldsNoPath } from './expression.ts';
import type { JqExpression } from './expression.ts';
import { parsePathExpression } from './parse.ts';
import { callWithArgument, callWithoutArgument, compareValues, isTruthy, jqFailure } from './values.ts';
import type { JqWork } from './work.ts';

/**
 * Finds the paths in a value that an expression selects, whether or not a value is there. Takes its
 * steps from `work`.
 */
export interface PathFinder {
  (value: Json, work?: JqWork): readonly ValuePath[];
  /** Finds the target of a JSON pointer. */
  readonly isPointer?: true;
}

export interface CompiledExpression {
  readonly find: PathFinder;
  /** Why this expression does not do what it seems to do, although it can be run. */
  readonly warning?: string;
  /** Only real jq can run it ({@link JqAnswers}); the finder throws. */
  readonly isForJq?: true;
}

/** List items from index `slice` up to, not including, `end`. */
interface SlicePath {
  readonly parent: ValuePath | undefined;
  readonly slice: number;
  readonly end: number;
}
type ResultPath = ValuePath | SlicePath | 'root' | 'computed';
type EmitResult = (path: ResultPath, value: Json) => void;
interface RunInput {
  readonly path: ResultPath;
  readonly value: Json;
}
const identity: JqExpression = { kind: 'identity' };

/** A {@link jqFailure} that must pass an enclosing `?` to which it does not belong. */
const outerFailure: Error = new Error('jq error');
/** Steps of one run. Upstream gives an expression one second. */
const maxRunSteps = 200_000;
export const tooMuchWorkTogether = 'and the other ignore rules take too much work together';
/** Pattern states times characters that cost one step of a run. */
const patternWorkPerStep = 500;

/**
 * Compiles an expression to a finder of what `del(<expression>)` deletes. As in Argo CD's ignore
 * rules, a run that fails as jq fails (wrong types, not a path, a malformed pattern) selects
 * nothing. A run that fails only here, because of its cost or an unsupported feature, throws.
 *
 * @throws DiffRulesError when the expression cannot be parsed; the finder when it cannot complete.
 */
export function compileExpression(source: string): CompiledExpression {
  const expression = parsePathExpression(source);
  if (yieldsNoPath(expression))
    return { find: () => [], warning: 'selects no path of the object, so it has no effect' };
  const unknown = unsupportedPart(expression);
  if (unknown !== undefined) return { find: refusing(unknown), isForJq: true };
  const warning = patternWarning(expression);
  return { find: finderOf(expression), ...(warning === undefined ? {} : { warning }) };
}

function refusing(what: string): PathFinder {
  return () => {
    throw new DiffRulesError(`uses ${what}, which is not supported`);
  };
}

function finderOf(expression: JqExpression): PathFinder {
  return (value, work) => {
    const paths: ValuePath[] = [];
    const run = new ProgramRun(work);
    try {
      run.evaluate(expression, 'root', value, (path) => {
        if (path === 'root' || path === 'computed') throw jqFailure;
        if (!('slice' in path)) paths.push(path);
        else for (let i = path.slice; i < path.end; i += 1) paths.push({ parent: path.parent, step: i });
      });
    } catch (error) {
      if (error === jqFailure) return [];
      throw error;
    }
    return paths;
  };
}

class ProgramRun {
  #steps = 0;
  readonly #work: JqWork | undefined;

  constructor(work: JqWork | undefined) {
    this.#work = work;
  }

  evaluate(expression: JqExpression, path: ResultPath, value: Json, emit: EmitResult): void {
    this.#step();
    switch (expression.kind) {
      case 'identity':
        emit(path, value);
        return;
      case 'empty':
        return;
      case 'literal':
        emit('computed', expression.value);
        return;
      case 'recurse':
        this.#recurse(path, value, emit);
        return;
      case 'field':
        this.#field(expression, path, value, emit);
        return;
      case 'iterate':
        this.evaluate(expression.from, path, value, (at, inner) => this.#iterate(at, inner, emit));
        return;
      case 'try':
        this.#attempt(() =>
          this.evaluate(expression.body, path, value, (at, inner) => this.#outside(() => emit(at, inner))),
        );
        return;
      case 'list':
        emit('computed', this.#all(expression.body, path, value));
        return;
      case 'call':
        this.#call(expression, path, value, emit);
        return;
      case 'if':
        for (const verdict of this.#all(expression.condition, path, value))
          this.evaluate(isTruthy(verdict) ? expression.then : expression.otherwise, path, value, emit);
        return;
      case 'slice':
        this.#slice(expression, path, value, emit);
        return;
      case 'opaque':
        throw new DiffRulesError(`uses ${expression.what}, which is not supported`);
      default:
        this.#binary(expression, path, value, emit);
    }
  }

  #binary(
    expression: Extract<JqExpression, { left: JqExpression }>,
    path: ResultPath,
    value: Json,
    emit: EmitResult,
  ): void {
    switch (expression.kind) {
      case 'pipe':
        this.evaluate(expression.left, path, value, (at, inner) => this.evaluate(expression.right, at, inner, emit));
        return;
      case 'comma':
        this.evaluate(expression.left, path, value, emit);
        this.evaluate(expression.right, path, value, emit);
        return;
      case 'alternative':
        this.#alternative(expression, path, value, emit);
        return;
      case 'and':
      case 'or':
        this.#logic(expression, expression.kind === 'or', { path, value }, emit);
        return;
      case 'compare':
        for (const right of this.#all(expression.right, path, value))
          for (const left of this.#all(expression.left, path, value)) {
            this.#step();
            emit('computed', compareValues(expression.operator, left, right));
          }
    }
  }

  #step(cost = 1): void {
    this.#steps += cost;
    if (this.#steps > maxRunSteps) throw new DiffRulesError('takes too much work on this object');
    if (this.#work === undefined) return;
    this.#work.left -= cost;
    if (this.#work.left < 0) throw new DiffRulesError(tooMuchWorkTogether);
  }

  #all(expression: JqExpression, path: ResultPath, value: Json): readonly Json[] {
    const values: Json[] = [];
    this.evaluate(expression, path, value, (_at, inner) => {
      values.push(inner);
    });
    return values;
  }

  /**
   * Swallows failures of the body, but not those of what follows it, which pass as `outerFailure`.
   */
  #attempt(body: () => void): void {
    try {
      body();
    } catch (error) {
      if (error === outerFailure) throw jqFailure;
      if (error !== jqFailure) throw error;
    }
  }

  #outside(after: () => void): void {
    try {
      after();
    } catch (error) {
      if (error === jqFailure) throw outerFailure;
      throw error;
    }
  }

  #recurse(path: ResultPath, value: Json, emit: EmitResult): void {
    this.#step();
    emit(path, value);
    if (isList(value) || isObject(value)) this.#iterate(path, value, (at, inner) => this.#recurse(at, inner, emit));
  }

  #iterate(path: ResultPath, value: Json, emit: EmitResult): void {
    if (isList(value)) for (const [i, item] of value.entries()) emit(below(path, i), item);
    else if (isObject(value)) for (const [key, member] of Object.entries(value)) emit(below(path, key), member ?? null);
    else throw jqFailure;
  }

  #field(expression: Extract<JqExpression, { kind: 'field' }>, path: ResultPath, value: Json, emit: EmitResult): void {
    for (const name of this.#all(expression.name, path, value))
      this.evaluate(expression.from, path, value, (at, inner) => {
        if (typeof name === 'string' && (inner === null || isObject(inner)))
          emit(below(at, name), inner === null ? null : (ownMember(inner, name) ?? null));
        else if (typeof name === 'number' && (inner === null || isList(inner))) {
          const list = inner ?? [];
          const index = Math.floor(name) < 0 ? list.length + Math.floor(name) : Math.floor(name);
          emit(below(at, index), list[index] ?? null);
        } else throw jqFailure;
      });
  }

  #slice(expression: Extract<JqExpression, { kind: 'slice' }>, path: ResultPath, value: Json, emit: EmitResult): void {
    const bounds = (bound: JqExpression | undefined): readonly Json[] =>
      bound === undefined ? [null] : this.#all(bound, path, value);
    for (const high of bounds(expression.high))
      for (const low of bounds(expression.low))
        this.evaluate(expression.from, path, value, (at, inner) => {
          if (!isList(inner) && inner !== null) throw jqFailure;
          const list = inner ?? [];
          const from = clamp(low, 0, list.length, Math.floor);
          const end = Math.max(from, clamp(high, list.length, list.length, Math.ceil));
          emit(sliceOf(at, from, end), inner === null ? null : list.slice(from, end));
        });
  }

  #alternative(
    expression: { left: JqExpression; right: JqExpression },
    path: ResultPath,
    value: Json,
    emit: EmitResult,
  ): void {
    const found: [ResultPath, Json][] = [];
    this.#attempt(() =>
      this.evaluate(expression.left, path, value, (at, inner) => {
        if (isTruthy(inner)) found.push([at, inner]);
      }),
    );
    if (found.length === 0) this.evaluate(expression.right, path, value, emit);
    else for (const [at, inner] of found) emit(at, inner);
  }

  #logic(
    expression: { readonly left: JqExpression; readonly right: JqExpression },
    isOr: boolean,
    { path, value }: RunInput,
    emit: EmitResult,
  ): void {
    for (const left of this.#all(expression.left, path, value)) {
      if (isTruthy(left) === isOr) emit('computed', isOr);
      else for (const right of this.#all(expression.right, path, value)) emit('computed', isTruthy(right));
    }
  }

  #call(
    { name, args }: { name: string; args: readonly JqExpression[] },
    path: ResultPath,
    value: Json,
    emit: EmitResult,
  ): void {
    const [first, second] = args;
    switch (name) {
      case 'select':
        for (const verdict of this.#all(first ?? identity, path, value)) if (isTruthy(verdict)) emit(path, value);
        return;
      case 'first':
      case 'last':
        this.#edge(name, first, { path, value }, emit);
        return;
      case 'any':
      case 'all':
        emit('computed', this.#quantified(name, args, { path, value }));
        return;
      case 'getpath':
        for (const steps of this.#all(first ?? identity, path, value)) this.#getPath(steps, path, value, emit);
        return;
      default:
        if (first === undefined) emit('computed', callWithoutArgument(name, value));
        else this.#withArguments(name, [first, second], { path, value }, emit);
    }
  }

  #withArguments(
    name: string,
    [first, second]: readonly [JqExpression, JqExpression | undefined],
    { path, value }: RunInput,
    emit: EmitResult,
  ): void {
    for (const argument of this.#all(first, path, value)) {
      const flags = second === undefined ? null : (this.#all(second, path, value)[0] ?? null);
      emit('computed', name === 'test' ? this.#tests(value, argument, flags) : callWithArgument(name, value, argument));
    }
  }

  /**
   * gojq's `test`: Go's regular expressions with its own flags (`g` has no effect here, `m` lets
   * the dot match a line break).
   */
  #tests(value: Json, source: Json, flags: Json): boolean {
    if (typeof value !== 'string' || typeof source !== 'string') throw jqFailure;
    if (flags !== null && (typeof flags !== 'string' || /[^gim]/.test(flags))) throw jqFailure;
    const pattern = compileLinearPattern(source, (flags ?? '').replaceAll('g', '').replaceAll('m', 's'));
    if (!pattern.ok) {
      if (pattern.reason === 'malformed') throw jqFailure;
      throw new DiffRulesError('tests a pattern that is too long or too large');
    }
    this.#step(Math.ceil((pattern.size * value.length) / patternWorkPerStep));
    return pattern.test(value);
  }

  #quantified(name: 'any' | 'all', args: readonly JqExpression[], { path, value }: RunInput): boolean {
    const [source, test] = args.length === 2 ? args : [undefined, args[0]];
    const items = source === undefined ? itemsOf(value) : this.#all(source, path, value);
    const verdicts = items.flatMap((item) => this.#all(test ?? identity, 'computed', item));
    return name === 'any' ? verdicts.some(isTruthy) : verdicts.every(isTruthy);
  }

  #edge(name: 'first' | 'last', body: JqExpression | undefined, input: RunInput, emit: EmitResult): void {
    if (body === undefined) {
      const index = { kind: 'literal', value: name === 'first' ? 0 : -1 } as const;
      this.evaluate({ kind: 'field', from: { kind: 'identity' }, name: index }, input.path, input.value, emit);
      return;
    }
    let found: [ResultPath, Json] | undefined;
    this.evaluate(body, input.path, input.value, (at, inner) => {
      found ??= [at, inner];
    });
    if (found !== undefined) emit(found[0], found[1]);
  }

  #getPath(steps: Json, path: ResultPath, value: Json, emit: EmitResult): void {
    if (!isList(steps)) throw jqFailure;
    let [at, here]: [ResultPath, Json] = [path, value];
    for (const step of steps) {
      if (typeof step !== 'string' && typeof step !== 'number') throw jqFailure;
      at = below(at, step);
      here = isList(here)
        ? (here[Number(step)] ?? null)
        : isObject(here)
          ? (ownMember(here, String(step)) ?? null)
          : null;
    }
    emit(at, here);
  }
}

function below(path: ResultPath, step: string | number): ResultPath {
  if (path === 'computed') return 'computed';
  if (path === 'root') return { parent: undefined, step };
  if (!('slice' in path)) return { parent: path, step };
  return typeof step === 'number' ? { parent: path.parent, step: path.slice + step } : 'computed';
}

function sliceOf(path: ResultPath, from: number, end: number): ResultPath {
  if (path === 'computed') return 'computed';
  if (path === 'root') return { parent: undefined, slice: from, end };
  if (!('slice' in path)) return { parent: path, slice: from, end };
  return { parent: path.parent, slice: path.slice + from, end: path.slice + end };
}

/** Resolves a bound of a slice; negative counts from the end. */
function clamp(bound: Json, absent: number, length: number, round: (value: number) => number): number {
  if (bound === null) return absent;
  if (typeof bound !== 'number') throw jqFailure;
  const at = round(bound);
  return Math.min(length, Math.max(0, at < 0 ? length + at : at));
}

function itemsOf(value: Json): readonly Json[] {
  if (isList(value)) return value;
  if (isObject(value)) return Object.values(value).map((member) => member ?? null);
  throw jqFailure;
}

/**
 * Checks literal patterns when the rule is compiled: too large is an error, malformed a warning.
 */
function patternWarning(expression: JqExpression): string | undefined {
  const [source] = expression.kind === 'call' && expression.name === 'test' ? expression.args : [];
  if (source?.kind === 'literal' && typeof source.value === 'string') {
    const pattern = compileLinearPattern(source.value);
    if (!pattern.ok && pattern.reason === 'limit') throw new DiffRulesError(`cannot be run: ${pattern.message}`);
    if (!pattern.ok) return `does nothing where it tests this pattern: ${pattern.message}`;
  }
  for (const inner of subexpressions(expression)) {
    const warning = patternWarning(inner);
    if (warning !== undefined) return warning;
  }
  return undefined;
}

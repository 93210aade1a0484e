import type { TemplateBudget } from './template-budget.ts';
import { TemplateError } from './template-error.ts';
import { GoInt, GoList, GoMap, GoTime, typeName } from './template-values.ts';
import type { TemplateValue } from './template-values.ts';

/** The type of a parameter in Go. */
export type ParameterType = 'any' | 'string' | 'int' | 'float64' | 'bool' | 'map' | 'time' | 'version';

/** Surroundings that functions may use besides their arguments. */
export interface FunctionContext {
  readonly budget: TemplateBudget;
  /** The time of this rendering. */
  readonly nowMs: number;
}

export interface TemplateFunction {
  readonly parameters: readonly ParameterType[];
  /** The type of each further argument. */
  readonly rest: ParameterType | undefined;
  readonly run: (call: FunctionCall) => TemplateValue;
}

export type FunctionTable = Readonly<Record<string, TemplateFunction>>;

/** A function with its parameters as Go declares them: `int,string`, `any,any...`. */
export function fn(parameters: string, run: (call: FunctionCall) => TemplateValue): TemplateFunction {
  const types = parameters === '' ? [] : parameters.split(',');
  const isVariadic = types.at(-1)?.endsWith('...') === true;
  const rest = isVariadic ? (types.pop()?.slice(0, -3) as ParameterType) : undefined;
  return { parameters: types as ParameterType[], rest, run };
}

const goTypes: Readonly<Record<ParameterType, string>> = {
  any: 'interface {}',
  string: 'string',
  int: 'int',
  float64: 'float64',
  bool: 'bool',
  map: 'map[string]interface {}',
  time: 'time.Time',
  version: '*semver.Version',
};

/** Go's name of the type of a parameter. */
export function parameterName(type: ParameterType): string {
  return goTypes[type];
}

/** Reports whether Go accepts nil for the parameter. */
export function acceptsNil(type: ParameterType): boolean {
  return type === 'any' || type === 'map' || type === 'version';
}

/** Checks an argument that is not a constant. @throws TemplateError */
export function checkArgument(value: TemplateValue, type: ParameterType): TemplateValue {
  if (value === null) {
    if (acceptsNil(type)) return null;
    throw new TemplateError(`invalid value; expected ${goTypes[type]}`);
  }
  if (type === 'any' || typeName(value) === goTypes[type]) return value;
  throw new TemplateError(`wrong type for value; expected ${goTypes[type]}; got ${typeName(value)}`);
}

/** The checked arguments of a call. A getter of another type than the parameter's is a mistake. */
export class FunctionCall {
  readonly args: readonly TemplateValue[];
  readonly budget: TemplateBudget;
  readonly nowMs: number;

  constructor(args: readonly TemplateValue[], { budget, nowMs }: FunctionContext) {
    this.args = args;
    this.budget = budget;
    this.nowMs = nowMs;
  }

  value(i: number): TemplateValue {
    return this.args[i] ?? null;
  }

  text(i: number): string {
    const value = this.args[i];
    if (typeof value !== 'string') throw new TypeError(`argument ${i} is no string`);
    return value;
  }

  int(i: number): number {
    const value = this.args[i];
    if (!(value instanceof GoInt)) throw new TypeError(`argument ${i} is no int`);
    return Number(value.value);
  }

  bool(i: number): boolean {
    return this.args[i] === true;
  }

  time(i: number): GoTime {
    const value = this.args[i];
    if (!(value instanceof GoTime)) throw new TypeError(`argument ${i} is no time`);
    return value;
  }

  /** A map; a nil one is empty. */
  map(i: number): GoMap {
    return this.#mapOf(this.args[i]);
  }

  /** The maps from an argument on. */
  maps(from: number): readonly GoMap[] {
    return this.args.slice(from).map((value) => this.#mapOf(value));
  }

  /** The texts from an argument on. */
  texts(from: number): readonly string[] {
    return this.args.slice(from).filter((value) => typeof value === 'string');
  }

  /** A list of any type. @throws TemplateError */
  list(i: number, verb: string): GoList {
    const value = this.value(i);
    if (value instanceof GoList) return value;
    throw new TemplateError(`Cannot ${verb} on type ${typeName(value)}`);
  }

  #mapOf(value: TemplateValue | undefined): GoMap {
    if (value === null || value === undefined) return new GoMap();
    if (!(value instanceof GoMap)) throw new TypeError('an argument is no map');
    return value;
  }
}

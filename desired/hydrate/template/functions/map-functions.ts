import { isEmpty } from './list-functions.ts';
import { sprint } from '../go-print.ts';
import type { TemplateBudget } from '../template-budget.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable } from '../template-function.ts';
import { GoList, GoMap, sortedMembers, typeName } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

const merge = fn('map,map...', (call) => merged(call, false));
const mergeOverwrite = fn('map,map...', (call) => merged(call, true));
const deepCopy = fn('any', ({ args: [value = null], budget }) => copied(value, budget, 0));

/** Maps. Keys and values are in the order of the keys, where Go's order is random. */
export const mapFunctions: FunctionTable = {
  dict: fn('any...', (call) => dict(call)),
  get: fn('map,string', (call) => {
    const value = call.map(0).members.get(call.text(1));
    return value === undefined ? '' : value;
  }),
  set: fn('map,string,any', (call) => {
    const map = changeable(call);
    map.members.set(call.text(1), call.value(2));
    call.budget.expectItems(1);
    return map;
  }),
  unset: fn('map,string', (call) => {
    call.map(0).members.delete(call.text(1));
    return call.value(0);
  }),
  hasKey: fn('map,string', (call) => call.map(0).members.has(call.text(1))),
  pluck: fn('string,map...', (call) => {
    const found = call.maps(1).map(({ members }) => members.get(call.text(0)));
    return new GoList(found.filter((value) => value !== undefined));
  }),
  keys: fn('map...', (call) => {
    const keys = call.maps(0).flatMap((map) => membersOf(map, call.budget).map(([key]) => key));
    return new GoList(keys, 'string');
  }),
  values: fn('map', (call) => new GoList(membersOf(call.map(0), call.budget).map(([, value]) => value))),
  pick: fn('map,string...', (call) => {
    const kept = new Set(call.texts(1));
    return new GoMap(membersOf(call.map(0), call.budget).filter(([key]) => kept.has(key)));
  }),
  omit: fn('map,string...', (call) => {
    const omitted = new Set(call.texts(1));
    return new GoMap(membersOf(call.map(0), call.budget).filter(([key]) => !omitted.has(key)));
  }),
  dig: fn('any...', (call) => dug(call.args)),
  merge,
  mustMerge: merge,
  mergeOverwrite,
  mustMergeOverwrite: mergeOverwrite,
  deepCopy,
  mustDeepCopy: deepCopy,
};

function membersOf(map: GoMap, budget: TemplateBudget): readonly (readonly [string, TemplateValue])[] {
  budget.expectItems(map.members.size);
  return sortedMembers(map);
}

function changeable(call: FunctionCall): GoMap {
  if (call.value(0) === null) throw new TemplateError('assignment to entry in nil map');
  return call.map(0);
}

function dict({ args, budget }: FunctionCall): GoMap {
  const map = new GoMap();
  for (let i = 0; i < args.length; i += 2)
    map.members.set(sprint(args[i] ?? null, budget), i + 1 < args.length ? (args[i + 1] ?? null) : '');
  return map;
}

function dug(args: readonly TemplateValue[]): TemplateValue {
  if (args.length < 3) throw new TemplateError('dig needs at least three arguments');
  const keys = args.slice(0, -2);
  let at: TemplateValue = args.at(-1) ?? null;
  for (const key of keys) {
    if (typeof key !== 'string')
      throw new TemplateError(`interface conversion: interface {} is ${typeName(key)}, not string`);
    if (!(at instanceof GoMap) || at.element === 'string')
      throw new TemplateError(`interface conversion: interface {} is ${typeName(at)}, not map[string]interface {}`);
    const value = at.members.get(key);
    if (value === undefined) return args.at(-2) ?? null;
    at = value;
  }
  return at;
}

function merged(call: FunctionCall, overwrites: boolean): GoMap {
  const map = changeable(call);
  for (const source of call.maps(1)) mergeInto(map, source, { overwrites, budget: call.budget, depth: 0 });
  return map;
}

interface Merging {
  readonly overwrites: boolean;
  readonly budget: TemplateBudget;
  readonly depth: number;
}

/** Adds what is missing or empty, with `overwrites` everything; maps merge by their members. */
function mergeInto(target: GoMap, source: GoMap, { overwrites, budget, depth }: Merging): void {
  for (const [key, value] of [...source.members]) {
    budget.visit(depth);
    const known = target.members.get(key);
    if (known instanceof GoMap && value instanceof GoMap) {
      if (known !== value) mergeInto(known, value, { overwrites, budget, depth: depth + 1 });
    } else if (overwrites || (value !== null && (known === undefined || isEmpty(known))))
      target.members.set(key, value);
  }
}

function copied(value: TemplateValue, budget: TemplateBudget, depth: number): TemplateValue {
  budget.visit(depth);
  if (value instanceof GoList)
    return new GoList(
      value.items.map((item) => copied(item, budget, depth + 1)),
      value.element,
      value.isNil,
    );
  if (!(value instanceof GoMap)) return value;
  const members = [...value.members].map(([key, member]) => [key, copied(member, budget, depth + 1)] as const);
  return new GoMap(members, value.element);
}

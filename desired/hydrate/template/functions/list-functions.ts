import { isDeepEqual } from './compare-values.ts';
import { toInt } from './number-functions.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable, TemplateFunction } from '../template-function.ts';
import { GoInt, GoList, isTrue, typeName } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

const nilList = new GoList([], 'interface {}', true);

const list = fn('any...', ({ args }) => new GoList(args));
const append = fn('any,any', (call) => grown(call, [...call.list(0, 'push').items, call.value(1)]));
const prepend = fn('any,any', (call) => grown(call, [call.value(1), ...call.list(0, 'prepend').items]));
const first = fn('any', (call) => call.list(0, 'find first').items[0] ?? null);
const last = fn('any', (call) => call.list(0, 'find last').items.at(-1) ?? null);
const rest = fn('any', (call) => part(call, 'find rest', (items) => items.slice(1)));
const initial = fn('any', (call) => part(call, 'find initial', (items) => items.slice(0, -1)));
const reverse = fn('any', (call) => grown(call, call.list(0, 'find reverse').items.toReversed()));
const compact = fn('any', (call) =>
  grown(
    call,
    call.list(0, 'compact').items.filter((item) => !isEmpty(item)),
  ),
);
const uniq = fn('any', (call) => {
  const kept: TemplateValue[] = [];
  for (const item of call.list(0, 'find uniq').items) if (!includes(call, kept, item)) kept.push(item);
  return new GoList(kept);
});
const without = fn('any,any...', (call) => {
  const [, ...omitted] = call.args;
  return new GoList(call.list(0, 'find without').items.filter((item) => !includes(call, omitted, item)));
});
const has = fn(
  'any,any',
  (call) => call.value(1) !== null && includes(call, call.list(1, 'find has').items, call.value(0)),
);
const slice = fn('any,any...', sliced);
const chunk = fn('int,any', chunks);

/** Lists. They are copied, never changed. */
export const listFunctions: FunctionTable = {
  list,
  tuple: list,
  push: append,
  ...withMust({ append, prepend, first, last, rest, initial, reverse, compact, uniq, without, has, slice, chunk }),
  mustPush: append,
  concat: fn('any...', (call) => {
    const items = call.args.flatMap((_, i) => call.list(i, 'concat').items);
    return items.length === 0 ? nilList : grown(call, items);
  }),
};

/** Each function also under its name with `must`: both fail here in the same way. */
function withMust(functions: FunctionTable): FunctionTable {
  const named = (name: string): string => `must${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const entries = Object.entries(functions);
  const musts: readonly (readonly [string, TemplateFunction])[] = entries.map(([name, value]) => [named(name), value]);
  return Object.fromEntries([...entries, ...musts]);
}

function grown({ budget }: FunctionCall, items: readonly TemplateValue[]): GoList {
  budget.expectItems(items.length);
  return new GoList(items);
}

function part(
  call: FunctionCall,
  verb: string,
  cut: (items: readonly TemplateValue[]) => readonly TemplateValue[],
): GoList {
  const { items } = call.list(0, verb);
  return items.length === 0 ? nilList : grown(call, cut(items));
}

function includes({ budget }: FunctionCall, items: readonly TemplateValue[], value: TemplateValue): boolean {
  return items.some((item) => isDeepEqual(value, item, budget));
}

/** Sprig's emptiness: like Go's truth, but a struct that is a pointer may not be nil. */
export function isEmpty(value: TemplateValue): boolean {
  return !isTrue(value);
}

function sliced(call: FunctionCall): TemplateValue {
  const given = call.value(0);
  if (!(given instanceof GoList))
    throw new TemplateError(`list should be type of slice or array but ${typeName(given)}`);
  if (given.items.length === 0) return null;
  const from = call.args.length > 1 ? Number(toInt(call.value(1))) : 0;
  const to = call.args.length > 2 ? Number(toInt(call.value(2))) : given.items.length;
  if (from < 0 || to > given.items.length || from > to)
    throw new TemplateError(`slice index out of bounds: ${from} to ${to} of ${given.items.length} items`);
  call.budget.expectItems(to - from);
  return new GoList(given.items.slice(from, to), given.element);
}

function chunks(call: FunctionCall): GoList {
  const [size, { items }] = [call.int(0), call.list(1, 'chunk')];
  if (size < 1) throw new TemplateError(`chunks of ${size} items are not possible`);
  call.budget.expectItems(items.length);
  const lists: GoList[] = [];
  for (let at = 0; at < items.length; at += size) lists.push(new GoList(items.slice(at, at + size)));
  return new GoList(lists, '[]interface {}');
}

/** A list of ints. */
export function intList(values: readonly number[]): GoList {
  return new GoList(
    values.map((value) => new GoInt(value)),
    'int',
  );
}

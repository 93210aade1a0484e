import { isObject } from '#base';
import type { Json } from '#base';
import type { Draw } from './draw.ts';

export type JsonPath = readonly (string | number)[];

/** Values that readers of JSON often confuse. */
const oddValues: readonly Json[] = [
  ...[null, '', 0, false, [], {}, true, 1, -1, '0', '1', 'true', 'null', ' ', 'x'],
  ...[0.5, 1.0, 2147483648, -2147483649, 9007199254740993n, 9223372036854775807n, 1e21, '1e3', '1Gi', '1000m'],
  ...[[null], [{}], [''], { '': '' }, { a: null }, 'é', 'Ünïcode \u2028', '007', '0x10', 'Infinity'],
];

/** Paths to all values inside `value`, itself excluded. */
export function pathsIn(value: Json | undefined, above: JsonPath = []): JsonPath[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((item, i) => [[...above, i], ...pathsIn(item, [...above, i])]);
  if (!isObject(value)) return [];
  return Object.keys(value).flatMap((key) => [[...above, key], ...pathsIn(value[key], [...above, key])]);
}

export function valueAtPath(value: Json | undefined, path: JsonPath): Json | undefined {
  return path.reduce<Json | undefined>((here, step) => {
    if (Array.isArray(here)) return (here as readonly Json[])[Number(step)];
    return isObject(here) && Object.hasOwn(here, step) ? here[step] : undefined;
  }, value);
}

/** Copies `value` with another one at a path; undefined removes it. */
export function replaceAt(value: Json, path: JsonPath, after: Json | undefined): Json {
  const [step, ...rest] = path;
  if (step === undefined) return after ?? null;
  const inner = (here: Json | undefined): Json | undefined =>
    rest.length === 0 ? after : replaceAt(here ?? null, rest, after);
  if (Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((item, i) => {
      const next = i === step ? inner(item) : item;
      return next === undefined ? [] : [next];
    });
  }
  if (!isObject(value)) return value;
  const next = inner(value[step]);
  const entries = Object.entries(value).filter(([key]) => key !== step || next !== undefined);
  const replaced = entries.map(([key, member]): [string, Json | undefined] => [key, key === step ? next : member]);
  const isNew = next !== undefined && !Object.hasOwn(value, step);
  return Object.fromEntries<Json | undefined>(isNew ? [...replaced, [String(step), next]] : replaced);
}

/** Members that identify an object, or that only the API server writes. */
function isIdentity([first, second = '']: JsonPath): boolean {
  if (first === 'metadata') return !['labels', 'annotations', 'finalizers', 'extra'].includes(String(second));
  return first === 'apiVersion' || first === 'kind';
}

/** Changes one value of an object: dropped, doubled, moved, replaced or, in some cases, retyped. */
export function mutateOnce(object: Json, draw: Draw): Json {
  return draw.keepsTypes ? mutateTyped(object, draw) : mutateAny(object, draw);
}

function mutateAny(object: Json, draw: Draw): Json {
  const paths = pathsIn(object).filter((path) => !isIdentity(path));
  if (paths.length === 0) return object;
  const path = draw.pick(paths);
  const here = valueAtPath(object, path) ?? null;
  switch (draw.below(8)) {
    case 0:
    case 1:
      return replaceAt(object, path, undefined);
    case 2:
      return doubled(object, path, draw);
    case 3:
      return replaceAt(object, path, retyped(here, draw));
    case 4:
      return replaceAt(object, path, draw.pick(oddValues));
    case 5:
      return replaceAt(object, path, valueAtPath(object, draw.pick(paths)) ?? null);
    case 6:
      return withNewMember(object, path, draw);
    default:
      return replaceAt(object, path, nearby(here, draw));
  }
}

export function mutated(object: Json, times: number, draw: Draw): Json {
  let result = object;
  for (let i = 0; i < times; i += 1) result = mutateOnce(result, draw);
  return result;
}

/** Changes one value of an object so that all values keep their types. */
function mutateTyped(object: Json, draw: Draw): Json {
  const paths = pathsIn(object).filter((path) => !isIdentity(path));
  if (paths.length === 0) return object;
  const path = draw.pick(paths);
  const here = valueAtPath(object, path) ?? null;
  switch (draw.below(5)) {
    case 0:
      return replaceAt(object, path, undefined);
    case 1: {
      const at = path.findLastIndex((step) => typeof step === 'number');
      if (at < 0) return replaceAt(object, path, undefined);
      const list = valueAtPath(object, path.slice(0, at)) as readonly Json[];
      const item = list[Number(path[at])] ?? null;
      return replaceAt(object, path.slice(0, at), draw.chance(0.5) ? [...list, item] : [item, ...list]);
    }
    case 2:
      return replaceAt(object, path, emptyOf(here));
    case 3: {
      const alike = paths.map((each) => valueAtPath(object, each) ?? null).filter((value) => isScalarLike(here, value));
      return alike.length === 0 ? object : replaceAt(object, path, draw.pick(alike));
    }
    default:
      return replaceAt(
        object,
        path,
        typeof here === 'number' ? draw.pick([here + 1, Math.max(0, here - 1), 0, 1]) : nearby(here, draw),
      );
  }
}

function isScalarLike(here: Json, other: Json): boolean {
  return here !== null && typeof here !== 'object' && typeof here === typeof other;
}

function emptyOf(value: Json): Json {
  if (typeof value === 'string') return '';
  if (typeof value === 'boolean') return false;
  if (typeof value === 'object') return Array.isArray(value) ? [] : value === null ? null : {};
  return 0;
}

/** Doubles an item of a list, as it is or slightly changed. */
function doubled(object: Json, path: JsonPath, draw: Draw): Json {
  const at = path.findLastIndex((step) => typeof step === 'number');
  if (at < 0) return replaceAt(object, path, undefined);
  const list = valueAtPath(object, path.slice(0, at)) as readonly Json[];
  const item = list[Number(path[at])] ?? null;
  const copy = draw.chance(0.5) ? item : mutateOnce(item, draw);
  const where = draw.chance(0.5) ? [copy, ...list] : [...list, copy];
  return replaceAt(object, path.slice(0, at), where);
}

function retyped(value: Json, draw: Draw): Json {
  if (typeof value === 'string') return draw.pick<Json>([Number(value) || 0, [value], { value }, true]);
  if (typeof value === 'number' || typeof value === 'bigint')
    return draw.pick<Json>([String(value), `${value}m`, [value], value === 0]);
  if (typeof value === 'boolean') return draw.pick<Json>([String(value), value ? 1 : 0, null]);
  if (value === null) return draw.pick<Json>(['', {}, [], 0]);
  if (Array.isArray(value)) return draw.pick<Json>([(value as readonly Json[])[0] ?? null, {}, [], null]);
  return draw.pick<Json>([[value], Object.keys(value), {}, null]);
}

/** A value of the same type that differs a little. */
function nearby(value: Json, draw: Draw): Json {
  if (typeof value === 'string')
    return draw.pick([`${value}x`, value.slice(1), value.toUpperCase(), ` ${value}`, `${value}\n`]);
  if (typeof value === 'number') return draw.pick([value + 1, value - 1, -value, value * 1000, value + 0.5]);
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return [...(value as readonly Json[])].reverse();
  return value;
}

function withNewMember(object: Json, path: JsonPath, draw: Draw): Json {
  const parent = path.slice(0, -1);
  const value = valueAtPath(object, parent);
  if (!isObject(value)) return object;
  const key = draw.pick(['extra', 'name', 'namespace', 'labels', 'annotations', '', 'a/b', 'a~b', 'a.b']);
  return isIdentity([...parent, key]) ? object : replaceAt(object, [...parent, key], draw.pick(oddValues));
}

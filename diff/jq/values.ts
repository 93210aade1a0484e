import { deepEqual, isObject, ownMember, stringifyJson } from '#base';
import type { Json } from '#base';
import { DiffRulesError } from '../shared/errors.ts';
import { isList } from '../shared/values.ts';
import type { JqComparison } from './expression.ts';

/** A single object without a stack trace: `.. | .a?` throws once for each value. */
export const jqFailure: Error = new Error('jq error');

export function isTruthy(value: Json): boolean {
  return value !== null && value !== false;
}

export function compareValues(operator: JqComparison, left: Json, right: Json): boolean {
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

/** Orders two values of one type. jq also orders lists and objects, which no known rule uses. */
function scalarOrder(left: Json, right: Json): number {
  if (deepEqual(left, right)) return 0;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : 1;
  if (typeof left === 'object' || typeof right === 'object')
    throw new DiffRulesError('puts lists or objects in an order, which is not supported');
  return Number(left) < Number(right) ? -1 : 1;
}

/** jq's order of types: null, false, true, numbers, strings, lists, objects. */
function orderOf(value: Json): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return value ? 2 : 1;
  if (typeof value === 'number' || typeof value === 'bigint') return 3;
  if (typeof value === 'string') return 4;
  return isList(value) ? 5 : 6;
}

const typeNames = ['null', 'boolean', 'boolean', 'number', 'string', 'array', 'object'];

export function callWithoutArgument(name: string, value: Json): Json {
  switch (name) {
    case 'not':
      return !isTruthy(value);
    case 'type':
      return typeNames[orderOf(value)] ?? 'null';
    case 'length':
      return lengthOf(value);
    case 'tostring':
      return typeof value === 'string' ? value : stringifyJson(value);
    case 'ascii_downcase':
      return textIn(value).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    case 'ascii_upcase':
      return textIn(value).replace(/[a-z]/g, (letter) => letter.toUpperCase());
    case 'keys':
      if (isList(value)) return value.map((_item, i) => i);
      if (!isObject(value)) throw jqFailure;
      return Object.keys(value).sort();
    default:
      throw jqFailure;
  }
}

function lengthOf(value: Json): number | bigint {
  if (value === null) return 0;
  if (typeof value === 'string') return [...value].length;
  if (typeof value === 'number') return Math.abs(value);
  if (typeof value === 'bigint') return value < 0n ? -value : value;
  if (isList(value)) return value.length;
  if (isObject(value)) return Object.keys(value).length;
  throw jqFailure;
}

export function callWithArgument(name: string, value: Json, argument: Json): Json {
  switch (name) {
    case 'has':
      if (isObject(value) && typeof argument === 'string') return Object.hasOwn(value, argument);
      if (isList(value) && typeof argument === 'number') return argument >= 0 && argument < value.length;
      throw jqFailure;
    case 'contains':
      return contains(value, argument);
    case 'inside':
      return contains(argument, value);
    case 'ltrimstr':
    case 'rtrimstr':
      return trimmed(name, value, argument);
    default:
      return name === 'startswith'
        ? textIn(value).startsWith(textIn(argument))
        : textIn(value).endsWith(textIn(argument));
  }
}

function textIn(value: Json): string {
  if (typeof value !== 'string') throw jqFailure;
  return value;
}

/** Returns the input unchanged unless it is a string with that prefix or suffix. */
function trimmed(name: string, value: Json, part: Json): Json {
  if (typeof value !== 'string' || typeof part !== 'string') return value;
  if (name === 'ltrimstr') return value.startsWith(part) ? value.slice(part.length) : value;
  return value.endsWith(part) ? value.slice(0, value.length - part.length) : value;
}

function contains(value: Json, part: Json): boolean {
  if (isObject(value) && isObject(part))
    return Object.entries(part).every(([key, member]) => {
      const here = ownMember(value, key);
      return here !== undefined && contains(here, member ?? null);
    });
  if (isList(value) && isList(part))
    return part.every((item) => value.some((here) => sameType(here, item) && contains(here, item)));
  if (typeof value === 'string' && typeof part === 'string') return value.includes(part);
  if (sameType(value, part)) return deepEqual(value, part);
  throw jqFailure;
}

function sameType(a: Json, b: Json): boolean {
  return typeNames[orderOf(a)] === typeNames[orderOf(b)];
}

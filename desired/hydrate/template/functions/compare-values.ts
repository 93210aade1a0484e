import type { TemplateBudget } from '../template-budget.ts';
import { TemplateError } from '../template-error.ts';
import {
  compareText,
  GoInt,
  GoList,
  GoMap,
  GoStruct,
  GoTime,
  GoVersion,
  kindName,
  typeName,
} from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

type BasicKind = 'bool' | 'int' | 'uint' | 'float' | 'string' | 'other';

function basicKind(value: TemplateValue): BasicKind {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'float';
  if (typeof value === 'string') return 'string';
  if (!(value instanceof GoInt)) return 'other';
  return value.type.startsWith('uint') ? 'uint' : 'int';
}

/** `eq` of two values, by the rules of text/template. @throws TemplateError */
export function isEqual(a: TemplateValue, b: TemplateValue): boolean {
  if (a instanceof GoInt && b instanceof GoInt) return a.value === b.value;
  if (basicKind(a) === basicKind(b)) return basicKind(a) === 'other' ? isSameReference(a, b) : a === b;
  if (a === null || b === null) return false;
  throw new TemplateError(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
}

/** Equality of values without an order: only nils and times can be equal. */
function isSameReference(a: TemplateValue, b: TemplateValue): boolean {
  if (a === null || b === null) return isNil(a) && isNil(b);
  if (kindName(a) !== kindName(b)) throw new TemplateError(`non-comparable types ${typeName(a)} and ${typeName(b)}`);
  if (isNil(a) || isNil(b)) return isNil(a) === isNil(b);
  if (b instanceof GoList || b instanceof GoMap || (b instanceof GoStruct && a !== b))
    throw new TemplateError(`non-comparable type ${typeName(b)}`);
  return a === b || isSameTime(a, b);
}

function isSameTime(a: TemplateValue, b: TemplateValue): boolean {
  return a instanceof GoTime && b instanceof GoTime && a.epochNs === b.epochNs && a.zone === b.zone;
}

function isNil(value: TemplateValue): boolean {
  return value === null || (value instanceof GoList && value.isNil);
}

/** Negative, zero or positive. @throws TemplateError for types without an order. */
export function compareValues(a: TemplateValue, b: TemplateValue): number {
  for (const value of [a, b]) if (basicKind(value) === 'other') throw new TemplateError('invalid type for comparison');
  if (a instanceof GoInt && b instanceof GoInt) return a.value < b.value ? -1 : a.value === b.value ? 0 : 1;
  if (basicKind(a) !== basicKind(b))
    throw new TemplateError(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  throw new TemplateError('invalid type for comparison');
}

/** reflect.DeepEqual: also the types are equal. @throws TemplateError */
export function isDeepEqual(a: TemplateValue, b: TemplateValue, budget: TemplateBudget, depth = 0): boolean {
  budget.visit(depth);
  if (typeName(a) !== typeName(b)) return false;
  if (a === b) return true;
  const equal = (inner: TemplateValue | undefined, other: TemplateValue | undefined): boolean =>
    inner !== undefined && other !== undefined && isDeepEqual(inner, other, budget, depth + 1);
  if (a instanceof GoList && b instanceof GoList)
    return (
      a.items.length === b.items.length && a.isNil === b.isNil && a.items.every((item, i) => equal(item, b.items[i]))
    );
  if (a instanceof GoStruct && b instanceof GoStruct)
    return Object.keys(a.fields).every((key) => equal(a.fields[key], b.fields[key]));
  if (a instanceof GoMap && b instanceof GoMap)
    return (
      a.members.size === b.members.size && [...a.members].every(([key, value]) => equal(value, b.members.get(key)))
    );
  return isSameScalar(a, b);
}

function isSameScalar(a: TemplateValue, b: TemplateValue): boolean {
  if (a instanceof GoInt && b instanceof GoInt) return a.value === b.value;
  if (a instanceof GoVersion && b instanceof GoVersion) return a.original === b.original;
  return isSameTime(a, b);
}

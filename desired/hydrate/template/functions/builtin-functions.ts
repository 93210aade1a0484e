import { byteLength, wellFormed } from './byte-text.ts';
import { compareValues, isEqual } from './compare-values.ts';
import { sprint } from '../go-print.ts';
import { sprintf } from '../go-printf.ts';
import type { TemplateBudget } from '../template-budget.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionTable } from '../template-function.ts';
import { GoInt, GoList, GoMap, isTrue, typeName } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

/**
 * The functions of text/template itself, but `and` and `or`, which do not evaluate all their
 * arguments.
 */
export const builtinFunctions: FunctionTable = {
  not: fn('any', (call) => !isTrue(call.value(0))),
  eq: fn('any,any...', ({ args: [first = null, ...others] }) => {
    if (others.length === 0) throw new TemplateError('missing argument for comparison');
    return others.some((other) => isEqual(first, other));
  }),
  ne: fn('any,any', (call) => !isEqual(call.value(0), call.value(1))),
  lt: fn('any,any', (call) => compareValues(call.value(0), call.value(1)) < 0),
  le: fn('any,any', (call) => compareValues(call.value(0), call.value(1)) <= 0),
  gt: fn('any,any', (call) => compareValues(call.value(0), call.value(1)) > 0),
  ge: fn('any,any', (call) => compareValues(call.value(0), call.value(1)) >= 0),
  len: fn('any', (call) => new GoInt(lengthOf(call.value(0)))),
  index: fn('any,any...', ({ args: [item = null, ...keys] }) => {
    if (item === null) throw new TemplateError('index of untyped nil');
    return keys.reduce<TemplateValue>(elementOf, item);
  }),
  call: fn('any,any...', (call) => {
    throw new TemplateError(`non-function of type ${typeName(call.value(0))}`);
  }),
  print: fn('any...', ({ args, budget }) => printArgs(args, budget)),
  println: fn('any...', ({ args, budget }) => `${args.map((value) => sprint(value, budget)).join(' ')}\n`),
  printf: fn('string,any...', (call) => sprintf(call.text(0), call.args.slice(1), call.budget)),
  html: fn('any...', ({ args, budget }) => htmlText(printArgs(args, budget))),
  js: fn('any...', ({ args, budget }) => scriptText(printArgs(args, budget))),
  urlquery: fn('any...', ({ args, budget }) => queryText(printArgs(args, budget))),
};

/** fmt.Sprint: a space between two values of which neither is a text. */
function printArgs(args: readonly TemplateValue[], budget: TemplateBudget): string {
  return args
    .map((value, i) => {
      const isSpaced = i > 0 && typeof value !== 'string' && typeof args[i - 1] !== 'string';
      return (isSpaced ? ' ' : '') + sprint(value, budget);
    })
    .join('');
}

function lengthOf(value: TemplateValue): number {
  if (typeof value === 'string') return byteLength(value);
  if (value instanceof GoList) return value.items.length;
  if (value instanceof GoMap) return value.members.size;
  throw new TemplateError(value === null ? 'len of nil pointer' : `len of type ${typeName(value)}`);
}

function elementOf(item: TemplateValue, key: TemplateValue): TemplateValue {
  if (item === null) throw new TemplateError('index of nil pointer');
  if (item instanceof GoMap) {
    if (typeof key !== 'string') throw new TemplateError(`value has type ${typeName(key)}; should be string`);
    return item.members.get(key) ?? (item.element === 'string' ? '' : null);
  }
  const isText = typeof item === 'string';
  if (!isText && !(item instanceof GoList)) throw new TemplateError(`can't index item of type ${typeName(item)}`);
  if (!(key instanceof GoInt)) throw new TemplateError(`cannot index slice/array with type ${typeName(key)}`);
  const at = Number(key.value);
  if (at < 0 || at >= lengthOf(item)) throw new TemplateError(`index out of range: ${at}`);
  if (isText) return new GoInt(Buffer.from(item)[at] ?? 0, 'uint8');
  return item.items[at] ?? null;
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '\u0000': '\ufffd',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

function htmlText(text: string): string {
  return text.replace(/[\u0000"'&<>]/g, (char) => htmlEscapes[char] ?? char);
}

function scriptText(text: string): string {
  return text.replace(/[\\'"<>&=\u0000-\u001f]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => {
    if (/[\\'"]/.test(char)) return `\\${char}`;
    return `\\u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  });
}

function queryText(text: string): string {
  return encodeURIComponent(wellFormed(text))
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

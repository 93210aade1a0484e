import { formatG } from './go-float.ts';
import { formatTime, monthName, weekdayName } from './go-time.ts';
import type { TemplateBudget } from './template-budget.ts';
import { templateLimits } from './template-budget.ts';
import { TemplateError } from './template-error.ts';
import { GoInt, GoList, GoMap, GoStruct, GoTime, sortedMembers } from './template-values.ts';
import type { GoVersion, OptionalValue, TemplateValue } from './template-values.ts';

/** The text that an action writes. */
export function printValue(value: OptionalValue, budget: TemplateBudget): string {
  return value === null || value === undefined ? '<no value>' : sprint(value, budget);
}

/** Prints a value as Go's `%v`. */
export function sprint(value: TemplateValue, budget: TemplateBudget): string {
  return printed(value, { budget, leaf: leafText, length: 0 }, 0);
}

/** How the scalars within lists and maps are printed. */
export interface ValuePrinter {
  readonly budget: TemplateBudget;
  readonly leaf: (value: TemplateValue) => string;
  /** Characters so far. */
  length: number;
}

/** @throws TemplateError */
export function printed(value: TemplateValue, printer: ValuePrinter, depth: number): string {
  printer.budget.visit(depth);
  const nested = (inner: TemplateValue): string => printed(inner, printer, depth + 1);
  if (value instanceof GoList) return `[${value.items.map(nested).join(' ')}]`;
  if (value instanceof GoStruct) return `{${Object.values(value.fields).map(nested).join(' ')}}`;
  if (value instanceof GoMap)
    return `map[${sortedMembers(value)
      .map(([key, member]) => `${nested(key)}:${nested(member)}`)
      .join(' ')}]`;
  const text = printer.leaf(value);
  printer.length += text.length + 1;
  if (printer.length > templateLimits.textLength)
    throw new TemplateError(`a text has more than ${templateLimits.textLength} characters`);
  return text;
}

/** Prints a scalar as Go's `%v`. */
export function leafText(value: TemplateValue): string {
  if (value === null) return '<nil>';
  if (typeof value === 'number') return formatG(value);
  if (value instanceof GoInt) return intText(value);
  if (typeof value !== 'object') return String(value);
  return stringerText(value as GoTime | GoVersion);
}

function intText({ type, value }: GoInt): string {
  if (type === 'time.Month') return monthName(Number(value));
  return type === 'time.Weekday' ? weekdayName(Number(value)) : String(value);
}

/** The result of Go's method String. */
export function stringerText(value: GoTime | GoVersion): string {
  if (value instanceof GoTime) return formatTime(value, '2006-01-02 15:04:05.999999999 -0700 MST');
  const { major, minor, patch, pre } = value.version;
  const metadata = /\+(.*)$/.exec(value.original)?.[1];
  return `${major}.${minor}.${patch}${pre === '' ? '' : `-${pre}`}${metadata === undefined ? '' : `+${metadata}`}`;
}

/** Sprig's text of a value: like `%v`, but nil is `<nil>` and texts are as they are. */
export const textOf = sprint;

const quoteEscapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

/** Quotes as Go's `%q`. */
export function quoted(text: string, quote = '"'): string {
  let shown = '';
  for (const char of text) shown += char === quote ? `\\${char}` : quotedChar(char);
  return `${quote}${shown}${quote}`;
}

function quotedChar(char: string): string {
  const known = quoteEscapes[char];
  if (known !== undefined) return known;
  if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)) return char;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

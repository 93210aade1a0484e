import { compileLinearPattern } from '#base';
import type { LinearPattern } from '#base';
import { TemplateError } from './template-error.ts';
import { isTrue, printed } from './template-values.ts';
import type { TemplateValue } from './template-values.ts';

type TemplateFunction = (args: readonly TemplateValue[]) => TemplateValue;

/** Repeated and padded texts are limited. */
const maxTextLength = 64 * 1024;

/**
 * Go's functions, and those of Sprig that messages need. The value of a pipe is the last argument.
 */
export const templateFunctions: Readonly<Record<string, TemplateFunction>> = {
  not: ([value]) => !isTrue(value ?? null),
  eq: ([first, ...others]) => others.some((other) => other === first),
  ne: ([a, b]) => a !== b,
  lt: (args) => compared(args) < 0,
  le: (args) => compared(args) <= 0,
  gt: (args) => compared(args) > 0,
  ge: (args) => compared(args) >= 0,
  len: ([value]) => lengthOf(value ?? null),
  index: ([value, ...keys]) => keys.reduce<TemplateValue>((at, key) => elementOf(at, key), value ?? null),
  print: (args) => args.map(printed).join(''),
  println: (args) => `${args.map(printed).join(' ')}\n`,
  ...textFunctions(),
  ...listFunctions(),
  ...patternFunctions(),
};

function textFunctions(): Readonly<Record<string, TemplateFunction>> {
  return {
    trunc: ([count, value]) => truncated(numberOf(count), textOf(value)),
    upper: ([value]) => textOf(value).toUpperCase(),
    lower: ([value]) => textOf(value).toLowerCase(),
    trim: ([value]) => textOf(value).trim(),
    trimAll: ([cut, value]) => trimmed(textOf(value), new Set(textOf(cut)), { start: true, end: true }),
    trimPrefix: ([cut, value]) => {
      const text = textOf(value);
      return text.startsWith(textOf(cut)) ? text.slice(textOf(cut).length) : text;
    },
    trimSuffix: ([cut, value]) => {
      const [text, suffix] = [textOf(value), textOf(cut)];
      return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
    },
    replace: ([from, to, value]) => bounded(textOf(value).replaceAll(textOf(from), () => textOf(to))),
    contains: ([part, value]) => textOf(value).includes(textOf(part)),
    hasPrefix: ([part, value]) => textOf(value).startsWith(textOf(part)),
    hasSuffix: ([part, value]) => textOf(value).endsWith(textOf(part)),
    quote: (args) =>
      args
        .filter((value) => value !== null)
        .map((value) => JSON.stringify(printed(value)))
        .join(' '),
    squote: (args) =>
      args
        .filter((value) => value !== null)
        .map((value) => `'${printed(value)}'`)
        .join(' '),
    indent: ([count, value]) => indented(numberOf(count), textOf(value)),
    nindent: ([count, value]) => `\n${indented(numberOf(count), textOf(value))}`,
    toString: toText,
    nospace: ([value]) => textOf(value).replace(/\s+/g, ''),
    substr: ([start, end, value]) => substring(numberOf(start), numberOf(end), textOf(value)),
  };
}

function toText([value]: readonly TemplateValue[]): string {
  return printed(value ?? null);
}

function listFunctions(): Readonly<Record<string, TemplateFunction>> {
  return {
    default: ([other, value]) => (value !== undefined && isTrue(value) ? value : (other ?? null)),
    empty: ([value]) => !isTrue(value ?? null),
    coalesce: (args) => args.find(isTrue) ?? null,
    ternary: ([yes, no, condition]) => (condition === true ? yes : no) ?? null,
    list: (args) => args,
    first: ([value]) => listOf(value)[0] ?? null,
    last: ([value]) => listOf(value).at(-1) ?? null,
    join: ([separator, value]) => listOf(value).map(printed).join(textOf(separator)),
    splitList: ([separator, value]) => textOf(value).split(textOf(separator)),
    hasKey: ([value, key]) => typeof value === 'object' && value !== null && Object.hasOwn(value, textOf(key)),
  };
}

function patternFunctions(): Readonly<Record<string, TemplateFunction>> {
  const find: TemplateFunction = ([pattern, value]) => patternOf(textOf(pattern)).find(textOf(value)) ?? '';
  const match: TemplateFunction = ([pattern, value]) => patternOf(textOf(pattern)).test(textOf(value));
  return { regexFind: find, mustRegexFind: find, regexMatch: match, mustRegexMatch: match };
}

function patternOf(source: string): Extract<LinearPattern, { readonly ok: true }> {
  const pattern = compileLinearPattern(source);
  if (!pattern.ok) throw new TemplateError(`error parsing regexp: ${pattern.message}`);
  return pattern;
}

function truncated(count: number, text: string): string {
  // Sprig counts bytes; a cut within a character would be invalid text, so characters count here.
  const chars = [...text];
  if (count < 0) return chars.length + count > 0 ? chars.slice(count).join('') : text;
  return chars.length > count ? chars.slice(0, count).join('') : text;
}

function substring(start: number, end: number, text: string): string {
  const chars = [...text];
  if (start < 0) return chars.slice(0, Math.max(0, end)).join('');
  return chars.slice(start, end < 0 || end > chars.length ? undefined : end).join('');
}

function trimmed(
  text: string,
  cut: ReadonlySet<string>,
  where: { readonly start: boolean; readonly end: boolean },
): string {
  const chars = [...text];
  let [from, to] = [0, chars.length];
  while (where.start && from < to && cut.has(chars[from] ?? '')) from += 1;
  while (where.end && to > from && cut.has(chars[to - 1] ?? '')) to -= 1;
  return chars.slice(from, to).join('');
}

function indented(count: number, text: string): string {
  if (count < 0 || count > 1000) throw new TemplateError(`an indent of ${count} is refused`);
  return bounded(
    text
      .split('\n')
      .map((line) => `${' '.repeat(count)}${line}`)
      .join('\n'),
  );
}

function bounded(text: string): string {
  if (text.length > maxTextLength) throw new TemplateError(`a text has more than ${maxTextLength} characters`);
  return text;
}

function compared([a, b]: readonly TemplateValue[]): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a === b ? 0 : 1;
  throw new TemplateError('incompatible types for comparison');
}

function lengthOf(value: TemplateValue): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length;
  throw new TemplateError('error calling len: len of a value without a length');
}

function elementOf(value: TemplateValue, key: TemplateValue): TemplateValue {
  if (Array.isArray(value) && typeof key === 'number') {
    const item = (value as readonly TemplateValue[])[key];
    if (item === undefined) throw new TemplateError(`error calling index: index out of range: ${key}`);
    return item;
  }
  if (typeof value === 'object' && value !== null && typeof key === 'string')
    return Object.hasOwn(value, key) ? ((value as Readonly<Record<string, TemplateValue>>)[key] ?? null) : null;
  throw new TemplateError("error calling index: can't index this value");
}

function listOf(value: TemplateValue | undefined): readonly TemplateValue[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value as readonly TemplateValue[];
  throw new TemplateError('a list is expected');
}

function textOf(value: TemplateValue | undefined): string {
  if (typeof value === 'string') return value;
  throw new TemplateError(`a text is expected, not ${value === null || value === undefined ? 'nil' : typeof value}`);
}

function numberOf(value: TemplateValue | undefined): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new TemplateError('a whole number is expected');
}

import { byteLength, cutBytes } from './byte-text.ts';
import { quoted, sprint } from '../go-print.ts';
import type { TemplateBudget } from '../template-budget.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable } from '../template-function.ts';
import { GoList, GoMap } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

const trimAll = fn('string,string', (call) => {
  const cut = new Set(call.text(0));
  return trimmed(call.text(1), (char) => cut.has(char));
});

/** Texts. The value of a pipe is the last argument. */
export const textFunctions: FunctionTable = {
  hello: fn('', () => 'Hello!'),
  abbrev: fn('int,string', (call) => (call.int(0) < 4 ? call.text(1) : abbreviated(call.text(1), 0, call.int(0)))),
  abbrevboth: fn('int,int,string', (call) => {
    const [left, right, text] = [call.int(0), call.int(1), call.text(2)];
    return right < 4 || (left > 0 && right < 7) ? text : abbreviated(text, left, right);
  }),
  trunc: fn('int,string', (call) => {
    const [count, text] = [call.int(0), call.text(1)];
    const length = byteLength(text);
    if (count < 0 && length + count > 0) return cutBytes(text, length + count, length);
    return count >= 0 ? cutBytes(text, 0, count) : text;
  }),
  substr: fn('int,int,string', (call) => {
    const [start, end, text] = [call.int(0), call.int(1), call.text(2)];
    const length = byteLength(text);
    const from = Math.max(0, start);
    const to = start >= 0 && (end < 0 || end > length) ? length : end;
    if (from > to || to > length) throw new TemplateError(`slice bounds out of range [${from}:${to}]`);
    return cutBytes(text, from, to);
  }),
  trim: fn('string', (call) => trimmed(call.text(0), isSpace)),
  trimAll,
  trimall: trimAll,
  trimPrefix: fn('string,string', (call) => {
    const [prefix, text] = [call.text(0), call.text(1)];
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  }),
  trimSuffix: fn('string,string', (call) => {
    const [suffix, text] = [call.text(0), call.text(1)];
    return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text;
  }),
  nospace: fn('string', (call) => call.text(0).replace(/\p{White_Space}/gu, '')),
  initials: fn(
    'string',
    (call) =>
      call
        .text(0)
        .match(/(?<!\P{White_Space})\P{White_Space}/gu)
        ?.join('') ?? '',
  ),
  contains: fn('string,string', (call) => call.text(1).includes(call.text(0))),
  hasPrefix: fn('string,string', (call) => call.text(1).startsWith(call.text(0))),
  hasSuffix: fn('string,string', (call) => call.text(1).endsWith(call.text(0))),
  repeat: fn('int,string', (call) => {
    const [count, text] = [call.int(0), call.text(1)];
    if (count < 0) throw new TemplateError('strings: negative Repeat count');
    call.budget.expectText(count * text.length);
    return text.repeat(count);
  }),
  replace: fn('string,string,string', (call) => replaced(call)),
  quote: fn('any...', ({ args, budget }) => eachText(args, budget, quoted)),
  squote: fn('any...', ({ args, budget }) => eachText(args, budget, (text) => `'${text}'`)),
  cat: fn('any...', ({ args, budget }) => eachText(args, budget, (text) => text)),
  toString: fn('any', ({ args: [value = null], budget }) => sprint(value, budget)),
  indent: fn('int,string', (call) => indented(call)),
  nindent: fn('int,string', (call) => `\n${indented(call)}`),
  plural: fn('string,string,int', (call) => call.text(call.int(2) === 1 ? 0 : 1)),
  wrap: fn('int,string', (call) =>
    wrapped(call.text(1), { width: call.int(0), separator: '\n', splits: false }, call.budget),
  ),
  wrapWith: fn('int,string,string', (call) => {
    const separator = call.text(1) === '' ? '\n' : call.text(1);
    return wrapped(call.text(2), { width: call.int(0), separator, splits: true }, call.budget);
  }),
  fail: fn('string', (call) => {
    throw new TemplateError(call.text(0));
  }),
  ...splitFunctions(),
};

function splitFunctions(): FunctionTable {
  return {
    splitList: fn('string,string', (call) => new GoList(splitText(call.text(1), call.text(0), call.budget), 'string')),
    split: fn('string,string', (call) => numbered(splitText(call.text(1), call.text(0), call.budget))),
    splitn: fn('string,int,string', (call) => {
      const [separator, count, text] = [call.text(0), call.int(1), call.text(2)];
      const parts = splitText(text, separator, call.budget);
      if (count < 0 || parts.length <= count) return numbered(parts);
      return numbered(count === 0 ? [] : [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)]);
    }),
    join: fn('string,any', (call) => {
      const [separator, texts] = [call.text(0), textsOf(call.value(1), call.budget)];
      const total = texts.reduce((sum, text) => sum + text.length, 0);
      call.budget.expectText(total + Math.max(0, texts.length - 1) * separator.length);
      return texts.join(separator);
    }),
    toStrings: fn('any', ({ args: [value = null], budget }) => new GoList(textsOf(value, budget), 'string')),
    sortAlpha: fn('any', ({ args: [value = null], budget }) => {
      const texts = textsOf(value, budget).map((text) => ({ text, bytes: Buffer.from(text) }));
      budget.spend(texts.length * Math.ceil(Math.log2(texts.length + 1)));
      const sorted = texts.sort((a, b) => Buffer.compare(a.bytes, b.bytes)).map(({ text }) => text);
      return new GoList(sorted, 'string');
    }),
  };
}

/** The texts of a list without its nils; another value is a list of one. */
function textsOf(value: TemplateValue, budget: TemplateBudget): readonly string[] {
  if (value === null) return [];
  const items = value instanceof GoList ? value.items : [value];
  return items.filter((item) => item !== null).map((item) => sprint(item, budget));
}

function splitText(text: string, separator: string, budget: TemplateBudget): readonly string[] {
  const parts = separator === '' ? [...text] : text.split(separator);
  budget.expectItems(parts.length);
  return parts;
}

function numbered(parts: readonly string[]): GoMap {
  return new GoMap(
    parts.map((part, i) => [`_${i}`, part] as const),
    'string',
  );
}

function isSpace(char: string): boolean {
  return /^\p{White_Space}$/u.test(char);
}

function trimmed(text: string, isCut: (char: string) => boolean): string {
  const chars = [...text];
  let [from, to] = [0, chars.length];
  while (from < to && isCut(chars[from] ?? '')) from += 1;
  while (to > from && isCut(chars[to - 1] ?? '')) to -= 1;
  return chars.slice(from, to).join('');
}

/** The text in `width` bytes, with `...` in place of what is left out at its end or ends. */
function abbreviated(text: string, offset: number, width: number): string {
  const length = byteLength(text);
  if (length <= width) return text;
  let from = Math.min(offset, length);
  if (length - from < width - 3) from = length - (width - 3);
  if (from <= 4) return `${cutBytes(text, 0, width - 3)}...`;
  if (from + width - 3 < length) return `...${abbreviated(cutBytes(text, from, length), 0, width - 3)}`;
  return `...${cutBytes(text, length - (width - 3), length)}`;
}

function replaced(call: FunctionCall): string {
  const [from, to, text] = [call.text(0), call.text(1), call.text(2)];
  const parts = from === '' ? ['', ...text, ''] : text.split(from);
  call.budget.expectText(text.length + (parts.length - 1) * to.length);
  return parts.join(to);
}

function eachText(args: readonly TemplateValue[], budget: TemplateBudget, shown: (text: string) => string): string {
  const texts = args.filter((value) => value !== null).map((value) => shown(sprint(value, budget)));
  return texts.join(' ');
}

function indented(call: FunctionCall): string {
  const [count, text] = [call.int(0), call.text(1)];
  if (count < 0) throw new TemplateError('strings: negative Repeat count');
  const lines = text.split('\n');
  call.budget.expectText(text.length + lines.length * count);
  return lines.map((line) => ' '.repeat(count) + line).join('\n');
}

/** Breaks a text at its spaces; `splits` also breaks words that are longer than a line. */
function wrapped(
  text: string,
  { width, separator, splits }: { readonly width: number; readonly separator: string; readonly splits: boolean },
  budget: TemplateBudget,
): string {
  const chars = [...text];
  const columns = Math.max(1, width);
  const lines: string[] = [];
  let at = 0;
  while (chars.length - at > columns) {
    budget.spend(1);
    if (chars[at] === ' ') {
      at += 1;
      continue;
    }
    const space = chars.slice(at, at + columns + 1).lastIndexOf(' ');
    const next = chars.indexOf(' ', at + columns);
    let end = at + columns;
    if (space >= 0) end = at + space;
    else if (!splits) end = next < 0 ? chars.length : next;
    if (end === chars.length) break;
    lines.push(chars.slice(at, end).join(''));
    at = splits && space < 0 ? end : end + 1;
  }
  lines.push(chars.slice(at).join(''));
  budget.expectText(chars.length + lines.length * separator.length);
  return lines.join(separator);
}

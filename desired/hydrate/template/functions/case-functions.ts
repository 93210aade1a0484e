import { fn } from '../template-function.ts';
import type { FunctionTable } from '../template-function.ts';

/** The case of letters, and of names of several words. */
export const caseFunctions: FunctionTable = {
  upper: fn('string', (call) => upper(call.text(0))),
  lower: fn('string', (call) => lower(call.text(0))),
  title: fn('string', (call) => call.text(0).replace(/(?<=^|[\u0000-/:-@[-^`{-\u007f]|\p{White_Space})\p{L}/gu, upper)),
  untitle: fn('string', (call) => call.text(0).replace(/(?<!\P{White_Space})\P{White_Space}/gu, lower)),
  swapcase: fn('string', (call) => swapped(call.text(0))),
  camelcase: fn('string', (call) => pascalCase(call.text(0))),
  snakecase: fn('string', (call) => delimited(call.text(0), '_')),
  kebabcase: fn('string', (call) => delimited(call.text(0), '-')),
};

/** Maps each character to one character, as Go does: ß stays. */
function mapped(text: string, change: (char: string) => string): string {
  let result = '';
  for (const char of text) {
    const other = change(char);
    result += [...other].length === 1 ? other : char;
  }
  return result;
}

function upper(text: string): string {
  return mapped(text, (char) => char.toUpperCase());
}

function lower(text: string): string {
  return mapped(text, (char) => char.toLowerCase());
}

/** Swaps the case; a word that begins in lower case counts as one in upper case. */
function swapped(text: string): string {
  return mapped(text, (char) => (/\p{Lu}|\p{Lt}/u.test(char) ? char.toLowerCase() : char.toUpperCase()));
}

/** `some_words` becomes `SomeWords`; connectors at the ends stay, of others in a row one goes. */
function pascalCase(text: string): string {
  const [, start = '', body = ''] = /^([-_\p{White_Space}]*)([^]*)$/u.exec(text) ?? [];
  let result = start;
  let word = '';
  let before = '-';
  const chars = [...body];
  for (const [i, char] of chars.entries()) {
    const isJoint = isConnector(char);
    if (isJoint) {
      result += wordText(word);
      word = '';
      // The last of several connectors in a row is dropped, unless the text ends there.
      if (i === chars.length - 1 || isConnector(chars[i + 1] ?? '')) result += char;
    } else word += char;
    before = char;
  }
  return before === '' ? result : result + wordText(word);
}

function isConnector(char: string): boolean {
  return /^[-_\p{White_Space}]$/u.test(char);
}

/** The first letter in upper case; capitals directly behind a capital in lower case. */
function wordText(word: string): string {
  const [first = '', ...rest] = [...word];
  if (first !== lower(first) || first === upper(first)) {
    const end = rest.findIndex((char) => !/\p{Lu}/u.test(char));
    const capitals = end < 0 ? rest.length : end;
    if (/\p{Lu}/u.test(first)) return first + lower(rest.slice(0, capitals).join('')) + rest.slice(capitals).join('');
  }
  return upper(first) + rest.join('');
}

type WordKind = 'upper' | 'letters' | 'number' | 'connector' | 'punctuation' | 'other';

interface NamePart {
  readonly kind: WordKind;
  readonly text: string;
}

const partForms: readonly (readonly [WordKind, RegExp])[] = [
  ['connector', /[-_\p{White_Space}]+/uy],
  ['punctuation', /(?:(?![-_])\p{P})+/uy],
  // The last capital before a small letter begins the next word: HTTP and Status.
  ['upper', /\p{Lu}{2,}(?![\p{Ll}\p{Lo}\p{Lm}])|\p{Lu}+(?=\p{Lu}[\p{Ll}\p{Lo}\p{Lm}])|\p{Lu}[\p{Ll}\p{Lo}\p{Lm}]*/uy],
  ['letters', /[\p{Ll}\p{Lo}\p{Lm}\p{Lt}]+/uy],
  ['number', /\p{N}+/uy],
  ['other', /[^-_\p{White_Space}\p{P}\p{L}\p{N}]+/uy],
];

function namePart(text: string, at: number): NamePart {
  for (const [kind, form] of partForms) {
    form.lastIndex = at;
    const found = form.exec(text)?.[0];
    if (found !== undefined) return { kind, text: found };
  }
  return { kind: 'other', text: text.charAt(at) };
}

/** `FirstName` becomes `first_name`, and `HTTP20xOK` becomes `http_20x_ok`. */
function delimited(text: string, connector: string): string {
  const parts: NamePart[] = [];
  for (let at = 0; at < text.length; at += parts.at(-1)?.text.length ?? 1) parts.push(namePart(text, at));
  let result = '';
  let isInRun = false;
  for (const [i, part] of parts.entries()) {
    const place = placeOf(parts, i, isInRun);
    isInRun = place.isInRun;
    if (part.kind === 'connector') result += connector.repeat([...part.text].length);
    else result += (place.isBoundary ? connector : '') + lower(part.text);
  }
  return result;
}

/** A run begins with a number that does not belong to the word before it: `2m3s`. */
function placeOf(
  parts: readonly NamePart[],
  i: number,
  isInRun: boolean,
): { readonly isBoundary: boolean; readonly isInRun: boolean } {
  const [kind, before, next] = [parts[i]?.kind, parts[i - 1], parts[i + 1]];
  const isApart = before === undefined || isSeparator(before.kind);
  if (isSeparator(kind)) return { isBoundary: false, isInRun: false };
  if (kind === 'letters' && isInRun) return { isBoundary: false, isInRun: true };
  if (kind !== 'number') return { isBoundary: !isApart, isInRun: false };
  const begins = !isInRun && (isApart || next?.kind === 'letters');
  return { isBoundary: begins && !isApart, isInRun: isInRun || begins };
}

function isSeparator(kind: WordKind | undefined): boolean {
  return kind === 'connector' || kind === 'punctuation';
}

import type { Json, JsonObject } from '#base';
import { isObject } from '#base';
import { isPlainText } from './yaml-scalars.ts';

/**
 * Writes objects as documents with the bytes of Argo CD's commit server (go.yaml.in/yaml/v3, indent
 * 2). Other bytes of the same content would be a new commit for each hydrated branch.
 */
export function writeManifests(objects: readonly JsonObject[]): string {
  return objects.map((object) => documentOf(object)).join('---\n');
}

function documentOf(object: JsonObject): string {
  const lines: string[] = [];
  if (Object.keys(object).length === 0) return '{}\n';
  writeMapping(object, { lines, indent: 0 }, '');
  return `${lines.join('\n')}\n`;
}

interface YamlWriter {
  readonly lines: string[];
  readonly indent: number;
}

const indentWidth = 2;

function writeMapping(object: JsonObject, at: YamlWriter, prefix: string): void {
  let start = prefix;
  for (const key of Object.keys(object).sort(compareKeys)) {
    const value = object[key];
    if (value === undefined) continue;
    writeEntry(key, value, at, start);
    start = '';
  }
}

/** @param start what stands before the first key of a mapping in a sequence: `- `. */
function writeEntry(key: string, value: Json, at: YamlWriter, start: string): void {
  const before = start === '' ? ' '.repeat(at.indent) : start;
  const isSimple = !hasBreak(key) && Buffer.byteLength(key) <= 128;
  const name = scalarText(key, { isKey: true, indent: at.indent });
  if (isSimple) {
    writeValue(value, at, `${before}${name}:`);
    return;
  }
  at.lines.push(`${before}? ${name}`);
  writeExplicitValue(value, at);
}

/** The value of a key that is too long for its line. */
function writeExplicitValue(value: Json, at: YamlWriter): void {
  const colon = `${' '.repeat(at.indent)}:`;
  const inner = { ...at, indent: nextIndent(at.indent) };
  if (Array.isArray(value) && value.length > 0) writeSequence(value, inner, `${colon} `);
  else if (isObject(value) && Object.keys(value).length > 0) writeMapping(value, inner, `${colon} `);
  else writeValue(value, at, colon);
}

function writeValue(value: Json, at: YamlWriter, before: string): void {
  const indent = nextIndent(at.indent);
  if (Array.isArray(value) && value.length > 0) {
    at.lines.push(before);
    writeSequence(value, { ...at, indent }, '');
  } else if (isObject(value) && Object.keys(value).length > 0) {
    at.lines.push(before);
    writeMapping(value, { ...at, indent }, '');
  } else at.lines.push(`${before} ${leafText(value, indent)}`);
}

function writeSequence(items: readonly Json[], at: YamlWriter, prefix: string): void {
  let start = prefix;
  for (const item of items) {
    const dash = `${start === '' ? ' '.repeat(at.indent) : start}- `;
    start = '';
    const inner = { ...at, indent: at.indent + indentWidth };
    if (Array.isArray(item) && item.length > 0) writeSequence(item, inner, dash);
    else if (isObject(item) && Object.keys(item).length > 0) writeMapping(item, inner, dash);
    else at.lines.push(`${dash}${leafText(item, nextIndent(at.indent))}`);
  }
}

function nextIndent(indent: number): number {
  return indentWidth * Math.floor((indent + indentWidth) / indentWidth);
}

function leafText(value: Json, indent: number): string {
  switch (typeof value) {
    case 'string':
      return scalarText(value, { isKey: false, indent });
    case 'number':
      return goFloat(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      if (value === null) return 'null';
      return Array.isArray(value) ? '[]' : '{}';
  }
}

/** Formats a number like Go (`strconv.FormatFloat(f, 'g', -1, 64)`); whole ones are integers. */
export function goFloat(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e19) return Object.is(value, -0) ? '-0' : BigInt(value).toString();
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return plainDecimal(value, digits, power);
  const size = String(Math.abs(power)).padStart(2, '0');
  return `${digits}e${power < 0 ? '-' : '+'}${size}`;
}

function plainDecimal(value: number, digits: string, power: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(Math.max(0, digits.replace(/[-.]/g, '').length - 1 - power)) : text;
}

interface ScalarPlace {
  readonly isKey: boolean;
  /** The column of a block scalar's lines. */
  readonly indent: number;
}

function scalarText(text: string, place: ScalarPlace): string {
  const shape = shapeOf(text);
  if (text.includes('\n') && !place.isKey && shape.mayBeBlock) return blockText(text, place.indent);
  if (text.includes('\n') || !isPlainText(text)) return doubleQuoted(text);
  if (shape.mayBePlain && text !== '' && !(place.isKey && shape.hasBreak)) return text;
  if (place.isKey && shape.hasBreak) return doubleQuoted(text);
  return shape.mayBeSingle ? `'${text.replaceAll("'", "''")}'` : doubleQuoted(text);
}

interface TextShape {
  readonly mayBePlain: boolean;
  readonly mayBeSingle: boolean;
  readonly mayBeBlock: boolean;
  readonly hasBreak: boolean;
}

const breaks = /[\n\r\u0085\u2028\u2029]/;
/** Written as escapes; the commit server writes some of them as they are. */
const otherBreaks = /[\r\u0085\u2028\u2029]/;

function hasBreak(text: string): boolean {
  return breaks.test(text);
}

/** Which styles the emitter allows for a text (emitterc.go, analyze_scalar). */
function shapeOf(text: string): TextShape {
  const isSpecial = hasUnprintable(text);
  const spaceBreak = / [\n\r\u0085\u2028\u2029]/.test(text);
  const breakSpace = /[\n\r\u0085\u2028\u2029] /.test(text);
  const isEdged = /^[ \n\r\u0085\u2028\u2029]|[ \n\r\u0085\u2028\u2029]$/.test(text);
  const refused = spaceBreak || breakSpace || text.includes('\t') || isSpecial;
  return {
    mayBePlain: !refused && !isEdged && !hasBreak(text) && !hasBlockIndicator(text),
    mayBeSingle: !refused && !hasBreak(text),
    mayBeBlock: !text.endsWith(' ') && !spaceBreak && !isSpecial && !otherBreaks.test(text),
    hasBreak: hasBreak(text),
  };
}

function hasBlockIndicator(text: string): boolean {
  return (
    /^(?:---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[?:-](?:[ \t\n\r\u0085\u2028\u2029]|$)/.test(text) ||
    /:(?:[ \t\n\r\u0085\u2028\u2029]|$)/.test(text) ||
    /[ \t\n\r\0\u0085\u2028\u2029]#/.test(text)
  );
}

/** Tabs count separately; characters beyond the basic plane are not printable for the emitter. */
function hasUnprintable(text: string): boolean {
  for (const char of text) if (char !== '\t' && !isPrintable(char.codePointAt(0) ?? 0)) return true;
  return false;
}

function isPrintable(code: number): boolean {
  if (code === 0x0a || (code >= 0x20 && code <= 0x7e)) return true;
  if (code < 0xa0 || code > 0xfffd) return false;
  return code !== 0xfeff && !(code >= 0xd800 && code <= 0xdfff);
}

/** The hint for the indent is needed if the first line begins with a space or is empty. */
function blockText(text: string, indent: number): string {
  const hint = /^[ \n\r\u0085\u2028\u2029]/.test(text) ? String(indentWidth) : '';
  const lines = text.split('\n');
  const isEnded = lines.at(-1) === '';
  if (isEnded) lines.pop();
  const keep = isEnded && (lines.length === 1 ? lines[0] === '' : lines.at(-1) === '');
  const chomp = isEnded ? (keep ? '+' : '') : '-';
  const body = lines.map((line) => (line === '' ? '' : `${' '.repeat(indent)}${line}`));
  return [`|${hint}${chomp}`, ...body].join('\n');
}

const escapes: Readonly<Record<number, string>> = {
  0x00: '0',
  0x07: 'a',
  0x08: 'b',
  0x09: 't',
  0x0a: 'n',
  0x0b: 'v',
  0x0c: 'f',
  0x0d: 'r',
  0x1b: 'e',
  0x22: '"',
  0x5c: '\\',
  0x85: 'N',
  0xa0: '_',
  0x2028: 'L',
  0x2029: 'P',
};

function doubleQuoted(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const isQuoted = !isPrintable(code) || code === 0x22 || code === 0x5c || breaks.test(char);
    out += isQuoted ? `\\${escapes[code] ?? hexEscape(code)}` : char;
  }
  return `${out}"`;
}

function hexEscape(code: number): string {
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `u${hex.padStart(4, '0')}` : `U${hex.padStart(8, '0')}`;
}

/** The order of keys: numbers within them compare by value (sorter.go). */
export function compareKeys(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  const shared = Math.min(a.length, b.length);
  let i = 0;
  while (i < shared && a[i] === b[i]) i += 1;
  if (i === shared) return a.length - b.length;
  return compareAt(a, b, i);
}

function compareAt(a: readonly string[], b: readonly string[], i: number): number {
  const left = a[i] ?? '';
  const right = b[i] ?? '';
  const [isLeft, isRight] = [isLetter(left), isLetter(right)];
  if (isLeft !== isRight) return (i > 0 && isDigit(a[i - 1]) ? isLeft : isRight) ? -1 : 1;
  const byChar = codeOf(left) - codeOf(right);
  return isLeft ? byChar : compareNumbers(a, b, i) || byChar;
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}

/** Compares the numbers that begin at a position: by value, then by length. */
function compareNumbers(a: readonly string[], b: readonly string[], i: number): number {
  const lead = a[i] === '0' || b[i] === '0' ? leadOf(a, i) : 0;
  const [one, two] = [numberAt(a, i, lead), numberAt(b, i, lead)];
  if (one.value !== two.value) return one.value < two.value ? -1 : 1;
  return one.end - two.end;
}

/** 1 if digits other than zero stand before position `i`: a zero then counts as a digit. */
function leadOf(chars: readonly string[], i: number): number {
  for (let j = i - 1; j >= 0 && isDigit(chars[j]); j -= 1) if (chars[j] !== '0') return 1;
  return 0;
}

function numberAt(chars: readonly string[], i: number, lead: number): { readonly value: bigint; readonly end: number } {
  let [value, end] = [BigInt(lead), i];
  while (isDigit(chars[end])) {
    value = BigInt.asIntN(64, value * 10n + BigInt((chars[end]?.codePointAt(0) ?? 0) - 0x30));
    end += 1;
  }
  return { value, end };
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && /^\p{Nd}$/u.test(char);
}

function isLetter(char: string): boolean {
  return /^\p{L}$/u.test(char);
}

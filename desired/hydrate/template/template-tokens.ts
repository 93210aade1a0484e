import { TemplateError } from './template-error.ts';
import { numberLiteral, unquoted } from './template-literals.ts';
import type { NumberLiteral } from './template-literals.ts';

export interface TemplateToken {
  readonly kind:
    | 'text'
    | 'open'
    | 'close'
    | 'string'
    | 'number'
    | 'word'
    | 'field'
    | 'variable'
    | 'pipe'
    | 'comma'
    | 'assign'
    | 'leftParen'
    | 'rightParen';
  /** As written; the content of a string, and the name of a field. */
  readonly text: string;
  /** Set for a number. */
  readonly number?: NumberLiteral;
  /** White space stands before it. */
  readonly isSpaced: boolean;
}

/** Splits a template into its texts and the tokens of its actions. @throws TemplateError */
export function readTokens(template: string): readonly TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let at = 0;
  let trimsNext = false;
  for (;;) {
    const start = template.indexOf('{{', at);
    const trimsBefore = start >= 0 && /^-[ \t\r\n]/.test(template.slice(start + 2, start + 4));
    pushText(tokens, template.slice(at, start < 0 ? undefined : start), { trimsNext, trimsBefore });
    if (start < 0) return tokens;
    const inner = start + 2 + (trimsBefore ? 2 : 0);
    if (template.startsWith('/*', inner)) {
      ({ at, trims: trimsNext } = commentEnd(template, inner));
      continue;
    }
    tokens.push({ kind: 'open', text: '{{', isSpaced: false });
    ({ at, trims: trimsNext } = readAction(tokens, template, inner));
  }
}

interface ActionEnd {
  readonly at: number;
  /** White space behind the action is dropped. */
  readonly trims: boolean;
}

function commentEnd(template: string, start: number): ActionEnd {
  const end = template.indexOf('*/', start + 2);
  if (end < 0) throw new TemplateError('unclosed comment');
  const close = closeAt(template, end + 2);
  if (close === undefined) throw new TemplateError('comment ends before closing delimiter');
  return close;
}

/** The end of an action, if one stands here: `}}`, or white space and `-}}`. */
function closeAt(template: string, at: number): ActionEnd | undefined {
  if (template.startsWith('}}', at)) return { at: at + 2, trims: false };
  return /^[ \t\r\n]-\}\}$/.test(template.slice(at, at + 4)) ? { at: at + 4, trims: true } : undefined;
}

function pushText(
  tokens: TemplateToken[],
  text: string,
  { trimsNext, trimsBefore }: { readonly trimsNext: boolean; readonly trimsBefore: boolean },
): void {
  let [from, to] = [0, text.length];
  while (trimsNext && from < to && isSpace(text.charAt(from))) from += 1;
  while (trimsBefore && to > from && isSpace(text.charAt(to - 1))) to -= 1;
  if (from < to) tokens.push({ kind: 'text', text: text.slice(from, to), isSpaced: false });
}

function isSpace(char: string): boolean {
  return char !== '' && ' \t\r\n'.includes(char);
}

type TokenForm = readonly [kind: TemplateToken['kind'], form: RegExp];

const forms: readonly TokenForm[] = [
  ['pipe', /\|/y],
  ['comma', /,/y],
  ['assign', /:?=/y],
  ['leftParen', /\(/y],
  ['rightParen', /\)/y],
  ['number', /[-+]?(?:\.[0-9]|[0-9])(?:[eEpP][-+]|[\p{L}\p{Nd}_.])*/uy],
  ['number', /'(?:\\.|[^'\\\n])+'/uy],
  ['field', /\.(?:[\p{L}_][\p{L}\p{Nd}_]*)?/uy],
  ['variable', /\$[\p{L}\p{Nd}_]*/uy],
  ['string', /"(?:[^"\\\n]|\\[^\n])*"/y],
  ['string', /`[^`]*`/y],
  ['word', /[\p{L}_][\p{L}\p{Nd}_]*/uy],
];

/** Reads the tokens up to the end of an action. */
function readAction(tokens: TemplateToken[], template: string, start: number): ActionEnd {
  let at = start;
  for (;;) {
    let isSpaced = at === start;
    let close = closeAt(template, at);
    while (close === undefined && isSpace(template.charAt(at))) {
      isSpaced = true;
      at += 1;
      close = closeAt(template, at);
    }
    if (close !== undefined) {
      tokens.push({ kind: 'close', text: '}}', isSpaced });
      return close;
    }
    if (at >= template.length) throw new TemplateError('unclosed action');
    const { token, length } = tokenAt(template, at, isSpaced);
    tokens.push(token);
    at += length;
  }
}

function tokenAt(
  template: string,
  at: number,
  isSpaced: boolean,
): { readonly token: TemplateToken; readonly length: number } {
  for (const [kind, form] of forms) {
    form.lastIndex = at;
    const text = form.exec(template)?.[0];
    if (text === undefined) continue;
    const token = { kind, text, isSpaced };
    if (kind === 'string') return { token: { ...token, text: unquoted(text) }, length: text.length };
    if (kind === 'number') return { token: { ...token, number: numberLiteral(text) }, length: text.length };
    if (kind === 'field') return { token: { ...token, text: text.slice(1) }, length: text.length };
    return { token, length: text.length };
  }
  const char = String.fromCodePoint(template.codePointAt(at) ?? 0);
  if (char === '"' || char === "'") throw new TemplateError('unterminated quoted string');
  if (char === '`') throw new TemplateError('unterminated raw quoted string');
  throw new TemplateError(`unexpected ${JSON.stringify(char)} in an action`);
}

import { TemplateError } from './template-error.ts';

export interface TemplateToken {
  readonly kind:
    | 'text'
    | 'open'
    | 'close'
    | 'literal'
    | 'word'
    | 'field'
    | 'variable'
    | 'pipe'
    | 'comma'
    | 'assign'
    | 'leftParen'
    | 'rightParen';
  readonly text: string;
  /** Set for a literal. */
  readonly value?: string | number;
  /** White space stands before it. */
  readonly isSpaced: boolean;
}

/** Splits a template into its texts and the tokens of its actions. @throws TemplateError */
export function readTokens(template: string): readonly TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let rest = template;
  let trimsNext = false;
  for (;;) {
    const start = rest.indexOf('{{');
    const action = start < 0 ? '' : rest.slice(start + 2);
    const trimsBefore = /^-[ \t\r\n]/.test(action);
    pushText(tokens, start < 0 ? rest : rest.slice(0, start), { trimsNext, trimsBefore });
    if (start < 0) return tokens;
    const body = trimsBefore ? action.slice(1) : action;
    const comment = /^\s*\/\*[^]*?\*\/\s*?(\s-)?\}\}/.exec(body);
    if (comment !== null) {
      trimsNext = comment[1] !== undefined;
      rest = body.slice(comment[0].length);
      continue;
    }
    tokens.push({ kind: 'open', text: '{{', isSpaced: false });
    const end = readAction(tokens, body);
    trimsNext = end.trims;
    rest = body.slice(end.length);
  }
}

function pushText(
  tokens: TemplateToken[],
  text: string,
  { trimsNext, trimsBefore }: { readonly trimsNext: boolean; readonly trimsBefore: boolean },
): void {
  const begun = trimsNext ? text.replace(/^[ \t\r\n]+/, '') : text;
  const shown = trimsBefore ? withoutTrailingSpace(begun) : begun;
  if (shown !== '') tokens.push({ kind: 'text', text: shown, isSpaced: false });
}

function withoutTrailingSpace(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

type TokenForm = readonly [kind: TemplateToken['kind'], form: RegExp];

const forms: readonly TokenForm[] = [
  ['pipe', /^\|/],
  ['comma', /^,/],
  ['assign', /^:?=/],
  ['leftParen', /^\(/],
  ['rightParen', /^\)/],
  ['field', /^\.(?:[\p{L}_][\p{L}\p{Nd}_]*(?:\.[\p{L}_][\p{L}\p{Nd}_]*)*)?(?![\p{Nd}])/u],
  ['variable', /^\$[\p{L}\p{Nd}_]*/u],
  ['literal', /^"(?:[^"\\\n]|\\.)*"/],
  ['literal', /^`[^`]*`/],
  ['literal', /^[-+]?\d+(?:\.\d+)?/],
  ['word', /^[\p{L}_][\p{L}\p{Nd}_]*/u],
];

/** Reads the tokens up to the end of an action. */
function readAction(tokens: TemplateToken[], body: string): { readonly length: number; readonly trims: boolean } {
  let at = 0;
  for (;;) {
    const space = /^[ \t\r\n]*/.exec(body.slice(at))?.[0].length ?? 0;
    at += space;
    const rest = body.slice(at);
    const close = /^(-)?\}\}/.exec(rest);
    if (close !== null && (close[1] === undefined || space > 0)) {
      tokens.push({ kind: 'close', text: '}}', isSpaced: space > 0 });
      return { length: at + close[0].length, trims: close[1] !== undefined };
    }
    if (rest === '') throw new TemplateError('unclosed action');
    const token = tokenAt(rest, space > 0);
    tokens.push(token);
    at += token.text.length;
  }
}

function tokenAt(rest: string, isSpaced: boolean): TemplateToken {
  for (const [kind, form] of forms) {
    const text = form.exec(rest)?.[0];
    if (text === undefined || text === '') continue;
    return kind === 'literal' ? { kind, text, value: literalValue(text), isSpaced } : { kind, text, isSpaced };
  }
  throw new TemplateError(`unexpected ${JSON.stringify(rest.slice(0, 1))} in an action`);
}

function literalValue(text: string): string | number {
  if (text.startsWith('`')) return text.slice(1, -1);
  if (!text.startsWith('"')) return Number(text);
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new TemplateError(`the string ${text} has an escape that is not supported`);
  }
}

import { DesiredError } from '../../errors.ts';

/**
 * An import of a Jsonnet text. Only a file imported by `import` is Jsonnet itself and may import
 * others.
 */
export interface JsonnetImport {
  readonly path: string;
  readonly isCode: boolean;
}

/**
 * The imports of a Jsonnet text. The path of an import must be a literal, so scanning the tokens
 * finds all of them, and the interpreter opens no other file. Anything that cannot be scanned with
 * certainty is an error, because it could hide a file outside the repository.
 * @param shown names the text in errors
 * @throws DesiredError
 */
export function importsOf(text: string, shown: string): readonly JsonnetImport[] {
  const found: JsonnetImport[] = [];
  let awaited: string | undefined;
  for (let at = 0; at < text.length;) {
    const token = tokenAt(text, at, shown);
    at = token.end;
    if (token.kind === 'none') continue;
    if (awaited !== undefined) {
      if (token.kind !== 'text') throw wrong(shown, 'Computed imports are not allowed');
      found.push({ path: token.value, isCode: awaited === 'import' });
    }
    awaited = token.kind === 'word' && /^import(?:str|bin)?$/.test(token.value) ? token.value : undefined;
  }
  if (awaited !== undefined) throw wrong(shown, 'Unexpected end of file');
  return found;
}

interface JsonnetToken {
  /**
   * `text` is a string that may follow `import`; `other` includes text blocks, which may not;
   * `none` is space or a comment.
   */
  readonly kind: 'none' | 'word' | 'text' | 'other';
  readonly value: string;
  readonly end: number;
}

const word = /[A-Za-z_][A-Za-z0-9_]*/y;
const space = /[ \t\r\n]+/y;

function tokenAt(text: string, at: number, shown: string): JsonnetToken {
  const two = text.slice(at, at + 2);
  if (matched(space, text, at) !== undefined) return { kind: 'none', value: '', end: space.lastIndex };
  if (text[at] === '#' || two === '//') return { kind: 'none', value: '', end: endOr(text.indexOf('\n', at), text) };
  if (two === '/*') {
    const end = text.indexOf('*/', at + 2);
    if (end < 0) throw wrong(shown, 'Multi-line comment has no terminating */');
    return { kind: 'none', value: '', end: end + 2 };
  }
  if (text.startsWith('|||', at)) return { kind: 'other', value: '', end: endOfBlock(text, at, shown) };
  const quote = text[at];
  if (quote === '"' || quote === "'") return quoted(text, at, shown);
  if (quote === '@') return verbatim(text, at, shown);
  const name = matched(word, text, at);
  return name === undefined
    ? { kind: 'other', value: '', end: at + 1 }
    : { kind: 'word', value: name, end: at + name.length };
}

function matched(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function endOr(at: number, text: string): number {
  return at < 0 ? text.length : at + 1;
}

function quoted(text: string, from: number, shown: string): JsonnetToken {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) {
      const inner = text.slice(from + 1, at);
      return { kind: 'text', value: inner.includes('\\') ? unescaped(inner, shown) : inner, end: at + 1 };
    }
  }
  throw wrong(shown, 'Unterminated String');
}

/** Supports only the escapes of JSON: a path needs no others. */
function unescaped(inner: string, shown: string): string {
  return inner.replaceAll(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (_, escape: string) => {
    if (escape.length > 1) return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    const plain = { '"': '"', "'": "'", '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }[escape];
    if (plain === undefined) throw wrong(shown, `Unknown escape sequence in string literal: \\${escape}`);
    return plain;
  });
}

/** `@"…"` and `@'…'`: a quote inside is doubled. */
function verbatim(text: string, from: number, shown: string): JsonnetToken {
  const quote = text[from + 1];
  if (quote !== '"' && quote !== "'") throw wrong(shown, "Couldn't lex verbatim string, junk after '@'");
  for (let at = text.indexOf(quote, from + 2); at >= 0; at = text.indexOf(quote, at + 2))
    if (text[at + 1] !== quote)
      return { kind: 'text', value: text.slice(from + 2, at).replaceAll(quote + quote, quote), end: at + 1 };
  throw wrong(shown, 'Unterminated String');
}

/**
 * A text block ends at the first line without the indentation of its first line, which must
 * close it.
 */
function endOfBlock(text: string, from: number, shown: string): number {
  const head = matched(/\|\|\|-?[ \t\r]*\n+/y, text, from);
  if (head === undefined) throw wrong(shown, 'Text block requires new line after |||.');
  let at = from + head.length;
  const indent = matched(/[ \t]+/y, text, at);
  if (indent === undefined) throw wrong(shown, "Text block's first line must start with whitespace");
  while (text.startsWith(indent, at)) {
    const end = text.indexOf('\n', at);
    if (end < 0) throw wrong(shown, 'Unexpected EOF');
    at = end + 1;
    while (text[at] === '\n') at += 1;
  }
  const tail = matched(/[ \t]*\|\|\|/y, text, at);
  if (tail === undefined) throw wrong(shown, 'Text block not terminated with |||');
  return at + tail.length;
}

function wrong(shown: string, what: string): DesiredError {
  return new DesiredError('DESIRED_RENDER', `Failed to evaluate jsonnet "${shown}": ${what}`);
}

/** A string literal of Go, without its quotes; escapes of an interpreted one stay as they are. */
export interface GoLiteral {
  readonly text: string;
  /** Offset of the opening quote. */
  readonly at: number;
}

/** A call with the text between its parentheses. */
export interface GoCall {
  readonly args: string;
  readonly literals: readonly string[];
}

// A comment, an interpreted string, a raw string, or a rune, in this order of groups.
const token = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`|'(?:[^'\\\n]|\\[^\n])+'/g;

/** The string literals of a Go file, in order; none from comments. */
export function goLiterals(source: string): readonly GoLiteral[] {
  return [...source.matchAll(token)].flatMap((match) => {
    const text = match[1] ?? match[2];
    return text === undefined ? [] : [{ text, at: match.index }];
  });
}

/**
 * The calls whose text up to and with the opening parenthesis matches `callee` (a global pattern),
 * for example `Flags\(\)\.\w+\(`. Calls inside comments and strings count too; parentheses inside
 * them do not. A call that does not end is left out.
 */
export function goCalls(source: string, callee: RegExp): readonly GoCall[] {
  const code = source.replace(token, (found) => ' '.repeat(found.length));
  return [...source.matchAll(callee)].flatMap((match) => {
    const begin = match.index + match[0].length;
    const end = closingParenthesis(code, begin);
    if (end === undefined) return [];
    const args = source.slice(begin, end);
    return [{ args, literals: goLiterals(args).map(({ text }) => text) }];
  });
}

function closingParenthesis(code: string, begin: number): number | undefined {
  let depth = 1;
  for (let at = begin; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1;
    else if (code[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}

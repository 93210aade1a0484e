/**
 * The error message of Go's encoding/json for invalid JSON: unexpected end, or the invalid
 * character.
 */
export function goJsonError(text: string): string {
  if (/^\s*$/.test(text) || isUnfinished(text)) return 'unexpected end of JSON input';
  const found = firstStray(text);
  return `invalid character ${quotedCharacter(found)} looking for beginning of ${found === '}' ? 'object key string' : 'value'}`;
}

/** True if more text could make it JSON: brackets or a string are open at its end. */
function isUnfinished(text: string): boolean {
  const open: string[] = [];
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i] ?? '';
    if (inString) {
      if (character === '\\') i += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') open.push(character);
    else if (character === '}' || character === ']') open.pop();
  }
  return inString || open.length > 0;
}

function firstStray(text: string): string {
  return /[^\s{}[\]:,"0-9tfn.+-]/u.exec(text)?.[0] ?? text.trimStart()[0] ?? '';
}

function quotedCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || (code > 0x7e && code < 0xa0)) return `'\\u${code.toString(16).padStart(4, '0')}'`;
  return `'${character}'`;
}

/** Formats a value as Go prints an unstructured one: `map[a:1 b:[x y]]`, with sorted keys. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (typeof value === 'object') {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${members.map(([key, member]) => `${key}:${goValue(member)}`).join(' ')}]`;
  }
  return scalarText(value);
}

function scalarText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}

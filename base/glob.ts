/**
 * Compiles a glob with the meaning of gobwas/glob, which Argo CD uses: `*` crosses every character except the separators given
 * (none by default, so it crosses `/`), `**` crosses those too, `?` one character or none, `[abc]` `[a-z]` `[!a]` classes (`^` is
 * literal), `{a,b}` alternatives, `\` escapes. Returns undefined for a pattern that gobwas refuses: such a pattern matches nothing.
 */
export function compileGlob(pattern: string, separators = ''): ((text: string) => boolean) | undefined {
  const source = translate(pattern, separators);
  if (source === undefined) return undefined;
  const regex = new RegExp(`^(?:${source})$`, 'su');
  return (text) => regex.test(text);
}

/** {@link compileGlob} for a single use; an invalid pattern matches nothing. */
export function globMatch(pattern: string, text: string, separators = ''): boolean {
  if (pattern === '*' && separators === '') return true;
  if (!/[*?[{\\]/.test(pattern)) return pattern === text;
  return compileGlob(pattern, separators)?.(text) ?? false;
}

function translate(pattern: string, separators: string): string | undefined {
  const single = separators === '' ? '.' : `[^${[...separators].map(escapeInClass).join('')}]`;
  let out = '';
  let depth = 0;
  for (let i = 0; i < pattern.length; i += 1) {
    const char = pattern.charAt(i);
    if (char === '\\') {
      i += 1;
      out += escape(pattern.charAt(i));
    } else if (char === '*') {
      const run = /\*+/y;
      run.lastIndex = i;
      const stars = run.exec(pattern)?.[0].length ?? 1;
      i += stars - 1;
      out += stars > 1 ? '.*' : `${single}*`;
    } else if (char === '?') out += `${single}?`;
    else if (char === '[') {
      const parsed = classAt(pattern, i);
      if (parsed === undefined) return undefined;
      out += parsed.source;
      i = parsed.end;
    } else if (char === '{') {
      depth += 1;
      out += '(?:';
    } else if (char === '}' && depth > 0) {
      depth -= 1;
      out += ')';
    } else if (char === ',' && depth > 0) out += '|';
    else out += escape(char);
  }
  return out + ')'.repeat(depth);
}

function classAt(pattern: string, from: number): { source: string; end: number } | undefined {
  const end = pattern.indexOf(']', from + 1);
  if (end < 0) return undefined;
  const negated = pattern.charAt(from + 1) === '!';
  const body = pattern.slice(from + (negated ? 2 : 1), end);
  const range = /^(.)-(.)$/su.exec(body);
  if (range !== null) {
    const [low, high] = [range[1] ?? '', range[2] ?? ''];
    if (low > high) return undefined;
    return { source: `[${negated ? '^' : ''}${escapeInClass(low)}-${escapeInClass(high)}]${negated ? '?' : ''}`, end };
  }
  if (body === '' || body.endsWith('-')) return undefined;
  return { source: `[${negated ? '^' : ''}${[...body].map(escapeInClass).join('')}]${negated ? '?' : ''}`, end };
}

function escape(char: string): string {
  return char.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&');
}

function escapeInClass(char: string): string {
  return char.replace(/[\\\]^[-]/g, '\\$&');
}

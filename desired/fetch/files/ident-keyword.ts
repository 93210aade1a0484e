/**
 * Expands `$Id$` and `$Id: … $` to the id of the blob, for the attribute `ident`. Git has two
 * implementations, which differ where dollar signs follow each other.
 */
export function withIdent(bytes: Buffer, oid: string, how: 'streamed' | 'whole'): Buffer {
  if (!bytes.includes('$Id')) return bytes;
  const text = bytes.toString('latin1');
  const expanded = how === 'whole' ? expandWhole(text, oid) : expandStreamed(text, oid);
  return expanded === text ? bytes : Buffer.from(expanded, 'latin1');
}

/** Git's `ident_to_worktree`, for a file that is in memory. */
function expandWhole(text: string, oid: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let dollar = text.indexOf('$'); dollar >= 0; dollar = text.indexOf('$', from)) {
    parts.push(text.slice(from, dollar + 1));
    from = dollar + 1;
    const end = keywordEnd(text, from);
    if (end === 'none') break;
    if (end === undefined) continue;
    parts.push(`Id: ${oid} $`);
    from = end;
  }
  return parts.join('') + text.slice(from);
}

/** The end of the keyword after a dollar sign; `none` if no further keyword can follow. */
function keywordEnd(text: string, from: number): number | 'none' | undefined {
  if (text.startsWith('Id$', from)) return from + 3;
  if (!text.startsWith('Id:', from)) return undefined;
  const dollar = text.indexOf('$', from + 3);
  if (dollar < 0) return 'none';
  const inner = text.slice(from + 3, dollar);
  // A line end, or spaces in the middle: the keyword of another version control system.
  const space = inner.indexOf(' ', 1);
  if (inner.includes('\n') || (space >= 0 && space < inner.length - 1)) return undefined;
  return dollar + 1;
}

/** Git's `ident_filter_fn`, for a file that it copies through. */
function expandStreamed(text: string, oid: string): string {
  const parts: string[] = [];
  let copied = 0;
  let at = text.indexOf('$');
  while (at >= 0) {
    // The character that does not continue the keyword is consumed, even if it is a dollar sign.
    let matched = 1;
    while (matched < 3 && text[at + matched] === '$Id'[matched]) matched += 1;
    const next = at + matched;
    if (matched < 3 || (text[next] !== '$' && text[next] !== ':')) at = text.indexOf('$', next + 1);
    else {
      const end = text[next] === '$' ? next : closingOf(text, next + 1);
      if (end === undefined) break;
      if (text[end] === '$' && !isForeign(text.slice(at, end + 1))) {
        parts.push(text.slice(copied, at), `$Id: ${oid} $`);
        copied = end + 1;
      }
      at = text.indexOf('$', end + 1);
    }
  }
  return parts.join('') + text.slice(copied);
}

/** The next dollar sign or line end. */
function closingOf(text: string, from: number): number | undefined {
  const found = /[$\n]/g;
  found.lastIndex = from;
  return found.exec(text)?.index;
}

/** Blanks in the middle: the keyword of another version control system. */
function isForeign(keyword: string): boolean {
  return /^\$Id: [^\0]*?[ \t\n\v\f\r](?!\$)/.test(keyword);
}

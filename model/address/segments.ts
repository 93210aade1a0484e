import type { RefusedAddress } from './host.ts';

const plainSegment = /^[A-Za-z0-9_~][A-Za-z0-9._~+@=,-]*$/;
const rawCharacters = /^[A-Za-z0-9._~!$&'()*+,;=:@%-]*$/;
/** Controls, invisible characters, and what no version of Unicode assigns. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/** Reads a path that begins with a slash, or is empty. A slash at its end does not count. */
export function readSegments(path: string): readonly string[] | RefusedAddress {
  const inner = path.replace(/^\//, '').replace(/\/$/, '');
  if (inner === '') return path === '//' ? { refused: 'its path has an empty segment' } : [];
  const segments: string[] = [];
  for (const raw of inner.split('/')) {
    const segment = readSegment(raw);
    if (typeof segment !== 'string') return segment;
    segments.push(segment);
  }
  return segments;
}

/**
 * Decodes escapes of characters that need none, once. `%2B` and `+` stay apart: servers treat them
 * differently. Characters beyond ASCII must be escaped: Go rewrites all escapes beside them.
 */
function readSegment(raw: string): string | RefusedAddress {
  if (plainSegment.test(raw)) return raw;
  if (raw === '') return { refused: 'its path has an empty segment' };
  if (!rawCharacters.test(raw))
    return { refused: 'its path has characters that must be escaped, such as %20 for a space' };
  const escaped = faultOfEscapes(raw);
  if (escaped !== undefined) return { refused: escaped };
  const decoded = decodeURIComponent(raw);
  if (/^\.{1,2}(?:;|$)/.test(decoded)) return { refused: `its path has the segment "${decoded.slice(0, 2)}"` };
  if (unseen.test(decoded)) return { refused: 'its path has control or invisible characters' };
  if (decoded.normalize('NFKC') !== decoded)
    return { refused: 'its path has characters that Unicode normalization changes' };
  return raw.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9_~-]/.test(char) ? char : escape.toUpperCase();
  });
}

function faultOfEscapes(raw: string): string | undefined {
  if (/%(?:2f|5c)/i.test(raw)) return 'its path has an encoded separator (%2F or %5C)';
  if (/%2e/i.test(raw)) return 'its path has an encoded dot (%2E)';
  if (raw.includes('%25')) return 'its path has an encoded percent sign (%25)';
  try {
    decodeURIComponent(raw);
  } catch {
    return 'it has a broken percent escape';
  }
  return undefined;
}

/** Reads a query, with its question mark. */
export function readQuery(query: string): string | RefusedAddress {
  const isPlain = /^\?[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*$/.test(query) && !/%(?![0-9a-f]{2})/i.test(query);
  return isPlain ? query.replaceAll("'", '%27') : { refused: 'its query has characters that must be escaped' };
}

/** Parts of a URL with different sets of unescaped characters in Go. */
type UrlPart = 'path' | 'host' | 'zone' | 'user' | 'fragment';

const letters = 'a-zA-Z0-9\\-._~';
/** Characters that Go writes unescaped in each part (net/url, encoding_table.go). */
const unescapedCharacters: Readonly<Record<UrlPart, RegExp>> = {
  path: new RegExp(`[${letters}$&+,/:;=@]`),
  host: new RegExp(`[${letters}!"$&'()*+,:;<=>[\\]]`),
  zone: new RegExp(`[${letters}!"$&'()*+,:;<=>[\\]]`),
  user: new RegExp(`[${letters}$&+,;=]`),
  fragment: new RegExp(`[${letters}!$&()*+,/:;=?@]`),
};
/** Characters that may stay as written. */
const validCharacters: Readonly<Record<'path' | 'fragment', RegExp>> = {
  path: new RegExp(`^[${letters}!$&'()*+,;=:@[\\]%/]*$`),
  fragment: new RegExp(`^[${letters}!$&'()*+,;=:@[\\]%/?]*$`),
};

/** Go's net/url cannot parse the text. Never leaves this file. */
class UnparseableUrlError extends Error {}

/**
 * `url.Parse(text).String()` of Go 1.26; undefined where Go returns an error. Argo CD compares
 * repository URLs in this form, so each of its quirks decides what a project allows.
 */
export function goUrl(text: string): string | undefined {
  // One character per byte, as in Go.
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  try {
    return Buffer.from(rewritten(bytes), 'latin1').toString('utf8');
  } catch (error) {
    if (error instanceof UnparseableUrlError) return undefined;
    throw error;
  }
}

function rewritten(text: string): string {
  const [beforeFragment, fragment = ''] = cut(text, '#');
  if (hasControlCharacters(beforeFragment)) throw new UnparseableUrlError();
  if (beforeFragment.startsWith(':')) throw new UnparseableUrlError();
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:)/.exec(beforeFragment)?.[0].toLowerCase() ?? '';
  const [rest, query = ''] = cut(beforeFragment.slice(scheme === '' ? 0 : scheme.length + 1), '?');
  const asked = query !== '' || beforeFragment.endsWith('?') ? `?${query}` : '';
  const hash = fragment === '' ? '' : `#${encoded(fragment, 'fragment')}`;
  return `${scheme === '' ? '' : `${scheme}:`}${authorityAndPath(scheme, rest)}${asked}${hash}`;
}

function cut(text: string, at: string): [string, string?] {
  const i = text.indexOf(at);
  return i < 0 ? [text] : [text.slice(0, i), text.slice(i + 1)];
}

function authorityAndPath(scheme: string, rest: string): string {
  if (!rest.startsWith('/')) {
    // Text after a scheme without a slash is opaque and stays as it is.
    if (scheme !== '') return rest;
    if ((rest.split('/')[0] ?? '').includes(':')) throw new UnparseableUrlError();
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'));
  if (!hasAuthority) return path(rest);
  const slash = rest.indexOf('/', 2);
  const authority = rest.slice(2, slash < 0 ? undefined : slash);
  const tail = path(slash < 0 ? '' : rest.slice(slash));
  const at = authority.lastIndexOf('@');
  const host = escaped(hostOf(scheme, authority.slice(at + 1)), 'host');
  const user = at < 0 ? '' : `${userOf(authority.slice(0, at))}@`;
  const slashes = host + user + tail === '' || (scheme === '' && host + user === '') ? '' : '//';
  return `${slashes}${user}${host}${tail}`;
}

function path(text: string): string {
  const written = encoded(text, 'path');
  // Only a text without scheme and host can begin like this: Go marks it as a path.
  return (written.split('/')[0] ?? '').includes(':') ? `./${written}` : written;
}

/** Keeps the text as written if that is a valid encoding, otherwise encodes all of it again. */
function encoded(text: string, part: 'path' | 'fragment'): string {
  const decoded = unescaped(text, part);
  if (validCharacters[part].test(text)) return text;
  return escaped(decoded, part);
}

function escaped(text: string, part: UrlPart): string {
  return [...text].map((char) => (unescapedCharacters[part].test(char) ? char : escapeOf(char))).join('');
}

function escapeOf(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

function unescaped(text: string, part: UrlPart): string {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) throw new UnparseableUrlError();
  if (part === 'host' || part === 'zone') {
    const bare = text.replace(/%[0-9a-fA-F]{2}/g, '');
    if ([...bare].some((char) => char < '\x80' && !unescapedCharacters[part].test(char)))
      throw new UnparseableUrlError();
  }
  return text.replace(/%([0-9a-fA-F]{2})/g, (escape: string, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16));
    // In a host only bytes beyond ASCII and the percent sign may be escaped; in a zone also allowed
    // characters and spaces.
    const refused =
      (part === 'host' && char < '\x80' && char !== '%') ||
      (part === 'zone' && char !== '%' && char !== ' ' && !unescapedCharacters.host.test(char));
    if (refused) throw new UnparseableUrlError(escape);
    return char;
  });
}

function userOf(text: string): string {
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(text)) throw new UnparseableUrlError();
  const [name, password] = cut(text, ':');
  const written = escaped(unescaped(name, 'user'), 'user');
  return password === undefined ? written : `${written}:${escaped(unescaped(password, 'user'), 'user')}`;
}

/** The host without its escapes. */
function hostOf(scheme: string, host: string): string {
  const open = host.lastIndexOf('[');
  if (open > 0) throw new UnparseableUrlError();
  if (open === 0) return literalOf(host);
  const first = host.indexOf(':');
  // http and https allow one colon only.
  const colon = scheme === 'http' || scheme === 'https' ? first : host.lastIndexOf(':');
  if (first >= 0 && !isPort(host.slice(colon))) throw new UnparseableUrlError();
  return unescaped(host, 'host');
}

function literalOf(host: string): string {
  const close = host.lastIndexOf(']');
  if (close < 0 || !isPort(host.slice(close + 1))) throw new UnparseableUrlError();
  const inner = host.slice(1, close);
  const zone = inner.indexOf('%25');
  const address =
    zone < 0
      ? unescaped(inner, 'host')
      : unescaped(inner.slice(0, zone), 'host') + unescaped(inner.slice(zone), 'zone');
  const [ip, zoneName] = cut(address, '%');
  if (zoneName === '' || !ip.includes(':') || !URL.canParse(`http://[${ip}]/`)) throw new UnparseableUrlError();
  return `[${address}]${host.slice(close + 1)}`;
}

function isPort(text: string): boolean {
  return /^(?::[0-9]*)?$/.test(text);
}

function hasControlCharacters(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

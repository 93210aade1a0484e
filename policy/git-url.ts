/**
 * The form in which a project compares repository URLs (Argo CD: util/git NormalizeGitURL): trimmed, lower case, `user@host:path` as an
 * ssh URL, without `.git` and `ssh://`, and written as Go's net/url would write it. A text that Go cannot parse becomes "", so that two
 * such texts are equal here: kept, because project rules in the wild rely on it.
 */
export function comparableUrl(url: string): string {
  let text = url.trim().toLowerCase();
  if (/^(?:ssh:\/\/)?[^/:]*@[^@]+$/.test(text) && !text.startsWith('ssh://')) text = `ssh://${text.replace(':', '/')}`;
  text = text.replace(/\.git$/, '');
  return (goUrl(text) ?? '').replace(/^ssh:\/\//, '');
}

/** url.Parse(text).String() of Go, as far as repository URLs go; undefined where Go reports an error. */
function goUrl(text: string): string | undefined {
  if (hasControlCharacters(text)) return undefined;
  const [, beforeFragment = '', fragment = ''] = /^([^#]*)(#.*)?$/s.exec(text) ?? [];
  if (beforeFragment.startsWith(':')) return undefined;
  const scheme = /^[a-z][a-z0-9+.-]*:/.exec(beforeFragment)?.[0] ?? '';
  const [, rest = '', query = ''] = /^([^?]*)(\?.*)?$/s.exec(beforeFragment.slice(scheme.length)) ?? [];
  const written = writeRest(rest, scheme !== '');
  return written === undefined ? undefined : `${scheme}${written}${query}${fragment}`;
}

/** Authority and path; what follows a scheme without a slash is opaque and stays as it is. */
function writeRest(rest: string, hasScheme: boolean): string | undefined {
  if (!rest.startsWith('/')) {
    if (hasScheme) return rest;
    if (rest.split('/')[0]?.includes(':') === true) return undefined;
  }
  if (!rest.startsWith('//')) return writePath(rest);
  const slash = rest.indexOf('/', 2);
  const authority = rest.slice(2, slash < 0 ? undefined : slash);
  if (!validAuthority(authority)) return undefined;
  const path = writePath(slash < 0 ? '' : rest.slice(slash));
  return path === undefined ? undefined : `//${authority}${path}`;
}

function hasControlCharacters(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function validAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? '' : authority.slice(0, at);
  if (!/^[a-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || badEscape(user)) return false;
  const host = authority.slice(at + 1);
  if (host.startsWith('[')) return /^\[[^\]]*\](?::[0-9]*)?$/.test(host);
  const colon = host.lastIndexOf(':');
  if (colon >= 0 && !/^[0-9]*$/.test(host.slice(colon + 1))) return false;
  return /^[^\s{}^|\\`%/?#@]*$/.test(host);
}

function badEscape(text: string): boolean {
  return /%(?![0-9a-f]{2})/i.test(text);
}

/** Go keeps a path as it was written if that is a valid encoding, otherwise it encodes the whole path afresh. */
function writePath(path: string): string | undefined {
  if (badEscape(path)) return undefined;
  if (/^[a-z0-9\-._~!$&'()*+,;=:@/[\]%]*$/i.test(path)) return path;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  const bytes = Buffer.from(decoded, 'utf8');
  let out = '';
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    out += /[A-Za-z0-9\-._~$&+,/:;=@]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

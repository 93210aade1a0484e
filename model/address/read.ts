import { readHost, readPort } from './host.ts';
import type { RefusedAddress } from './host.ts';
import { readQuery, readSegments } from './segments.ts';
import { SourceAddress } from './source-address.ts';
import type { AddressParts, AddressScheme } from './source-address.ts';

/**
 * What the address is for. `git`: also archives and registries, as the source of an Application;
 * `chart`: a chart repository or a registry; `web`: a file over HTTP(S); `any`: the URL of a
 * Secret, of any of these.
 */
export type AddressUse = 'git' | 'chart' | 'web' | 'any';

export type AddressReading = SourceAddress | RefusedAddress;

const ownPorts: Readonly<Record<AddressScheme, string>> = {
  http: '80',
  https: '443',
  ssh: '22',
  git: '9418',
  file: '',
  // The registry may be one without TLS.
  oci: '',
};
/** Presigned URLs need some of it. */
const maxLength = 8192;
const maxKnown = 4000;
const maxKnownLength = 1000;
const known = new Map<string, AddressReading>();

/**
 * Reads the text of an address, or returns why it has no single reading. Spellings that Argo CD
 * treats as one (letter case of scheme and host, a slash at the end) get one text.
 */
export function readAddress(text: string, use: AddressUse): AddressReading {
  const key = `${use} ${text}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const reading = parse(text, use);
  // Tenants choose the texts, so number and length are bounded.
  if (known.size >= maxKnown) known.clear();
  if (text.length <= maxKnownLength) known.set(key, reading);
  return reading;
}

/** Reads the address of a source: a chart's if it names one, otherwise that of a repository. */
export function readSourceAddress(source: { readonly repoURL: string; readonly chart?: string }): AddressReading {
  const url: unknown = source.repoURL;
  return readAddress(typeof url === 'string' ? url : '', (source.chart ?? '') === '' ? 'git' : 'chart');
}

/** Whether the source is an artifact of a registry (`oci://`), and not a chart of one. */
export function isArtifact(source: { readonly repoURL: string; readonly chart?: string }): boolean {
  const address = readSourceAddress(source);
  return !isRefused(address) && address.scheme === 'oci' && !address.isShort;
}

/** Reads an address in the answer of a server, such as a redirect. */
export function readAnswerAddress(url: URL): AddressReading {
  return SourceAddress.ofAnswer(url);
}

export function isRefused(reading: AddressReading): reading is RefusedAddress {
  return !(reading instanceof SourceAddress);
}

/** Matches URLs with the suffix of an archive, which no Git repository has. */
export function isArchive(address: SourceAddress): boolean {
  return address.transport === 'http' && isArchiveName(address.segments);
}

function isArchiveName(segments: readonly string[]): boolean {
  return /.\.(?:tar|tar\.gz|tgz)$/i.test(segments.at(-1) ?? '');
}

function refuse(refused: string): RefusedAddress {
  return { refused };
}

function parse(raw: string, use: AddressUse): AddressReading {
  if (raw.length > maxLength) return refuse(`it is longer than ${maxLength} characters`);
  const text = raw.trim();
  if (text === '') return refuse('it is empty');
  if (text.startsWith('-')) return refuse('it starts with "-"');
  if (/\p{Cs}/u.test(text)) return refuse('it has an unpaired surrogate');
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) return refuse('it has control characters');
  if (text.includes('\\')) return refuse('it has a backslash');
  if (/^[a-z0-9+.-]*::/i.test(text)) return refuse('git remote helpers are not allowed');
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return parseShort(text, use);
  if (scheme === 'file' && use !== 'web') return parseFile(text);
  const allowed = use === 'web' ? ['http', 'https'] : ['http', 'https', 'ssh', 'git', 'oci'];
  if (!allowed.includes(scheme)) return refuse(`the scheme ${scheme}:// is not allowed`);
  return parseUrl(text.slice(scheme.length + 3), scheme as AddressScheme, use);
}

function parseUrl(text: string, scheme: AddressScheme, use: AddressUse): AddressReading {
  const [, authority = '', path = '', query = '', fragment] = /^([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(text) ?? [];
  if (fragment !== undefined) return refuse('it has a fragment (#)');
  const segments = readSegments(path);
  if ('refused' in segments) return segments;
  const fault = query === '' ? undefined : faultOfQuery({ scheme, segments }, use);
  if (fault !== undefined) return refuse(fault);
  const asked = query.length < 2 ? '' : readQuery(query);
  if (typeof asked !== 'string') return asked;
  const at = authority.lastIndexOf('@');
  const server = readServer(authority.slice(at + 1), scheme);
  if ('refused' in server) return server;
  const user = at < 0 ? {} : readUser(authority.slice(0, at), scheme);
  if ('refused' in user) return user;
  if (scheme === 'oci' && !segments.every(isRegistryName)) return refuse(badName);
  return SourceAddress.of({ scheme, ...user, ...server, segments, query: asked, isShort: false });
}

/** Only plain downloads have a query, such as a signature. */
function faultOfQuery(
  { scheme, segments }: Pick<AddressParts, 'scheme' | 'segments'>,
  use: AddressUse,
): string | undefined {
  const isWeb = scheme === 'http' || scheme === 'https';
  const isDownload = use === 'git' ? isArchiveName(segments) : true;
  return isWeb && isDownload ? undefined : 'it has a query (?)';
}

function readServer(text: string, scheme: AddressScheme): Pick<AddressParts, 'host' | 'port'> | RefusedAddress {
  const [, name = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text) ?? [];
  const host = readHost(name);
  if (typeof host !== 'string') return host;
  const port = digits === undefined ? '' : readPort(digits, ownPorts[scheme]);
  return typeof port === 'string' ? { host, port } : port;
}

function readUser(info: string, scheme: AddressScheme): Pick<AddressParts, 'username' | 'password'> | RefusedAddress {
  const isSsh = scheme === 'ssh';
  if (!isSsh && scheme !== 'http' && scheme !== 'https') return refuse(`a user is not allowed in ${scheme}://`);
  const colon = info.indexOf(':');
  const [name, word] = colon < 0 ? [info, ''] : [info.slice(0, colon), info.slice(colon + 1)];
  const allowed = isSsh ? /^[A-Za-z0-9._~+@%-]*$/ : /^[A-Za-z0-9._~!$&'()*+,;=%-]*$/;
  if (name + word === '' || !allowed.test(name) || !/^[A-Za-z0-9._~!$&'()*+,;=%:-]*$/.test(word))
    return refuse('its user or password has characters that must be escaped');
  if (isSsh && colon >= 0) return refuse('a password is not allowed in ssh://');
  return decodedUser(name, word, isSsh);
}

function decodedUser(
  name: string,
  word: string,
  isSsh: boolean,
): Pick<AddressParts, 'username' | 'password'> | RefusedAddress {
  const [username, password] = [decoded(name), decoded(word)];
  if (username === undefined || password === undefined) return refuse('it has a broken percent escape');
  if (/[\u0000-\u001f\u007f]/.test(username + password)) return refuse('it has control characters');
  if (isSsh) return isSshUser(username) ? { username } : refuse('its user is not valid');
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
}

function isSshUser(name: string): boolean {
  return /^[\w.+~][\w.+~@-]*$/.test(name);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function parseFile(text: string): AddressReading {
  const [, host = '', path = ''] = /^file:\/\/([^/]*)(.*)$/is.exec(text) ?? [];
  if (host !== '' && host.toLowerCase() !== 'localhost') return refuse('file:// with a host is not allowed');
  if (/[?#]/.test(path)) return refuse('it has a query (?) or a fragment (#)');
  const segments = readSegments(path);
  if ('refused' in segments) return segments;
  return SourceAddress.of({ scheme: 'file', host: '', port: '', segments, query: '', isShort: false });
}

/** An address without a scheme: a path, a registry, or `user@host:path`. */
function parseShort(text: string, use: AddressUse): AddressReading {
  if (use === 'web') return refuse('it must begin with https:// or http://');
  if (text.startsWith('/')) return use === 'chart' ? refuse('a path is not allowed') : parsePath(text);
  if (use === 'chart') return parseRegistry(text);
  if (use === 'any' && isRegistry(text)) return parseRegistry(text);
  return parseScp(text);
}

function parsePath(text: string): AddressReading {
  const inner = text.slice(1).replace(/\/$/, '').split('/');
  if (text !== '/' && inner.includes('')) return refuse('its path has an empty segment');
  const dots = inner.find((segment) => segment === '.' || segment === '..');
  if (dots !== undefined) return refuse(`its path has the segment "${dots}"`);
  const segments = text === '/' ? [] : inner.map(encodeURIComponent);
  return SourceAddress.of({ scheme: 'file', host: '', port: '', segments, query: '', isShort: true });
}

const badName = 'the name of a repository in a registry has letters, digits, dots, dashes and underscores only';

function isRegistryName(segment: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(segment) && !segment.includes('..');
}

function isRegistry(text: string): boolean {
  return /^[A-Za-z0-9.-]+(?::\d+)?(?:\/[^@:?#]*)?$/.test(text) || /^\[[0-9a-f:.]+\](?::\d+)?(?:\/|$)/i.test(text);
}

function parseRegistry(text: string): AddressReading {
  const [, authority = '', path = ''] = /^([^/]*)(.*)$/s.exec(text) ?? [];
  if (authority.includes('@')) return refuse('a user is not allowed in the address of a registry');
  const server = readServer(authority, 'oci');
  if ('refused' in server) return server;
  const segments = readSegments(path);
  if ('refused' in segments) return segments;
  if (!segments.every(isRegistryName)) return refuse(badName);
  return SourceAddress.of({ scheme: 'oci', ...server, segments, query: '', isShort: true });
}

/** Words before a colon that other programs would read as a scheme. */
const schemeWords: ReadonlySet<string> = new Set(['http', 'https', 'ssh', 'git', 'file', 'oci', 'ext', 'data', 'ftp']);

function parseScp(text: string): AddressReading {
  const match = /^(?:([^@/:\s]+)@)?([^@/:\s]+):(?!\/\/|:)(\S.*)$/s.exec(text);
  if (match === null) return refuse('it is neither a URL nor an absolute path');
  const [, user, name = '', path = ''] = match;
  if (/[?#]/.test(path)) return refuse('it has a query (?) or a fragment (#)');
  if (path.startsWith('-')) return refuse('a part of it starts with "-"');
  if (user === undefined && schemeWords.has(name.toLowerCase())) return refuse(`${name}: is no host`);
  if (user !== undefined && !isSshUser(user)) return refuse('its user is not valid');
  const host = readHost(name);
  if (typeof host !== 'string') return host;
  const segments = readSegments(path.startsWith('/') ? path : `/${path}`);
  if ('refused' in segments) return segments;
  return SourceAddress.of({
    scheme: 'ssh',
    ...(user === undefined ? {} : { username: user }),
    host,
    port: '',
    segments,
    query: '',
    isShort: !path.startsWith('/'),
  });
}

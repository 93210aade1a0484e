import { TemplateError } from '../template-error.ts';
import { GoMap, kindName } from '../template-values.ts';

interface Authority {
  readonly userinfo: string;
  readonly host: string;
}

/** The parts of a URL as Go's net/url reads them. @throws TemplateError */
export function parseUrl(text: string): GoMap {
  if (/[\u0000-\u001f\u007f]/.test(text)) throw urlError('net/url: invalid control character in URL');
  const [withoutFragment, fragment] = cutAt(text, '#');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(withoutFragment)?.[1] ?? '';
  if (withoutFragment.startsWith(':')) throw urlError('missing protocol scheme');
  const [address, query] = cutAt(withoutFragment.slice(scheme === '' ? 0 : scheme.length + 1), '?');
  const parts = { scheme: scheme.toLowerCase(), query, fragment: unescaped(fragment) };
  const none = { userinfo: '', host: '' };
  if (!address.startsWith('/')) {
    if (scheme !== '') return urlMap({ ...parts, ...none, path: '', opaque: address });
    if (cutAt(address, '/')[0].includes(':')) throw urlError('first path segment in URL cannot contain colon');
  }
  const hasAuthority = address.startsWith('//') && (scheme !== '' || !address.startsWith('///'));
  if (!hasAuthority) return urlMap({ ...parts, ...none, path: unescaped(address), opaque: '' });
  const end = address.indexOf('/', 2);
  const authority = readAuthority(address.slice(2, end < 0 ? undefined : end));
  return urlMap({ ...parts, ...authority, path: end < 0 ? '' : unescaped(address.slice(end)), opaque: '' });
}

function urlError(reason: string): TemplateError {
  return new TemplateError(`unable to parse url: ${reason}`);
}

function cutAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

function unescaped(text: string): string {
  const bad = /%(?![\da-fA-F]{2}).{0,2}/s.exec(text);
  if (bad !== null) throw urlError(`invalid URL escape ${JSON.stringify(bad[0])}`);
  return text.replace(/(?:%[\da-fA-F]{2})+/g, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
}

function readAuthority(text: string): Authority {
  const at = text.lastIndexOf('@');
  const host = text.slice(at + 1);
  const port = host.startsWith('[') ? /\](.*)$/.exec(host)?.[1] : host.slice(cutAt(host, ':')[0].length);
  if (port === undefined) throw urlError("missing ']' in host");
  if (port !== '' && !/^:\d*$/.test(port)) throw urlError(`invalid port ${JSON.stringify(port)} after host`);
  if (/[ <>"`{}|\\^]/.test(host)) throw urlError('invalid character in host name');
  return { userinfo: at < 0 ? '' : userinfoOf(text.slice(0, at)), host: unescaped(host) };
}

function userinfoOf(text: string): string {
  if (!/^[A-Za-z0-9\-._~:!$&'()*+,;=%@]*$/.test(text)) throw urlError('net/url: invalid userinfo');
  const [user, password] = cutAt(text, ':');
  const shown = escaped(unescaped(user), userKept);
  return text.includes(':') ? `${shown}:${escaped(unescaped(password), userKept)}` : shown;
}

interface UrlParts extends Authority {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;
  readonly opaque: string;
  readonly fragment: string;
}

function urlMap(parts: UrlParts): GoMap {
  const { host } = parts;
  const name = host.startsWith('[') ? host.slice(1, host.indexOf(']')) : host.replace(/:\d*$/, '');
  return new GoMap(Object.entries({ ...parts, hostname: name }));
}

const userKept = /[A-Za-z0-9\-_.~$&+,;=]/;
const pathKept = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const hostKept = /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/;
const fragmentKept = /[A-Za-z0-9\-_.~$&+,/:;=?@!()*]/;

function escaped(text: string, kept: RegExp): string {
  let result = '';
  for (const char of text) {
    if (kept.test(char)) result += char;
    else for (const byte of Buffer.from(char)) result += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return result;
}

/** The URL of such parts. @throws TemplateError if one is no text. */
export function joinUrl(map: GoMap): string {
  const part = (key: string): string => {
    const value = map.members.get(key) ?? '';
    if (typeof value === 'string') return value;
    throw new TemplateError(`unable to parse ${key} key, must be of type string, but ${kindName(value)} found`);
  };
  const [scheme, host, path, opaque] = [part('scheme'), part('host'), part('path'), part('opaque')];
  const user = part('userinfo') === '' ? '' : userOf(part('userinfo'));
  const start = scheme === '' ? '' : `${scheme}:`;
  const hasAuthority = host !== '' || user !== '' || (scheme !== '' && path !== '');
  const authority = hasAuthority ? `//${user === '' ? '' : `${user}@`}${escaped(host, hostKept)}` : '';
  const address = opaque === '' ? authority + pathText(path, { host, isAlone: start + authority === '' }) : opaque;
  const [query, fragment] = [part('query'), part('fragment')];
  const end = `${query === '' ? '' : `?${query}`}${fragment === '' ? '' : `#${escaped(fragment, fragmentKept)}`}`;
  return start + address + end;
}

function pathText(path: string, { host, isAlone }: { readonly host: string; readonly isAlone: boolean }): string {
  const shown = path === '*' ? path : escaped(path, pathKept);
  if (shown !== '' && !shown.startsWith('/') && host !== '') return `/${shown}`;
  return isAlone && cutAt(shown, '/')[0].includes(':') ? `./${shown}` : shown;
}

function userOf(userinfo: string): string {
  const user = parseUrl(`proto://${userinfo}@host`).members.get('userinfo');
  return typeof user === 'string' ? user : '';
}

import type { SourceAddress } from './source-address.ts';

/**
 * The form in which patterns that permit are compared (Argo CD: util/git NormalizeGitURL): lower
 * case, without `.git`, `ssh://`, password and query.
 */
export function comparableAddress(address: SourceAddress): string {
  const { segments } = address;
  const last = segments.at(-1)?.replace(/(?<=.)\.git$/i, '');
  const path = last === undefined ? '' : `/${[...segments.slice(0, -1), last].join('/')}`;
  return named(address, userOf(address), path).toLowerCase();
}

function userOf({ username }: SourceAddress): string {
  if (username === undefined) return '';
  return `${encodeURIComponent(username).replace(/%(?:24|26|2B|2C|3B|3D)/g, decodeURIComponent)}@`;
}

/** @param user with its `@`; "" without one */
function named({ scheme, authority, isShort }: SourceAddress, user: string, path: string): string {
  if (scheme === 'file') return path === '' ? '/' : path;
  if (scheme === 'ssh') return isShort && user === '' ? `${authority}:${path.slice(1)}` : `${user}${authority}${path}`;
  return `${scheme === 'oci' && isShort ? '' : `${scheme}://`}${user}${authority}${path}`;
}

/**
 * All names by which a server may know the repository: for what narrows, such as deny entries and
 * signature policies. A rule that matches one of them applies.
 */
export function looseNames(address: SourceAddress): readonly string[] {
  const known = loose.get(address);
  if (known !== undefined) return known;
  const path = loosePath(address.segments);
  const host = address.authority.replace(/\.(?=:|$)/, '').replace(/:443$/, address.scheme === 'oci' ? '' : '$&');
  const slashed = path === '' ? '' : `/${path}`;
  const user = address.username === undefined ? [] : [`${address.username.toLowerCase()}@${host}${slashed}`];
  const places = [`${host}${slashed}`, ...user];
  const names = spelled(address, places, slashed);
  const all =
    address.query === '' ? names : [...names, ...names.map((name) => `${name}${address.query.toLowerCase()}`)];
  loose.set(address, all);
  return all;
}

const loose = new WeakMap<SourceAddress, readonly string[]>();

function spelled({ scheme }: SourceAddress, places: readonly string[], path: string): readonly string[] {
  if (scheme === 'file') return [path === '' ? '/' : path];
  if (scheme === 'ssh') return [...places, ...places.map((place) => place.replace('/', ':'))];
  if (scheme === 'oci') return [...places, ...places.flatMap((place) => [`oci://${place}`, `https://${place}`])];
  return places.map((place) => `${scheme}://${place}`);
}

/** Some servers ignore parameters, and dots and spaces at the end; git tries names with `.git`. */
function loosePath(segments: readonly string[]): string {
  const names = segments.map((segment) =>
    decodeURIComponent(segment)
      .replace(/;.*$/s, '')
      .replace(/(?<=[^. ])[. ]+$/, '')
      .toLowerCase(),
  );
  while (names.length > 1 && names.at(-1) === '.git') names.pop();
  return names.join('/').replace(/(?<=[^/])(?:\.git)+$/, '');
}

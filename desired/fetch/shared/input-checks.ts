import { isAbsolute, normalize, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SourcePathError, UnsafeInput } from '../../errors.ts';

// Everything that an Application's author writes and that reaches a program or a file path passes
// these checks first (T-SEC-30, T-SEC-31).

const control = /[\u0000-\u001f\u007f]/;

/** A checked repository URL without user and password, which travel in the environment. */
export interface SafeUrl {
  readonly url: string;
  readonly transport: 'http' | 'ssh' | 'local';
  /** Host without port; "" for local repositories. */
  readonly host: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Checks a repository URL. Allowed are http, https, ssh (also user@host:path), git, file and
 * absolute paths; refused is anything that git could take for an option or a remote helper
 * (`ext::`).
 * @throws UnsafeInput
 */
export function checkUrl(raw: string, cacheDir: string): SafeUrl {
  const url = raw.trim();
  if (url === '') throw new UnsafeInput('the repository URL is empty');
  if (url.startsWith('-') || control.test(url)) throw refused('it starts with "-" or has control characters');
  if (url.startsWith('/')) return local(url, cacheDir);
  if (/^[a-z0-9+.-]*::/i.test(url)) throw refused('git remote helpers are not allowed');
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return scpLike(url);
  if (scheme === 'file') return local(filePath(url), cacheDir);
  if (!['http', 'https', 'ssh', 'git'].includes(scheme)) throw refused(`the scheme ${scheme}:// is not allowed`);
  return withHost(url, scheme);
}

function refused(why: string): UnsafeInput {
  return new UnsafeInput(`the repository URL is refused: ${why}`);
}

function withHost(url: string, scheme: string): SafeUrl {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw refused('it cannot be parsed');
  }
  const username = decoded(parsed.username);
  const host = decoded(parsed.hostname);
  if (host === '' || host.startsWith('-') || control.test(host)) throw refused('its host is not valid');
  if (scheme === 'ssh' || scheme === 'git') {
    if (username.startsWith('-') || control.test(username)) throw refused('its user is not valid');
    // The user of an ssh URL is part of the address; a password is not.
    parsed.password = '';
    return { url: parsed.href, transport: 'ssh', host };
  }
  const password = decoded(parsed.password);
  parsed.username = '';
  parsed.password = '';
  // Keep the rest of the URL as written: some servers are strict about percent escapes.
  const rest = /^[a-z]+:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? '';
  return {
    url: `${parsed.protocol}//${parsed.host}${rest}`,
    transport: 'http',
    host,
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('it has a broken percent escape');
  }
}

function scpLike(url: string): SafeUrl {
  const match = /^(?:([^@/:\s]+)@)?([^@/:\s-][^@/:\s]*):(?!\/\/|:)(\S.*)$/.exec(url);
  if (match === null) throw refused('it is neither a URL nor an absolute path');
  if ((match[1] ?? '').startsWith('-') || (match[3] ?? '').startsWith('-'))
    throw refused('a part of it starts with "-"');
  return { url, transport: 'ssh', host: match[2] ?? '' };
}

function filePath(url: string): string {
  try {
    return fileURLToPath(url.replace(/^file:\/\/localhost\//i, 'file:///'));
  } catch {
    throw refused('it is not a valid file:// URL');
  }
}

/**
 * Refuses the cache, which holds repositories fetched with other credentials, and the kernel's file
 * systems, which lead everywhere (/proc/self/root).
 */
function local(path: string, cacheDir: string): SafeUrl {
  if (control.test(path)) throw refused('it has control characters');
  const clean = resolve(path);
  if (['/proc', '/sys', '/dev'].some((root) => isInside(root, clean)))
    throw refused('it points into a folder of the system');
  if (isInside(resolve(cacheDir), clean)) throw refused('it points into the cache of this process');
  return { url: clean, transport: 'local', host: '' };
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}

/**
 * Checks a branch, tag or commit. git never receives it as an argument (refs are compared here and
 * fetched by commit); the check protects later code that might pass it on.
 * @throws UnsafeInput
 */
export function checkRevision(revision: string): void {
  if (revision.startsWith('-') || control.test(revision) || revision.length > 1024)
    throw new UnsafeInput('the revision is refused: it starts with "-", has control characters or is too long');
}

/**
 * Splits the path of a source into segments below the repository root. Error texts are those of
 * Argo CD (util/app/path/path.go).
 * @throws SourcePathError, UnsafeInput
 */
export function checkAppPath(path: string): string[] {
  if (control.test(path)) throw new UnsafeInput('the path is refused: it has control characters');
  if (isAbsolute(path)) throw new SourcePathError(`${path}: app path is absolute`);
  const clean = normalize(path === '' ? '.' : path).replace(/\/+$/, '');
  if (clean === '..' || clean.startsWith('../')) throw new SourcePathError(`${path}: app path outside root`);
  return clean === '.' ? [] : clean.split('/');
}

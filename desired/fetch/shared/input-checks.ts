import { isAbsolute, normalize, relative, resolve } from 'node:path';
import { isRefused, readAddress, readAnswerAddress } from '#model';
import type { AddressUse, Repository, SourceAddress } from '#model';
import { RepositoryError, SourcePathError, UnsafeInput } from '../../errors.ts';
import type { SourceOptionNames } from '../../limits.ts';

// Everything that an Application's author writes and that reaches a program or a file path passes
// these checks first (T-SEC-30, T-SEC-31).

const control = /[\u0000-\u001f\u007f]/;

/**
 * Reads the address of a repository or file. Refused is what programs could read differently, and
 * what git could take for an option or a remote helper (`ext::`).
 * @throws UnsafeInput
 */
export function checkUrl(raw: string, cacheDir: string, use: AddressUse = 'git'): SourceAddress {
  const address = readAddress(raw, use);
  if (isRefused(address)) throw refused(address.refused);
  if (address.transport === 'local') checkLocal(address.url, cacheDir);
  return address;
}

/** Which addresses of Git repositories are permitted. */
export interface GitAddressRules {
  readonly cacheDir: string;
  /** False refuses repositories on the local disk. */
  readonly localRepositories?: boolean;
  readonly optionNames?: SourceOptionNames | undefined;
}

/** Reads the address of a Git repository. @throws UnsafeInput */
export function checkGitUrl(raw: string, rules: GitAddressRules): SourceAddress {
  const { cacheDir, localRepositories, optionNames: { localRepositories: option } = {} } = rules;
  const address = checkUrl(raw, cacheDir);
  if (address.transport !== 'local' || localRepositories !== false) return address;
  throw refused(`it points to the local disk${option === undefined ? '' : ` (${option} allows that)`}`);
}

/**
 * Without its Secret a repository might be read past its proxy, or with LFS pointers for files.
 * @throws RepositoryError
 */
export function checkRepository({ fault }: Pick<Repository, 'fault'>): void {
  if (fault !== undefined) throw new RepositoryError(`the repository is not used: ${fault}`);
}

/** Reads the address of a file over HTTP(S). @throws UnsafeInput */
export function checkWebUrl(raw: string): SourceAddress {
  return checkUrl(raw, '/', 'web');
}

/**
 * Reads an address in the answer of a server, which may be relative.
 * @throws RepositoryError
 */
export function answerUrl(text: string, base: string): SourceAddress {
  if (!URL.canParse(text, base)) throw new RepositoryError('an address of the repository cannot be parsed');
  const address = readAnswerAddress(new URL(text, base));
  if (isRefused(address)) throw new RepositoryError(`an address of the repository is refused: ${address.refused}`);
  return address;
}

function refused(why: string): UnsafeInput {
  return new UnsafeInput(`the repository URL is refused: ${why}`);
}

/**
 * Refuses the cache, which holds repositories fetched with other credentials, and the kernel's file
 * systems, which lead everywhere (/proc/self/root).
 */
function checkLocal(path: string, cacheDir: string): void {
  const clean = resolve(path);
  if (['/proc', '/sys', '/dev'].some((root) => isInside(root, clean)))
    throw refused('it points into a folder of the system');
  if (isInside(resolve(cacheDir), clean)) throw refused('it points into the cache of this process');
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

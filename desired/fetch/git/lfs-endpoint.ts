import { isObject, outsideText, ownMember, parseJson } from '#base';
import type { Json } from '#base';
import { comparableAddress, isRefused, readAddress } from '#model';
import type { Repository, SourceAddress } from '#model';
import { RepositoryError, UnsafeInput, UnsupportedSource } from '../../errors.ts';
import type { CommandResult } from '../../command/types.ts';
import { checkUrl } from '../shared/input-checks.ts';
import type { LfsSshServer, RunOnServer } from './lfs-ssh.ts';
import { mayBorrow } from '../shared/permitted.ts';
import type { PermittedRepos } from '../shared/permitted.ts';
import { withoutLogin } from '../network/web-client.ts';
import type { RepositoryAccess } from '../network/web-client.ts';

/** The LFS server of a repository. */
export interface LfsEndpoint {
  readonly url: SourceAddress;
  readonly access: RepositoryAccess;
  /** Grants of an ssh server, for the origin of `url`. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface LfsEndpointDeps {
  readonly cacheDir: string;
  /** Adds a token if the repository's credentials are those of an App or a cloud. */
  readonly withToken: (repository: Repository, signal: AbortSignal) => Promise<Repository>;
  readonly runOnServer: RunOnServer;
}

/**
 * Finds the LFS server as git-lfs does: `lfs.url` of `.lfsconfig`, else the repository itself; over
 * ssh, the command git-lfs-authenticate names the server and grants access, and without it the ssh
 * server transfers the files itself. Credentials of the repository stay with its own origin.
 * @param named the address in `.lfsconfig`, "" without one, and what the project permits: another
 * repository gets no credentials of this one
 * @throws RepositoryError, UnsafeInput, UnsupportedSource
 */
export async function findLfsEndpoint(
  repository: Repository,
  { configured, sourceRepos }: { readonly configured: string; readonly sourceRepos: PermittedRepos },
  { cacheDir, withToken, runOnServer }: LfsEndpointDeps,
  signal: AbortSignal,
): Promise<LfsEndpoint | LfsSshServer> {
  const own = checkUrl(repository.url, cacheDir);
  const at = configured === '' ? own : checkUrl(configured, cacheDir);
  if (at.transport === 'http') {
    const url = configured === '' ? checkUrl(defaultUrl(at.url), cacheDir) : at.bare;
    if (own.transport !== 'http' || !isLent(own, url, sourceRepos))
      return { url, access: withoutLogin({ repository, at }), headers: {} };
    return { url, access: { repository: await withToken(repository, signal), at: own }, headers: {} };
  }
  if (at.scheme !== 'ssh') throw new UnsupportedSource('Git LFS of a repository without an https or ssh URL');
  if (at.url !== own.url && at.host !== own.host)
    throw new UnsafeInput('the address of .lfsconfig is refused: it is another ssh server than that of the repository');
  if (!isLent(own, at, sourceRepos))
    throw new UnsafeInput('the address of .lfsconfig is refused: the project does not permit it');
  const path = sshPath(at);
  const result = await runOnServer(`git-lfs-authenticate '${path}' download`, { url: at, repository }, signal);
  if (result.exitCode !== 0) return { at, repository, path, refusal: refused(result) };
  return granted(result, repository, { at, cacheDir });
}

/** Whether the LFS server is the repository's own, or one that the project permits. */
function isLent(own: SourceAddress, server: SourceAddress, sourceRepos: PermittedRepos): boolean {
  const named = (address: SourceAddress): string =>
    comparableAddress(address.bare).replace(/(?:\.git)?\/info\/lfs$/, '');
  if (named(server) === named(own)) return true;
  const repository = readAddress(server.text.replace(/\/info\/lfs$/, ''), 'git');
  return !isRefused(repository) && mayBorrow(sourceRepos, own, repository);
}

function refused({ stderr }: CommandResult): RepositoryError {
  const reason = stderr.trim().split('\n').at(-1) ?? '';
  return new RepositoryError(`the ssh server of the repository grants no access to Git LFS: ${reason || 'no reason'}`);
}

function granted(
  { stdout }: CommandResult,
  repository: Repository,
  { at, cacheDir }: { readonly at: SourceAddress; readonly cacheDir: string },
): LfsEndpoint {
  const answer = jsonOf(Buffer.from(stdout).toString('utf8'));
  const href = answer !== undefined && isObject(answer) ? (ownMember(answer, 'href') ?? '') : undefined;
  if (answer === undefined || !isObject(answer) || typeof href !== 'string')
    throw new RepositoryError('the ssh server of the repository answers git-lfs-authenticate with something else');
  const found = checkUrl(
    href === '' ? defaultUrl(`https://${at.host}/${sshPath(at).replace(/^\//, '')}`) : href,
    cacheDir,
  );
  if (found.transport !== 'http')
    throw new RepositoryError(`the ssh server names an LFS server without https: ${outsideText('url', href)}`);
  return {
    url: found.bare,
    access: withoutLogin({ repository, at: found }),
    headers: headersIn(ownMember(answer, 'header')),
  };
}

function jsonOf(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Headers of an answer, with names in lower case. */
export function headersIn(value: Json | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  if (value !== undefined && isObject(value))
    for (const [name, text] of Object.entries(value)) if (typeof text === 'string') headers[name.toLowerCase()] = text;
  return headers;
}

function defaultUrl(repository: string): string {
  return `${repository.replace(/\/+$/, '').replace(/(?:\.git)?$/, '.git')}/info/lfs`;
}

/** The path of an ssh address, a word of a command on the server. @throws UnsafeInput */
function sshPath({ segments, isShort }: SourceAddress): string {
  const path = `${isShort ? '' : '/'}${segments.join('/')}`;
  if (/^[\w./~+-]+$/.test(path) && !path.startsWith('-')) return path;
  throw new UnsafeInput('Git LFS over ssh is refused for a repository whose path has special characters');
}

/** The address of the LFS server in a `.lfsconfig`; "" without one. */
export function lfsUrlIn(config: Uint8Array): string {
  const found = new Map<string, string>();
  let section = '';
  for (const line of Buffer.from(config).toString('utf8').split(/\r?\n/)) {
    const [, head, name] = /^\s*\[\s*([\w.-]+)(?:\s+"([^"]*)")?\s*\]\s*$/.exec(line) ?? [];
    if (head !== undefined) section = [head.toLowerCase(), ...(name === undefined ? [] : [name])].join('.');
    const [, key = '', value] = /^\s*([a-z][\w-]*)\s*=\s*(.*?)\s*$/i.exec(line) ?? [];
    if (value !== undefined) found.set(`${section}.${key.toLowerCase()}`, value.replace(/^"(.*)"$/, '$1'));
  }
  return found.get('lfs.url') ?? found.get('remote.origin.lfsurl') ?? '';
}

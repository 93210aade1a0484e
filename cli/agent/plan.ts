import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf, SecretValue, UsageError } from '#base';
import { noAgentFile, readAgentFile } from './agent-file.ts';
import type { AgentPlan, RepositoryCredentials } from './hub-objects.ts';
import { bindingOf, defaultName } from './identity.ts';
import type { AgentConfig } from './options.ts';

/** The origin of the files. */
export type AgentSource =
  | { readonly kind: 'git'; readonly url: string }
  | { readonly kind: 'directory'; readonly url: string }
  | { readonly kind: 'archive'; readonly url: string; readonly digest: string };

/** The origin as it is recorded and shown: an archive may have another address for each version. */
export function originOf(source: AgentSource): string {
  return source.kind === 'archive' ? 'archive' : source.url;
}

/** @throws UsageError unless exactly one source is named */
export function sourceOf({ repo, archive, digest, revision, name }: AgentConfig): AgentSource {
  if ((repo === '') === (archive === '')) throw new UsageError('agent needs --repo URL or DIRECTORY, or --archive URL');
  if (archive !== '') {
    if (!/^https?:\/\//.test(archive)) throw new UsageError('--archive: only http and https are supported');
    if (digest === '' && !archive.startsWith('https:'))
      throw new UsageError('--archive over http needs --digest sha256:HEX: anybody on the way could change it');
    // Its address usually names a version, so it cannot identify the objects of the next version.
    if (name === '') throw new UsageError('--archive needs --name: pruning goes by it');
    return { kind: 'archive', url: archive, digest };
  }
  if (digest !== '') throw new UsageError('--digest belongs to --archive; a commit is a --revision');
  if (!isAbsolute(repo) && !/^\.\.?(?:\/|$)/.test(repo)) return { kind: 'git', url: repo };
  if (revision !== 'HEAD') throw new UsageError(`--revision needs a Git repository, and --repo ${repo} is a directory`);
  return { kind: 'directory', url: resolve(repo) };
}

/** @throws UsageError for contradicting namespaces or an unreadable file of a credential */
export function planOf(config: AgentConfig, source: AgentSource): AgentPlan {
  const { namespace, namespaces, path, revision, prune, selfHeal } = config;
  if (namespaces.length > 0 && !namespaces.includes(namespace))
    throw new UsageError(`--namespace ${namespace} is not one of --namespaces ${namespaces.join(',')}`);
  const isLocal = source.kind !== 'git';
  const binding = bindingOf(originOf(source), path, namespace);
  const name = config.name === '' ? defaultName(binding) : config.name;
  return {
    name,
    binding,
    repository: isLocal ? pathToFileURL(repositoryFolder(config, name)).href : source.url,
    path,
    revision: isLocal ? 'main' : revision,
    credentials: credentialsOf(config),
    namespace,
    namespaces,
    prune,
    selfHeal,
    file: config.configFile === '' ? noAgentFile : readAgentFile(config.configFile),
  };
}

export function cacheFolder({ cacheDir }: AgentConfig, name: string): string {
  return cacheDir === '' ? join(tmpdir(), 'driftless-agent', name) : cacheDir;
}

export function repositoryFolder(config: AgentConfig, name: string): string {
  return join(cacheFolder(config, name), 'source.git');
}

function credentialsOf({
  repoUsername,
  repoPasswordFile,
  repoKeyFile,
}: AgentConfig): RepositoryCredentials | undefined {
  if (repoUsername === '' && repoPasswordFile === '' && repoKeyFile === '') return undefined;
  const secretIn = (flag: string, file: string): SecretValue | undefined => {
    if (file === '') return undefined;
    try {
      return new SecretValue(readFileSync(file, 'utf8').replace(/\n$/, ''));
    } catch (error) {
      throw new UsageError(`--${flag} ${file}: ${messageOf(error)}`, { cause: error });
    }
  };
  const sshKey =
    repoKeyFile === '' ? undefined : new SecretValue(`${secretIn('repo-ssh-key-file', repoKeyFile)?.reveal() ?? ''}\n`);
  return { username: repoUsername, password: secretIn('repo-password-file', repoPasswordFile), sshKey };
}

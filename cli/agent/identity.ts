import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { splitUserInfo } from '#base';

/** Namespace of the records of all agents of a cluster. Fixed, so that a name has one record. */
export const recordNamespace = 'driftless-agent';

const recordPrefix = 'agent-';
const maxStemLength = 30;
const nameHashLength = 8;
const markHashLength = 16;

/** Annotations of a record. */
export const recordAnnotations = {
  repository: 'driftless.io/agent-repository',
  path: 'driftless.io/agent-path',
  namespace: 'driftless.io/agent-namespace',
  mark: 'driftless.io/agent-mark',
  /** The commit that the folder was last compared with. */
  revision: 'driftless.io/agent-revision',
  /** The kinds that may have objects of the agent. */
  kinds: 'driftless.io/agent-kinds',
  /** Asks the running agent to read its source now. */
  refresh: 'driftless.io/refresh',
} as const;

/** The folder that an identity keeps, and the namespace of its objects that name none. */
export interface AgentBinding {
  /** Without credentials. */
  readonly repository: string;
  readonly path: string;
  readonly namespace: string;
}

export function bindingOf(repository: string, path: string, namespace: string): AgentBinding {
  const plain = posix.normalize(path === '' ? '.' : path).replace(/(?<=.)\/+$/, '');
  return { repository: splitUserInfo(repository).url, path: plain, namespace };
}

export function isSameBinding(a: AgentBinding, b: AgentBinding): boolean {
  return a.repository === b.repository && a.path === b.path && a.namespace === b.namespace;
}

/** A binding as messages show it. */
export function bindingText({ repository, path, namespace }: AgentBinding): string {
  return `${repository} folder ${path} in namespace ${namespace}`;
}

/** A name that no other binding has. It begins with the last part of the folder or the source. */
export function defaultName(binding: AgentBinding): string {
  return `${readableStem(binding.repository, binding.path)}-${hashOf(partsOf(binding), nameHashLength)}`;
}

/** The last part of the folder, or of the repository, as a part of a name. */
export function readableStem(repository: string, path: string): string {
  const parts = [...repository.split(/[/:]/), ...path.split('/')];
  const part = parts.findLast((each) => !['', '.', '..'].includes(each)) ?? '';
  const stem = part
    .replace(/\.git$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  const readable = stem.slice(0, maxStemLength).replaceAll(/^-+|-+$/g, '');
  return readable === '' ? 'folder' : readable;
}

export function recordName(name: string): string {
  return `${recordPrefix}${name}`;
}

/**
 * The mark that a new record gives to its objects. It names the cluster and the binding, too: where
 * a record is lost, another binding of the same name never finds the objects of this one.
 */
export function newMark(cluster: string, binding: AgentBinding): string {
  return hashOf([cluster, ...partsOf(binding)], markHashLength);
}

export function isMark(text: string): boolean {
  return new RegExp(`^[0-9a-f]{${markHashLength}}$`).test(text);
}

/**
 * Identifies what a commit belongs to: the objects with this mark, and the source with the version
 * that is followed.
 */
export function sourceIdOf(mark: string, binding: AgentBinding, followed: readonly string[]): string {
  return hashOf([mark, ...partsOf(binding), ...followed], markHashLength);
}

/**
 * Identifies what the kinds in a record belong to: the Lease, which a backup may bring back with
 * older ones, the folder, and the namespaces that the agent reads.
 */
export function reachIdOf(leaseUid: string, binding: AgentBinding, namespaces: readonly string[]): string {
  return hashOf([leaseUid, ...partsOf(binding), ...[...namespaces].sort()], markHashLength);
}

/** The installation id on each object of an agent; pruning goes by it and by the name. */
export function installationIdOf(name: string, mark: string): string {
  return `driftless-agent/${name}/${mark}`;
}

/** The annotations of a record, or undefined if they are incomplete or were edited. */
export function readRecord(
  annotations: Readonly<Record<string, string>> | undefined,
): { readonly binding: AgentBinding; readonly mark: string } | undefined {
  const [repository, path, namespace, mark] = (['repository', 'path', 'namespace', 'mark'] as const).map(
    (key) => annotations?.[recordAnnotations[key]] ?? '',
  );
  if (!repository || !path || !namespace || !isMark(mark ?? '')) return undefined;
  return { binding: { repository, path, namespace }, mark: mark ?? '' };
}

export function recordedAs({ repository, path, namespace }: AgentBinding, mark: string): Record<string, string> {
  return {
    [recordAnnotations.repository]: repository,
    [recordAnnotations.path]: path,
    [recordAnnotations.namespace]: namespace,
    [recordAnnotations.mark]: mark,
  };
}

/** The command that gives a name to another binding on purpose. */
export function takeOverCommand(name: string, { repository, path, namespace }: AgentBinding): string {
  const values = [
    [recordAnnotations.repository, repository],
    [recordAnnotations.path, path],
    [recordAnnotations.namespace, namespace],
  ].map(([key = '', value = '']) => quoted(`${key}=${value}`));
  return `kubectl annotate --overwrite -n ${recordNamespace} lease/${recordName(name)} ${values.join(' ')}`;
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function partsOf({ repository, path, namespace }: AgentBinding): readonly string[] {
  return [repository, path, namespace];
}

function hashOf(parts: readonly string[], length: number): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, length);
}

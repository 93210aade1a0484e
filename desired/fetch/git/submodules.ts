import { hashJson, isAbort, messageOf, tenantOf } from '#base';
import type { Repository, SourceAddress } from '#model';
import { RepositoryError, UnsafeInput } from '../../errors.ts';
import { withoutCredentials } from '../network/web-client.ts';
import { mayBorrow } from '../shared/permitted.ts';
import type { PermittedRepos } from '../shared/permitted.ts';
import { Lru } from '../shared/lru.ts';
import type { GitRepositories } from './git-repositories.ts';
import type { Snapshot } from '../files/snapshot.ts';
import { Tree, walk } from '../files/tree.ts';
import type { SubmoduleNode } from '../files/tree.ts';
import { checkUrl } from '../shared/input-checks.ts';

const maxDepth = 4;
const maxSubmodules = 100;

export interface SubmodulesDeps {
  readonly repositories: GitRepositories;
  readonly cacheDir: string;
  /** Memory for trees that include submodules. */
  readonly maxTreeBytes: number;
}

/**
 * Mounts the files of submodules (Argo CD: git submodule update --init --recursive). A submodule
 * that cannot be fetched fails only sources that need its files.
 * Deliberate differences: passwords and tokens are sent only to a submodule of the same origin (an
 * ssh key to any known host), and only if the project permits its address; a remote repository
 * cannot have submodules on the local disk.
 */
export class Submodules {
  readonly #deps: SubmodulesDeps;
  readonly #complete: Lru<Snapshot>;

  constructor(deps: SubmodulesDeps) {
    this.#deps = deps;
    this.#complete = new Lru(deps.maxTreeBytes);
  }

  async complete(repository: Repository, snapshot: Snapshot, context: SubmoduleContext): Promise<Snapshot> {
    const { signal, sourceRepos, depth = 0 } = context;
    const { submodules } = snapshot.tree;
    if (submodules.length === 0) return snapshot;
    const excess =
      submodules.length > maxSubmodules
        ? `the repository has more than ${maxSubmodules} submodules`
        : depth === maxDepth && `submodules are nested more than ${maxDepth} deep`;
    if (excess !== false) return withMounts(snapshot, new Map(submodules.map(({ path }) => [path, excess])));
    const key = hashJson([snapshot.key, snapshot.revision, depth, sourceRepos ?? null]);
    const known = this.#complete.get(key);
    if (known !== undefined) return known;
    const urls = await urlsOf(snapshot, signal);
    const mounts = new Map<string, Snapshot | string>();
    for (const { path, node } of submodules)
      mounts.set(
        path,
        await this.#fetched(repository, urls.get(path), node, context).catch((error: unknown) => {
          if (isAbort(error) || signal.aborted) throw error;
          return messageOf(error);
        }),
      );
    const made = withMounts(snapshot, mounts);
    if ([...mounts.values()].every((mount) => typeof mount !== 'string'))
      this.#complete.set(key, made, made.tree.weight, tenantOf(signal).project);
    return made;
  }

  async #fetched(
    parent: Repository,
    url: string | undefined,
    { oid }: SubmoduleNode,
    { signal, sourceRepos, depth = 0 }: SubmoduleContext,
  ): Promise<Snapshot> {
    if (url === undefined) throw new UnsafeInput('.gitmodules has no URL for it');
    const { cacheDir, repositories } = this.#deps;
    const related = relatedRepository(parent, url, cacheDir);
    const address = checkUrl(related.url, cacheDir);
    const isLent = mayBorrow(sourceRepos, checkUrl(parent.url, cacheDir), address);
    const repository = isLent ? related : withoutCredentials(related);
    const snapshot = await repositories.snapshot(repository, oid, false, signal).catch((error: unknown) => {
      if (isLent || isAbort(error)) throw error;
      throw new RepositoryError(
        `${messageOf(error)} (fetched without credentials, because the project does not permit ${address.bare.url})`,
        { cause: error },
      );
    });
    return this.complete(repository, snapshot, { signal, sourceRepos, depth: depth + 1 });
  }
}

interface SubmoduleContext {
  /** The project's `sourceRepos`: only these get the credentials of the repository. */
  readonly sourceRepos: PermittedRepos;
  readonly depth?: number;
  readonly signal: AbortSignal;
}

/**
 * Returns the repository that `parent` refers to by the URL `raw`. It gets the parent's credentials
 * if both have the same origin, otherwise at most its ssh key.
 * @throws UnsafeInput
 */
export function relatedRepository(parent: Repository, raw: string, cacheDir: string): Repository {
  const from = checkUrl(parent.url, cacheDir);
  const to = checkUrl(/^\.\.?(?:\/|$)/.test(raw) ? resolvedAgainst(from, raw) : raw, cacheDir);
  const url = to.text;
  if (to.transport === 'local' && from.transport !== 'local')
    throw new UnsafeInput('its URL is refused: it points to the local disk');
  const { insecure, inheritedCreds, sshPrivateKey, proxy, noProxy } = parent;
  if (to.scheme === from.scheme && to.authority === from.authority) return { ...parent, url, type: 'git' };
  return {
    url,
    type: 'git',
    insecure: false,
    inheritedCreds,
    ...(to.transport === 'ssh' && sshPrivateKey !== undefined ? { sshPrivateKey, insecure } : {}),
    ...(proxy === undefined ? {} : { proxy }),
    ...(noProxy === undefined ? {} : { noProxy }),
  };
}

/**
 * Resolves a relative URL as git does, by dropping parts of the path from the end.
 * @throws UnsafeInput if it leads out of the server
 */
function resolvedAgainst(parent: SourceAddress, path: string): string {
  const segments = [...parent.segments];
  for (const part of path.replace(/\/$/, '').split('/')) {
    if (part === '.') continue;
    if (part !== '..') segments.push(part);
    else if (segments.pop() === undefined) throw new UnsafeInput('its URL is refused: it leads out of its server');
  }
  const rest = segments.join('/');
  if (parent.transport === 'local') return `/${decodeURIComponent(rest)}`;
  const user = parent.username !== undefined && parent.transport === 'ssh' ? `${parent.username}@` : '';
  if (parent.scheme === 'ssh' && parent.isShort) return `${user}${parent.host}:${rest}`;
  return `${parent.scheme}://${encodeURI(user)}${parent.authority}/${rest}`;
}

/** Maps submodule paths to URLs, from `.gitmodules`. */
async function urlsOf(snapshot: Snapshot, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const found = snapshot.tree.lookup(['.gitmodules']);
  const urls = new Map<string, string>();
  if (found.kind !== 'found' || found.node.kind !== 'file' || found.node.size > 1024 * 1024) return urls;
  const contents = await snapshot.read([found.node], signal);
  const text = Buffer.from(contents.get(found.node.oid) ?? []).toString('utf8');
  for (const section of text.split(/^\s*\[/m).slice(1)) {
    const value = (name: string): string | undefined =>
      new RegExp(`^\\s*${name}\\s*=\\s*"?(.*?)"?\\s*$`, 'im').exec(section)?.[1];
    const [path, url] = [value('path'), value('url')];
    if (/^submodule\s/i.test(section) && path !== undefined && url !== undefined)
      urls.set(path.replace(/\/+$/, ''), url);
  }
  return urls;
}

/**
 * Returns one snapshot with all submodules mounted; contents are read from their own repositories.
 */
function withMounts(snapshot: Snapshot, mounts: ReadonlyMap<string, Snapshot | string>): Snapshot {
  const owners = new Map<string, Snapshot>();
  const found = [...mounts.values()].filter((mount) => typeof mount !== 'string');
  for (const mount of found) for (const oid of filesOf(mount)) owners.set(oid, mount);
  const trees = new Map(
    [...mounts].map(([path, mount]) => [path, typeof mount === 'string' ? mount : mount.tree] as const),
  );
  return {
    ...snapshot,
    tree: Tree.mounted(snapshot.tree, trees),
    read: async (blobs, signal, near) => {
      const all = new Map<string, Uint8Array>();
      for (const from of new Set([snapshot, ...owners.values()])) {
        const wanted = blobs.filter(({ oid }) => (owners.get(oid) ?? snapshot) === from);
        if (wanted.length === 0) continue;
        // The folder is one of the outer repository.
        const contents = await from.read(wanted, signal, from === snapshot ? near : undefined);
        for (const [oid, bytes] of contents) all.set(oid, bytes);
      }
      return all;
    },
  };
}

function filesOf({ tree }: Snapshot): readonly string[] {
  return [...walk(tree.root, true)].flatMap(({ node }) => (node.kind === 'file' ? [node.oid] : []));
}

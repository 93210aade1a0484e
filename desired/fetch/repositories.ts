import { Limiter } from '#base';
import type { Repository } from '#model';
import { UnsafeInput, UnsupportedSource } from '../errors.ts';
import { GitRepository } from './git-repository.ts';
import type { GitRepositoryDeps } from './git-repository.ts';
import type { KnownRefs } from './listings.ts';
import { Lru } from './lru.ts';
import { Mirrors } from './mirrors.ts';
import { repositoryKey } from './repository-key.ts';
import type { Snapshot } from './snapshot.ts';
import type { Tree } from './tree.ts';
import { checkUrl } from './untrusted.ts';
import type { SafeUrl } from './untrusted.ts';

/** Repositories that are remembered, as far as nobody is using them; their mirrors stay on disk. */
const rememberedRepositories = 4096;

const treesAtOnce = 4;
/** Memory for what remotes said that they have. */
const keptRefsBytes = 64 * 1024 * 1024;

/** One {@link GitRepository} for each address and its credentials, made when it is first asked for. */
export class GitRepositories {
  readonly #deps: GitRepositoryDeps;
  readonly #known = new Map<string, GitRepository>();
  readonly #mirrors: Mirrors;

  constructor(deps: Omit<GitRepositoryDeps, 'onUse' | 'trees'>) {
    this.#mirrors = new Mirrors(deps);
    const refs = new Lru<KnownRefs>(keptRefsBytes);
    const trees = { refs, kept: new Lru<Tree>(deps.limits.maxTreeBytes), reading: new Limiter(treesAtOnce) };
    this.#deps = { ...deps, trees, onUse: (name, grown) => this.#used(name, grown) };
  }

  /** Takes mirrors from disk that nobody asked for in a long time, and those that are too much. */
  tidy(): Promise<void> {
    return this.#mirrors.tidy((name) => this.#discard(name));
  }

  #used(name: string, grown: boolean): Promise<void> {
    return grown ? this.#mirrors.grown(name, (other) => this.#discard(other)) : this.#mirrors.used(name);
  }

  /** The folder of a mirror has the name of its repository's key. */
  async #discard(name: string): Promise<boolean> {
    return (await this.#known.get(name)?.discard()) ?? true;
  }

  /** @throws UnsafeInput, UnsupportedSource */
  of(repository: Repository): GitRepository {
    if (repository.type !== 'git') throw new UnsupportedSource(`repositories of type ${repository.type}`);
    const key = repositoryKey(repository);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const created = new GitRepository(this.#deps, this.#addressOf(repository), repository);
    this.#forgetIdle();
    this.#known.set(key, created);
    return created;
  }

  /** The files of a commit (or of the commit of a tag object). */
  async snapshot(repository: Repository, sha: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const from = this.of(repository);
    const revision = await from.ensureCommit(sha, signal);
    const tree = await from.tree(revision, again, signal);
    return { key: from.key, revision, tree, read: (blobs, inner) => from.read(blobs, inner) };
  }

  stop(reason: Error): void {
    for (const repository of this.#known.values()) repository.stop(reason);
  }

  #addressOf({ url }: Repository): SafeUrl {
    const address = checkUrl(url, this.#deps.cacheDir);
    if (address.transport !== 'local' || this.#deps.localRepositories !== false) return address;
    throw new UnsafeInput(
      'the repository URL is refused: it points to the local disk of the controller (--allow-local-repositories allows that)',
    );
  }

  /** Never one in use: two objects for one mirror would not know of each other's locks. */
  #forgetIdle(): void {
    for (const [key, repository] of this.#known) {
      if (this.#known.size < rememberedRepositories) return;
      if (repository.idle) this.#known.delete(key);
    }
  }
}

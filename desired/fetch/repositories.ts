import type { Repository } from '#model';
import { UnsupportedSource } from '../errors.ts';
import { GitRepository, repositoryKey } from './git-repository.ts';
import type { GitRepositoryDeps } from './git-repository.ts';
import type { Snapshot } from './snapshot.ts';
import { checkUrl } from './untrusted.ts';

/** Repositories that are remembered, as far as nobody is using them; their mirrors stay on disk. */
const rememberedRepositories = 4096;

/** One {@link GitRepository} for each address and its credentials, made when it is first asked for. */
export class GitRepositories {
  readonly #deps: GitRepositoryDeps;
  readonly #known = new Map<string, GitRepository>();

  constructor(deps: GitRepositoryDeps) {
    this.#deps = deps;
  }

  /** @throws UnsafeInput, UnsupportedSource */
  of(repository: Repository): GitRepository {
    if (repository.type !== 'git') throw new UnsupportedSource(`repositories of type ${repository.type}`);
    const key = repositoryKey(repository);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const created = new GitRepository(this.#deps, checkUrl(repository.url, this.#deps.cacheDir), repository);
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

  /** Never one in use: two objects for one mirror would not know of each other's locks. */
  #forgetIdle(): void {
    for (const [key, repository] of this.#known) {
      if (this.#known.size < rememberedRepositories) return;
      if (repository.idle) this.#known.delete(key);
    }
  }
}

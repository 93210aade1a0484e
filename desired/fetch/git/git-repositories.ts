import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KeyedMutex, newAbortController } from '#base';
import type { Repository, SourceAddress } from '#model';
import type { CommandResult } from '../../command/types.ts';
import { UnsupportedSource } from '../../errors.ts';
import { CommitFolders } from './commit-folders.ts';
import { describeArgs, DescribedCommits, maxCommitBytes } from './commit-facts.ts';
import type { CommitFacts } from './commit-facts.ts';
import { GitRepository } from './git-repository.ts';
import type { GitRepositoryDeps } from './git-repository.ts';
import type { KnownRefs } from './listing-caches.ts';
import { Lru } from '../shared/lru.ts';
import { TenantSlots } from '../shared/tenant-slots.ts';
import { MirrorStore } from './mirrors.ts';
import { isFullSha } from './refs.ts';
import { filesAhead, smallBlobsBytes } from './small-blobs.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import { checkoutSize, readCheckout } from '../files/checkout-bytes.ts';
import type { Snapshot } from '../files/snapshot.ts';
import type { Tree } from '../files/tree.ts';
import { checkGitUrl } from '../shared/input-checks.ts';

/** Beyond this many, idle repositories are dropped from memory; their mirrors stay on disk. */
const maxIdleRepositories = 4096;

const maxConcurrentTreeReads = 4;
/** Memory for the refs of all remotes. */
const refsCacheBytes = 64 * 1024 * 1024;

/** One {@link GitRepository} per URL and credentials, created on first use. */
export class GitRepositories {
  readonly #deps: GitRepositoryDeps;
  readonly #known = new Map<string, GitRepository>();
  readonly #mirrors: MirrorStore;
  readonly #described = new DescribedCommits();
  readonly #folders: CommitFolders;

  constructor(deps: Omit<GitRepositoryDeps, 'onUse' | 'trees' | 'folders'>) {
    this.#folders = new CommitFolders(deps);
    this.#mirrors = new MirrorStore(deps);
    const { listParallelism } = deps.limits;
    const refs = new Lru<KnownRefs>(refsCacheBytes);
    const trees = {
      refs,
      kept: new Lru<Tree>(deps.limits.maxTreeBytes),
      blobs: new Lru<Uint8Array>(smallBlobsBytes),
      reading: new TenantSlots(maxConcurrentTreeReads),
      listing: listParallelism > 0 ? new TenantSlots(listParallelism) : undefined,
    };
    const onUse: GitRepositoryDeps['onUse'] = (...use) => this.#used(...use);
    this.#deps = { ...deps, trees, folders: new KeyedMutex(), onUse };
  }

  /** Removes mirrors from disk that are unused for too long or exceed the disk limit. */
  tidy(): Promise<void> {
    return this.#mirrors.tidy((name) => this.#discard(name));
  }

  #used(name: string, project: string, grown: boolean): Promise<void> {
    return grown
      ? this.#mirrors.grown(name, project, (other) => this.#discard(other))
      : this.#mirrors.used(name, project);
  }

  /** Removes a mirror, whose folder has the repository's key as name, unless it is in use. */
  async #discard(name: string): Promise<boolean> {
    const known = this.#known.get(name);
    if (known !== undefined) return known.discard();
    const { folders, cacheDir } = this.#deps;
    return folders.run(name, newAbortController().signal, async () => {
      // A repository created meanwhile counts as in use: its first request may be preparing.
      if (this.#known.has(name)) return false;
      await rm(join(cacheDir, 'git', name), { recursive: true, force: true });
      return true;
    });
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

  /** Returns the files of a commit, or of the commit of a tag object. */
  async snapshot(repository: Repository, sha: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const from = this.of(repository);
    const revision = await from.ensureCommit(sha, signal);
    const tree = await from.tree(revision, again, signal);
    return {
      key: from.key,
      revision,
      tree,
      read: (files, inner, near) => {
        const ahead = near && { files: () => filesAhead(tree, near.folder), always: near.areDeciding };
        return readCheckout((blobs, work) => from.read(blobs, work, ahead), files, inner);
      },
      measure: (files) => Promise.resolve(files.reduce((sum, file) => sum + checkoutSize(file), 0)),
      withGitFolder: (inner, body) => this.#folders.use(from, revision, inner, body),
    };
  }

  /** Describes a commit; undefined if no mirror has it. Never asks the remote. */
  async describe(repository: Repository, commit: string, signal: AbortSignal): Promise<CommitFacts | undefined> {
    const from = this.of(repository);
    if (!isFullSha(commit) || !existsSync(from.key)) return undefined;
    const more = { signal, maxBytes: maxCommitBytes };
    const read = (): Promise<CommandResult> =>
      this.#deps.trees.reading.run(signal, () => from.inspect(describeArgs(commit), more));
    return this.#described.of(`${from.key} ${commit}`, read);
  }

  stop(reason: Error): void {
    for (const repository of this.#known.values()) repository.stop(reason);
    this.#folders.stop(reason);
  }

  #addressOf({ url }: Repository): SourceAddress {
    return checkGitUrl(url, this.#deps);
  }

  /** Never drops a repository in use: two objects for one mirror would not share their locks. */
  #forgetIdle(): void {
    for (const [key, repository] of this.#known) {
      if (this.#known.size < maxIdleRepositories) return;
      if (repository.idle) this.#known.delete(key);
    }
  }
}

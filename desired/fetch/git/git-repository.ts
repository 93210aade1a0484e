import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KeyedMutex, newAbortController, omit, tenantOf } from '#base';
import type { Clock, RandomSource } from '#base';
import type { Repository, SourceAddress } from '#model';
import type { CommandResult } from '../../command/types.ts';
import { CommandError, DesiredError, MirrorLost, RevisionNotFound, SizeLimitExceeded } from '../../errors.ts';
import { joined, parseBatch, partsOf, takeBatch } from './blob-batches.ts';
import type { PendingRead } from './blob-batches.ts';
import { readCommitTree } from './commit-tree.ts';
import type { TreeReader } from './commit-tree.ts';
import { remoteFailure } from '../shared/remote-failure.ts';
import type { Git, GitRun, MirrorCommand } from './git.ts';
import { SharedJobs } from '../shared/shared-jobs.ts';
import { refsMemoryFactor } from './listing-caches.ts';
import type { ListingCaches } from './listing-caches.ts';
import type { DesiredLimits } from '../../limits.ts';
import { MirrorFolder } from './mirror-folder.ts';
import { isFullSha, mayBeShortSha, parseRefs, resolveInRefs } from './refs.ts';
import type { ResolvedRef, Refs } from './refs.ts';
import { withGitRetries } from './retries.ts';
import type { GitAddressRules } from '../shared/input-checks.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import { SmallBlobs } from './small-blobs.ts';
import type { Blob, BlobContents, BlobsAhead } from './small-blobs.ts';
import type { Tree } from '../files/tree.ts';

export interface GitRepositoryDeps extends GitAddressRules {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly git: Git;
  readonly limits: DesiredLimits;
  readonly trees: ListingCaches;
  /** Held while a mirror's folder is created or removed, by its name. */
  readonly folders: KeyedMutex<string>;
  /** Called when a mirror is read or has grown, with the name of its folder. */
  readonly onUse?: (name: string, project: string, grown: boolean) => Promise<void>;
}

/**
 * Accept only answers whose request started after this monotonic time, and within refsTtlMs.
 */
export type FreshnessBound = number | undefined;

const refPrefix = 'refs/driftless/';

/**
 * One remote repository with one set of credentials, mirrored on demand into a bare repository. At
 * most one `git ls-remote` and one `git fetch` run at a time, and concurrent callers share the
 * result (T-REPO-1). Each set of credentials has its own directory, so what one fetched is never
 * visible to another.
 */
export class GitRepository {
  readonly #deps: GitRepositoryDeps;
  readonly #url: SourceAddress;
  readonly #repository: Repository;
  readonly #directory: string;
  readonly #folder: MirrorFolder;
  readonly #locks = new KeyedMutex<'list' | 'write'>();
  readonly #listings: SharedJobs<Refs>;
  readonly #commits: SharedJobs<string>;
  readonly #trees: SharedJobs<Tree>;
  readonly #small: SmallBlobs;
  /** Verified objects: the requested full SHA (of a commit or an annotated tag) to its commit. */
  readonly #present = new Map<string, string>();
  #started = 0;
  #startedAt = 0;
  #finished = 0;
  #generation = 0;
  #fetches = 0;
  /** Set once a caller needs full history. */
  #deep = false;
  #reads: PendingRead[] = [];
  #reading = false;

  constructor(deps: GitRepositoryDeps, url: SourceAddress, repository: Repository) {
    this.#deps = deps;
    this.#url = url;
    this.#repository = repository;
    this.#directory = join(deps.cacheDir, 'git', repositoryKey(repository));
    this.#small = new SmallBlobs(deps.trees.blobs, this.#directory);
    const init = (path: string, signal: AbortSignal): Promise<CommandResult> =>
      this.#git(['init', '--quiet', '--bare', '--template=', path], signal, {});
    this.#folder = new MirrorFolder({ path: this.#directory, url: url.url, locks: deps.folders, init });
    const { clock, limits } = deps;
    this.#listings = new SharedJobs({ clock, limitMs: limits.deadlineMs });
    this.#commits = new SharedJobs({ clock, limitMs: limits.fetchTimeoutMs, keepGoing: true });
    this.#trees = new SharedJobs({ clock, limitMs: limits.deadlineMs });
  }

  /** Unique per URL and credentials. */
  get key(): string {
    return this.#directory;
  }

  /** The URL without user and password. */
  get url(): string {
    return this.#url.url;
  }

  /** Removes the mirror from disk unless it is in use. The next request fetches it again. */
  async discard(): Promise<boolean> {
    if (!this.idle) return false;
    const { signal } = newAbortController();
    await this.#locks.run('write', signal, () => this.#throwAway(signal));
    return true;
  }

  /** Nothing is in flight, so the object may be dropped. */
  get idle(): boolean {
    return this.#listings.idle && this.#commits.idle && this.#trees.idle && !this.#reading;
  }

  stop(reason: Error): void {
    this.#listings.stop(reason);
    this.#commits.stop(reason);
    this.#trees.stop(reason);
  }

  /**
   * Resolves `revision` (validated by checkRevision) to a commit. Versions and constraints refer to
   * tags with the prefix `tagPrefix`. A full SHA is returned without a request.
   * @throws RevisionNotFound, RepositoryError
   */
  async resolve(revision: string, after: FreshnessBound, signal: AbortSignal, tagPrefix?: string): Promise<string> {
    return (await this.lookup(revision, after, signal, tagPrefix)).commit;
  }

  /** Like {@link resolve}, plus the tag object if `revision` names an annotated tag. */
  async lookup(revision: string, after: FreshnessBound, signal: AbortSignal, tagPrefix?: string): Promise<ResolvedRef> {
    if (isFullSha(revision)) return { commit: revision.toLowerCase() };
    const found = resolveInRefs(revision, await this.#listRefs(after, signal), tagPrefix);
    if (found !== undefined) return found;
    if (mayBeShortSha(revision)) return { commit: await this.#expand(revision.toLowerCase(), signal) };
    throw new RevisionNotFound(revision === '' ? 'HEAD' : revision, { fields: { repository: this.#url.url } });
  }

  /**
   * Returns the refs, from memory while fresh. A running listing that started before `after` may
   * miss the push that the caller knows of, so the caller waits for the next listing, which all
   * waiting callers share.
   */
  async #listRefs(after: FreshnessBound, signal: AbortSignal): Promise<Refs> {
    const cached = this.#deps.trees.refs.get(this.#directory);
    const mustBegin = Math.max(after ?? -Infinity, this.#deps.clock.monotonic() - this.#deps.limits.refsTtlMs);
    if (cached !== undefined && cached.at > mustBegin) return cached.refs;
    const underWay = this.#finished < this.#started;
    const isNewEnough = after === undefined || this.#startedAt > after;
    const turn = underWay && isNewEnough ? this.#started : this.#started + 1;
    return this.#listings.run(String(turn), `listing the refs of ${this.#url.url}`, signal, (work) =>
      this.#locks.run('list', work, () => this.#list(work)),
    );
  }

  async #list(signal: AbortSignal): Promise<Refs> {
    this.#started += 1;
    const at = this.#deps.clock.monotonic();
    this.#startedAt = at;
    try {
      await this.#folder.prepare(signal);
      const { maxRefsBytes: maxBytes } = this.#deps.limits;
      const result = await this.#lsRemote(signal).catch((error: unknown) => {
        if (!(error instanceof CommandError) || error.code !== 'COMMAND_OUTPUT') throw error;
        throw new SizeLimitExceeded(`the list of the refs of the repository has more than ${maxBytes} bytes`);
      });
      if (result.exitCode !== 0) throw remoteFailure('failed to list refs', this.#url.url, result.stderr);
      const refs = parseRefs(textOf(result));
      this.#deps.trees.refs.set(
        this.#directory,
        { refs, at },
        result.stdout.length * refsMemoryFactor,
        tenantOf(signal).project,
      );
      return refs;
    } finally {
      this.#finished = this.#started;
    }
  }

  #lsRemote(signal: AbortSignal): Promise<CommandResult> {
    const { clock, limits, trees } = this.#deps;
    const { fetchTimeoutMs, gitRequestTimeoutMs, maxRefsBytes: maxBytes } = limits;
    const isBounded = this.#url.transport === 'http' && gitRequestTimeoutMs > 0;
    const timeoutMs = isBounded ? gitRequestTimeoutMs : fetchTimeoutMs;
    const list = (): Promise<CommandResult> =>
      this.#git(['ls-remote', 'source'], signal, { remote: true, maxBytes, timeoutMs });
    return withGitRetries(limits.gitRetry, { clock, signal }, () => trees.listing?.run(signal, list) ?? list());
  }

  /**
   * Fetches the commit if it is missing and returns its full SHA; an annotated tag is peeled.
   * @throws DesiredError DESIRED_REVISION if the remote does not have it, RepositoryError
   */
  async ensureCommit(sha: string, signal: AbortSignal): Promise<string> {
    const present = this.#present.get(sha);
    if (present !== undefined) return present;
    return this.#commits.run(sha, `fetching ${sha} of ${this.#url.url}`, signal, (work) =>
      this.#locks.run('write', work, async () => {
        await this.#folder.prepare(work);
        const commit =
          this.#present.get(sha) ?? (await this.#commitOf(sha, work)) ?? (await this.#fetchCommit(sha, work));
        this.#present.set(sha, commit);
        return commit;
      }),
    );
  }

  /**
   * Fetches the missing ancestors of a commit. Mirrors are usually shallow, and git treats the
   * boundary commits as roots. From now on fetches into this mirror are not shallow.
   * @throws DesiredError DESIRED_HISTORY if the remote lacks them itself
   */
  async ensureHistory(commit: string, signal: AbortSignal): Promise<void> {
    this.#deep = true;
    const generation = this.#generation;
    const fault = await this.#commits.run(`history ${commit}`, `fetching the history of ${commit}`, signal, (work) =>
      this.#locks.run('write', work, () => this.#completed(commit, work)),
    );
    if (fault !== '') throw await this.#broken(`the history of ${commit}`, generation, fault);
  }

  /** Returns '' or the reason why the history cannot be read. */
  async #completed(commit: string, signal: AbortSignal): Promise<string> {
    const before = await this.#cutOff(commit, signal);
    if (before !== true) return before === false ? '' : before;
    const result = await this.#fetch(['--unshallow', 'source', `+${commit}:${refPrefix}${commit}`], signal);
    if (result.exitCode !== 0)
      throw remoteFailure(`failed to fetch the history of ${commit}`, this.#url.url, result.stderr);
    const after = await this.#cutOff(commit, signal);
    if (after !== true) return after === false ? '' : after;
    throw new DesiredError('DESIRED_HISTORY', `the repository does not have the whole history of ${commit}`, {
      fields: { repository: this.#url.url },
    });
  }

  /** Reports whether ancestors of a commit are missing; a text explains why that is unknown. */
  async #cutOff(commit: string, signal: AbortSignal): Promise<boolean | string> {
    const list = await readFile(join(this.#directory, 'shallow'), 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    const ends = new Set(list.split('\n').filter(isFullSha));
    if (ends.size === 0) return false;
    const ancestors = await this.inspect(['rev-list', commit], { signal });
    if (ancestors.exitCode !== 0) return ancestors.stderr.trim() || 'git rev-list failed';
    return textOf(ancestors)
      .split('\n')
      .some((sha) => ends.has(sha));
  }

  /**
   * Returns the output of a read-only git command that cannot fail on a sound mirror. `what` names
   * the object in errors.
   */
  async examine(
    args: readonly string[],
    what: string,
    more: { readonly signal: AbortSignal; readonly keyring?: string },
  ): Promise<string> {
    const generation = this.#generation;
    const result = await this.inspect(args, more);
    if (result.exitCode !== 0) throw await this.#broken(what, generation, result.stderr);
    return textOf(result);
  }

  /** Runs a read-only git command on the mirror. Returns the result even if it failed. */
  inspect(
    args: readonly string[],
    more: { readonly signal: AbortSignal } & Omit<MirrorCommand, 'remote' | 'timeoutMs'>,
  ): Promise<CommandResult> {
    const { signal, ...rest } = more;
    return this.#git(args, signal, { ...rest, timeoutMs: this.#deps.limits.deadlineMs });
  }

  async #fetchCommit(sha: string, signal: AbortSignal): Promise<string> {
    const depth = this.#deep ? 0 : this.#deps.limits.fetchDepth;
    const shallow = depth > 0 ? [`--depth=${depth}`] : [];
    const one = await this.#fetch([...shallow, 'source', `+${sha}:${refPrefix}${sha}`], signal);
    let commit = await this.#commitOf(sha, signal);
    if (commit !== undefined) return commit;
    if (one.exitCode !== 0 && !/not our ref|unadvertised object|does not support shallow/i.test(one.stderr))
      throw remoteFailure(`failed to fetch ${sha}`, this.#url.url, one.stderr);
    // Old servers refuse requests for single commits; fetch the refs that lead to them.
    await this.#fetchAll(signal);
    commit = await this.#commitOf(sha, signal);
    if (commit !== undefined) return commit;
    throw new DesiredError(
      'DESIRED_REVISION',
      `Failed to checkout revision ${sha}: the repository does not have this commit`,
      { fields: { repository: this.#url.url } },
    );
  }

  /** Fetches all branches and tags with their history. */
  async #fetchAll(signal: AbortSignal): Promise<void> {
    const shallow = await readdir(this.#directory).then((names) => names.includes('shallow'));
    const result = await this.#fetch(
      [
        '--prune',
        ...(shallow ? ['--unshallow'] : []),
        'source',
        '+refs/heads/*:refs/remotes/source/*',
        '+refs/tags/*:refs/tags/*',
      ],
      signal,
    );
    if (result.exitCode !== 0) throw remoteFailure('Failed to fetch default', this.#url.url, result.stderr);
  }

  /**
   * Fetches, and retries once after a repair of the mirror. This process owns the directory and
   * holds the mutex, so git's lock file can only come from a killed git (Argo CD #7898).
   */
  async #fetch(args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    const all = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--force', ...args];
    this.#fetches += 1;
    if (this.#fetches % this.#deps.limits.fetchesPerCleanup === 0) await this.#cleanUp(signal);
    let result = await this.#fetchOnce(all, signal);
    const isRepaired = await this.#folder.repair(result, async () => {
      await this.#throwAway(signal);
      await this.#folder.prepare(signal);
    });
    if (isRepaired) result = await this.#fetchOnce(all, signal);
    await this.#deps.onUse?.(this.#folder.name, tenantOf(signal).project, true);
    return result;
  }

  /**
   * A mirror may exceed the limit because of old objects: drop it, so the next fetch starts empty.
   */
  async #fetchOnce(args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    const { maxMirrorBytes: maxPackBytes } = this.#deps.limits;
    try {
      return await this.#git(args, signal, { remote: true, maxPackBytes });
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== 'COMMAND_DISK') throw error;
      await this.#throwAway(newAbortController().signal);
      throw new SizeLimitExceeded(`what was to be fetched of the repository has more than ${maxPackBytes} bytes`);
    }
  }

  /**
   * Drops the commits that were fetched longest ago. Unreachable objects younger than an hour stay,
   * for reads in flight.
   */
  async #cleanUp(signal: AbortSignal): Promise<void> {
    const kept = Math.ceil(this.#deps.limits.fetchesPerCleanup / 2);
    const old = [...this.#present.keys()].slice(0, -kept);
    const stdin = old.map((sha) => `delete ${refPrefix}${sha}\n`).join('');
    for (const sha of old) this.#present.delete(sha);
    await this.#git(['update-ref', '--stdin'], signal, { stdin });
    await this.#git(['gc', '--quiet', '--prune=1.hour.ago'], signal, {});
  }

  async #commitOf(sha: string, signal: AbortSignal): Promise<string | undefined> {
    const result = await this.#git(
      ['rev-parse', '--verify', '--quiet', '--end-of-options', `${sha}^{commit}`],
      signal,
      {},
    );
    const commit = textOf(result).trim();
    return result.exitCode === 0 && isFullSha(commit) ? commit : undefined;
  }

  async #expand(short: string, signal: AbortSignal): Promise<string> {
    return this.#commits.run(`short ${short}`, `looking for ${short} in ${this.#url.url}`, signal, (work) =>
      this.#locks.run('write', work, async () => {
        await this.#folder.prepare(work);
        const known = await this.#commitOf(short, work);
        if (known !== undefined) return known;
        await this.#fetchAll(work);
        const commit = await this.#commitOf(short, work);
        if (commit === undefined) throw new RevisionNotFound(short, { fields: { repository: this.#url.url } });
        return commit;
      }),
    );
  }

  /** Returns the files of a commit in the mirror. `again` bypasses the cache. */
  async tree(commit: string, again: boolean, signal: AbortSignal): Promise<Tree> {
    await this.#deps.onUse?.(this.#folder.name, tenantOf(signal).project, false);
    const { kept, reading } = this.#deps.trees;
    const key = `${this.#directory} ${commit}`;
    if (again) kept.delete(key);
    const cached = kept.get(key);
    if (cached !== undefined) return cached;
    return this.#trees.run(commit, `listing the files of ${commit}`, signal, (work) =>
      reading.run(work, async () => {
        const tree = await this.#readTree(commit, work);
        kept.set(key, tree, tree.weight, tenantOf(work).project);
        return tree;
      }),
    );
  }

  #readTree(commit: string, signal: AbortSignal): Promise<Tree> {
    const from: TreeReader = {
      directory: this.#directory,
      random: this.#deps.random,
      limits: this.#deps.limits,
      read: (blobs, inner) => this.read(blobs, inner),
      run: async (args, more) => {
        const generation = this.#generation;
        const result = await this.#git(args, signal, more);
        if (result.exitCode !== 0) throw await this.#broken(commit, generation, result.stderr);
        return result.stdout;
      },
    };
    return readCommitTree(commit, from, signal);
  }

  /**
   * Reads blobs by object id. Requests that arrive while git is running share the next git process,
   * so a thousand concurrent renders need only a few.
   * @param ahead read and kept as well if a blob is not kept yet and git is busy, or `always`
   */
  read(blobs: readonly Blob[], signal: AbortSignal, ahead?: BlobsAhead): Promise<BlobContents> {
    const readMissing = (missing: readonly Blob[]): Promise<BlobContents> => this.#readBlobs(missing, signal);
    if (ahead === undefined || !(ahead.always || this.#reading)) return this.#small.read(blobs, readMissing);
    return this.#small.readAhead(blobs, ahead.files, readMissing, tenantOf(signal).project);
  }

  async #readBlobs(blobs: readonly Blob[], signal: AbortSignal): Promise<BlobContents> {
    signal.throwIfAborted();
    const parts = partsOf(blobs).map(
      (part) =>
        new Promise<ReadonlyMap<string, Uint8Array>>((resolve, reject) => {
          this.#reads.push({ blobs: part, resolve, reject });
        }),
    );
    void this.#drainReads();
    return joined(await Promise.all(parts));
  }

  async #drainReads(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    // Let requests of this turn of the event loop join the batch.
    await Promise.resolve();
    while (this.#reads.length > 0) {
      const batch = takeBatch(this.#reads);
      try {
        const contents = await this.#catFile(new Map(batch.flatMap((read) => read.blobs.map((b) => [b.oid, b.size]))));
        for (const read of batch) read.resolve(contents);
      } catch (error) {
        for (const read of batch) read.reject(error as Error);
      }
    }
    this.#reading = false;
  }

  /** The batch belongs to several callers, so no single signal may abort it; the deadline does. */
  async #catFile(sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, Uint8Array>> {
    const generation = this.#generation;
    let bytes = 0;
    for (const size of sizes.values()) bytes += size + 128;
    const stdin = [...sizes.keys()].map((oid) => `${oid}\n`).join('');
    const result = await this.#git(['cat-file', '--batch', '--buffer'], newAbortController().signal, {
      stdin,
      maxBytes: bytes + 1024,
      timeoutMs: this.#deps.limits.deadlineMs,
    });
    const contents = result.exitCode === 0 ? parseBatch(result.stdout, sizes) : undefined;
    if (contents === undefined) throw await this.#broken('a file', generation, result.stderr);
    return contents;
  }

  /**
   * Objects of the mirror are missing: a disk fault, or someone changed the cache. Drops the
   * mirror, once for all callers that noticed.
   */
  async #broken(what: string, generation: number, stderr: string): Promise<MirrorLost> {
    const { signal } = newAbortController();
    await this.#locks.run('write', signal, async () => {
      if (this.#generation === generation) await this.#throwAway(signal);
    });
    return new MirrorLost(what, stderr.trim().split('\n')[0] ?? '');
  }

  /** Called with the lock `write`; waits for a listing, which runs in the same folder. */
  #throwAway(signal: AbortSignal): Promise<void> {
    return this.#locks.run('list', signal, () => {
      this.#generation += 1;
      this.#present.clear();
      return this.#folder.remove(signal);
    });
  }

  #git(args: readonly string[], signal: AbortSignal, more: MirrorCommand): Promise<CommandResult> {
    const { fetchTimeoutMs, maxListingBytes } = this.#deps.limits;
    const run: GitRun = {
      directory: this.#directory,
      signal,
      timeoutMs: fetchTimeoutMs,
      maxBytes: maxListingBytes,
      ...omit(more, 'remote'),
      ...(more.remote === undefined ? {} : { remote: { url: this.#url, repository: this.#repository } }),
    };
    return this.#deps.git.run(args, run);
  }
}

function textOf(result: CommandResult): string {
  return Buffer.from(result.stdout).toString('utf8');
}

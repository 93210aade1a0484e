import { outsideText } from '#base';
import type { CommandResult } from '../command/types.ts';
import { DesiredError, RepositoryError } from '../errors.ts';
import type { Git, GitRun } from '../fetch/git/git.ts';
import { remoteFailure } from '../fetch/shared/remote-failure.ts';
import type { GitRemote } from '../fetch/git/git-redirects.ts';
import { isFullSha } from '../fetch/git/refs.ts';
import type { DesiredLimits } from '../limits.ts';
import { importStream } from './fast-import.ts';
import type { ImportedCommit } from './fast-import.ts';
import { BranchMoved, pushFailure } from './push-result.ts';

export interface WorkRepositoryDeps {
  readonly git: Git;
  readonly limits: DesiredLimits;
  /** An empty folder of its own. */
  readonly folder: string;
  readonly remote: GitRemote;
}

/** The refs of the remote. */
export interface RemoteRefs {
  /** Without `refs/heads/`; undefined if HEAD is no branch. */
  readonly defaultBranch: string | undefined;
  readonly tips: ReadonlyMap<string, string>;
}

/** An entry of a commit: a symbolic link is a blob, a submodule a commit. */
export interface TreeEntryFacts {
  readonly oid: string;
  readonly type: string;
}

/** A new commit for a ref, and the one it must have now; undefined: it must not exist. */
export interface PushOrder {
  readonly ref: string;
  readonly sha: string;
  readonly expected: string | undefined;
  readonly beforeSend: () => void;
}

/**
 * A bare repository for one hydration: shallow copies of the branch and its notes, and the new
 * commits. Paths travel on standard input; a ref in an argument begins with `refs/`.
 */
export class WorkRepository {
  readonly #deps: WorkRepositoryDeps;
  readonly #present = new Set<string>();

  constructor(deps: WorkRepositoryDeps) {
    this.#deps = deps;
  }

  async init(signal: AbortSignal): Promise<void> {
    const result = await this.#git(['init', '--quiet', '--bare', '--template=', this.#deps.folder], { signal });
    if (result.exitCode !== 0) throw new RepositoryError(`Failed to initialize git repo: ${result.stderr.trim()}`);
  }

  async refs(signal: AbortSignal): Promise<RemoteRefs> {
    const { limits, remote } = this.#deps;
    const listing = { signal, remote, maxBytes: limits.maxRefsBytes, timeoutMs: limits.fetchTimeoutMs };
    const result = await this.#git(['ls-remote', '--symref', 'source'], listing);
    if (result.exitCode !== 0) throw remoteFailure('failed to list refs', remote.url.url, result.stderr);
    const lines = textOf(result).split('\n');
    const tips = lines.map((line) => line.split('\t')).filter(([sha = '', ref]) => isFullSha(sha) && ref !== undefined);
    const head = lines
      .map((line) => /^ref: refs\/heads\/(.+)\tHEAD$/.exec(line)?.[1])
      .find((name) => name !== undefined);
    return { defaultBranch: head, tips: new Map(tips.map(([sha = '', ref = '']) => [ref, sha])) };
  }

  /** Fetches commits without their history. @throws BranchMoved if one is no longer a tip */
  async fetch(commits: readonly string[], signal: AbortSignal): Promise<void> {
    const missing = [...new Set(commits)].filter((sha) => !this.#present.has(sha));
    if (missing.length === 0) return;
    const { limits, remote } = this.#deps;
    const specs = missing.map((sha) => `+${sha}:refs/driftless/fetched/${sha}`);
    const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--force', '--depth=1', 'source', ...specs];
    const bounds = { timeoutMs: limits.fetchTimeoutMs, maxPackBytes: limits.maxMirrorBytes };
    const result = await this.#git(args, { signal, remote, ...bounds });
    if (result.exitCode !== 0) {
      if (/not our ref|unadvertised object|couldn't find remote ref/i.test(result.stderr))
        throw new BranchMoved('the branch');
      throw remoteFailure('failed to clone repo', remote.url.url, result.stderr);
    }
    for (const sha of missing) this.#present.add(sha);
  }

  /** The entries of a commit at these paths; a missing one is left out. */
  async entries(
    commit: string,
    paths: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, TreeEntryFacts>> {
    const stdin = paths.map((path) => `${commit}:${path}\n`).join('');
    const result = await this.#git(['cat-file', '--batch-check=%(objectname) %(objecttype)'], { signal, stdin });
    const lines = textOf(result).split('\n');
    if (result.exitCode !== 0 || lines.length < paths.length) throw unreadable(result);
    const found = paths.flatMap((path, i) => {
      const [oid = '', type = ''] = (lines[i] ?? '').split(' ');
      // Any other line says that the entry is missing, or (a submodule) that its object is.
      return isFullSha(oid) ? [[path, { oid, type }] as const] : [];
    });
    return new Map(found);
  }

  /** Creates commits, and returns their IDs. */
  async importCommits(commits: readonly ImportedCommit[], signal: AbortSignal): Promise<readonly string[]> {
    const args = ['fast-import', '--quiet', '--force', '--done', '--date-format=raw'];
    const result = await this.#git(args, { signal, stdin: importStream(commits) });
    const ids = textOf(result).split('\n').filter(isFullSha);
    if (result.exitCode !== 0 || ids.length !== commits.length)
      throw new DesiredError('DESIRED_REPOSITORY', `failed to commit: ${lastLine(result.stderr)}`);
    for (const id of ids) this.#present.add(id);
    return ids;
  }

  /** The note of a commit, without its line end; undefined if there is none. */
  async noteOf(notes: string, commit: string, signal: AbortSignal): Promise<string | undefined> {
    const args = ['notes', `--ref=refs/notes/fetched`, 'show', commit];
    const set = await this.#git(['update-ref', 'refs/notes/fetched', notes], { signal });
    if (set.exitCode !== 0) throw unreadable(set);
    const result = await this.#git(args, { signal });
    return result.exitCode === 0 ? textOf(result).trim() : undefined;
  }

  /** @throws BranchMoved, RepositoryError */
  async push({ ref, sha, expected, beforeSend }: PushOrder, signal: AbortSignal): Promise<void> {
    const { limits, remote } = this.#deps;
    const args = ['push', '--porcelain', `--force-with-lease=${ref}:${expected ?? ''}`, 'source', `${sha}:${ref}`];
    beforeSend();
    const result = await this.#git(args, { signal, remote, timeoutMs: limits.fetchTimeoutMs });
    if (result.exitCode === 0) return;
    throw pushFailure(ref, textOf(result), result.stderr);
  }

  #git(
    args: readonly string[],
    run: Omit<GitRun, 'directory' | 'timeoutMs'> & { readonly timeoutMs?: number },
  ): Promise<CommandResult> {
    const { git, limits, folder } = this.#deps;
    return git.run(args, { timeoutMs: limits.deadlineMs, ...run, directory: folder });
  }
}

function textOf({ stdout }: CommandResult): string {
  return Buffer.from(stdout).toString('utf8');
}

function unreadable({ stderr }: CommandResult): DesiredError {
  return new DesiredError('DESIRED_REPOSITORY', `cannot read the fetched branch: ${lastLine(stderr)}`);
}

function lastLine(stderr: string): string {
  return outsideText('program', stderr.trim().split('\n').at(-1) ?? '');
}

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbort, KeyedMutex, messageOf, untilAborted } from '#base';
import type { Clock, RandomSource } from '#base';
import type { Repository, SourceAddress } from '#model';
import type { Logger } from '#telemetry';
import { CommandError, DesiredError, RepositoryError, UnsafeInput, UnsupportedSource } from '../errors.ts';
import type { Git } from '../fetch/git/git.ts';
import { checkGitUrl, checkRepository } from '../fetch/shared/input-checks.ts';
import type { GitAddressRules } from '../fetch/shared/input-checks.ts';
import { repositoryKey } from '../fetch/shared/repository-key.ts';
import type { DesiredLimits } from '../limits.ts';
import { blobIdOf, checkBranch, filesOf, foldersOf, gitAttributes, pathMetadata } from './branch-files.ts';
import type { BranchFile, PathFiles } from './branch-files.ts';
import { cleanMessage } from './commit-texts.ts';
import { identityText, markOf } from './fast-import.ts';
import type { CommitIdentity, ImportedCommit } from './fast-import.ts';
import type { HydrationTexts } from './hydration-texts.ts';
import { BranchMoved } from './push-result.ts';
import { WorkRepository } from './work-repository.ts';
import type { HydrationCommit, HydrationCommitter } from './types.ts';
import { makeFolder } from '../fetch/shared/disk-failure.ts';

export interface GitCommitterDeps extends GitAddressRules {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly git: Git;
  readonly limits: DesiredLimits;
  readonly texts: HydrationTexts;
}

/** A branch that others keep moving is left to the next hydration. */
const maxAttempts = 5;
/** Argo CD's namespace of the notes that name the dry commit. */
const notesRef = 'refs/notes/hydrator.metadata';

/** The state of the destination branch, and the paths that must be written. */
interface BranchPlan {
  /** The present tip of the target branch; undefined: it must be created. */
  readonly tip: string | undefined;
  /** The commit to build on; undefined: the sync branch must be created too. */
  readonly base: string | undefined;
  readonly changed: readonly PathFiles[];
}

/**
 * Commits hydrated manifests with git in the command helper: fetches the tip of the branch, writes
 * the commit with `git fast-import`, and pushes it under a lease, never by force. If the branch
 * moved, it starts again from the new tip. A push whose outcome is unknown is looked up, so one
 * hydration makes one commit.
 */
export class GitCommitter implements HydrationCommitter {
  readonly name = 'hydrator commits';
  readonly #deps: GitCommitterDeps;
  readonly #locks = new KeyedMutex<string>();

  constructor(deps: GitCommitterDeps) {
    this.#deps = deps;
  }

  /** Removes what a killed process has left; each commit removes its own folder. */
  async run(signal: AbortSignal): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true }).catch((error: unknown) => {
      this.#deps.logger.warn('Files of an earlier process that hydrated sources cannot be removed', { error });
    });
    await untilAborted(signal);
  }

  get texts(): HydrationTexts {
    return this.#deps.texts;
  }

  get maxBytes(): number {
    return this.#deps.limits.maxCommitBytes;
  }

  get #folder(): string {
    return join(this.#deps.cacheDir, 'hydrator');
  }

  commit(request: HydrationCommit, signal: AbortSignal): Promise<string> {
    const { repository, targetBranch } = request;
    const lock = `${repositoryKey(repository)} ${targetBranch}`;
    return this.#locks.run(lock, signal, async () => {
      const folder = join(this.#folder, this.#deps.random.uuid());
      await makeFolder(folder);
      try {
        return await this.#commitIn(folder, request, signal);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }

  async #commitIn(folder: string, request: HydrationCommit, signal: AbortSignal): Promise<string> {
    checkBranch(request.syncBranch);
    checkBranch(request.targetBranch);
    if (cleanMessage(request.message) === '') throw new DesiredError('DESIRED_TEMPLATE', 'the commit message is empty');
    const own = { template: request.readmeTemplate, project: request.project };
    const metadata = request.paths.map(({ commands }) => pathMetadata(request, commands));
    const readmes = await this.texts.readmes(own, metadata, signal);
    const files = filesOf(request, { maxCommitBytes: this.maxBytes, readmes });
    const work = new WorkRepository({ ...this.#deps, folder, remote: this.#remoteOf(request.repository) });
    await work.init(signal);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const sha = await this.#once(work, request, files, signal);
        await this.#note(work, request, sha, signal);
        return sha;
      } catch (error) {
        if (!(error instanceof BranchMoved) || attempt >= maxAttempts) throw error;
      }
    }
  }

  #remoteOf(repository: Repository): { readonly url: SourceAddress; readonly repository: Repository } {
    checkRepository(repository);
    if (repository.type !== 'git') throw new UnsupportedSource(`hydration to repositories of type ${repository.type}`);
    return { url: checkGitUrl(repository.url, this.#deps), repository };
  }

  /** Returns the commit of the branch that has the manifests. @throws BranchMoved */
  async #once(
    work: WorkRepository,
    request: HydrationCommit,
    files: ReturnType<typeof filesOf>,
    signal: AbortSignal,
  ): Promise<string> {
    const plan = await this.#plan(work, request, files.paths, signal);
    if (plan.changed.length === 0 && plan.base !== undefined) {
      const { base: sha, tip } = plan;
      if (tip === undefined) await this.#push(work, request, { branch: request.targetBranch, tip, sha });
      return sha;
    }
    const root = [files.root, ...(await this.#missingAttributes(work, plan, signal))];
    const ids = await work.importCommits(this.#commitsOf(request, plan, root), signal);
    const sha = ids.at(-1) ?? '';
    const { syncBranch, targetBranch } = request;
    if (plan.base === undefined && syncBranch !== targetBranch)
      await this.#push(work, request, { branch: syncBranch, tip: undefined, sha: ids[0] ?? '' });
    await this.#push(work, request, { branch: targetBranch, tip: plan.tip, sha });
    return sha;
  }

  async #plan(
    work: WorkRepository,
    request: HydrationCommit,
    paths: readonly PathFiles[],
    signal: AbortSignal,
  ): Promise<BranchPlan> {
    const refs = await work.refs(signal);
    const { targetBranch, syncBranch } = request;
    if (request.isDryDefaultBranch && refs.defaultBranch === targetBranch)
      throw new UnsafeInput(
        `app is configured to hydrate to its own dry source (branch ${JSON.stringify(targetBranch)} is the default branch): hydrate to another branch`,
      );
    const tip = refs.tips.get(`refs/heads/${targetBranch}`);
    const base = tip ?? refs.tips.get(`refs/heads/${syncBranch}`);
    const notes = refs.tips.get(notesRef);
    await work.fetch(
      [base, notes].filter((sha) => sha !== undefined),
      signal,
    );
    const changed = base === undefined ? paths : await this.#changedPaths(work, base, { paths, signal });
    return { tip, base, changed };
  }

  /** The paths whose manifests differ. @throws UnsafeInput if a folder of a path is none */
  async #changedPaths(
    work: WorkRepository,
    base: string,
    { paths, signal }: { readonly paths: readonly PathFiles[]; readonly signal: AbortSignal },
  ): Promise<readonly PathFiles[]> {
    const folders = [...new Set(paths.flatMap(({ path }) => foldersOf(path)))];
    const manifests = paths.map(({ manifest }) => manifest.path);
    const entries = await work.entries(base, [...folders, ...manifests], signal);
    const misplaced = folders.find((folder) => !['tree', undefined].includes(entries.get(folder)?.type));
    if (misplaced !== undefined)
      throw new UnsafeInput(
        `${JSON.stringify(misplaced)} is a file, a symbolic link or a submodule in the branch: hydrate to another path, or remove it`,
      );
    const hash = base.length === 64 ? 'sha256' : 'sha1';
    return paths.filter(({ manifest }) => entries.get(manifest.path)?.oid !== blobIdOf(manifest.content, hash));
  }

  async #missingAttributes(
    work: WorkRepository,
    { base }: BranchPlan,
    signal: AbortSignal,
  ): Promise<readonly BranchFile[]> {
    if (base === undefined) return [gitAttributes];
    const present = await work.entries(base, [gitAttributes.path], signal);
    return present.has(gitAttributes.path) ? [] : [gitAttributes];
  }

  /** The empty first commit of a new sync branch, if there is none, and the hydrated commit. */
  #commitsOf(request: HydrationCommit, plan: BranchPlan, root: readonly BranchFile[]): readonly ImportedCommit[] {
    const identity = this.#identityOf(request);
    const initial = {
      ref: 'refs/driftless/initial',
      identity,
      from: undefined,
      message: `Initial commit for ${request.syncBranch}\n`,
    };
    const files = [...root, ...plan.changed.flatMap(({ manifest, others }) => [manifest, ...others])];
    const commit = { ref: 'refs/driftless/hydrated', identity, files, message: cleanMessage(request.message) };
    return plan.base === undefined ? [initial, { ...commit, from: markOf(0) }] : [{ ...commit, from: plan.base }];
  }

  #identityOf({ author }: HydrationCommit): CommitIdentity {
    return {
      name: identityText(author.name, 'Argo CD'),
      email: identityText(author.email, 'argo-cd@example.com'),
      seconds: Math.floor(this.#deps.clock.now() / 1000),
    };
  }

  /** Pushes one commit, and looks up the branch if the outcome is unknown. @throws BranchMoved */
  async #push(
    work: WorkRepository,
    request: HydrationCommit,
    { branch, tip, sha }: { readonly branch: string; readonly tip: string | undefined; readonly sha: string },
  ): Promise<void> {
    const ref = `refs/heads/${branch}`;
    try {
      await request.fenced(({ signal, beforeSend }) => work.push({ ref, sha, expected: tip, beforeSend }, signal));
    } catch (error) {
      if (isAbort(error) || !isUncertain(error)) throw error;
      const now = await request.fenced(({ signal }) => work.refs(signal)).catch(() => undefined);
      if (now?.tips.get(ref) === sha) return;
      throw error;
    }
  }

  /** Notes the dry commit at the hydrated one; others write notes of their branches meanwhile. */
  async #note(work: WorkRepository, request: HydrationCommit, sha: string, signal: AbortSignal): Promise<void> {
    const text = `{"drySha":${JSON.stringify(request.drySha)}}\n`;
    for (let attempt = 1; ; attempt += 1) {
      const tip = (await work.refs(signal)).tips.get(notesRef);
      if (tip !== undefined) await work.fetch([tip], signal);
      if (tip !== undefined && (await work.noteOf(tip, sha, signal)) === text.trim()) return;
      const commit = {
        ref: 'refs/driftless/notes',
        identity: this.#identityOf(request),
        from: tip,
        message: "Notes added by 'git notes add'\n",
        note: { commit: sha, text },
      };
      const [id = ''] = await work.importCommits([commit], signal);
      try {
        await request.fenced(({ signal: inner, beforeSend }) =>
          work.push({ ref: notesRef, sha: id, expected: tip, beforeSend }, inner),
        );
        return;
      } catch (error) {
        if (isAbort(error)) throw error;
        if (!(error instanceof BranchMoved) || attempt >= maxAttempts)
          throw new RepositoryError(`failed to add commit note: ${messageOf(error)}`, { cause: error });
      }
    }
  }
}

/** The server may have taken a push that did not end. */
function isUncertain(error: unknown): boolean {
  return error instanceof CommandError || (error instanceof DesiredError && !(error instanceof BranchMoved));
}

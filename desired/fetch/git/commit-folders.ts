import { existsSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, RandomSource } from '#base';
import { CacheUnwritable, CommandError, RepositoryError, SizeLimitExceeded } from '../../errors.ts';
import type { CommandResult } from '../../command/types.ts';
import type { DesiredLimits } from '../../limits.ts';
import { diskRefusalIn, makeFolder } from '../shared/disk-failure.ts';
import { SharedJobs } from '../shared/shared-jobs.ts';
import type { GitFolder } from '../files/snapshot.ts';

/** The mirror that has the commit. */
export interface CommitMirror {
  readonly key: string;
  /** The URL without user and password. */
  readonly url: string;
  inspect(
    args: readonly string[],
    more: {
      readonly signal: AbortSignal;
      readonly stdin?: string;
      readonly indexFile?: string;
      readonly maxPackBytes?: number;
    },
  ): Promise<CommandResult>;
}

export interface CommitFoldersDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly cacheDir: string;
  readonly limits: Pick<DesiredLimits, 'deadlineMs' | 'maxCheckoutBytes' | 'maxMirrorBytes'>;
}

interface KeptFolder extends GitFolder {
  users: number;
}

/** Number of unused folders that are kept for the next request. */
const maxKeptFolders = 8;

/**
 * Makes `.git` directories that have one commit alone: a shallow pack with its files, an index and
 * a detached HEAD, as after a clone with depth 1. They have no hooks, branches, tags or
 * credentials. Requests for one commit share a folder.
 */
export class CommitFolders {
  readonly #deps: CommitFoldersDeps;
  readonly #root: string;
  readonly #jobs: SharedJobs<KeptFolder>;
  /** Ordered by last use, oldest first. */
  readonly #kept = new Map<string, KeptFolder>();
  #cleared: Promise<void> | undefined;

  constructor(deps: CommitFoldersDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'commit-folders');
    this.#jobs = new SharedJobs({ clock: deps.clock, limitMs: deps.limits.deadlineMs });
  }

  stop(reason: Error): void {
    this.#jobs.stop(reason);
  }

  /**
   * Runs the body with the folder, which stays until the body ends.
   * @throws SizeLimitExceeded, RepositoryError
   */
  async use<T>(
    mirror: CommitMirror,
    commit: string,
    signal: AbortSignal,
    body: (folder: GitFolder) => Promise<T>,
  ): Promise<T> {
    const folder = await this.#folderOf(mirror, commit, signal);
    try {
      return await body(folder);
    } finally {
      folder.users -= 1;
      await this.#removeUnused();
    }
  }

  /** Returns the folder with one user more, so that it is not removed. */
  async #folderOf(mirror: CommitMirror, commit: string, signal: AbortSignal): Promise<KeptFolder> {
    const key = `${mirror.key} ${commit}`;
    for (;;) {
      const made = await this.#jobs.run(key, `making .git of ${commit}`, signal, async (work) => {
        const known = this.#kept.get(key);
        if (known !== undefined && existsSync(known.path)) return known;
        return this.#make(mirror, commit, work);
      });
      // Removed meanwhile, before this caller became its user.
      if (!existsSync(made.path)) continue;
      made.users += 1;
      this.#kept.delete(key);
      this.#kept.set(key, made);
      return made;
    }
  }

  async #make(mirror: CommitMirror, commit: string, signal: AbortSignal): Promise<KeptFolder> {
    const { random, limits } = this.#deps;
    await this.#clear();
    const path = join(this.#root, random.uuid());
    const packs = join(path, 'objects', 'pack');
    try {
      for (const folder of [packs, join(path, 'refs', 'heads'), join(path, 'refs', 'tags')]) await makeFolder(folder);
      await this.#pack(mirror, { commit, base: join(packs, 'pack') }, signal);
      await run(mirror, ['read-tree', commit], { signal, indexFile: join(path, 'index') });
      await writeFile(join(path, 'HEAD'), `${commit}\n`);
      await writeFile(join(path, 'shallow'), `${commit}\n`);
      await writeFile(join(path, 'config'), configOf(mirror.url));
      const bytes = await sizeOf(path);
      if (bytes > limits.maxCheckoutBytes) throw tooLarge(commit, limits.maxCheckoutBytes);
      return { path, bytes, users: 0 };
    } catch (error) {
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
      throw error;
    }
  }

  /** Removes the folders of an earlier process, once. */
  #clear(): Promise<void> {
    this.#cleared ??= rm(this.#root, { recursive: true, force: true }).catch((error: unknown) => {
      this.#cleared = undefined;
      throw error;
    });
    return this.#cleared;
  }

  /** The commit counts as shallow, whatever history the mirror has. */
  async #pack(
    mirror: CommitMirror,
    { commit, base }: { readonly commit: string; readonly base: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { maxMirrorBytes } = this.#deps.limits;
    const stdin = `--shallow ${commit}\n${commit}\n`;
    const args = ['pack-objects', '--quiet', '--revs', '--threads=1', base];
    try {
      await run(mirror, args, { signal, stdin, maxPackBytes: maxMirrorBytes });
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== 'COMMAND_DISK') throw error;
      throw tooLarge(commit, maxMirrorBytes);
    }
  }

  async #removeUnused(): Promise<void> {
    for (const [key, { path, users }] of this.#kept) {
      const bytes = [...this.#kept.values()].reduce((sum, folder) => sum + folder.bytes, 0);
      if (this.#kept.size <= maxKeptFolders && bytes <= 2 * this.#deps.limits.maxCheckoutBytes) return;
      if (users > 0) continue;
      this.#kept.delete(key);
      await rm(path, { recursive: true, force: true });
    }
  }
}

async function run(
  mirror: CommitMirror,
  args: readonly string[],
  more: Parameters<CommitMirror['inspect']>[1],
): Promise<void> {
  const { exitCode, stderr } = await mirror.inspect(args, more);
  if (exitCode === 0) return;
  const doing = `failed to make .git for plugins: git ${args[0] ?? ''}`;
  const refusal = diskRefusalIn(stderr);
  if (refusal !== undefined) throw new CacheUnwritable(refusal, { doing: `${doing} of ${mirror.url}` });
  throw new RepositoryError(`${doing}: ${stderr.trim().split('\n')[0] ?? ''}`);
}

/** The mode of files is not compared: the server of a plugin may not keep it. */
function configOf(url: string): string {
  const quoted = `"${url.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const core = '[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n';
  return `${core}[remote "origin"]\n\turl = ${quoted}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
}

async function sizeOf(path: string): Promise<number> {
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function tooLarge(commit: string, maxBytes: number): SizeLimitExceeded {
  return new SizeLimitExceeded(
    `the .git directory of ${commit} has more than ${maxBytes} bytes: exclude it from plugins with --plugin-tar-exclude=.git`,
  );
}

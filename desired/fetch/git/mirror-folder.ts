import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { KeyedMutex } from '#base';
import type { CommandResult } from '../../command/types.ts';
import { CacheUnwritable, RepositoryError } from '../../errors.ts';
import { diskRefusalIn, makeFolder, ownLines } from '../shared/disk-failure.ts';

export interface MirrorFolderDeps {
  readonly path: string;
  /** The repository, without user and password. */
  readonly url: string;
  /** Held while a folder is created or removed, by its name. Shared by all mirrors. */
  readonly locks: KeyedMutex<string>;
  /** Runs `git init` in the folder. */
  readonly init: (path: string, signal: AbortSignal) => Promise<CommandResult>;
}

/** `locked` by a killed git; `damaged`: removed, truncated or changed files. */
type MirrorFault = 'locked' | 'damaged';

/** How git reports damaged files of its own without their path. */
const damage =
  /not a git repository|bad shallow line|bad (?:numeric )?config|bad (?:tree )?object|Could not read [0-9a-f]|missing (?:blob|tree|commit)|unable to read (?:tree|[0-9a-f])|is corrupt|inflate:|did not send all necessary objects/;
/** Failures that mention the mirror's path, and that an empty mirror would have too. */
const notDamaged = /Permission denied|Too many open files|out of memory|Cannot allocate memory|dubious ownership/i;

/**
 * The folder of one mirror. It is created once, although a listing and a fetch may need it at the
 * same time: two `git init` would fight over the lock of its configuration.
 */
export class MirrorFolder {
  readonly #deps: MirrorFolderDeps;
  readonly name: string;
  #isPrepared = false;

  constructor(deps: MirrorFolderDeps) {
    this.#deps = deps;
    this.name = basename(deps.path);
  }

  /** @throws RepositoryError */
  async prepare(signal: AbortSignal): Promise<void> {
    if (this.#isPrepared) return;
    const { path, url, locks, init } = this.#deps;
    await locks.run(this.name, signal, async () => {
      if (this.#isPrepared) return;
      await makeFolder(path);
      await this.removeLeftovers();
      let result = await init(path, signal);
      if (this.#faultIn(result) === 'damaged') {
        await rm(path, { recursive: true, force: true });
        await makeFolder(path);
        result = await init(path, signal);
      }
      const refusal = diskRefusalIn(result.stderr);
      this.#isPrepared = result.exitCode === 0;
      // Commits of an earlier process can be read from a disk that accepts no writes.
      if (this.#isPrepared || (refusal !== undefined && isMirror(path))) return;
      const doing = 'Failed to initialize git repo';
      if (refusal !== undefined) throw new CacheUnwritable(refusal, { doing: `${doing} of ${url}` });
      throw new RepositoryError(`${doing}: ${result.stderr.trim()}`);
    });
  }

  /**
   * Makes another attempt possible after a fetch failed because of the mirror's own files: removes
   * a lock, or everything (`discard`) if they are damaged. False: they are not at fault.
   */
  async repair(failed: CommandResult, discard: () => Promise<void>): Promise<boolean> {
    const fault = this.#faultIn(failed);
    if (fault === 'locked') await this.removeLeftovers();
    if (fault === 'damaged') await discard();
    return fault !== undefined;
  }

  #faultIn({ exitCode, stderr }: CommandResult): MirrorFault | undefined {
    if (exitCode === 0) return undefined;
    if (/\.lock['"]?: File exists/i.test(stderr)) return 'locked';
    if (diskRefusalIn(stderr) !== undefined || notDamaged.test(stderr)) return undefined;
    const { path } = this.#deps;
    return ownLines(stderr).some((line) => line.includes(path) || damage.test(line)) ? 'damaged' : undefined;
  }

  remove(signal: AbortSignal): Promise<void> {
    const { path, locks } = this.#deps;
    return locks.run(this.name, signal, () => {
      this.#isPrepared = false;
      return rm(path, { recursive: true, force: true });
    });
  }

  /** Removes lock files and partial packs of a killed git. */
  async removeLeftovers(): Promise<void> {
    const { path } = this.#deps;
    const names = await readdir(path, { recursive: true }).catch(() => []);
    const stale = names.filter((name) => name.endsWith('.lock') || /(?:^|\/)objects\/.*tmp_[^/]*$/.test(name));
    await Promise.all(stale.map((name) => rm(join(path, name), { force: true }).catch(() => undefined)));
  }
}

function isMirror(path: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(path, name)));
}

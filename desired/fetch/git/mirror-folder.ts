import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { KeyedMutex } from '#base';
import type { CommandResult } from '../../command/types.ts';
import { RepositoryError } from '../../errors.ts';

export interface MirrorFolderDeps {
  readonly path: string;
  /** Held while a folder is created or removed, by its name. Shared by all mirrors. */
  readonly locks: KeyedMutex<string>;
  /** Runs `git init` in the folder. */
  readonly init: (path: string, signal: AbortSignal) => Promise<CommandResult>;
}

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
    const { path, locks, init } = this.#deps;
    await locks.run(this.name, signal, async () => {
      if (this.#isPrepared) return;
      await mkdir(path, { recursive: true, mode: 0o700 });
      await this.removeLeftovers();
      const result = await init(path, signal);
      if (result.exitCode !== 0) throw new RepositoryError(`Failed to initialize git repo: ${result.stderr.trim()}`);
      this.#isPrepared = true;
    });
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
    await Promise.all(stale.map((name) => rm(join(path, name), { force: true })));
  }
}

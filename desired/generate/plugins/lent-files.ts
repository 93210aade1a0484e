import { chmod, chown, lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RandomSource } from '#base';
import { DesiredError } from '../../errors.ts';

/** The user and group of the sidecar, as its socket has them. */
export interface FileReader {
  readonly uid: number;
  readonly gid: number;
}

export interface LentFilesDeps {
  /** In a folder that the plugins share with this process. */
  readonly folder: string;
  readonly random: RandomSource;
  readonly uid?: number | undefined;
}

/**
 * Lends files with credentials to one plugin for the time of one call. Each call has a directory of
 * its own whose random name only this plugin gets: the folder cannot be listed by other users. The
 * files have mode 0600, or 0640 for a sidecar that runs as another user and shares our group.
 */
export class LentFiles {
  readonly #deps: LentFilesDeps;
  readonly #live = new Set<string>();
  #cleared: Promise<void> = Promise.resolve();

  constructor(deps: LentFilesDeps) {
    this.#deps = deps;
  }

  /** Removes the files that a killed process left. Calls in flight keep theirs. */
  clear(): Promise<void> {
    const cleared = this.#removeStale();
    this.#cleared = cleared.catch(() => undefined);
    return cleared;
  }

  async #removeStale(): Promise<void> {
    const { folder } = this.#deps;
    const names = await readdir(folder).catch(() => []);
    const stale = names.filter((name) => !this.#live.has(name));
    await Promise.all(stale.map((name) => rm(join(folder, name), { recursive: true, force: true })));
  }

  /**
   * Runs the body with the directory of the files, and removes it afterwards.
   * @throws DesiredError if the plugin could not read them
   */
  async lend<T>(
    files: Readonly<Record<string, string>>,
    reader: FileReader,
    body: (directory: string) => Promise<T>,
  ): Promise<T> {
    const { folder, random } = this.#deps;
    const name = random.uuid();
    this.#live.add(name);
    const directory = join(folder, name);
    try {
      await this.#cleared;
      await this.#prepareFolder();
      await mkdir(directory, { mode: 0o700 });
      for (const [file, text] of Object.entries(files)) {
        const path = join(directory, file);
        await writeFile(path, text, { mode: 0o600, flag: 'wx' });
        await this.#share(path, 0o640, reader);
      }
      await this.#share(directory, 0o710, reader);
      return await body(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
      this.#live.delete(name);
    }
  }

  /** Others may pass through the folder, and not list it. */
  async #prepareFolder(): Promise<void> {
    const { folder } = this.#deps;
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const found = await lstat(folder);
    // Containers of the pod can write beside it, and might have created it.
    if (!found.isDirectory() || found.uid !== this.#uid)
      throw new DesiredError('DESIRED_PLUGIN', `the folder ${folder} must belong to this process: remove it`);
    await chmod(folder, 0o711);
  }

  async #share(path: string, mode: number, { uid, gid }: FileReader): Promise<void> {
    // ssh refuses a key of its own user that others may read.
    if (uid === this.#uid) return;
    try {
      await chown(path, this.#uid, gid);
      await chmod(path, mode);
    } catch {
      const who = `runs as user ${uid} with the group ${gid}, which this process lacks`;
      throw new DesiredError(
        'DESIRED_PLUGIN',
        `the plugin cannot get the credentials of the repository (provideGitCreds): its sidecar ${who}: let both run as one user, or share a group`,
      );
    }
  }

  get #uid(): number {
    return this.#deps.uid ?? process.getuid?.() ?? 0;
  }
}

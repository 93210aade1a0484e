import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Random } from '#base';
import { UnsafeInput } from '../errors.ts';
import type { Selection } from './selection.ts';
import type { Snapshot } from './snapshot.ts';

/** A folder for one render, which is gone afterwards. */
export class Workplaces {
  readonly #root: string;
  readonly #random: Random;
  #cleaned: Promise<void> | undefined;

  constructor(deps: { readonly cacheDir: string; readonly random: Random }) {
    this.#root = join(deps.cacheDir, 'work');
    this.#random = deps.random;
  }

  async run<T>(body: (directory: string) => Promise<T>): Promise<T> {
    // This process is alone in the cache: what is there already, another one left behind when it died.
    this.#cleaned ??= rm(this.#root, { recursive: true, force: true });
    await this.#cleaned;
    const directory = join(this.#root, this.#random.uuid());
    await mkdir(directory, { recursive: true, mode: 0o700 });
    try {
      return await body(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}

/**
 * Writes the selected files of a snapshot to a new directory. Names are checked, and links are made last, so that nothing is written through
 * one; where they lead was checked when they were selected.
 * @throws UnsafeInput for a name that no file system could have
 */
export async function checkOut(
  snapshot: Snapshot,
  selection: Selection,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  const contents = await snapshot.read([...selection.files.values()], signal);
  const made = new Set<string>();
  const place = async (path: string): Promise<string> => {
    checkName(path);
    const full = join(directory, path);
    const parent = dirname(full);
    if (!made.has(parent)) await mkdir(parent, { recursive: true, mode: 0o700 });
    made.add(parent);
    return full;
  };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  for (const [path, { oid }] of selection.files) {
    signal.throwIfAborted();
    await writeFile(await place(path), contents.get(oid) ?? new Uint8Array(), { mode: 0o600, flag: 'wx' });
  }
  for (const [path, { target }] of selection.links) await symlink(target, await place(path));
}

/** git stores any bytes as a name: "..", ".git" and "" among them. */
function checkName(path: string): void {
  for (const segment of path.split('/'))
    if (segment === '' || segment === '.' || segment === '..' || /^\.git$/i.test(segment) || segment.includes('\0'))
      throw new UnsafeInput(`the repository has an entry that no file may be called: ${JSON.stringify(path)}`);
}

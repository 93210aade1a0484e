import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#base';
import type { DesiredLimits } from '../../limits.ts';

export interface MirrorStoreDeps {
  readonly clock: Clock;
  readonly cacheDir: string;
  readonly limits: Pick<DesiredLimits, 'mirrorDiskBytes' | 'mirrorAgeMs'>;
}

/** Removes a mirror from disk; false if it is in use. */
export type DiscardMirror = (name: string) => Promise<boolean>;

interface MirrorUsage {
  readonly bytes: number;
  readonly usedAt: number;
  /** The project that used it last; '' after a restart. */
  readonly project: string;
}

const usedFile = 'last-used';
/** Minimum interval between writes of the last use; after a restart, ages may be off by as much. */
const markIntervalMs = 600_000;

/**
 * Tracks size and last use of the Git mirrors on disk, across restarts, and keeps them within their
 * limits of age and size. The least recently used go first; those of a project that has more than
 * half of the disk before those of others.
 */
export class MirrorStore {
  readonly #deps: MirrorStoreDeps;
  readonly #root: string;
  readonly #known = new Map<string, MirrorUsage>();
  readonly #marked = new Map<string, number>();
  #loaded: Promise<void> | undefined;
  #tidying: Promise<void> | undefined;

  constructor(deps: MirrorStoreDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'git');
  }

  /** Records that a mirror is read. */
  async used(name: string, project: string): Promise<void> {
    const now = this.#deps.clock.now();
    const { bytes = 0 } = this.#known.get(name) ?? {};
    this.#known.delete(name);
    this.#known.set(name, { bytes, usedAt: now, project });
    if (now - (this.#marked.get(name) ?? -Infinity) < markIntervalMs) return;
    this.#marked.set(name, now);
    await mark(join(this.#root, name), now);
  }

  /** Records that a mirror has grown, and frees disk space if needed. */
  async grown(name: string, project: string, discard: DiscardMirror): Promise<void> {
    await this.#load();
    await this.used(name, project);
    const bytes = await sizeOf(join(this.#root, name));
    this.#known.set(name, { bytes, usedAt: this.#deps.clock.now(), project });
    // A mirror that cannot be removed is no fault of this one; the next run removes it.
    await this.tidy(discard, name).catch(() => undefined);
  }

  /**
   * Removes mirrors that are too old and, beyond the size limit, the least recently used. Runs are
   * serialised.
   * @throws the first failure to remove a mirror, after all others were tried
   */
  async tidy(discard: DiscardMirror, keep?: string): Promise<void> {
    while (this.#tidying !== undefined) await this.#tidying.catch(() => undefined);
    this.#tidying = this.#tidy(discard, keep).finally(() => {
      this.#tidying = undefined;
    });
    await this.#tidying;
  }

  async #tidy(discard: DiscardMirror, keep: string | undefined): Promise<void> {
    await this.#load();
    const { clock, limits } = this.#deps;
    let total = 0;
    for (const { bytes } of this.#known.values()) total += bytes;
    const failures: unknown[] = [];
    const tried = (name: string): Promise<boolean> =>
      discard(name).catch((error: unknown) => {
        failures.push(error);
        return false;
      });
    for (const [name, { bytes, usedAt }] of evictionOrder([...this.#known], limits.mirrorDiskBytes)) {
      const isOld = clock.now() - usedAt > limits.mirrorAgeMs;
      if (name === keep || (!isOld && total <= limits.mirrorDiskBytes)) continue;
      if (!(await tried(name))) continue;
      this.#known.delete(name);
      this.#marked.delete(name);
      total -= bytes;
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Loads the mirrors of an earlier run once. */
  #load(): Promise<void> {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  async #read(): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      const directory = join(this.#root, name);
      const info = await stat(join(directory, usedFile)).catch(() => stat(directory).catch(() => undefined));
      const bytes = await sizeOf(directory);
      if (info !== undefined && !this.#known.has(name))
        this.#known.set(name, { bytes, usedAt: info.mtimeMs, project: '' });
    }
  }
}

/** The mirrors that a project has beyond half of the limit come first, then the oldest. */
function evictionOrder(
  mirrors: readonly (readonly [string, MirrorUsage])[],
  limitBytes: number,
): readonly (readonly [string, MirrorUsage])[] {
  const owned = new Map<string, number>();
  for (const [, { project, bytes }] of mirrors) owned.set(project, (owned.get(project) ?? 0) + bytes);
  const oldestFirst = mirrors.toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
  const excess = oldestFirst.filter(([, { project, bytes }]) => {
    const left = owned.get(project) ?? 0;
    if (left <= limitBytes / 2) return false;
    owned.set(project, left - bytes);
    return true;
  });
  return [...new Set([...excess, ...oldestFirst])];
}

async function mark(directory: string, now: number): Promise<void> {
  const path = join(directory, usedFile);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(path, '', { mode: 0o600 });
    await utimes(path, now / 1000, now / 1000);
  } catch {
    // Without the mark, the folder's own time counts after a restart.
  }
}

/** Sums the bytes of all files below a directory. */
async function sizeOf(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  let bytes = 0;
  for (const name of names) {
    const info = await stat(join(directory, name)).catch(() => undefined);
    if (info?.isFile() === true) bytes += info.size;
  }
  return bytes;
}

import { mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#base';
import type { DesiredLimits } from '../limits.ts';

export interface MirrorsDeps {
  readonly clock: Clock;
  readonly cacheDir: string;
  readonly limits: Pick<DesiredLimits, 'mirrorDiskBytes' | 'mirrorAgeMs'>;
}

/** Takes a mirror from disk unless somebody uses it; false: it stays. */
export type Discard = (name: string) => Promise<boolean>;

interface Mirror {
  readonly bytes: number;
  readonly usedAt: number;
}

const usedFile = 'last-used';
/** A use is written down once in this time: after a restart, ages may be wrong by so much. */
const markedEveryMs = 600_000;

/**
 * The mirrors of Git repositories on disk: which are there, how big they are and when they were used last, over restarts. Keeps them within their
 * limits of age and size; what was used last stays longest.
 */
export class Mirrors {
  readonly #deps: MirrorsDeps;
  readonly #root: string;
  readonly #known = new Map<string, Mirror>();
  readonly #marked = new Map<string, number>();
  #loaded: Promise<void> | undefined;
  #tidying: Promise<void> | undefined;

  constructor(deps: MirrorsDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'git');
  }

  /** Somebody reads from it. */
  async used(name: string): Promise<void> {
    const now = this.#deps.clock.now();
    const { bytes = 0 } = this.#known.get(name) ?? {};
    this.#known.delete(name);
    this.#known.set(name, { bytes, usedAt: now });
    if (now - (this.#marked.get(name) ?? -Infinity) < markedEveryMs) return;
    this.#marked.set(name, now);
    await mark(join(this.#root, name), now);
  }

  /** It has grown. Makes room for it where that is needed. */
  async grown(name: string, discard: Discard): Promise<void> {
    await this.#load();
    await this.used(name);
    this.#known.set(name, { bytes: await sizeOf(join(this.#root, name)), usedAt: this.#deps.clock.now() });
    await this.tidy(discard, name);
  }

  /** Discards what is too old, and beyond the limit of size what was not used for longest. One after the other. */
  async tidy(discard: Discard, keep?: string): Promise<void> {
    while (this.#tidying !== undefined) await this.#tidying;
    this.#tidying = this.#tidy(discard, keep).finally(() => {
      this.#tidying = undefined;
    });
    await this.#tidying;
  }

  async #tidy(discard: Discard, keep: string | undefined): Promise<void> {
    await this.#load();
    const { clock, limits } = this.#deps;
    let total = 0;
    for (const { bytes } of this.#known.values()) total += bytes;
    const oldestFirst = [...this.#known].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [name, { bytes, usedAt }] of oldestFirst) {
      const isOld = clock.now() - usedAt > limits.mirrorAgeMs;
      if (name === keep || (!isOld && total <= limits.mirrorDiskBytes)) continue;
      if (!(await discard(name))) continue;
      await rm(join(this.#root, name), { recursive: true, force: true });
      this.#known.delete(name);
      this.#marked.delete(name);
      total -= bytes;
    }
  }

  /** Once: what another run has left. */
  #load(): Promise<void> {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  async #read(): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      const directory = join(this.#root, name);
      const info = await stat(join(directory, usedFile)).catch(() => stat(directory).catch(() => undefined));
      const bytes = await sizeOf(directory);
      if (info !== undefined && !this.#known.has(name)) this.#known.set(name, { bytes, usedAt: info.mtimeMs });
    }
  }
}

async function mark(directory: string, now: number): Promise<void> {
  const path = join(directory, usedFile);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(path, '', { mode: 0o600 });
    await utimes(path, now / 1000, now / 1000);
  } catch {
    // Without the mark, the age of the folder counts after a restart.
  }
}

/** Bytes of all files under a directory. */
async function sizeOf(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  let bytes = 0;
  for (const name of names) {
    const info = await stat(join(directory, name)).catch(() => undefined);
    if (info?.isFile() === true) bytes += info.size;
  }
  return bytes;
}

import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, RandomSource } from '#base';
import { makeFolder } from './disk-failure.ts';

export interface DiskCacheDeps {
  readonly root: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Limit for all files together; the least recently used are removed beyond it. */
  readonly maxBytes: number;
  /** Files older than this are misses. */
  readonly maxAgeMs: number;
}

export interface CachedFile {
  readonly content: Buffer;
  readonly at: number;
}

/**
 * A byte cache on disk that survives restarts, bounded by size and age. Names must be valid file
 * names. Content is verified against the digest stored with it, so a truncated or modified file is
 * a miss. A full or broken disk is a miss too.
 */
export class DiskCache {
  readonly #deps: DiskCacheDeps;
  /** Ordered by last use, oldest first. */
  readonly #sizes = new Map<string, number>();
  #total = 0;
  #loaded: Promise<void> | undefined;

  constructor(deps: DiskCacheDeps) {
    this.#deps = deps;
  }

  /** Returns the content and the time it was written (milliseconds since the epoch). */
  async get(name: string): Promise<CachedFile | undefined> {
    await this.#load();
    if (!this.#sizes.has(name)) return undefined;
    const file = await readFile(this.#path(name)).catch(() => undefined);
    const written = file === undefined ? undefined : this.#parseFile(file);
    if (file === undefined || written === undefined) {
      await this.#remove(name);
      return undefined;
    }
    this.#recordUse(name, file.length);
    const now = new Date(this.#deps.clock.now());
    await utimes(this.#path(name), now, now).catch(() => undefined);
    return written;
  }

  /** @throws when the disk refuses the write; the cache then keeps nothing under this name */
  async set(name: string, content: Buffer): Promise<void> {
    await this.#load();
    const now = this.#deps.clock.now();
    const file = Buffer.concat([Buffer.from(`${now} ${digestOf(content)}\n`), content]);
    if (file.length > this.#deps.maxBytes) return;
    const fresh = `${this.#path(name)}.${this.#deps.random.uuid()}`;
    try {
      await this.#write(fresh, file);
      await rename(fresh, this.#path(name));
    } catch (error) {
      await rm(fresh, { force: true }).catch(() => undefined);
      throw error;
    }
    this.#recordUse(name, file.length);
    for (const oldest of this.#sizes.keys()) {
      if (this.#total <= this.#deps.maxBytes) return;
      await this.#remove(oldest);
    }
  }

  /** Creates the folder only if it is missing: it may be removed at any time. */
  async #write(path: string, content: Buffer): Promise<void> {
    try {
      await writeFile(path, content, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await makeFolder(this.#deps.root);
      await writeFile(path, content, { mode: 0o600, flag: 'wx' });
    }
  }

  #parseFile(file: Buffer): CachedFile | undefined {
    const end = file.indexOf(10);
    const [time = '', digest = ''] = file.toString('latin1', 0, Math.max(0, end)).split(' ');
    const content = file.subarray(end + 1);
    const at = Number(time);
    const isOld = this.#deps.clock.now() - at > this.#deps.maxAgeMs;
    return end < 0 || isOld || digestOf(content) !== digest ? undefined : { content, at };
  }

  /** Loads the files of an earlier run once and removes unfinished ones. */
  #load(): Promise<void> {
    this.#loaded ??= this.#loadExisting();
    return this.#loaded;
  }

  async #loadExisting(): Promise<void> {
    const names = await readdir(this.#deps.root).catch(() => []);
    const found: { readonly name: string; readonly size: number; readonly used: number }[] = [];
    for (const name of names) {
      const info = await stat(this.#path(name)).catch(() => undefined);
      if (name.includes('.')) await rm(this.#path(name), { recursive: true, force: true }).catch(() => undefined);
      else if (info?.isFile() === true) found.push({ name, size: info.size, used: info.mtimeMs });
    }
    for (const { name, size } of found.sort((a, b) => a.used - b.used)) this.#recordUse(name, size);
  }

  #recordUse(name: string, size: number): void {
    this.#total += size - (this.#sizes.get(name) ?? 0);
    this.#sizes.delete(name);
    this.#sizes.set(name, size);
  }

  async #remove(name: string): Promise<void> {
    this.#total -= this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
    await rm(this.#path(name), { force: true }).catch(() => undefined);
  }

  #path(name: string): string {
    return join(this.#deps.root, name);
  }
}

function digestOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

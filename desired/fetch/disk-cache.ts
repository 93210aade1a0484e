import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '#base';

export interface DiskCacheDeps {
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  /** All files together; beyond it those go that were not used for longest. */
  readonly maxBytes: number;
  /** A file that was written before is not found any more. */
  readonly maxAgeMs: number;
}

export interface Written {
  readonly content: Buffer;
  readonly at: number;
}

/**
 * Bytes under names (which must be fit for files), on a disk that survives restarts; bounded by size and age. What is read is held to the digest
 * that it was written with: a file that is cut off, or that somebody changed, is none. A disk that is full or broken is never an error here.
 */
export class DiskCache {
  readonly #deps: DiskCacheDeps;
  /** By last use, the oldest first. */
  readonly #sizes = new Map<string, number>();
  #total = 0;
  #loaded: Promise<void> | undefined;

  constructor(deps: DiskCacheDeps) {
    this.#deps = deps;
  }

  /** What is there, and when it was written (in milliseconds of the epoch). */
  async get(name: string): Promise<Written | undefined> {
    await this.#load();
    if (!this.#sizes.has(name)) return undefined;
    const file = await readFile(this.#path(name)).catch(() => undefined);
    const written = file === undefined ? undefined : this.#checked(file);
    if (file === undefined || written === undefined) {
      await this.#remove(name);
      return undefined;
    }
    this.#remember(name, file.length);
    const now = new Date(this.#deps.clock.now());
    await utimes(this.#path(name), now, now).catch(() => undefined);
    return written;
  }

  /** @throws when the disk does not take it: nothing is kept then */
  async set(name: string, content: Buffer): Promise<void> {
    await this.#load();
    const now = this.#deps.clock.now();
    const file = Buffer.concat([Buffer.from(`${now} ${digestOf(content)}\n`), content]);
    if (file.length > this.#deps.maxBytes) return;
    const fresh = `${this.#path(name)}.${this.#deps.random.uuid()}`;
    try {
      await writeFile(fresh, file, { mode: 0o600, flag: 'wx' });
      await rename(fresh, this.#path(name));
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
    this.#remember(name, file.length);
    for (const oldest of this.#sizes.keys()) {
      if (this.#total <= this.#deps.maxBytes) return;
      await this.#remove(oldest);
    }
  }

  #checked(file: Buffer): Written | undefined {
    const end = file.indexOf(10);
    const [time = '', digest = ''] = file.toString('latin1', 0, Math.max(0, end)).split(' ');
    const content = file.subarray(end + 1);
    const at = Number(time);
    const isOld = this.#deps.clock.now() - at > this.#deps.maxAgeMs;
    return end < 0 || isOld || digestOf(content) !== digest ? undefined : { content, at };
  }

  /** Once: what another run has left. Files that it did not finish go. */
  #load(): Promise<void> {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  async #read(): Promise<void> {
    await mkdir(this.#deps.root, { recursive: true, mode: 0o700 }).catch(() => undefined);
    const names = await readdir(this.#deps.root).catch(() => []);
    const found: { readonly name: string; readonly size: number; readonly used: number }[] = [];
    for (const name of names) {
      const info = await stat(this.#path(name)).catch(() => undefined);
      if (name.includes('.')) await rm(this.#path(name), { recursive: true, force: true });
      else if (info?.isFile() === true) found.push({ name, size: info.size, used: info.mtimeMs });
    }
    for (const { name, size } of found.sort((a, b) => a.used - b.used)) this.#remember(name, size);
  }

  #remember(name: string, size: number): void {
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

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, RandomSource } from '#base';
import type { DesiredLimits } from '../../limits.ts';
import { unpack } from './archive.ts';
import type { UnpackedArchive } from './archive.ts';
import { Lru } from '../shared/lru.ts';

export interface ArchiveCacheDeps {
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly limits: DesiredLimits;
}

/**
 * Packed charts and layers on disk, keyed by owner (a repository URL with its credentials, so that
 * other credentials never see them) and digest. They survive restarts; the least recently used are
 * removed beyond the limit. The digest is verified on each read, so a modified file is a miss
 * (T-REV-3).
 */
export class ArchiveCache {
  readonly #deps: ArchiveCacheDeps;
  readonly #root: string;
  readonly #unpacked: Lru<UnpackedArchive>;

  constructor(deps: ArchiveCacheDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'archives');
    this.#unpacked = new Lru(deps.limits.archiveCacheBytes);
  }

  /** Returns the content of a cached archive; undefined on a miss. */
  async open(owner: string, digest: string, maxBytes: number): Promise<UnpackedArchive | undefined> {
    const known = this.#unpacked.get(`${owner} ${digest}`);
    if (known !== undefined) return known;
    const path = this.#path(owner, digest);
    const packed = await readFile(path).catch(() => undefined);
    if (packed === undefined) return undefined;
    if (digestOf(packed) !== digest) {
      await rm(path, { force: true });
      return undefined;
    }
    const now = new Date(this.#deps.clock.now());
    await utimes(path, now, now).catch(() => undefined);
    return this.#remember(owner, digest, await unpack(packed, { ...this.#deps.limits, maxCheckoutBytes: maxBytes }));
  }

  /** Unpacks an archive and stores it under its digest, which is returned. */
  async keep(
    owner: string,
    packed: Uint8Array,
    maxBytes: number,
  ): Promise<{ readonly digest: string; readonly unpacked: UnpackedArchive }> {
    const digest = digestOf(packed);
    const unpacked = this.#remember(
      owner,
      digest,
      await unpack(packed, { ...this.#deps.limits, maxCheckoutBytes: maxBytes }),
    );
    const path = this.#path(owner, digest);
    const fresh = `${path}.${this.#deps.random.uuid()}`;
    await mkdir(join(this.#root, owner), { recursive: true, mode: 0o700 });
    await writeFile(fresh, packed, { mode: 0o600, flag: 'wx' });
    await rename(fresh, path);
    await this.#makeRoom(path);
    return { digest, unpacked };
  }

  #remember(owner: string, digest: string, unpacked: UnpackedArchive): UnpackedArchive {
    this.#unpacked.set(`${owner} ${digest}`, unpacked, unpacked.bytes);
    return unpacked;
  }

  #path(owner: string, digest: string): string {
    return join(this.#root, owner, digest);
  }

  async #makeRoom(kept: string): Promise<void> {
    const names = await readdir(this.#root, { recursive: true });
    const all = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#root, name);
        const found = await stat(path).catch(() => undefined);
        return found?.isFile() === true ? [{ path, size: found.size, used: found.mtimeMs }] : [];
      }),
    );
    const files = all.flat().sort((a, b) => a.used - b.used);
    let total = files.reduce((sum, { size }) => sum + size, 0);
    for (const { path, size } of files) {
      if (total <= this.#deps.limits.archiveDiskBytes) return;
      if (path === kept) continue;
      await rm(path, { force: true });
      total -= size;
    }
  }
}

/** SHA-256 as hexadecimal digits. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

import { tenantOf } from '#base';
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, RandomSource } from '#base';
import { DesiredError } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import { contentsAt } from './archive.ts';
import type { ContentPosition, UnpackedArchive } from './archive.ts';
import { Lru } from '../shared/lru.ts';
import type { Snapshot } from './snapshot.ts';
import type { Tree } from './tree.ts';
import type { PackedArchive, Unpacker } from './unpacker.ts';
import { makeFolder } from '../shared/disk-failure.ts';

export interface ArchiveCacheDeps {
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly limits: Pick<DesiredLimits, 'archiveCacheBytes' | 'archiveDiskBytes'>;
  readonly unpacker: Unpacker;
}

/** An archive on disk, and the list of its files. */
export interface KeptArchive extends Required<Pick<Snapshot, 'read' | 'measure'>> {
  readonly tree: Tree;
}

/** An archive of an owner, by its digest. */
export interface ArchiveId {
  readonly owner: string;
  readonly digest: string;
  /** Limit of its unpacked size. */
  readonly maxBytes: number;
}

type ArchiveFiles = Pick<UnpackedArchive, 'tree' | 'positions'>;

/** Estimated memory of one file in the list of an archive. */
const listedBytes = 500;

/**
 * Packed charts and layers on disk, keyed by owner (a repository URL with its credentials, so that
 * other credentials never see them) and digest. They survive restarts; the least recently used are
 * removed beyond the limit. The digest is verified on each read, so a modified file is a miss
 * (T-REV-3). Small ones are also in memory, unpacked; of others only the list of their files.
 */
export class ArchiveCache {
  readonly #deps: ArchiveCacheDeps;
  readonly #root: string;
  readonly #unpacked: Lru<UnpackedArchive>;
  readonly #lists: Lru<ArchiveFiles>;

  constructor(deps: ArchiveCacheDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'archives');
    this.#unpacked = new Lru(deps.limits.archiveCacheBytes);
    this.#lists = new Lru(deps.limits.archiveCacheBytes);
  }

  /** Returns the files of a cached archive; undefined on a miss. */
  async open(id: ArchiveId, signal: AbortSignal): Promise<KeptArchive | undefined> {
    const unpacked = this.#unpacked.get(keyOf(id));
    if (unpacked !== undefined) return this.#kept(id, unpacked);
    const bytes = await this.#sizeOf(id);
    if (bytes === undefined) return undefined;
    const known = this.#lists.get(keyOf(id));
    if (known !== undefined) return this.#kept(id, known);
    const packed: PackedArchive = { ...id, bytes, read: () => this.#packed(id) };
    try {
      return await this.#deps.unpacker.run(packed, signal, (found) =>
        this.#kept(id, this.#remember(id, found, tenantOf(signal).project)),
      );
    } catch (error) {
      if (error instanceof ArchiveMissing) return undefined;
      throw error;
    }
  }

  /** Whether an archive is on disk. Its content is not verified. */
  async has(owner: string, digest: string): Promise<boolean> {
    return (await this.#sizeOf({ owner, digest })) !== undefined;
  }

  /** Stores a packed archive, and returns its digest. */
  async store(owner: string, packed: Uint8Array): Promise<string> {
    const digest = digestOf(packed);
    const path = this.#path({ owner, digest });
    const fresh = `${path}.${this.#deps.random.uuid()}`;
    await makeFolder(join(this.#root, owner));
    try {
      await writeFile(fresh, packed, { mode: 0o600, flag: 'wx' });
      await rename(fresh, path);
    } catch (error) {
      // A part of the file would keep a full disk full.
      await rm(fresh, { force: true }).catch(() => undefined);
      throw error;
    }
    await this.#makeRoom(path);
    return digest;
  }

  #kept(id: ArchiveId, { tree, positions }: ArchiveFiles): KeptArchive {
    return {
      tree,
      read: (blobs, signal) => this.#read(id, wantedOf(blobs, positions), signal),
      measure: (blobs) => {
        const inMemory = this.#unpacked.get(keyOf(id))?.bytes;
        return Promise.resolve(inMemory ?? blobs.reduce((sum, { size }) => sum + size, 0));
      },
    };
  }

  async #read(
    id: ArchiveId,
    positions: ReadonlyMap<string, ContentPosition>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const unpacked = this.#unpacked.get(keyOf(id));
    if (unpacked !== undefined)
      return new Map([...positions.keys()].map((oid) => [oid, unpacked.contents.get(oid) ?? new Uint8Array()]));
    if (positions.size === 0) return new Map();
    const bytes = await this.#sizeOf(id);
    if (bytes === undefined) throw new ArchiveMissing();
    return this.#deps.unpacker.inTurn({ owner: id.owner, bytes }, signal, async () =>
      contentsAt(await this.#packed(id), positions, signal),
    );
  }

  #remember(id: ArchiveId, unpacked: UnpackedArchive, project: string): ArchiveFiles {
    this.#unpacked.set(keyOf(id), unpacked, unpacked.bytes, project);
    const { tree, positions } = unpacked;
    this.#lists.set(keyOf(id), { tree, positions }, 256 + positions.size * listedBytes, project);
    return { tree, positions };
  }

  /** The size of the packed archive, which counts as used now. */
  async #sizeOf(id: Pick<ArchiveId, 'owner' | 'digest'>): Promise<number | undefined> {
    const path = this.#path(id);
    const now = new Date(this.#deps.clock.now());
    await utimes(path, now, now).catch(() => undefined);
    const found = await stat(path).catch(() => undefined);
    return found?.size;
  }

  /** @throws ArchiveMissing, also for a modified file, which is removed */
  async #packed(id: ArchiveId): Promise<Uint8Array> {
    const path = this.#path(id);
    const packed = await readFile(path).catch(() => undefined);
    if (packed === undefined) throw new ArchiveMissing();
    if (digestOf(packed) === id.digest) return packed;
    await rm(path, { force: true });
    throw new ArchiveMissing();
  }

  #path({ owner, digest }: Pick<ArchiveId, 'owner' | 'digest'>): string {
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

/** The archive was removed from the disk. The next attempt downloads it again. */
class ArchiveMissing extends DesiredError {
  constructor() {
    super(
      'DESIRED_ARCHIVE',
      'the archive was removed from the cache on disk, or modified there: it is downloaded again',
    );
  }
}

function keyOf({ owner, digest }: ArchiveId): string {
  return `${owner} ${digest}`;
}

function wantedOf(
  blobs: readonly { readonly oid: string }[],
  positions: ReadonlyMap<string, ContentPosition>,
): ReadonlyMap<string, ContentPosition> {
  const wanted = new Map<string, ContentPosition>();
  for (const { oid } of blobs) wanted.set(oid, positions.get(oid) ?? { from: 0, size: 0 });
  return wanted;
}

/** SHA-256 as hexadecimal digits. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { join } from 'node:path';
import { Mutex } from 'async-mutex';
import { parseJson, stringifyJson, yieldToLoop } from '#base';
import type { Clock, Json, RandomSource } from '#base';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { DiskCache } from './fetch/shared/disk-cache.ts';
import { Lru } from './fetch/shared/lru.ts';
import type { RenderedManifests } from './generate/plan.ts';
import type { DesiredLimits } from './limits.ts';

const pack = promisify(gzip);
const unpack = promisify(gunzip);
const objectsPerTurn = 256;
/** A shorter text takes one block of a disk anyway, and packing it takes longer than writing it. */
const minPackedLength = 4096;
/** Unpacked, some hundred kilobytes. */
const bigPackedBytes = 64 * 1024;

/** The magic number of gzip; no JSON begins with it. */
function isPacked(content: Buffer): boolean {
  return content[0] === 0x1f && content[1] === 0x8b;
}

function* linesOf(content: Buffer): Generator<string> {
  for (let from = 0; from < content.length;) {
    const found = content.indexOf('\n', from);
    const end = found < 0 ? content.length : found;
    if (end > from) yield content.toString('utf8', from, end);
    from = end + 1;
  }
}

export interface RenderedCacheDeps {
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly limits: DesiredLimits;
}

/** Manifests, and when they were rendered. */
export interface CachedManifests extends Pick<RenderedManifests, 'objects' | 'unnamed' | 'ignored'> {
  readonly at: number;
}

/**
 * Caches rendered manifests by the hash of everything that affects them: the most recent ones in
 * memory, others on disk (mode 0600, because they may hold Secrets), so that a restart renders
 * nothing again. Both are bounded. Entries expire after a day, as in Argo CD
 * (ARGOCD_REPO_CACHE_EXPIRATION), because a plugin's result may depend on more than its input.
 */
export class RenderedCache {
  readonly #deps: RenderedCacheDeps;
  readonly #memory: Lru<CachedManifests>;
  readonly #disk: DiskCache;
  readonly #big = new Mutex();

  constructor(deps: RenderedCacheDeps) {
    this.#deps = deps;
    const { cacheDir, clock, random, limits } = deps;
    this.#memory = new Lru(limits.cacheBytes);
    const root = join(cacheDir, 'rendered');
    this.#disk = new DiskCache({
      root,
      clock,
      random,
      maxBytes: limits.renderedDiskBytes,
      maxAgeMs: limits.renderedAgeMs,
    });
  }

  async get(key: string, owner: string): Promise<CachedManifests | undefined> {
    const known = this.#memory.get(key);
    if (known !== undefined && this.#deps.clock.now() - known.at <= this.#deps.limits.renderedAgeMs) return known;
    const written = await this.#disk.get(key);
    if (written === undefined) return undefined;
    const { content } = written;
    const objects: KubeObject[] = [];
    const bytes = await this.#one(content.length, async () => {
      const lines = isPacked(content) ? await unpack(content) : content;
      for (const line of linesOf(lines)) {
        objects.push(parseJson(line) as unknown as KubeObject);
        if (objects.length % objectsPerTurn === 0) await yieldToLoop();
      }
      return lines.length;
    });
    const manifests = { objects, at: written.at };
    this.#memory.set(key, manifests, bytes + 256, owner);
    return manifests;
  }

  /**
   * What has unnamed objects or ignored files is not kept on disk, where their files would be lost,
   * and neither is what was decrypted.
   */
  async set(
    key: string,
    { objects, unnamed = [], ignored = [], bytes, isSecret = false }: RenderedManifests,
    owner: string,
  ): Promise<CachedManifests> {
    const manifests = { objects, unnamed, ignored, at: this.#deps.clock.now() };
    this.#memory.set(key, manifests, bytes, owner);
    const isPlain = unnamed.length === 0 && ignored.length === 0 && !isSecret;
    if (this.#deps.limits.renderedDiskBytes > 0 && isPlain) await this.#write(key, objects);
    return manifests;
  }

  /** Big ones one after the other, because each takes its size several times meanwhile. */
  #one<T>(packedBytes: number, body: () => Promise<T>): Promise<T> {
    return packedBytes < bigPackedBytes ? body() : this.#big.runExclusive(body);
  }

  async #write(key: string, objects: readonly KubeObject[]): Promise<void> {
    // Beside the heap: as one string, the manifests would take their size again.
    const lines: Buffer[] = [];
    for (const [i, object] of objects.entries()) {
      lines.push(Buffer.from(`${i === 0 ? '' : '\n'}${stringifyJson(object as unknown as Json)}`));
      if (i % objectsPerTurn === objectsPerTurn - 1) await yieldToLoop();
    }
    try {
      const content = Buffer.concat(lines);
      await this.#disk.set(key, content.length < minPackedLength ? content : await pack(content, { level: 1 }));
    } catch (error) {
      this.#deps.logger.warn('Rendered manifests cannot be kept on disk; they are rendered again after a restart', {
        error,
      });
    }
  }
}

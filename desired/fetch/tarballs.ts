import { hashJson, tenantOf } from '#base';
import type { Clock } from '#base';
import type { Repository } from '#model';
import { DesiredError } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import type { ArchiveCache } from './files/archive-cache.ts';
import { digestOf } from './files/archive-cache.ts';
import { repositoryKey } from './shared/repository-key.ts';
import { FreshJobs } from './shared/fresh-jobs.ts';
import { Lru } from './shared/lru.ts';
import type { Snapshot } from './files/snapshot.ts';
import { checkUrl } from './shared/input-checks.ts';
import { expectOk } from './network/web-client.ts';
import type { RepositoryAccess, WebClient } from './network/web-client.ts';

export interface TarballSourcesDeps {
  readonly clock: Clock;
  readonly web: WebClient;
  readonly archives: ArchiveCache;
  readonly limits: DesiredLimits;
  readonly cacheDir: string;
}

interface KnownArchive {
  readonly digest: string;
  readonly etag: string;
  readonly at: number;
}

/**
 * Archives over HTTP(S) as sources (not in Argo CD). The revision is the SHA-256 of the file.
 * `sha256:…` pins the content; an empty revision means the current file, revalidated with its ETag.
 */
export class TarballSources {
  readonly #deps: TarballSourcesDeps;
  readonly #known = new Lru<KnownArchive>(4096);
  readonly #downloads: FreshJobs<KnownArchive>;

  constructor(deps: TarballSourcesDeps) {
    this.#deps = deps;
    const { clock, limits } = deps;
    this.#downloads = new FreshJobs({ clock, limitMs: limits.fetchTimeoutMs, keepGoing: true });
  }

  stop(reason: Error): void {
    this.#downloads.stop(reason);
  }

  /** @throws DesiredError, RepositoryError */
  async resolve(repository: Repository, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    if (isDigest(revision)) return revision;
    if (revision !== '' && revision !== 'HEAD')
      throw new DesiredError(
        'DESIRED_REVISION',
        `targetRevision of an archive must be empty or its digest, "sha256:" and 64 hexadecimal digits; it is "${revision}"`,
        { retry: 'never' },
      );
    const known = this.#known.get(repositoryKey(repository));
    const isFresh = known !== undefined && this.#deps.clock.monotonic() - known.at < this.#deps.limits.refsTtlMs;
    const { digest } = isFresh && !noCache ? known : await this.#download(repository, noCache, signal);
    return `sha256:${digest}`;
  }

  async snapshot(repository: Repository, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const owner = repositoryKey(repository);
    const digest = revision.slice('sha256:'.length);
    const { archives, limits } = this.#deps;
    const id = { owner, digest, maxBytes: limits.maxCheckoutBytes };
    let kept = again ? undefined : await archives.open(id, signal);
    if (kept === undefined) {
      const found = await this.#download(repository, again, signal);
      if (found.digest !== digest)
        throw new DesiredError('DESIRED_ARCHIVE', `the archive has the digest sha256:${found.digest}, not ${revision}`);
      kept = await archives.open(id, signal);
    }
    if (kept === undefined) throw new DesiredError('DESIRED_ARCHIVE', 'the archive could not be kept on disk');
    return { key: hashJson([owner, digest]), revision, ...kept };
  }

  #download(repository: Repository, mustBegin: boolean, signal: AbortSignal): Promise<KnownArchive> {
    const { archives, cacheDir, clock, limits, web } = this.#deps;
    const owner = repositoryKey(repository);
    const access: RepositoryAccess = { repository, at: checkUrl(repository.url, cacheDir, 'web') };
    const job = { key: owner, what: `downloading ${access.at.bare.url}`, mustBegin };
    return this.#downloads.run(job, signal, async (work) => {
      const known = this.#known.get(owner);
      // Send the ETag only if the archive is still on disk.
      const isKept = known !== undefined && (await archives.has(owner, known.digest));
      const headers = known === undefined || !isKept || known.etag === '' ? {} : { 'if-none-match': known.etag };
      const at = clock.monotonic();
      const asked = { url: access.at, headers, maxBytes: limits.maxArchiveBytes, signal: work };
      const answer = await web.get(asked, access);
      const isSame = answer.status === 304 && known !== undefined;
      const body = isSame ? undefined : expectOk(answer, 'failed to download the archive');
      if (body !== undefined) await archives.store(owner, body);
      const found =
        body === undefined && known !== undefined
          ? { ...known, at }
          : { digest: digestOf(body ?? Buffer.alloc(0)), etag: answer.headers['etag'] ?? '', at };
      this.#known.set(owner, found, 1, tenantOf(work).project);
      return found;
    });
  }
}

function isDigest(revision: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(revision);
}

import { gunzip } from 'node:zlib';
import { promisify } from 'node:util';
import { hashJson, messageOf, tenantOf } from '#base';
import type { Clock } from '#base';
import type { Repository, SourceAddress } from '#model';
import { DesiredError, RepositoryError, UnsafeInput } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { ArchiveCache, KeptArchive } from '../files/archive-cache.ts';
import { digestOf } from '../files/archive-cache.ts';
import type { ChartIndexReader, ChartVersion } from './chart-index.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import { FreshJobs } from '../shared/fresh-jobs.ts';
import { SharedJobs } from '../shared/shared-jobs.ts';
import { Lru } from '../shared/lru.ts';
import { compareVersions, highestMatch, parseConstraint, parseVersion } from '../shared/semver.ts';
import type { Snapshot } from '../files/snapshot.ts';
import { Tree, walk } from '../files/tree.ts';
import { answerUrl, checkUrl } from '../shared/input-checks.ts';
import { mayBorrow } from '../shared/permitted.ts';
import { expectOk, withoutLogin } from '../network/web-client.ts';
import type { RepositoryAccess, WebClient } from '../network/web-client.ts';

const unzip = promisify(gunzip);

export interface ChartRepositoriesDeps {
  readonly clock: Clock;
  readonly web: WebClient;
  readonly archives: ArchiveCache;
  readonly indexes: ChartIndexReader;
  readonly limits: DesiredLimits;
  readonly cacheDir: string;
  /** User-Agent of requests for indexes. */
  readonly userAgent?: string | undefined;
}

/** A chart in a repository. */
export interface ChartLocation {
  readonly repository: Repository;
  readonly chart: string;
  /** Send credentials also to other servers that the index names (`helm.passCredentials`). */
  readonly passCredentials: boolean;
  /** The project's `sourceRepos`: credentials of a template are sent nowhere else. */
  readonly sourceRepos?: readonly string[];
}

interface CachedIndex {
  /** Changes with the content. */
  readonly number: number;
  readonly content: Buffer;
  readonly etag: string;
  readonly at: number;
}

/**
 * Charts of Helm repositories (Argo CD: util/helm client). An index is revalidated with its ETag; a
 * chart is downloaded once, verified against the digest of the index, and cached.
 * Deliberate difference: a wrong digest is an error; Argo CD ignores it, as `helm pull` does.
 */
export class ChartRepositories {
  readonly #deps: ChartRepositoriesDeps;
  readonly #indexes: Lru<CachedIndex>;
  readonly #listings: FreshJobs<CachedIndex>;
  /** Versions parsed from the index with the number `of`, by repository and chart. */
  readonly #read: Lru<{ readonly of: number; readonly versions: readonly ChartVersion[] }>;
  readonly #reading: SharedJobs<readonly ChartVersion[]>;
  readonly #downloads: SharedJobs<Snapshot>;
  #last = 0;
  /** Digests of downloaded charts, by repository, chart and version. */
  readonly #digests = new Lru<string>(4096);

  constructor(deps: ChartRepositoriesDeps) {
    this.#deps = deps;
    const { clock, limits } = deps;
    this.#indexes = new Lru(limits.archiveCacheBytes);
    this.#read = new Lru(limits.archiveCacheBytes);
    this.#reading = new SharedJobs({ clock, limitMs: limits.deadlineMs });
    this.#listings = new FreshJobs({ clock, limitMs: limits.deadlineMs });
    this.#downloads = new SharedJobs({ clock, limitMs: limits.fetchTimeoutMs, keepGoing: true });
  }

  stop(reason: Error): void {
    this.#listings.stop(reason);
    this.#reading.stop(reason);
    this.#downloads.stop(reason);
  }

  /**
   * Resolves a revision: a version is returned without a request, a constraint gives the highest
   * match.
   * @throws RepositoryError, DesiredError
   */
  async resolve(at: ChartLocation, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    checkChartName(at.chart);
    if (parseVersion(revision) !== undefined) return revision;
    const versions = (await this.#versions(at, noCache, signal)).map(({ version }) => version);
    return pickVersion(revision, versions);
  }

  /** Returns the files of one chart version. */
  async snapshot(at: ChartLocation, version: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    checkChartName(at.chart);
    const owner = repositoryKey(at.repository);
    const key = hashJson([owner, at.chart, version, lenderKey(at)]);
    const what = `downloading version ${version} of the chart ${at.chart}`;
    return this.#downloads.run(`${key} ${String(again)}`, what, signal, async (work) => {
      const known = again ? undefined : this.#digests.get(key);
      const kept = known === undefined ? undefined : await this.#open(owner, known, work);
      if (known !== undefined && kept !== undefined)
        return snapshotOf(at.chart, version, hashJson([owner, known]), kept);
      const { digest, archive } = await this.#download(at, version, again, work);
      this.#digests.set(key, digest, 1, tenantOf(work).project);
      return snapshotOf(at.chart, version, hashJson([owner, digest]), archive);
    });
  }

  async #download(
    at: ChartLocation,
    version: string,
    again: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly digest: string; readonly archive: KeptArchive }> {
    const owner = repositoryKey(at.repository);
    const entry = pickEntry(at, await this.#versions(at, again, signal), version);
    // Another project may have downloaded it with credentials that this one does not lend.
    const mayReuse = !again && entry.digest !== '' && !at.repository.inheritedCreds;
    const kept = mayReuse ? await this.#open(owner, entry.digest, signal) : undefined;
    if (kept !== undefined) return { digest: entry.digest, archive: kept };
    const digest = await this.#store(at, entry, version, signal);
    const archive = await this.#open(owner, digest, signal);
    if (archive === undefined) throw new DesiredError('DESIRED_ARCHIVE', 'the chart could not be kept on disk');
    return { digest, archive };
  }

  #open(owner: string, digest: string, signal: AbortSignal): Promise<KeptArchive | undefined> {
    const { maxChartBytes: maxBytes } = this.#deps.limits;
    return this.#deps.archives.open({ owner, digest, maxBytes }, signal);
  }

  /** Downloads a chart to the disk, and returns its digest. */
  async #store(at: ChartLocation, entry: ChartVersion, version: string, signal: AbortSignal): Promise<string> {
    const { maxArchiveBytes } = this.#deps.limits;
    const access = this.#access(at);
    const url = urlInRepository(access.at, entry.urls[0] ?? '');
    const answer = await this.#deps.web.get({ url, maxBytes: maxArchiveBytes, signal }, accessTo(url, at, access));
    const packed = expectOk(answer, `failed to download version ${version} of the chart ${at.chart}`);
    if (entry.digest !== '' && digestOf(packed) !== entry.digest)
      throw new DesiredError(
        'DESIRED_DIGEST',
        `version ${version} of the chart ${at.chart}: the downloaded file does not have the digest that the index of the repository gives for it (sha256:${entry.digest})`,
        { fields: { repository: access.at.bare.url } },
      );
    return this.#deps.archives.store(repositoryKey(at.repository), packed);
  }

  async #versions(at: ChartLocation, noCache: boolean, signal: AbortSignal): Promise<readonly ChartVersion[]> {
    const { number, content } = await this.#index(at, noCache, signal);
    const key = hashJson([repositoryKey(at.repository), at.chart]);
    const known = this.#read.get(key);
    if (known?.of === number) return known.versions;
    return this.#reading.run(`${key} ${number}`, `reading the versions of ${at.chart}`, signal, async (work) => {
      const versions = await this.#deps.indexes.versions(content, at.chart, work);
      this.#read.set(key, { of: number, versions }, weightOf(versions), tenantOf(work).project);
      return versions;
    });
  }

  async #index(at: ChartLocation, noCache: boolean, signal: AbortSignal): Promise<CachedIndex> {
    const owner = repositoryKey(at.repository);
    const { clock, limits, web } = this.#deps;
    const known = this.#indexes.get(owner);
    if (!noCache && known !== undefined && clock.monotonic() - known.at < limits.refsTtlMs) return known;
    const access = this.#access(at);
    const job = { key: owner, what: `reading the index of ${access.at.bare.url}`, mustBegin: noCache };
    return this.#listings.run(job, signal, async (work) => {
      const cached = this.#indexes.get(owner);
      const headers = {
        ...(cached === undefined || cached.etag === '' ? {} : { 'if-none-match': cached.etag }),
        ...(this.#deps.userAgent === undefined ? {} : { 'user-agent': this.#deps.userAgent }),
      };
      const began = clock.monotonic();
      const url = urlInRepository(access.at, 'index.yaml');
      const answer = await web.get({ url, headers, maxBytes: limits.maxIndexBytes, signal: work }, access);
      const index =
        answer.status === 304 && cached !== undefined
          ? { ...cached, at: began }
          : {
              number: (this.#last += 1),
              content: await unzippedIndex(expectOk(answer, 'failed to get index'), limits.maxIndexBytes),
              etag: answer.headers['etag'] ?? '',
              at: began,
            };
      this.#indexes.set(owner, index, index.content.length, tenantOf(work).project);
      return index;
    });
  }

  #access({ repository, passCredentials }: ChartLocation): RepositoryAccess {
    const at = checkUrl(repository.url, this.#deps.cacheDir, 'chart');
    if (at.transport !== 'http')
      throw new UnsafeInput('the chart repository is refused: its URL must begin with https:// or http://');
    return { repository, at, passCredentials: passCredentials };
  }
}

/**
 * Resolves a constraint to its highest match (Argo CD: util/versions MaxVersion). Any other text
 * must be one of the versions.
 * @throws DesiredError
 */
export function pickVersion(revision: string, versions: readonly string[]): string {
  if (parseConstraint(revision) === undefined) {
    if (versions.includes(revision)) return revision;
    throw new DesiredError(
      'DESIRED_REVISION',
      `invalid revision: failed to determine semver constraint: improper constraint: ${revision}`,
    );
  }
  const best = highestMatch(revision, versions);
  if (best !== undefined) return best;
  throw new DesiredError(
    'DESIRED_REVISION',
    `invalid revision: version matching constraint not found in ${versions.length} tags`,
  );
}

/**
 * Picks a version as `helm pull` does: the exact text first, then the highest match ("1.2" matches
 * 1.2.7).
 */
function pickEntry(at: ChartLocation, entries: readonly ChartVersion[], version: string): ChartVersion {
  const best = highestMatch(
    version,
    entries.map((entry) => entry.version),
  );
  const wanted = parseVersion(version);
  const found =
    entries.find((entry) => entry.version === version) ??
    entries.find((entry) => entry.version === best) ??
    entries.find((entry) => {
      const parsed = parseVersion(entry.version);
      return wanted !== undefined && parsed !== undefined && compareVersions(parsed, wanted) === 0;
    });
  if (found !== undefined && found.urls.length > 0) return found;
  const missing = found === undefined ? 'not found' : 'without an address';
  throw new RepositoryError(`chart "${at.chart}" version "${version}" ${missing} in the index of the repository`);
}

/**
 * An index may name any archive. Credentials of a template apply to more than this repository, so
 * they go only to its own address and to those that the project permits.
 */
function accessTo(
  url: SourceAddress,
  { repository, sourceRepos }: ChartLocation,
  access: RepositoryAccess,
): RepositoryAccess {
  const isOwn = !repository.inheritedCreds || mayBorrow(sourceRepos, access.at, url);
  return isOwn ? access : withoutLogin(access);
}

/** Decides which archives get credentials: projects that differ in it share no downloads. */
function lenderKey({ repository, sourceRepos }: ChartLocation): readonly string[] {
  return repository.inheritedCreds ? (sourceRepos ?? ['*']) : [];
}

/**
 * Resolves a URL against the repository and keeps the query of the repository URL (a signature) for
 * relative paths.
 * @throws RepositoryError
 */
function urlInRepository(repository: SourceAddress, path: string): SourceAddress {
  // Readers of URLs disagree about these.
  if (/[\u0000-\u001f\u007f\\]/.test(path.trim()))
    throw new RepositoryError(
      'the index of the chart repository has an address with a backslash or control characters',
    );
  const found = answerUrl(path.trim(), `${repository.bare.url}/`);
  const isRelative = !/^[a-z][a-z0-9+.-]*:/i.test(path.trim());
  // "//host/path" is relative as well, and leads to another host.
  if (!isRelative || found.origin !== repository.origin || found.query !== '') return found;
  return answerUrl(`${found.url}${repository.query}`, found.url);
}

/** Some servers compress the index regardless of the request. */
async function unzippedIndex(body: Buffer, limit: number): Promise<Buffer> {
  const isPacked = body[0] === 0x1f && body[1] === 0x8b;
  if (!isPacked) return body;
  try {
    return await unzip(body, { maxOutputLength: limit });
  } catch (error) {
    throw new RepositoryError(`the index of the chart repository cannot be unpacked: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Estimated memory in bytes. */
function weightOf(versions: readonly ChartVersion[]): number {
  let bytes = 200;
  for (const { version, urls, digest } of versions)
    bytes += 300 + version.length + digest.length + urls.reduce((sum, url) => sum + 40 + url.length, 0);
  return bytes;
}

/** The chart name becomes part of URLs and file paths. @throws UnsafeInput */
export function checkChartName(chart: string): void {
  const isBad = chart.split('/').some((part) => part === '' || part === '.' || part === '..' || part.startsWith('-'));
  if (isBad || !/^[\w.@+/-]+$/.test(chart) || chart.length > 512)
    throw new UnsafeInput(
      'the name of the chart is refused: it must consist of letters, digits, dots, dashes and slashes',
    );
}

/** Returns the files in the archive's folder with the chart's name. @throws DesiredError */
export function snapshotOf(
  chart: string,
  revision: string,
  key: string,
  { tree, read, measure }: KeptArchive,
): Snapshot {
  const name = chart.split('/').at(-1) ?? '';
  const top = [...tree.root.children.entries()].filter(([, node]) => node.kind === 'directory');
  // If there is a single folder, its name does not matter.
  const [, folder] = top.find(([child]) => child === name) ?? (top.length === 1 ? top[0] : undefined) ?? [];
  if (folder?.kind !== 'directory')
    throw new DesiredError('DESIRED_ARCHIVE', `the archive of the chart ${chart} has no folder "${name}"`);
  const nodes = [...walk(folder, true)].flatMap(({ path, node }) =>
    node.kind === 'submodule' ? [] : [{ path, node }],
  );
  const inner = Tree.of(nodes);
  return { key, revision, tree: 'tree' in inner ? inner.tree : tree, read, measure };
}

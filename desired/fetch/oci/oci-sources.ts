import { hashJson, tenantOf } from '#base';
import type { Clock } from '#base';
import type { Repository } from '#model';
import { DesiredError, RepositoryError, RevisionNotFound } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { ArchiveCache, KeptArchive } from '../files/archive-cache.ts';
import { checkChartName, pickVersion, snapshotOf } from '../charts/chart-repositories.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import { FreshJobs } from '../shared/fresh-jobs.ts';
import { SharedJobs } from '../shared/shared-jobs.ts';
import { Lru } from '../shared/lru.ts';
import { isDigest, isTag, ociRepositoryOf } from './oci-client.ts';
import type { OciClient, OciLayer, OciManifest, OciRepository } from './oci-client.ts';
import { parseConstraint, parseVersion } from '../shared/semver.ts';
import type { Snapshot } from '../files/snapshot.ts';

export interface OciSourcesDeps {
  readonly clock: Clock;
  readonly client: OciClient;
  readonly archives: ArchiveCache;
  readonly limits: DesiredLimits;
}

const chartConfig = 'application/vnd.cncf.helm.config.v1+json';
const chartContent = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';
const maxLayers = 10;

interface TagListing {
  readonly tags: readonly string[];
  readonly at: number;
}

/**
 * Sources in a registry: artifacts (`oci://`, revisions are digests) and Helm charts (`chart`,
 * revisions are versions or digests), as in Argo CD's util/oci and util/helm.
 * Deliberate differences: tag lists are cached as long as Git refs; a constraint may resolve to a
 * version with build metadata ("1.0.0+a", tag "1.0.0_a").
 */
export class OciSources {
  readonly #deps: OciSourcesDeps;
  readonly #listings: FreshJobs<TagListing>;
  readonly #downloads: SharedJobs<Snapshot>;
  readonly #tags = new Lru<TagListing>(32 * 1024 * 1024);
  /** The content layer of each manifest, by credentials, repository name and reference. */
  readonly #layers = new Lru<{ readonly digest: string; readonly isChart: boolean }>(4096);

  constructor(deps: OciSourcesDeps) {
    this.#deps = deps;
    const { clock, limits } = deps;
    this.#listings = new FreshJobs({ clock, limitMs: limits.deadlineMs });
    this.#downloads = new SharedJobs({ clock, limitMs: limits.fetchTimeoutMs, keepGoing: true });
  }

  stop(reason: Error): void {
    this.#listings.stop(reason);
    this.#downloads.stop(reason);
  }

  /**
   * Resolves a tag, a digest or a constraint over the tags to a digest.
   * @throws RevisionNotFound, RepositoryError
   */
  async resolve(repository: Repository, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    const at = ociRepositoryOf(repository);
    if (isDigest(revision)) return revision;
    const named = isTag(revision) ? await this.#deps.client.manifest(repository, at, revision, signal) : undefined;
    if (named !== undefined) return named.digest;
    if (parseConstraint(revision) === undefined) throw notFound(at, revision);
    const version = pickVersion(revision, await this.#versions(repository, at, noCache, signal));
    const found = await this.#deps.client.manifest(repository, at, tagOf(version), signal);
    if (found === undefined) throw notFound(at, version);
    return found.digest;
  }

  /**
   * Resolves a revision to a chart version; a version or digest is returned without a request.
   */
  async resolveChart(at: RegistryChart, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    checkChartName(at.chart);
    if (isDigest(revision) || parseVersion(revision) !== undefined) return revision;
    const name = ociRepositoryOf(at.repository, at.chart);
    return pickVersion(revision, await this.#versions(at.repository, name, noCache, signal));
  }

  /** Returns the files of an artifact; for a Helm chart, those of the chart. */
  async snapshot(repository: Repository, digest: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const at = ociRepositoryOf(repository);
    const { maxArtifactBytes: maxBytes } = this.#deps.limits;
    return this.#download({ repository, at, reference: digest, again, maxBytes }, signal, (found, key) => {
      if (found.isChart) return snapshotOf('', digest, key, found.archive);
      return { key, revision: digest, ...found.archive };
    });
  }

  async chartSnapshot(at: RegistryChart, version: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    checkChartName(at.chart);
    const { repository, chart } = at;
    const { maxChartBytes: maxBytes } = this.#deps.limits;
    const wanted = { repository, at: ociRepositoryOf(repository, chart), reference: tagOf(version), again, maxBytes };
    return this.#download(wanted, signal, ({ archive }, key) => snapshotOf(chart, version, key, archive));
  }

  #download(
    wanted: LayerDownload,
    signal: AbortSignal,
    made: (found: LayerContent, key: string) => Snapshot,
  ): Promise<Snapshot> {
    const { repository, at, reference, again, maxBytes } = wanted;
    const { archives, client, limits } = this.#deps;
    const owner = repositoryKey(repository);
    const key = hashJson([owner, at.name, reference]);
    const what = `downloading ${reference} of ${at.host}/${at.name}`;
    return this.#downloads.run(`${key} ${String(again)}`, what, signal, async (work) => {
      const known = again ? undefined : this.#layers.get(key);
      const open = (digest: string): Promise<KeptArchive | undefined> =>
        archives.open({ owner, digest, maxBytes }, work);
      const kept = known === undefined ? undefined : await open(known.digest);
      if (known !== undefined && kept !== undefined)
        return made({ archive: kept, isChart: known.isChart }, hashJson([owner, known.digest]));
      const manifest = await this.#deps.client.manifest(repository, at, reference, work);
      if (manifest === undefined) throw notFound(at, reference);
      const layer = contentLayerOf(manifest, limits.ociMediaTypes);
      const hex = layer.digest.replace(/^sha256:/, '');
      const isChart = layer.mediaType === chartContent;
      let archive = again ? undefined : await open(hex);
      if (archive === undefined) {
        await archives.store(owner, await client.blob(repository, at, layer.digest, work));
        archive = await open(hex);
      }
      if (archive === undefined) throw new DesiredError('DESIRED_ARCHIVE', 'the layer could not be kept on disk');
      this.#layers.set(key, { digest: hex, isChart }, 1, tenantOf(work).project);
      return made({ archive, isChart }, hashJson([owner, hex]));
    });
  }

  /** Returns the tags as versions. A tag cannot contain "+", so "_" stands for it. */
  async #versions(
    repository: Repository,
    at: OciRepository,
    noCache: boolean,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { clock, limits, client } = this.#deps;
    const key = hashJson([repositoryKey(repository), at.name]);
    const cached = this.#tags.get(key);
    const isFresh = cached !== undefined && clock.monotonic() - cached.at < limits.refsTtlMs;
    const job = { key, what: `listing the tags of ${at.host}/${at.name}`, mustBegin: noCache };
    const listing =
      isFresh && !noCache
        ? cached
        : await this.#listings.run(job, signal, async (work) => {
            const began = clock.monotonic();
            const fresh = { tags: await client.tags(repository, at, work), at: began };
            this.#tags.set(
              key,
              fresh,
              fresh.tags.reduce((sum, tag) => sum + 40 + tag.length, 200),
              tenantOf(work).project,
            );
            return fresh;
          });
    return listing.tags.map((tag) => tag.replaceAll('_', '+'));
  }
}

export interface RegistryChart {
  readonly repository: Repository;
  readonly chart: string;
}

interface LayerDownload {
  readonly repository: Repository;
  readonly at: OciRepository;
  readonly reference: string;
  readonly again: boolean;
  /** Limit of the unpacked size. */
  readonly maxBytes: number;
}

interface LayerContent {
  readonly archive: KeptArchive;
  readonly isChart: boolean;
}

/**
 * Returns the layer with the files, with the checks and error texts of Argo CD's getOCIManifest.
 * @throws DesiredError
 */
function contentLayerOf({ layers, configType }: OciManifest, allowedTypes: readonly string[]): OciLayer {
  if (layers.length > maxLayers)
    throw invalidArtifact(`expected no more than ${maxLayers} oci layers, got ${layers.length}`);
  const isContent = ({ mediaType }: OciLayer): boolean =>
    configType === chartConfig ? mediaType === chartContent : /(?:tar|tar\+gzip|tar\.gzip)$/.test(mediaType);
  const content = layers.filter(isContent);
  const [layer] = content;
  if (layer === undefined || content.length > 1)
    throw invalidArtifact(`expected only a single oci content layer, got ${content.length}`);
  if (!allowedTypes.includes(layer.mediaType))
    throw invalidArtifact(`oci layer media type ${layer.mediaType} is not in the list of allowed media types`);
  return layer;
}

function invalidArtifact(message: string): DesiredError {
  return new DesiredError('DESIRED_ARCHIVE', message);
}

function notFound(at: OciRepository, revision: string): RepositoryError | RevisionNotFound {
  if (isDigest(revision)) return new RepositoryError(`${at.host}/${at.name} does not have ${revision}`);
  const tag = revision === '' ? 'latest' : revision;
  const repository = `${at.host}/${at.name}`;
  const message = `cannot get digest for revision ${tag}: ${repository}:${tag}: not found`;
  return new RevisionNotFound(tag, { fields: { repository } }, message);
}

function tagOf(version: string): string {
  return version.replaceAll('+', '_');
}

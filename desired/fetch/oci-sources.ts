import { hashJson } from '#base';
import type { Clock } from '#base';
import type { Repository } from '#model';
import { DesiredError, RepositoryError, RevisionNotFound } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import type { Archives } from './archives.ts';
import { checkChartName, pickVersion, readFrom, snapshotOf } from './chart-repositories.ts';
import { repositoryKey } from './repository-key.ts';
import { SharedJobs } from './jobs.ts';
import { Lru } from './lru.ts';
import { isDigest, isTag, ociName } from './oci-client.ts';
import type { OciClient, OciLayer, OciManifest, OciName } from './oci-client.ts';
import { parseConstraint, parseVersion } from './semver.ts';
import type { Snapshot } from './snapshot.ts';
import type { Unpacked } from './archive.ts';

export interface OciSourcesDeps {
  readonly clock: Clock;
  readonly client: OciClient;
  readonly archives: Archives;
  readonly limits: DesiredLimits;
}

const chartConfig = 'application/vnd.cncf.helm.config.v1+json';
const chartContent = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';
/** ARGOCD_REPO_SERVER_OCI_LAYER_MEDIA_TYPES, its default. */
const allowedTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.layer.v1.tar',
  'application/vnd.oci.image.layer.v1.tar+gzip',
  chartContent,
]);
const mostLayers = 10;

interface Listing {
  readonly tags: readonly string[];
  readonly at: number;
}

/**
 * Sources of a registry: artifacts (`oci://`, revisions are digests) and Helm charts (`chart`, revisions are versions), as Argo CD's util/oci and
 * util/helm know them.
 *
 * Deliberate differences: a list of tags is kept for as long as Git's refs; a version with build metadata ("1.0.0+a", the tag "1.0.0_a") that a
 * constraint means can be read.
 */
export class OciSources {
  readonly #deps: OciSourcesDeps;
  readonly #listings: SharedJobs<Listing>;
  readonly #downloads: SharedJobs<Snapshot>;
  readonly #tags = new Lru<Listing>(32 * 1024 * 1024);
  /** Where the content of a manifest is kept: its layer, by owner, name and the manifest's digest. */
  readonly #layers = new Lru<{ readonly digest: string; readonly isChart: boolean }>(4096);

  constructor(deps: OciSourcesDeps) {
    this.#deps = deps;
    const { clock, limits } = deps;
    this.#listings = new SharedJobs({ clock, limitMs: limits.deadlineMs });
    this.#downloads = new SharedJobs({ clock, limitMs: limits.fetchTimeoutMs, keepGoing: true });
  }

  stop(reason: Error): void {
    this.#listings.stop(reason);
    this.#downloads.stop(reason);
  }

  /** The digest that a tag, a digest or a constraint over the tags means. @throws RevisionNotFound, RepositoryError */
  async resolve(repository: Repository, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    const at = ociName(repository);
    if (isDigest(revision)) return revision;
    const named = isTag(revision) ? await this.#deps.client.manifest(repository, at, revision, signal) : undefined;
    if (named !== undefined) return named.digest;
    if (parseConstraint(revision) === undefined) throw missing(at, revision);
    const version = pickVersion(revision, await this.#versions(repository, at, noCache, signal));
    const found = await this.#deps.client.manifest(repository, at, tagOf(version), signal);
    if (found === undefined) throw missing(at, version);
    return found.digest;
  }

  /** The version of a chart that a revision means: a version is its own answer. */
  async resolveChart(at: ChartOfRegistry, revision: string, noCache: boolean, signal: AbortSignal): Promise<string> {
    checkChartName(at.chart);
    if (parseVersion(revision) !== undefined) return revision;
    const name = ociName(at.repository, at.chart);
    return pickVersion(revision, await this.#versions(at.repository, name, noCache, signal));
  }

  /** The files of an artifact; of one that is a Helm chart, those of the chart. */
  async snapshot(repository: Repository, digest: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const at = ociName(repository);
    return this.#download({ repository, at, reference: digest, again }, signal, (found, key) => {
      const { tree, contents } = found.unpacked;
      if (found.isChart) return snapshotOf('', digest, key, found.unpacked);
      return { key, revision: digest, tree, read: readFrom(contents) };
    });
  }

  async chartSnapshot(at: ChartOfRegistry, version: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    checkChartName(at.chart);
    const { repository, chart } = at;
    const wanted = { repository, at: ociName(repository, chart), reference: tagOf(version), again };
    return this.#download(wanted, signal, ({ unpacked }, key) => snapshotOf(chart, version, key, unpacked));
  }

  #download(wanted: Download, signal: AbortSignal, made: (found: Content, key: string) => Snapshot): Promise<Snapshot> {
    const { repository, at, reference, again } = wanted;
    const owner = repositoryKey(repository);
    const key = hashJson([owner, at.name, reference]);
    const what = `downloading ${reference} of ${at.host}/${at.name}`;
    return this.#downloads.run(`${key} ${String(again)}`, what, signal, async (work) => {
      const known = again ? undefined : this.#layers.get(key);
      const kept = known === undefined ? undefined : await this.#deps.archives.open(owner, known.digest);
      if (known !== undefined && kept !== undefined)
        return made({ unpacked: kept, isChart: known.isChart }, hashJson([owner, known.digest]));
      const manifest = await this.#deps.client.manifest(repository, at, reference, work);
      if (manifest === undefined) throw missing(at, reference);
      const layer = contentOf(manifest);
      const hex = layer.digest.replace(/^sha256:/, '');
      const isChart = layer.mediaType === chartContent;
      const onDisk = again ? undefined : await this.#deps.archives.open(owner, hex);
      const unpacked =
        onDisk ??
        (await this.#deps.archives.keep(owner, await this.#deps.client.blob(repository, at, layer.digest, work)))
          .unpacked;
      this.#layers.set(key, { digest: hex, isChart }, 1);
      return made({ unpacked, isChart }, hashJson([owner, hex]));
    });
  }

  /** Tags as versions: a tag may not hold a "+", so that "_" stands for it. */
  async #versions(
    repository: Repository,
    at: OciName,
    noCache: boolean,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { clock, limits, client } = this.#deps;
    const key = hashJson([repositoryKey(repository), at.name]);
    const cached = this.#tags.get(key);
    const isFresh = cached !== undefined && clock.monotonic() - cached.at < limits.refsTtlMs;
    const listing =
      isFresh && !noCache
        ? cached
        : await this.#listings.run(key, `listing the tags of ${at.host}/${at.name}`, signal, async (work) => {
            const began = clock.monotonic();
            const fresh = { tags: await client.tags(repository, at, work), at: began };
            this.#tags.set(
              key,
              fresh,
              fresh.tags.reduce((sum, tag) => sum + 40 + tag.length, 200),
            );
            return fresh;
          });
    return listing.tags.map((tag) => tag.replaceAll('_', '+'));
  }
}

export interface ChartOfRegistry {
  readonly repository: Repository;
  readonly chart: string;
}

interface Download {
  readonly repository: Repository;
  readonly at: OciName;
  readonly reference: string;
  readonly again: boolean;
}

interface Content {
  readonly unpacked: Unpacked;
  readonly isChart: boolean;
}

/** The one layer that has the files (Argo CD: getOCIManifest and its checks, word for word). @throws DesiredError */
function contentOf({ layers, configType }: OciManifest): OciLayer {
  if (layers.length > mostLayers) throw refused(`expected no more than ${mostLayers} oci layers, got ${layers.length}`);
  const isContent = ({ mediaType }: OciLayer): boolean =>
    configType === chartConfig ? mediaType === chartContent : /(?:tar|tar\+gzip|tar\.gzip)$/.test(mediaType);
  const content = layers.filter(isContent);
  const [layer] = content;
  if (layer === undefined || content.length > 1)
    throw refused(`expected only a single oci content layer, got ${content.length}`);
  if (!allowedTypes.has(layer.mediaType))
    throw refused(`oci layer media type ${layer.mediaType} is not in the list of allowed media types`);
  return layer;
}

function refused(message: string): DesiredError {
  return new DesiredError('DESIRED_ARCHIVE', message);
}

function missing(at: OciName, revision: string): RepositoryError | RevisionNotFound {
  if (isDigest(revision)) return new RepositoryError(`${at.host}/${at.name} does not have ${revision}`);
  return new RevisionNotFound(revision === '' ? 'latest' : revision, {
    fields: { repository: `${at.host}/${at.name}` },
  });
}

function tagOf(version: string): string {
  return version.replaceAll('+', '_');
}

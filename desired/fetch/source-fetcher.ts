import { defined, ownMember } from '#base';
import { isArchive, isArtifact, isRefused, readSourceAddress } from '#model';
import { UnsafeInput } from '../errors.ts';
import type { RequestedSource } from '../types.ts';
import type { ChartLocation, ChartRepositories } from './charts/chart-repositories.ts';
import type { Lfs } from './git/lfs.ts';
import type { OciSources } from './oci/oci-sources.ts';
import type { Submodules } from './git/submodules.ts';
import type { CommitFacts } from './git/commit-facts.ts';
import type { FreshnessBound } from './git/git-repository.ts';
import type { GitRepositories } from './git/git-repositories.ts';
import { refuseOutsideLinks } from './files/snapshot.ts';
import type { Snapshot } from './files/snapshot.ts';
import type { TarballSources } from './tarballs.ts';
import { checkAppPath, checkRepository, checkRevision } from './shared/input-checks.ts';

export interface SourceLocation extends Pick<RequestedSource, 'source' | 'repository'> {
  /** The project's `sourceRepos`: elsewhere, files are fetched without credentials. */
  readonly sourceRepos?: readonly string[];
}

type SourceKind = 'git' | 'chart' | 'oci' | 'chart of a registry' | 'tarball';

/**
 * Decides the kind of a source by its fields and those of its repository, never by trying. An
 * `oci://` URL ignores the chart name; a chart repository without a scheme is a registry (Argo CD:
 * IsHelmOciRepo).
 */
function kindOf({ source, repository }: SourceLocation): SourceKind {
  const address = readSourceAddress(source);
  if (isRefused(address)) throw new UnsafeInput(`the repository URL is refused: ${address.refused}`);
  checkRepository(repository);
  if (isArtifact(source)) return 'oci';
  if ((source.chart ?? '') === '') return isArchive(address) ? 'tarball' : 'git';
  return repository.enableOci === true || address.scheme === 'oci' ? 'chart of a registry' : 'chart';
}

/** Reports whether the source is a Git repository, whose commits never change. */
export function isGitSource(at: SourceLocation): boolean {
  return kindOf(at) === 'git';
}

export interface SourceFetcherDeps {
  readonly git: GitRepositories;
  readonly charts: ChartRepositories;
  readonly oci: OciSources;
  readonly tarballs: TarballSources;
  readonly lfs: Lfs;
  /** Absent: submodules are not fetched. */
  readonly submodules: Submodules | undefined;
}

const shownKinds: Readonly<Record<SourceKind, string>> = {
  git: 'repository',
  oci: 'oci image',
  chart: 'chart',
  'chart of a registry': 'chart',
  tarball: 'archive',
};

/** Fetches all kinds of sources behind one interface. */
export class SourceFetcher {
  readonly #git: GitRepositories;
  readonly #charts: ChartRepositories;
  readonly #oci: OciSources;
  readonly #tarballs: TarballSources;
  readonly #lfs: Lfs;
  readonly #submodules: Submodules | undefined;

  constructor(deps: SourceFetcherDeps) {
    this.#git = deps.git;
    this.#charts = deps.charts;
    this.#oci = deps.oci;
    this.#tarballs = deps.tarballs;
    this.#lfs = deps.lfs;
    this.#submodules = deps.submodules;
  }

  /** Resolves a revision to what it currently points to. @throws DesiredError */
  async resolve(at: RequestedSource, after: FreshnessBound, signal: AbortSignal): Promise<string> {
    checkRevision(at.revision);
    const noCache = after !== undefined;
    switch (kindOf(at)) {
      case 'git':
        return this.#git.of(at.repository).resolve(at.revision, after, signal, at.source.tagPrefix);
      case 'chart':
        return this.#charts.resolve(chartAt(at), at.revision, noCache, signal);
      case 'oci':
        return this.#oci.resolve(at.repository, at.revision, noCache, signal);
      case 'chart of a registry':
        return this.#oci.resolveChart(chartAt(at), at.revision, noCache, signal);
      case 'tarball':
        return this.#tarballs.resolve(at.repository, at.revision, noCache, signal);
    }
  }

  /**
   * Returns the files of a resolved revision; `again` bypasses the caches. Throws if a link leads
   * out of the snapshot.
   */
  async snapshot(at: SourceLocation, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const kind = kindOf(at);
    const snapshot = await this.#fetched(at, revision, again, signal);
    refuseOutsideLinks(snapshot, shownKinds[kind]);
    return snapshot;
  }

  /** Describes the commit of a Git source; undefined for other kinds, and if no mirror has it. */
  async describe(at: SourceLocation, revision: string, signal: AbortSignal): Promise<CommitFacts | undefined> {
    return kindOf(at) === 'git' ? this.#git.describe(at.repository, revision, signal) : undefined;
  }

  async #fromGit(
    { repository, sourceRepos }: SourceLocation,
    revision: string,
    again: boolean,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    const snapshot = await this.#git.snapshot(repository, revision, again, signal);
    const complete = await this.#submodules?.complete(repository, snapshot, { sourceRepos, signal });
    return this.#lfs.resolved(repository, complete ?? snapshot, sourceRepos);
  }

  #fetched(at: SourceLocation, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    switch (kindOf(at)) {
      case 'git':
        return this.#fromGit(at, revision, again, signal);
      case 'chart':
        return this.#charts.snapshot(chartAt(at), revision, again, signal);
      case 'oci':
        return this.#oci.snapshot(at.repository, revision, again, signal);
      case 'chart of a registry':
        return this.#oci.chartSnapshot(chartAt(at), revision, again, signal);
      case 'tarball':
        return this.#tarballs.snapshot(at.repository, revision, again, signal);
    }
  }

  stop(reason: Error): void {
    this.#git.stop(reason);
    this.#charts.stop(reason);
    this.#oci.stop(reason);
    this.#tarballs.stop(reason);
  }
}

/**
 * Returns the application's directory in the files of its source; always the root for a chart.
 * @throws SourcePathError, UnsafeInput
 */
export function pathOf(at: SourceLocation): readonly string[] {
  return kindOf(at).startsWith('chart') ? [] : checkAppPath(at.source.path ?? '');
}

function chartAt({ source, repository, sourceRepos }: SourceLocation): ChartLocation {
  const passCredentials = ownMember(source.helm ?? {}, 'passCredentials') === true;
  return { repository, chart: source.chart ?? '', passCredentials, ...defined({ sourceRepos }) };
}

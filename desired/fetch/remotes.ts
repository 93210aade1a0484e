import { own } from '#base';
import type { RequestedSource } from '../types.ts';
import type { ChartAt, ChartRepositories } from './chart-repositories.ts';
import type { Lfs } from './lfs.ts';
import type { OciSources } from './oci-sources.ts';
import type { Submodules } from './submodules.ts';
import type { Recency } from './git-repository.ts';
import type { GitRepositories } from './repositories.ts';
import { refuseOutsideLinks } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';
import { isTarballUrl } from './tarballs.ts';
import type { Tarballs } from './tarballs.ts';
import { checkAppPath, checkRevision } from './untrusted.ts';

type SourceAt = Pick<RequestedSource, 'source' | 'repository'>;

type Kind = 'git' | 'chart' | 'oci' | 'chart of a registry' | 'tarball';

/**
 * Where a source lies: decided by its fields and those of its repository, never by trying. With `oci://` a chart's name means nothing; a
 * repository of charts whose URL has no scheme is a registry (Argo CD: IsHelmOciRepo).
 */
function kindOf({ source, repository }: SourceAt): Kind {
  if (source.repoURL.startsWith('oci://')) return 'oci';
  if ((source.chart ?? '') === '') return isTarballUrl(source.repoURL) ? 'tarball' : 'git';
  return repository.enableOci === true || !/^[a-z][a-z0-9+.-]*:\/\//i.test(source.repoURL.trim())
    ? 'chart of a registry'
    : 'chart';
}

export interface RemotesDeps {
  readonly git: GitRepositories;
  readonly charts: ChartRepositories;
  readonly oci: OciSources;
  readonly tarballs: Tarballs;
  readonly lfs: Lfs;
  /** Without it, submodules are left as they are. */
  readonly submodules: Submodules | undefined;
}

const shownKinds: Readonly<Record<Kind, string>> = {
  git: 'repository',
  oci: 'oci image',
  chart: 'chart',
  'chart of a registry': 'chart',
  tarball: 'archive',
};

/** Everything that sources can be fetched from, by one interface. */
export class Remotes {
  readonly #git: GitRepositories;
  readonly #charts: ChartRepositories;
  readonly #oci: OciSources;
  readonly #tarballs: Tarballs;
  readonly #lfs: Lfs;
  readonly #submodules: Submodules | undefined;

  constructor(deps: RemotesDeps) {
    this.#git = deps.git;
    this.#charts = deps.charts;
    this.#oci = deps.oci;
    this.#tarballs = deps.tarballs;
    this.#lfs = deps.lfs;
    this.#submodules = deps.submodules;
  }

  /** Where a revision points now. @throws DesiredError */
  async resolve(at: RequestedSource, after: Recency, signal: AbortSignal): Promise<string> {
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

  /** The files of a resolved revision; `again` fetches and reads them anew. Nothing in it links to anything outside of it. */
  async snapshot(at: SourceAt, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const kind = kindOf(at);
    const snapshot = await this.#fetched(at, revision, again, signal);
    refuseOutsideLinks(snapshot, shownKinds[kind]);
    return snapshot;
  }

  async #fromGit({ repository }: SourceAt, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const snapshot = await this.#git.snapshot(repository, revision, again, signal);
    return this.#lfs.resolved(repository, (await this.#submodules?.complete(repository, snapshot, signal)) ?? snapshot);
  }

  #fetched(at: SourceAt, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
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

/** The application's directory in the files of its source: of a chart always the root. @throws SourcePathError, UnsafeInput */
export function pathOf(at: SourceAt): readonly string[] {
  return kindOf(at).startsWith('chart') ? [] : checkAppPath(at.source.path ?? '');
}

function chartAt({ source, repository }: SourceAt): ChartAt {
  const passCredentials = own(source.helm ?? {}, 'passCredentials') === true;
  return { repository, chart: source.chart ?? '', passCredentials };
}

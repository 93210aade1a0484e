import { own } from '#base';
import type { RequestedSource } from '../types.ts';
import { UnsupportedSource } from '../errors.ts';
import type { ChartAt, ChartRepositories } from './chart-repositories.ts';
import type { GitRepositories } from './repositories.ts';
import { refuseOutsideLinks } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';
import { checkAppPath, checkRevision } from './untrusted.ts';

type SourceAt = Pick<RequestedSource, 'source' | 'repository'>;

/** Where a source lies: decided by its fields, never by trying. */
function kindOf({ source }: SourceAt): 'git' | 'chart' | 'oci' {
  if (source.repoURL.startsWith('oci://')) return 'oci';
  return (source.chart ?? '') === '' ? 'git' : 'chart';
}

/** Everything that sources can be fetched from, by one interface. */
export class Remotes {
  readonly #git: GitRepositories;
  readonly #charts: ChartRepositories;

  constructor(deps: { readonly git: GitRepositories; readonly charts: ChartRepositories }) {
    this.#git = deps.git;
    this.#charts = deps.charts;
  }

  /** Where a revision points now. @throws DesiredError */
  async resolve(at: RequestedSource, noCache: boolean, signal: AbortSignal): Promise<string> {
    checkRevision(at.revision);
    switch (kindOf(at)) {
      case 'git':
        return this.#git.of(at.repository).resolve(at.revision, noCache, signal);
      case 'chart':
        return this.#charts.resolve(chartAt(at), at.revision, noCache, signal);
      case 'oci':
        throw new UnsupportedSource('OCI artifacts (repoURL oci://)');
    }
  }

  /** The files of a resolved revision; `again` fetches and reads them anew. Nothing in it links to anything outside of it. */
  async snapshot(at: SourceAt, revision: string, again: boolean, signal: AbortSignal): Promise<Snapshot> {
    const kind = kindOf(at);
    const snapshot =
      kind === 'chart'
        ? await this.#charts.snapshot(chartAt(at), revision, again, signal)
        : await this.#git.snapshot(at.repository, revision, again, signal);
    refuseOutsideLinks(snapshot, kind === 'chart' ? 'chart' : 'repository');
    return snapshot;
  }

  stop(reason: Error): void {
    this.#git.stop(reason);
    this.#charts.stop(reason);
  }
}

/** The application's directory in the files of its source: of a chart always the root. @throws SourcePathError, UnsafeInput */
export function pathOf(at: SourceAt): readonly string[] {
  return kindOf(at) === 'chart' ? [] : checkAppPath(at.source.path ?? '');
}

function chartAt({ source, repository }: SourceAt): ChartAt {
  const passCredentials = own(source.helm ?? {}, 'passCredentials') === true;
  return { repository, chart: source.chart ?? '', passCredentials };
}

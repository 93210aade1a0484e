import type { ApplicationSource, KubeObject, Repository } from '#model';
import type { Snapshot } from '../fetch/snapshot.ts';
import type { DirectoryNode } from '../fetch/tree.ts';
import type { ManifestsRequest } from '../types.ts';

/** A Git repository, and what in it: a branch, tag or commit, or "" (HEAD). */
export interface RemoteRepository {
  readonly url: string;
  readonly revision: string;
}

/** One source that is to be rendered: where it lies, and what the request says beside it. */
export interface Job {
  readonly request: ManifestsRequest;
  /** With the override files of its directory applied. */
  readonly source: ApplicationSource;
  readonly repository: Repository;
  readonly snapshot: Snapshot;
  /** The application's directory: segments from the root as written (links allowed), and the node where they end. */
  readonly segments: readonly string[];
  readonly directory: DirectoryNode;
  /** The files of a repository that only the source itself names, where the project permits it. @throws DesiredError */
  readonly remote: (repository: RemoteRepository, signal: AbortSignal) => Promise<Snapshot>;
  /** The files of another source of the request, by `$ref`. */
  readonly reference: (name: string, signal: AbortSignal) => Promise<Snapshot>;
}

export interface Rendered {
  readonly objects: readonly KubeObject[];
  /** About how much memory they take. */
  readonly bytes: number;
}

/** What rendering a source would read: decided before anything is rendered, so that what was rendered before need not be again. */
export interface Plan {
  /** Of everything that decides the outcome. Equal keys, equal manifests. */
  readonly key: readonly unknown[];
  render(signal: AbortSignal): Promise<Rendered>;
}

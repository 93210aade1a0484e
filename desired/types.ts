import type { Runnable } from '#base';
import type { ApplicationSource, KubeObject, Repository } from '#model';

export interface ManifestsRequest {
  readonly source: ApplicationSource;
  readonly repository: Repository;
  /** Branch, tag, commit or "" (HEAD). Not necessarily `source.targetRevision`. */
  readonly revision: string;
  /** Ask the repository where the revision points, even if a recent answer is cached. */
  readonly noRevisionCache: boolean;
  /** Render again, even if this commit was rendered before. */
  readonly noCache: boolean;
  /** For build environments and messages. */
  readonly appName: string;
  readonly namespace: string;
}

export interface Manifests {
  /** Objects in file order, without tracking. Nulls and empty documents are gone; a `List` is unfolded. */
  readonly objects: readonly KubeObject[];
  /** The full commit SHA that the objects were rendered from (T-REV-1: callers compare it with what they asked for). */
  readonly revision: string;
  readonly sourceType: 'Directory' | 'Helm' | 'Kustomize' | 'Plugin';
}

/**
 * Renders sources. Concurrent equal requests share one piece of work; a repository is fetched at most once at a time; everything has a
 * deadline. Errors (DriftlessError, codes DESIRED_*): message as Argo CD's repo-server words it, without credentials.
 */
export interface DesiredSource extends Runnable {
  manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests>;
  /** Where a revision points now: full commit SHA. */
  resolve(repository: Repository, revision: string, noCache: boolean, signal: AbortSignal): Promise<string>;
}

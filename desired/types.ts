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

/** What is to be verified before it is rendered. */
export interface VerifyRequest {
  readonly repository: Repository;
  /** Branch, tag, commit or "" (HEAD). */
  readonly revision: string;
  /** What the source names, where `revision` is a commit that it was resolved to before: the tag of that commit may carry the signature. */
  readonly targetRevision?: string;
  readonly mode: 'head' | 'strict';
  /** IDs (16 digits) or fingerprints (40) of the keys that may sign. */
  readonly keys: readonly string[];
  readonly noRevisionCache: boolean;
  /** Verify again, even if it was done a moment ago. */
  readonly noCache: boolean;
}

export interface Verified {
  /** The full commit SHA that was verified. Render this one. */
  readonly revision: string;
  /** Argo CD's words for what is not good, at most ten; empty: all is. Never render a revision with problems. */
  readonly problems: readonly string[];
}

/**
 * Renders sources. Concurrent equal requests share one piece of work; a repository is fetched at most once at a time; everything has a
 * deadline. Errors (DriftlessError, codes DESIRED_*): message as Argo CD's repo-server words it, without credentials.
 */
export interface DesiredSource extends Runnable {
  manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests>;
  /** Verifies the OpenPGP signatures of a revision (Argo CD: util/sourceintegrity, git client LsSignatures). */
  verify(request: VerifyRequest, signal: AbortSignal): Promise<Verified>;
  /** Where a revision points now: full commit SHA. */
  resolve(repository: Repository, revision: string, noCache: boolean, signal: AbortSignal): Promise<string>;
}

import type { Runnable } from '#base';
import type { ApplicationSource, KubeObject, Repository, SourceDecryption, TrackingSettings } from '#model';
import type { DryCommit } from './hydrate/dry-commit.ts';
import type { CommitFacts } from './fetch/git/commit-facts.ts';
import type { UnnamedObject } from './generate/unnamed.ts';

export type { CommitFacts } from './fetch/git/commit-facts.ts';

/** One source of a request, with its repository and the credentials for it. */
export interface RequestedSource {
  readonly source: ApplicationSource;
  readonly repository: Repository;
  /**
   * Branch, tag, commit, version of a chart, or "" (HEAD). May differ from `source.targetRevision`.
   */
  readonly revision: string;
  /**
   * The signatures that the revision must have. For a {@link DesiredSource} without `verify`, which
   * checks them while it renders.
   */
  readonly demand?: SignatureDemand;
}

/** Which signatures are accepted. */
export interface SignatureDemand {
  readonly mode: 'head' | 'strict';
  /** IDs (16 digits) or fingerprints (40) of the keys that may sign. */
  readonly keys: readonly string[];
}

/** The capabilities of the destination cluster, which templates may query. */
export interface TargetCapabilities {
  /** As the cluster reports it (`v1.33.1`); "" if unknown. */
  readonly kubeVersion: string;
  /** Sorted `group/version` and `group/version/Kind`. */
  readonly apiVersions: readonly string[];
}

/**
 * Repositories and credentials that a render may use besides those of its sources, such as for
 * chart dependencies.
 */
export interface KnownRepositories {
  readonly repositories: readonly Repository[];
  /** Templates: `url` is a prefix. */
  readonly credentials: readonly Repository[];
  /**
   * Repositories that the project permits (its `sourceRepos`), for bases that an overlay names.
   * Absent: all.
   */
  readonly sourceRepos?: readonly string[];
}

/** Options that administrators set for all sources (argocd-cm). */
export interface GeneratorOptions {
  /** `kustomize.buildOptions`. */
  readonly kustomizeBuildOptions: string;
  /**
   * `kustomize.path.<version>` and `kustomize.version.<version>`: binaries by the name of a
   * version.
   */
  readonly kustomizeVersions: Readonly<Record<string, string>>;
  /** `kustomize.buildOptions.<version>`: sent to a repo-server, but used neither there nor here. */
  readonly kustomizeVersionOptions?: Readonly<Record<string, string>>;
  /** `helm.valuesFileSchemes`: URL schemes that values files may have. */
  readonly valuesFileSchemes: readonly string[];
  /**
   * False: sources of this type are read as plain directories. A type that is missing here is
   * enabled.
   */
  readonly enabledTypes: Readonly<Record<string, boolean>>;
}

/** Which cached answers a request may get. */
export interface CachePolicy {
  /**
   * `current` resolves the revision at the repository. `notBefore` (monotonic clock) accepts an
   * answer requested since then: a push that refreshes a thousand Applications causes one query.
   */
  readonly revision: 'cached' | 'current' | { readonly notBefore: number };
  /** `rerender` verifies and renders again, even if this commit was rendered before. */
  readonly manifests: 'cached' | 'rerender';
}

/**
 * Everything that the manifests of one application depend on, as plain values: a remote generator
 * can receive the same.
 */
export interface ManifestsRequest {
  /** In the order of the spec. A source may refer to another by its `ref`. */
  readonly sources: readonly RequestedSource[];
  readonly cluster: TargetCapabilities;
  readonly repositories: KnownRepositories;
  readonly options: GeneratorOptions;
  readonly cache: CachePolicy;
  /** The instance name, for releases, build environments and messages. */
  readonly appName: string;
  /** The destination namespace. */
  readonly namespace: string;
  readonly project: string;
  /**
   * `spec.sourceRepos` of the project, for a repo-server's message about dependencies that are not
   * permitted.
   */
  readonly projectSourceRepos?: readonly string[];
  /**
   * How objects are tracked. A repo-server adds the tracking itself, and caches its result under
   * it; the embedded generator does not.
   */
  readonly tracking?: TrackingSettings;
  /** How files that SOPS encrypted are decrypted. Absent: they are not, and not applied either. */
  readonly decryption?: SourceDecryption;
  /** The paths of `manifest-generate-paths`, if the application has the annotation. */
  readonly watched?: WatchedPaths;
}

/**
 * The paths of an application in its repository: a commit that changes none of them changes
 * nothing.
 */
export interface WatchedPaths {
  /** The original annotation. */
  readonly annotation: string;
  /** One entry per source: paths from the root of its repository. Empty: everything counts. */
  readonly paths: readonly (readonly string[])[];
  /** One entry per source: the revision of the last comparison, or "". */
  readonly synced: readonly string[];
}

export type SourceType = 'Directory' | 'Helm' | 'Kustomize' | 'Plugin';

export interface SourceManifests {
  /**
   * Objects in file order, without tracking (but see `tracking` of the request). Without nulls and
   * empty documents, and with `List`s unfolded.
   */
  readonly objects: readonly KubeObject[];
  /** Those without a name, hooks included. Absent: there is none. */
  readonly unnamed?: readonly UnnamedObject[];
  /** Files that have some keys of a manifest but are none, each with its fault. Absent: no file. */
  readonly ignored?: readonly string[];
  /** Equal for equal objects of one source. Absent if the source does not know. */
  readonly contentId?: string;
  /**
   * The full commit SHA (for a chart: the version) that the objects were rendered from. Callers
   * compare it with the revision they requested.
   */
  readonly revision: string;
  /** Empty for a source that others only refer to: it renders nothing. */
  readonly sourceType: SourceType | '';
  /**
   * Problems with the signatures that its `demand` requires, with the name of the check before
   * each. There are no objects then.
   */
  readonly problems?: readonly string[];
}

export interface Manifests {
  /** One per source of the request, in its order. */
  readonly sources: readonly SourceManifests[];
}

/** A revision to verify before it is rendered. */
export interface VerifyRequest extends SignatureDemand {
  readonly repository: Repository;
  /** Branch, tag, commit or "" (HEAD). */
  readonly revision: string;
  /**
   * The target revision of the source, if `revision` is the commit that it was resolved to: a tag
   * of that name may carry the signature.
   */
  readonly targetRevision?: string;
  /** The prefix of the tags that a version or constraint refers to. */
  readonly tagPrefix?: string;
  readonly cache: CachePolicy;
}

export interface VerifiedRevision {
  /** The full commit SHA that was verified. Render exactly this one. */
  readonly revision: string;
  /**
   * The problems in Argo CD's words, at most ten; empty if all is good. Never render a revision
   * with problems.
   */
  readonly problems: readonly string[];
}

/** Two commits of a repository, and the paths from its root that matter. */
export interface CommitChange {
  readonly repository: Repository;
  readonly from: string;
  readonly to: string;
  readonly paths: readonly string[];
}

/**
 * Renders sources. Concurrent equal requests share one render; a repository is fetched at most once
 * at a time; everything has a deadline. Errors (DriftlessError, codes DESIRED_*) have the text of
 * Argo CD's repo-server, without credentials.
 */
export interface DesiredSource extends Runnable {
  /** @throws SourceFailed, which names the source and has the error as its cause */
  manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests>;
  /**
   * Verifies the OpenPGP signatures of a revision (Argo CD: util/sourceintegrity, git client
   * LsSignatures). Absent if signatures can only be verified while rendering: then the sources of a
   * request carry their `demand`, and the answer has the problems.
   */
  verify?(request: VerifyRequest, signal: AbortSignal): Promise<VerifiedRevision>;
  /** The author, time and message of a Git commit, for the commit that hydrates it. */
  dryCommit?(repository: Repository, sha: string, signal: AbortSignal): Promise<DryCommit>;
  /**
   * Whether a file at one of the paths differs between two commits. Absent: every new commit counts
   * as a change.
   */
  hasChanges?(change: CommitChange, signal: AbortSignal): Promise<boolean>;
  /**
   * Describes the commit of a Git source, if it was fetched; never asks the remote. Absent: a
   * repo-server has the commits.
   */
  describe?(at: RequestedSource, signal: AbortSignal): Promise<CommitFacts | undefined>;
  /** Resolves a revision to its present target: a full commit SHA, or the version of a chart. */
  resolve(at: RequestedSource, revision: CachePolicy['revision'], signal: AbortSignal): Promise<string>;
}

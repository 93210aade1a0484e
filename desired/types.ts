import type { Runnable } from '#base';
import type { ApplicationSource, KubeObject, Repository, TrackingSettings } from '#model';

/** One source of a request, with the repository that it lies in and the credentials for it. */
export interface RequestedSource {
  readonly source: ApplicationSource;
  readonly repository: Repository;
  /** Branch, tag, commit, version of a chart, or "" (HEAD). Not necessarily `source.targetRevision`. */
  readonly revision: string;
  /** What is demanded of its signatures; for a {@link DesiredSource} without `verify`, which looks at them while it renders. */
  readonly demand?: SignatureDemand;
}

/** Which signatures are good. */
export interface SignatureDemand {
  readonly mode: 'head' | 'strict';
  /** IDs (16 digits) or fingerprints (40) of the keys that may sign. */
  readonly keys: readonly string[];
}

/** What the destination cluster offers; templates may ask for it. */
export interface Capabilities {
  /** As the cluster says it (`v1.33.1`), or "" when it is not known. */
  readonly kubeVersion: string;
  /** Sorted `group/version` and `group/version/Kind`. */
  readonly apiVersions: readonly string[];
}

/** Repositories and credentials that a render may use beside those of its sources: charts that a chart depends on. */
export interface KnownRepositories {
  readonly repositories: readonly Repository[];
  /** Templates: `url` is a prefix. */
  readonly credentials: readonly Repository[];
  /** Which repositories the project permits (its `sourceRepos`), for bases that an overlay names; absent: all. */
  readonly sourceRepos?: readonly string[];
}

/** What the administrators set for all sources (argocd-cm). */
export interface GeneratorOptions {
  /** `kustomize.buildOptions`. */
  readonly kustomizeBuildOptions: string;
  /** `kustomize.path.<version>` and `kustomize.version.<version>`: binaries by the name of a version. */
  readonly kustomizeVersions: Readonly<Record<string, string>>;
  /** `kustomize.buildOptions.<version>`. Told to a repo-server, which does not use them either. */
  readonly kustomizeVersionOptions?: Readonly<Record<string, string>>;
  /** `helm.valuesFileSchemes`: from where values files may be fetched. */
  readonly valuesFileSchemes: readonly string[];
  /** False: sources of this type are read as plain directories. A type that is not in it is enabled. */
  readonly enabledTypes: Readonly<Record<string, boolean>>;
}

/** All that the manifests of one application depend on, as plain values: a generator elsewhere could be sent the same. */
export interface ManifestsRequest {
  /** In the order of the spec. One may refer to another by its `ref`. */
  readonly sources: readonly RequestedSource[];
  readonly cluster: Capabilities;
  readonly repositories: KnownRepositories;
  readonly options: GeneratorOptions;
  /** Ask the repository where the revision points, even if a recent answer is cached. */
  readonly noRevisionCache: boolean;
  /**
   * With `noRevisionCache`: when the answer was asked for, by the monotonic clock. An answer of a repository that was begun after it is new enough, so
   * that a push for which a thousand applications are refreshed is one question.
   */
  readonly revisionsSince?: number | undefined;
  /** Render again, even if this commit was rendered before. */
  readonly noCache: boolean;
  /** The instance name: for releases, build environments and messages. */
  readonly appName: string;
  /** The destination namespace. */
  readonly namespace: string;
  readonly project: string;
  /** `spec.sourceRepos` of the project, for what a repo-server says of dependencies that are not permitted. */
  readonly projectSourceRepos?: readonly string[];
  /** How objects are marked as the application's. A repo-server marks them, and keeps what it rendered under it; the embedded way does not. */
  readonly tracking?: TrackingSettings;
  /** What `manifest-generate-paths` says, where the application has it. */
  readonly watched?: WatchedPaths;
}

/** Where in its repository an application lies: a commit that touches nothing there changes nothing. */
export interface WatchedPaths {
  /** The annotation as it is. */
  readonly annotation: string;
  /** One entry for each source: paths from the root of its repository; none: everything counts. */
  readonly paths: readonly (readonly string[])[];
  /** One entry for each source: the revision that was compared the last time, or "". */
  readonly synced: readonly string[];
}

export type SourceType = 'Directory' | 'Helm' | 'Kustomize' | 'Plugin';

export interface SourceManifests {
  /** Objects in file order, without tracking (but see `tracking` of the request). Nulls and empty documents are gone; a `List` is unfolded. */
  readonly objects: readonly KubeObject[];
  /** The full commit SHA (of a chart: the version) that the objects were rendered from (T-REV-1: callers compare it with what they asked for). */
  readonly revision: string;
  /** Empty for a source that is only referred to: it renders nothing. */
  readonly sourceType: SourceType | '';
  /** What is not good with the signatures that its `demand` asked for, with the name of the check before it. There are no objects then. */
  readonly problems?: readonly string[];
}

export interface Manifests {
  /** One for each source of the request, in its order. */
  readonly sources: readonly SourceManifests[];
}

/** What is to be verified before it is rendered. */
export interface VerifyRequest extends SignatureDemand {
  readonly repository: Repository;
  /** Branch, tag, commit or "" (HEAD). */
  readonly revision: string;
  /** What the source names, where `revision` is a commit that it was resolved to before: the tag of that commit may carry the signature. */
  readonly targetRevision?: string;
  /** Of the tags that a version or a constraint speaks of. */
  readonly tagPrefix?: string;
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
  /** @throws SourceFailed, which names the source and has the error as its cause */
  manifests(request: ManifestsRequest, signal: AbortSignal): Promise<Manifests>;
  /**
   * Verifies the OpenPGP signatures of a revision (Argo CD: util/sourceintegrity, git client LsSignatures). Absent where only rendering can:
   * then the sources of a request carry their `demand`, and the answer has the problems.
   */
  verify?(request: VerifyRequest, signal: AbortSignal): Promise<Verified>;
  /** Where a revision points now: full commit SHA, or the version of a chart. */
  resolve(at: RequestedSource, noCache: boolean, signal: AbortSignal): Promise<string>;
}

import type { DesiredLimits, SourceType } from '#desired';
import type { ApplicationSource, KubeObject } from '#model';

export interface RendererOptions {
  /**
   * The environment of the process. PATH is searched for git, helm, kustomize and jsonnet; proxies
   * are used. Programs see no other variable.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A folder for this renderer alone, kept for the next one. Default: temporary. */
  readonly cacheDir?: string | undefined;
  readonly limits?: Partial<RenderLimits> | undefined;
  /** Permits repositories by path or file://, and on loopback. Default false. */
  readonly allowLocal?: boolean | undefined;
}

/** Limits of one source; see docs/engine/desired.md for the defaults. */
export type RenderLimits = Pick<
  DesiredLimits,
  | 'deadlineMs'
  | 'fetchTimeoutMs'
  | 'maxManifestBytes'
  | 'maxObjects'
  | 'maxMirrorBytes'
  | 'maxCheckoutBytes'
  | 'maxCheckoutFiles'
  | 'maxChartBytes'
  | 'toolTimeoutMs'
  | 'maxToolBytes'
  | 'maxToolMemoryBytes'
  | 'deniedNetworks'
>;

/** `spec.source` of an Application, or a `folder` of this machine instead of its `repoURL`. */
export interface RenderSource extends Omit<ApplicationSource, 'repoURL' | 'ref' | 'name' | 'plugin'> {
  readonly repoURL?: string;
  /** `path` is relative to it. Links that lead out of it are refused. */
  readonly folder?: string;
}

export interface RepositoryLogin {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly sshPrivateKey?: string | undefined;
}

export interface RenderInputs {
  readonly source: RenderSource;
  /** Name of the release, and of the build environment. Default: "app". */
  readonly name?: string | undefined;
  /** Namespace of the release. Default: "default". */
  readonly namespace?: string | undefined;
  /** Version of the destination cluster, for charts: `v1.33.1`. */
  readonly kubeVersion?: string | undefined;
  /** APIs of the destination cluster, for charts: `apps/v1`, `apps/v1/Deployment`. */
  readonly apiVersions?: readonly string[] | undefined;
  readonly login?: RepositoryLogin | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface RenderedSource {
  /** In file order; lists are unfolded. */
  readonly objects: readonly KubeObject[];
  /** The commit or the chart version; for a folder, equal for equal content. */
  readonly revision: string;
  /**
   * Files of a directory that have some keys of a manifest but are none, each with its fault. Do
   * not prune while there are some: the objects that such a file had are not in `objects`.
   */
  readonly ignored: readonly string[];
  readonly sourceType: SourceType;
}

/** Renders sources. */
export interface SourceRenderer {
  /**
   * @throws an error with a `code` that starts with `DESIRED_` and the text of Argo CD, or with
   * `USAGE` for a malformed source.
   */
  render(inputs: RenderInputs): Promise<RenderedSource>;
  /** Ends all programs. Idempotent. */
  close(): Promise<void>;
}

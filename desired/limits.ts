import type { GitRetryRule } from './fetch/git/retries.ts';

/**
 * Limits for one source or repository. The defaults are those of Argo CD's repo-server where it has
 * the limit.
 */
export interface DesiredLimits {
  /** Deadline of one answer: resolving, fetching and rendering together. */
  readonly deadlineMs: number;
  /**
   * Deadline of one fetch, which may exceed that of an answer: waiting callers get a deadline
   * error, the fetch continues, and the next request finds its result. git cannot resume a fetch,
   * so under the shorter deadline a big repository would never arrive.
   */
  readonly fetchTimeoutMs: number;
  /**
   * How long the result of `git ls-remote` is cached (Argo CD: timeout.reconciliation, 3 minutes).
   */
  readonly refsTtlMs: number;
  /**
   * Total size of the manifests of one source
   * (ARGOCD_REPO_SERVER_MAX_COMBINED_DIRECTORY_MANIFESTS_SIZE, 10M). 0: no limit.
   */
  readonly maxManifestBytes: number;
  /** Manifests of one hydrated commit. */
  readonly maxCommitBytes: number;
  /** Output of one `git ls-tree`. */
  readonly maxListingBytes: number;
  /** Output of one `git ls-remote`. */
  readonly maxRefsBytes: number;
  /** Files and folders of one commit: a small repository may expand to a huge number of them. */
  readonly maxTreeEntries: number;
  /** Memory for the listing of one commit, and for all cached listings together. */
  readonly maxTreeBytes: number;
  /** Objects rendered from one source. */
  readonly maxObjects: number;
  /** Memory for cached manifests, by the size of their text. */
  readonly cacheBytes: number;
  /**
   * Disk for cached manifests, and how long they are used (ARGOCD_REPO_CACHE_EXPIRATION, 24 h). 0
   * bytes: none on disk.
   */
  readonly renderedDiskBytes: number;
  readonly renderedAgeMs: number;
  /**
   * Disk for the mirrors of Git repositories, and how long an unused one is kept. The most recently
   * fetched mirror always stays.
   */
  readonly mirrorDiskBytes: number;
  readonly mirrorAgeMs: number;
  /**
   * Disk for the packs of one mirror: a fetch that needs more is killed, and the mirror deleted.
   */
  readonly maxMirrorBytes: number;
  /** Memory that git may allocate at once, such as for one file stored as a delta. */
  readonly maxGitAllocationBytes: number;
  /**
   * After this many failures in a row a source is paused, for this time or this number of requests
   * (ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS, ARGOCD_PAUSE_GEN_MINUTES, ARGOCD_PAUSE_GEN_REQUESTS).
   * A 0 means, in this order: never paused, no end by time, no end by requests.
   */
  readonly pauseAfterFailures: number;
  readonly pauseMs: number;
  readonly pauseRequests: number;
  /** Bytes and files of the repository that one source may need, if a program renders it. */
  readonly maxCheckoutBytes: number;
  readonly maxCheckoutFiles: number;
  /**
   * Size of a chart repository's index (ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_INDEX_SIZE; 1G there,
   * and truncated).
   */
  readonly maxIndexBytes: number;
  /**
   * Size of an unpacked chart and of an unpacked artifact of a registry
   * (ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_EXTRACTED_SIZE and OCI_MANIFEST_MAX_EXTRACTED_SIZE).
   */
  readonly maxChartBytes: number;
  readonly maxArtifactBytes: number;
  /** ARGOCD_REPO_SERVER_OCI_LAYER_MEDIA_TYPES. */
  readonly ociMediaTypes: readonly string[];
  /** Size of a packed chart or layer. */
  readonly maxArchiveBytes: number;
  /** Disk for packed charts and layers, and memory for unpacked ones and indexes. */
  readonly archiveDiskBytes: number;
  readonly archiveCacheBytes: number;
  /**
   * Time and output of one run of helm, kustomize or jsonnet (ARGOCD_EXEC_TIMEOUT, 90 s there; here
   * the answer's deadline ends it earlier).
   */
  readonly toolTimeoutMs: number;
  readonly maxToolBytes: number;
  /** Memory of such a program, if the system reports it (Linux): one that needs more is killed. */
  readonly maxToolMemoryBytes: number;
  /**
   * Memory of all files that are held for programs and plugins, over all repositories. One source
   * may hold half of it.
   */
  readonly inputBytes: number;
  /** Concurrent programs, over all repositories. */
  readonly toolParallelism: number;
  /** Time between SIGTERM and SIGKILL for a git that timed out (ARGOCD_EXEC_FATAL_TIMEOUT). */
  readonly gitKillDelayMs: number;
  /** Attempts to list the refs of a repository. */
  readonly gitRetry: GitRetryRule;
  /** Deadline of one such attempt over HTTP (ARGOCD_GIT_REQUEST_TIMEOUT). 0: that of the answer. */
  readonly gitRequestTimeoutMs: number;
  /** Concurrent listings of refs (ARGOCD_GIT_LS_REMOTE_PARALLELISM_LIMIT). 0: no limit. */
  readonly listParallelism: number;
  /** How long tokens are used at most, besides their own expiry. */
  readonly githubTokenMs: number;
  readonly azureTokenMs: number;
  /**
   * Concurrent connections to one host (git, charts, registries): a host that hangs blocks no more
   * than these. 0: no limit.
   */
  readonly hostParallelism: number;
  /** Networks that no source may lie in: CIDRs, or `metadata`. */
  readonly deniedNetworks: readonly string[];
  /** Time for parsing one file of manifests in a process of its own. */
  readonly parseTimeoutMs: number;
  /**
   * Concurrent renders over all repositories (ARGOCD_REPO_SERVER_PARALLELISM_LIMIT). 0: no limit.
   */
  readonly parallelism: number;
  /** Depth of a fetch: 1 is only the commit, 0 is the full history. */
  readonly fetchDepth: number;
  /**
   * How long the result of verifying signatures is cached: keys and signatures expire without any
   * other change.
   */
  readonly verifiedTtlMs: number;
  /**
   * A mirror is cleaned up after this many fetches. The most recent half of the requested commits
   * stays.
   */
  readonly fetchesPerCleanup: number;
}

/** How messages name the options of the embedding program. Absent: it has no such option. */
export interface SourceOptionNames {
  readonly localRepositories?: string | undefined;
  readonly localSources?: string | undefined;
  readonly deniedNetworks?: string | undefined;
  readonly inputMemory?: string | undefined;
}

export const defaultLimits: DesiredLimits = {
  deadlineMs: 60_000,
  fetchTimeoutMs: 600_000,
  refsTtlMs: 180_000,
  maxManifestBytes: 10_000_000,
  maxCommitBytes: 64 * 1024 * 1024,
  maxListingBytes: 128 * 1024 * 1024,
  maxRefsBytes: 16 * 1024 * 1024,
  maxTreeEntries: 500_000,
  maxTreeBytes: 128 * 1024 * 1024,
  maxObjects: 50_000,
  cacheBytes: 64 * 1024 * 1024,
  renderedDiskBytes: 1024 * 1024 * 1024,
  renderedAgeMs: 24 * 3_600_000,
  mirrorDiskBytes: 8 * 1024 * 1024 * 1024,
  mirrorAgeMs: 7 * 24 * 3_600_000,
  maxMirrorBytes: 4 * 1024 * 1024 * 1024,
  maxGitAllocationBytes: 1024 * 1024 * 1024,
  pauseAfterFailures: 3,
  pauseMs: 3_600_000,
  pauseRequests: 0,
  maxCheckoutBytes: 256 * 1024 * 1024,
  maxCheckoutFiles: 20_000,
  maxIndexBytes: 128 * 1024 * 1024,
  maxChartBytes: 256 * 1024 * 1024,
  maxArtifactBytes: 256 * 1024 * 1024,
  ociMediaTypes: [
    'application/vnd.oci.image.layer.v1.tar',
    'application/vnd.oci.image.layer.v1.tar+gzip',
    'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
  ],
  maxArchiveBytes: 64 * 1024 * 1024,
  archiveDiskBytes: 1024 * 1024 * 1024,
  archiveCacheBytes: 64 * 1024 * 1024,
  toolTimeoutMs: 90_000,
  maxToolBytes: 64 * 1024 * 1024,
  maxToolMemoryBytes: 2 * 1024 * 1024 * 1024,
  inputBytes: 1024 * 1024 * 1024,
  toolParallelism: 4,
  gitKillDelayMs: 10_000,
  gitRetry: { attempts: 1, firstDelayMs: 250, factor: 2, maxDelayMs: 5000 },
  gitRequestTimeoutMs: 0,
  listParallelism: 0,
  githubTokenMs: 3_600_000,
  azureTokenMs: 59 * 60_000,
  hostParallelism: 8,
  deniedNetworks: [],
  parseTimeoutMs: 20_000,
  parallelism: 64,
  fetchDepth: 1,
  verifiedTtlMs: 600_000,
  fetchesPerCleanup: 64,
};

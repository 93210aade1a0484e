/** What one source, or one repository, may cost (T-SEC-40). Defaults as Argo CD's repo-server where it has the limit. */
export interface DesiredLimits {
  /** Time for one answer: resolving, fetching and rendering together. */
  readonly deadlineMs: number;
  /**
   * Time for one fetch. It may take longer than an answer: whoever waited gets a deadline error, the fetch goes on, and the next to ask finds
   * what it brought. (git cannot resume a fetch: with one limit for both, a big repository would never arrive.)
   */
  readonly fetchTimeoutMs: number;
  /** How long an answer of `git ls-remote` is trusted (Argo CD: timeout.reconciliation, 3 minutes). */
  readonly refsTtlMs: number;
  /** Sum of the sizes of the manifests of one source (ARGOCD_REPO_SERVER_MAX_COMBINED_DIRECTORY_MANIFESTS_SIZE, 10M). 0 = no limit. */
  readonly maxManifestBytes: number;
  /** Output of one `git ls-tree`. */
  readonly maxListingBytes: number;
  /** Output of one `git ls-remote`: what a remote says that it has. */
  readonly maxRefsBytes: number;
  /** Files and folders of one commit: a small repository may list as very many. */
  readonly maxTreeEntries: number;
  /** Memory for the listing of one commit, and for all that are kept together. */
  readonly maxTreeBytes: number;
  /** Objects rendered from one source. */
  readonly maxObjects: number;
  /** Memory for rendered manifests, by the size of their text. */
  readonly cacheBytes: number;
  /** Disk for them, and how long they are used (ARGOCD_REPO_CACHE_EXPIRATION, 24 h). 0 bytes: none are kept on disk. */
  readonly renderedDiskBytes: number;
  readonly renderedAgeMs: number;
  /** Disk for the mirrors of Git repositories, and how long one stays that nobody asks for. The one fetched last stays in any case. */
  readonly mirrorDiskBytes: number;
  readonly mirrorAgeMs: number;
  /** Disk for the packs of one mirror: a fetch that needs more is ended, and the mirror thrown away. */
  readonly maxMirrorBytes: number;
  /** The most that git takes into memory at once, as for one file that is a difference to another one. */
  readonly maxGitAllocationBytes: number;
  /**
   * After so many failures in a row, a source is not rendered for a while, or for so many requests (ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS,
   * ARGOCD_PAUSE_GEN_MINUTES, ARGOCD_PAUSE_GEN_REQUESTS). 0: never, for ever, any number.
   */
  readonly pauseAfterFailures: number;
  readonly pauseMs: number;
  readonly pauseRequests: number;
  /** What one source may need of its repository, where a program renders it: bytes and files. */
  readonly maxCheckoutBytes: number;
  readonly maxCheckoutFiles: number;
  /** An index of a chart repository (ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_INDEX_SIZE, 1G and cut off there). */
  readonly maxIndexBytes: number;
  /** A packed chart or layer. Unpacked, it is held to what a checkout may have. */
  readonly maxArchiveBytes: number;
  /** Packed charts and layers that are kept on disk, and unpacked ones and indexes that are kept in memory. */
  readonly archiveDiskBytes: number;
  readonly archiveCacheBytes: number;
  /** Time and output of one run of helm, kustomize or jsonnet (ARGOCD_EXEC_TIMEOUT, 90 s there; here the answer's deadline ends it earlier). */
  readonly toolTimeoutMs: number;
  readonly maxToolBytes: number;
  /** Memory of such a program, where the system tells it (Linux): one that needs more is ended. */
  readonly maxToolMemoryBytes: number;
  /** Such programs at once, over all repositories. */
  readonly toolParallelism: number;
  /** Conversations at once with one host (git, charts, registries): a host that hangs holds no more than these. 0 = no limit. */
  readonly hostParallelism: number;
  /** Networks that no source may lie in: addresses with the length of their prefix, or `metadata`. */
  readonly deniedNetworks: readonly string[];
  /** Time for reading one file of manifests, where that is done by a process of its own. */
  readonly parseTimeoutMs: number;
  /** Renders at once over all repositories (ARGOCD_REPO_SERVER_PARALLELISM_LIMIT). 0 = no limit. */
  readonly parallelism: number;
  /** History that a fetch brings: 1 is the commit alone, 0 is everything. */
  readonly fetchDepth: number;
  /** How long the outcome of verifying signatures is trusted: keys and signatures expire without anything else changing. */
  readonly verifiedTtlMs: number;
  /** A mirror is cleaned up after so many fetches; the last half of the commits asked for stay. */
  readonly fetchesPerCleanup: number;
}

export const defaultLimits: DesiredLimits = {
  deadlineMs: 60_000,
  fetchTimeoutMs: 600_000,
  refsTtlMs: 180_000,
  maxManifestBytes: 10_000_000,
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
  maxArchiveBytes: 64 * 1024 * 1024,
  archiveDiskBytes: 1024 * 1024 * 1024,
  archiveCacheBytes: 64 * 1024 * 1024,
  toolTimeoutMs: 90_000,
  maxToolBytes: 64 * 1024 * 1024,
  maxToolMemoryBytes: 2 * 1024 * 1024 * 1024,
  toolParallelism: 4,
  hostParallelism: 8,
  deniedNetworks: [],
  parseTimeoutMs: 20_000,
  parallelism: 64,
  fetchDepth: 1,
  verifiedTtlMs: 600_000,
  fetchesPerCleanup: 64,
};

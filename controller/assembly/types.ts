import type { Clock, RandomSource, Runnable } from '#base';
import type { DesiredSource, HydrationCommitter } from '#desired';
import type { ClusterClients, KubeClient, KubeReader } from '#kube';
import type { LiveClusters } from '#live';
import type { ClusterConnection } from '#model';
import type { Publisher } from '#publish';
import type { QueueMetrics, RateLimiterConfig } from '#queues';
import type { SettingsStore } from '#settings';
import type { Ownership } from '#sharding';
import type { Logger, MetricRegistry, Tracer } from '#telemetry';
import type { SelfHealBackoff } from '../application/autosync.ts';
import type { ControllerReport } from '../report/controller-report.ts';

/** Dependencies for watching, constructed and started by the caller. */
export interface WatchDeps {
  /** The cluster that holds Applications and AppProjects. */
  readonly hub: KubeReader;
  readonly settings: SettingsStore;
  readonly ownership: Ownership;
  readonly live: LiveClusters;
  readonly desired: DesiredSource;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  /** `workqueue_*` metrics, if exposed. */
  readonly queueMetrics?: QueueMetrics;
  /** Records a trace for each pass. Default: none. */
  readonly tracer?: Tracer | undefined;
}

/** Further dependencies for writing. */
export interface ControllerDeps extends WatchDeps {
  readonly hub: KubeClient;
  /** Writes Events to the hub at a rate of its own; absent: `hub`. */
  readonly eventHub?: KubeClient;
  /** Write access to the managed clusters. */
  readonly clients: ClusterClients;
  readonly publisher: Publisher;
  /** Opens a client of its own for a cluster, to probe it. Absent: clusters are not probed. */
  readonly connect?: (connection: ClusterConnection) => KubeClient;
  /** Commits hydrated manifests; required for `hydration`. */
  readonly committer?: HydrationCommitter | undefined;
}

/** Argo CD's flags as values; durations in milliseconds. */
export interface ControllerConfig {
  /** The controller's own namespace. */
  readonly namespace: string;
  /** --application-namespaces: globs, or regular expressions between slashes. */
  readonly applicationNamespaces: readonly string[];
  /** --status-processors. */
  readonly statusProcessors: number;
  /** --operation-processors. */
  readonly operationProcessors: number;
  /** --app-resync; 0: never. */
  readonly appResyncMs: number;
  /** --app-hard-resync; 0: never. */
  readonly hardResyncMs: number;
  /** --app-resync-jitter. */
  readonly jitterMs: number;
  readonly selfHeal: SelfHealBackoff;
  /** --retry-latest-revision; an annotation of the Application takes precedence. */
  readonly retryLatestRevision?: boolean;
  /** --sync-timeout; 0: none. */
  readonly syncTimeoutMs: number;
  /** --repo-error-grace-period-seconds. */
  readonly repoErrorGraceMs: number;
  /** --last-good-rendering-limit-seconds; 0 or absent: no limit. */
  readonly lastGoodLimitMs?: number;
  /** --kubectl-parallelism-limit; below 1: unlimited. */
  readonly kubectlParallelism: number;
  /**
   * How long an Application must block the event loop, twice in a row, to be quarantined; 0: never.
   * Default 5 s.
   */
  readonly quarantineAfterMs?: number;
  /** ARGOCD_SYNC_WAVE_DELAY. */
  readonly syncWaveDelayMs: number;
  /** --persist-resource-health. */
  readonly persistResourceHealth: boolean;
  /** Bytes of objects that comparisons keep until the next one; absent: no limit. */
  readonly comparisonBytes?: number;
  /** --server-side-diff-enabled; an annotation of the application takes precedence. */
  readonly serverSideDiff?: boolean;
  /**
   * --ignore-normalizer-jq-execution-timeout-seconds, for one program on one object; default 1 s.
   */
  readonly jqLimitMs?: number;
  /** ARGO_CD_UPDATE_CLUSTER_INFO_TIMEOUT; default 10 s. */
  readonly clusterInfoMs?: number;
  /**
   * How long no Secret may claim the cluster of a deleted Application before it is given up: two
   * leases. Default 33 s.
   */
  readonly unclaimedMs?: number;
  /**
   * How long none of this replica's clusters answers before it offers them to other replicas: a
   * lease. Absent: never.
   */
  readonly unreachedMs?: number;
  /** --lost-cluster-cache-seconds; default 0. */
  readonly keepLostClustersMs?: number;
  /** --enable-k8s-event; default all. */
  readonly enabledEvents?: readonly string[];
  /** ARGOCD_GPG_ENABLED. False: signatures are never verified, whatever projects require. */
  readonly gpgEnabled?: boolean;
  /** --wq-*. */
  readonly rateLimiter: RateLimiterConfig;
  /** --hydrator-enabled: hydrates sources, `processors` groups at once. Undefined: off. */
  readonly hydration?: { readonly processors: number };
  /** Options of the metrics; by default nothing optional is exposed. */
  readonly metrics?: {
    /** --metrics-application-labels. */
    readonly applicationLabels: readonly string[];
    /** --metrics-application-conditions. */
    readonly applicationConditions: readonly string[];
    /** Name of this machine or pod, for the label `hostname`. */
    readonly hostname: string;
  };
  /** How long running passes may take to finish after a stop. */
  readonly graceMs: number;
}

export interface Controller extends Runnable {
  /** Resolves once Applications and projects are listed and the pools have started. */
  ready(signal: AbortSignal): Promise<void>;
  /** Source of the read API. */
  readonly report: ControllerReport;
  /** Reports progress, not liveness: not ok when work waits and nothing moves. */
  healthy(): { readonly ok: boolean; readonly reason?: string; readonly note?: string };
}

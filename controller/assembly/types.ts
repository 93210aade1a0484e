import type { Clock, RandomSource, Runnable } from '#base';
import type { DesiredSource, HydrationCommitter } from '#desired';
import type { ClusterClients, KubeClient, KubeReader } from '#kube';
import type { ClusterInfo, LiveClusters } from '#live';
import type { AppKey, HealthStatusCode, OperationPhase, SyncStatusCode } from '#model';
import type { Publisher } from '#publish';
import type { ProcessorsProgress, QueueMetrics, RateLimiterConfig } from '#queues';
import type { SettingsStore } from '#settings';
import type { Ownership } from '#sharding';
import type { Logger, MetricRegistry, Tracer } from '#telemetry';
import type { SelfHealBackoff } from '../application/autosync.ts';
import type { ControllerReport } from '../report/controller-report.ts';
import type { CompareLevel } from '../application/freshness.ts';

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
  /** Write access to the managed clusters. */
  readonly clients: ClusterClients;
  readonly publisher: Publisher;
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
  /** --server-side-diff-enabled; an annotation of the application takes precedence. */
  readonly serverSideDiff?: boolean;
  /**
   * --ignore-normalizer-jq-execution-timeout-seconds, for one program on one object; default 1 s.
   */
  readonly jqLimitMs?: number;
  /** ARGO_CD_UPDATE_CLUSTER_INFO_TIMEOUT; default 10 s. */
  readonly clusterInfoMs?: number;
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

/** One application as the dashboard and `explain` show it. Plain values. */
export interface AppSnapshot {
  readonly key: AppKey;
  readonly project: string;
  /** URL of its cluster; "" when its destination cannot be resolved. */
  readonly cluster: string;
  readonly sync: SyncStatusCode | '';
  readonly health: HealthStatusCode | '';
  readonly healthMessage: string;
  readonly revision: string;
  readonly operation: OperationPhase | '';
  readonly operationMessage: string;
  readonly lastRefresh?: { readonly at: number; readonly reason: string; readonly level: CompareLevel };
  /** The reason it waits, since when and until when. */
  readonly waiting?: { readonly what: string; readonly since: number; readonly until: number };
  /** The first differences, paths only. */
  readonly differences: readonly string[];
  readonly conditions: readonly { readonly type: string; readonly message: string }[];
}

export interface ControllerSnapshot {
  readonly shard: number | undefined;
  readonly replicas: number;
  readonly applications: readonly AppSnapshot[];
  readonly queues: readonly ({ readonly name: string; readonly delayed: number } & ProcessorsProgress)[];
  readonly clusters: readonly ClusterInfo[];
  /** `<server> <group>/<kind>: <why>` for every kind whose live state is stale. */
  readonly degraded: readonly string[];
  /** The same for kinds that are left out because they may not be listed. */
  readonly leftOut: readonly string[];
}

export interface Controller extends Runnable {
  /** Resolves once Applications and projects are listed and the pools have started. */
  ready(signal: AbortSignal): Promise<void>;
  snapshot(): ControllerSnapshot;
  /** Source of the read API. */
  readonly report: ControllerReport;
  /** Reports progress, not liveness: not ok when work waits and nothing moves. */
  healthy(): { readonly ok: boolean; readonly reason?: string; readonly note?: string };
}

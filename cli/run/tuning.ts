import type { KubeClientLimits } from '#kube';
import type { createLiveClusters, KindsInUse, LiveTuning } from '#live';
import type { RunConfig } from '../options/run-options.ts';
import { heapBytes, liveLimits } from './memory.ts';
import type { OptionNames } from './option-names.ts';

/** Go's interval of TCP probes for a dialer whose interval is 0. */
const goKeepAliveMs = 15_000;
/** Retries without --k8sclient-retry-max, which is 0 in Argo CD by default. */
const usualRetries = 4;

type UntunedLimit = 'bytes' | 'deadlineMs' | 'watchIdleMs' | 'http2';

/** Limits of the connections and requests to one API server; `rate` multiplies the request rate. */
export function connectionLimits(config: RunConfig, rate: number): Omit<KubeClientLimits, UntunedLimit> {
  const qps = config.k8sClientQps * rate;
  return {
    qps,
    burst: config.k8sClientBurst === 0 ? 2 * qps : config.k8sClientBurst * rate,
    connections: config.k8sClientMaxIdleConnections,
    connectMs: config.k8sTcpTimeout,
    tlsHandshakeMs: config.k8sTlsHandshakeTimeout,
    keepAliveMs: config.k8sTcpKeepalive === 0 ? goKeepAliveMs : config.k8sTcpKeepalive,
    idleMs: config.k8sTcpIdleTimeout,
    serverTimeoutMs: config.k8sServerSideTimeout,
    attempts: 1 + (config.k8sClientRetryMax === 0 ? usualRetries : config.k8sClientRetryMax),
    retryMs: config.k8sClientRetryBaseBackoff,
  };
}

type LiveOptions = Omit<
  Parameters<typeof createLiveClusters>[0],
  'clients' | 'clock' | 'random' | 'logger' | 'metrics'
>;

interface WatchInputs {
  readonly config: RunConfig;
  readonly kindsInUse?: KindsInUse | undefined;
  readonly names: OptionNames;
}

/** The watched kinds of the clusters, and the limits of their caches. */
export function watchingOf({ config, kindsInUse, names }: WatchInputs): LiveOptions {
  return {
    clusterLabels: config.metricsClusterLabels,
    tuning: liveTuning(config),
    limits: liveLimits(config.clusterMemory, heapBytes()),
    kindsInUse,
    memoryRemedy: names.memoryRemedy,
  };
}

/** How the live state of clusters is read. */
export function liveTuning(config: RunConfig): Partial<LiveTuning> {
  return {
    batchMs: config.clusterCacheBatchEvents ? config.clusterCacheEventsInterval : 0,
    auditMs: config.clusterCacheWatchResync,
    relistMs: config.clusterCacheResync,
    lists: config.clusterCacheListSemaphore,
    pageSize: config.clusterCacheListPageSize,
    pageAttempts: config.clusterCacheAttemptLimit,
    discoveryRetryMs: config.clusterSyncRetryTimeout,
  };
}

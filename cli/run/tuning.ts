import type { KubeClientLimits } from '#kube';
import type { LiveTuning } from '#live';
import type { RunConfig } from '../options/run-options.ts';

/** Go's interval of TCP probes for a dialer whose interval is 0. */
const goKeepAliveMs = 15_000;
/** Retries without --k8sclient-retry-max, which is 0 in Argo CD by default. */
const usualRetries = 4;

/** Limits of the connections and requests to one API server, without rates and sizes. */
export function connectionLimits(
  config: RunConfig,
): Pick<
  KubeClientLimits,
  'connections' | 'connectMs' | 'tlsHandshakeMs' | 'keepAliveMs' | 'idleMs' | 'serverTimeoutMs' | 'attempts' | 'retryMs'
> {
  return {
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

import { describe, expect, it } from '@jest/globals';
import { defaultOf, readArgs } from './args.ts';
import type { OptionSpec } from './args.ts';
import { runOptions } from './run-options.ts';

/**
 * Flags of Argo CD's application controller at the pinned commit (cmd/argocd-application-
 * controller): flag, environment variable, default as written on the command line.
 */
const argo: readonly (readonly [flag: string, env: string, fallback: string])[] = [
  ['app-resync', 'ARGOCD_RECONCILIATION_TIMEOUT', '120'],
  ['app-hard-resync', 'ARGOCD_HARD_RECONCILIATION_TIMEOUT', '0'],
  ['app-resync-jitter', 'ARGOCD_RECONCILIATION_JITTER', '60'],
  ['repo-error-grace-period-seconds', 'ARGOCD_REPO_ERROR_GRACE_PERIOD_SECONDS', '180'],
  ['repo-server-timeout-seconds', 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS', '60'],
  ['repo-server-plaintext', 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_PLAINTEXT', 'false'],
  ['repo-server-strict-tls', 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_STRICT_TLS', 'false'],
  ['repo-server-ca-cert-path', 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CA_CERT_PATH', ''],
  [
    'repo-server-client-cert-path',
    'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CLIENT_CERT_PATH',
    '/app/config/reposerver/mtls/client.crt',
  ],
  [
    'repo-server-client-cert-key-path',
    'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CLIENT_CERT_KEY_PATH',
    '/app/config/reposerver/mtls/client.key',
  ],
  ['commit-server', 'ARGOCD_APPLICATION_CONTROLLER_COMMIT_SERVER', ''],
  ['status-processors', 'ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS', '20'],
  ['operation-processors', 'ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS', '10'],
  ['hydration-processors', 'ARGOCD_APPLICATION_CONTROLLER_HYDRATION_PROCESSORS', '5'],
  ['hydrator-enabled', 'ARGOCD_HYDRATOR_ENABLED', 'false'],
  ['logformat', 'ARGOCD_APPLICATION_CONTROLLER_LOGFORMAT', 'json'],
  ['loglevel', 'ARGOCD_APPLICATION_CONTROLLER_LOGLEVEL', 'info'],
  ['gloglevel', '', '0'],
  ['metrics-port', '', '8082'],
  ['metrics-cache-expiration', 'ARGOCD_APPLICATION_CONTROLLER_METRICS_CACHE_EXPIRATION', '0'],
  ['metrics-application-labels', 'ARGOCD_APPLICATION_CONTROLLER_METRICS_APPLICATION_LABELS', ''],
  ['metrics-application-conditions', 'ARGOCD_APPLICATION_CONTROLLER_METRICS_APPLICATION_CONDITIONS', ''],
  ['metrics-cluster-labels', 'ARGOCD_APPLICATION_CONTROLLER_METRICS_CLUSTER_LABELS', ''],
  ['self-heal-timeout-seconds', 'ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_TIMEOUT_SECONDS', '0'],
  ['self-heal-backoff-timeout-seconds', 'ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_TIMEOUT_SECONDS', '2'],
  ['self-heal-backoff-factor', 'ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_FACTOR', '3'],
  ['self-heal-backoff-cap-seconds', 'ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_CAP_SECONDS', '300'],
  ['self-heal-backoff-cooldown-seconds', 'ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_COOLDOWN_SECONDS', '330'],
  ['sync-timeout', 'ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT', '0'],
  ['kubectl-parallelism-limit', 'ARGOCD_APPLICATION_CONTROLLER_KUBECTL_PARALLELISM_LIMIT', '20'],
  ['persist-resource-health', 'ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH', 'false'],
  ['server-side-diff-enabled', 'ARGOCD_APPLICATION_CONTROLLER_SERVER_SIDE_DIFF', 'false'],
  ['ignore-normalizer-jq-execution-timeout-seconds', 'ARGOCD_IGNORE_NORMALIZER_JQ_TIMEOUT', '1s'],
  ['application-namespaces', 'ARGOCD_APPLICATION_NAMESPACES', ''],
  ['sharding-method', 'ARGOCD_CONTROLLER_SHARDING_ALGORITHM', 'legacy'],
  ['dynamic-cluster-distribution-enabled', 'ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION', 'false'],
  ['enable-k8s-event', 'ARGOCD_ENABLE_K8S_EVENT', 'all'],
  ['wq-bucket-size', 'WORKQUEUE_BUCKET_SIZE', '500'],
  ['wq-bucket-qps', 'WORKQUEUE_BUCKET_QPS', String(Number.MAX_VALUE)],
  ['wq-cooldown-ns', 'WORKQUEUE_FAILURE_COOLDOWN_NS', '0'],
  ['wq-basedelay-ns', 'WORKQUEUE_BASE_DELAY_NS', '1ms'],
  ['wq-maxdelay-ns', 'WORKQUEUE_MAX_DELAY_NS', '1s'],
  ['wq-backoff-factor', 'WORKQUEUE_BACKOFF_FACTOR', '1.5'],
  ['otlp-address', 'ARGOCD_APPLICATION_CONTROLLER_OTLP_ADDRESS', ''],
  ['otlp-insecure', 'ARGOCD_APPLICATION_CONTROLLER_OTLP_INSECURE', 'true'],
  ['otlp-headers', 'ARGOCD_APPLICATION_CONTROLLER_OTLP_HEADERS', ''],
  ['otlp-attrs', 'ARGOCD_APPLICATION_CONTROLLER_OTLP_ATTRS', ''],
  ['otlp-sample-ratio', 'ARGOCD_APPLICATION_CONTROLLER_OTLP_SAMPLE_RATIO', '1'],
  ['app-state-cache-expiration', 'ARGOCD_APP_STATE_CACHE_EXPIRATION', '1h'],
  ['default-cache-expiration', 'ARGOCD_DEFAULT_CACHE_EXPIRATION', '24h'],
  ['sentinel', 'REDIS_SENTINEL_HOSTS', ''],
  ['sentinelmaster', 'REDIS_SENTINEL_MASTER', 'master'],
  ['redis-compress', 'REDIS_COMPRESSION', 'gzip'],
  ['redis-use-tls', '', 'false'],
  ['redis-insecure-skip-tls-verify', '', 'false'],
  ['redis-client-certificate', '', ''],
  ['redis-client-key', '', ''],
  ['redis-ca-certificate', '', ''],
];

/**
 * Argo CD defaults to its own services; Driftless must not wait for services that are missing
 * (docs/compatibility.md).
 */
const differing: readonly (readonly [flag: string, env: string])[] = [
  ['repo-server', 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER'],
  ['redis', 'REDIS_SERVER'],
  ['redisdb', 'REDISDB'],
];

/** Variables that have a flag in Driftless only. */
const variables: readonly (readonly [env: string, value: string, name: keyof typeof runOptions, expected: unknown])[] =
  [
    ['ARGOCD_LOG_FORMAT_TIMESTAMP', '15:04', 'logTimestamp', '15:04'],
    ['ARGOCD_SYNC_WAVE_DELAY', '7', 'syncWaveDelay', 7000],
    ['ARGOCD_CONTROLLER_REPLICAS', '3', 'replicas', 3],
    ['ARGOCD_CONTROLLER_SHARD', '2', 'shard', 2],
    ['ARGOCD_K8S_CLIENT_QPS', '80', 'k8sClientQps', 80],
    ['ARGOCD_K8S_CLIENT_BURST', '90', 'k8sClientBurst', 90],
    ['ARGOCD_K8S_CLIENT_MAX_IDLE_CONNECTIONS', '7', 'k8sClientMaxIdleConnections', 7],
    ['ARGOCD_K8S_TCP_TIMEOUT', '7s', 'k8sTcpTimeout', 7000],
    ['ARGOCD_K8S_TCP_KEEPALIVE', '7s', 'k8sTcpKeepalive', 7000],
    ['ARGOCD_K8S_TCP_IDLE_TIMEOUT', '7m', 'k8sTcpIdleTimeout', 420_000],
    ['ARGOCD_K8S_TLS_HANDSHAKE_TIMEOUT', '7s', 'k8sTlsHandshakeTimeout', 7000],
    ['ARGOCD_K8SCLIENT_RETRY_MAX', '7', 'k8sClientRetryMax', 7],
    ['ARGOCD_K8SCLIENT_RETRY_BASE_BACKOFF', '7', 'k8sClientRetryBaseBackoff', 7],
    ['ARGOCD_CLUSTER_CACHE_LIST_PAGE_BUFFER_SIZE', '7', 'clusterCacheListPageBufferSize', 7],
    ['ARGOCD_CLUSTER_CACHE_RETRY_USE_BACKOFF', 'true', 'clusterCacheRetryUseBackoff', true],
    ['ARGOCD_ENABLE_GRPC_TIME_HISTOGRAM', 'true', 'grpcTimeHistogram', 'true'],
    ['ARGOCD_TRACING_ENABLED', '1', 'tracingEnabled', '1'],
    ['ARGOCD_ENABLE_PROFILER_FILE_PATH', '/p', 'profilerFile', '/p'],
    ['ARGOCD_FAKE_IN_CLUSTER', 'true', 'fakeInCluster', 'true'],
    ['KUBECACHEDIR', '/k', 'kubeCacheDir', '/k'],
    ['ARGOCD_CLUSTER_CACHE_BATCH_EVENTS_PROCESSING', 'false', 'clusterCacheBatchEvents', false],
    ['ARGOCD_CLUSTER_CACHE_EVENTS_PROCESSING_INTERVAL', '7s', 'clusterCacheEventsInterval', 7000],
    ['GRPC_ENABLE_TXT_SERVICE_CONFIG', 'true', 'grpcTxtServiceConfig', true],
    ['ARGOCD_REDIS_KEY_PREFIX', 'p:', 'redisKeyPrefix', 'p:'],
    ['REDIS_CREDS_DIR_PATH', '/creds', 'redisCredsDir', '/creds'],
    ['REDIS_RETRY_COUNT', '7', 'redisRetryCount', 7],
    ['ARGOCD_APPLICATION_TREE_SHARD_SIZE', '7', 'treeShardSize', 7],
    ['ARGO_CD_UPDATE_CLUSTER_INFO_TIMEOUT', '17s', 'clusterInfoInterval', 17_000],
    ['ARGOCD_SSH_DATA_PATH', '/ssh', 'sshDataPath', '/ssh'],
    ['ARGOCD_TLS_DATA_PATH', '/tls', 'tlsDataPath', '/tls'],
    ['ARGOCD_GRPC_MAX_SIZE_MB', '7', 'grpcMaxSizeMb', 7],
    ['ARGOCD_APP_CONF_PATH', '/conf', 'appConfPath', '/conf'],
  ];

const byFlag = new Map<string, readonly [string, OptionSpec]>(
  Object.entries(runOptions).map(([name, spec]) => [spec.flag, [name, spec]]),
);

describe('flags of Argo CD', () => {
  it.each(argo)('--%s [%s] defaults to "%s"', (flag, env, fallback) => {
    const [name, spec] = byFlag.get(flag) ?? [];
    expect([spec?.flag, spec?.env ?? '']).toEqual([flag, env]);
    const asked = spec?.kind === 'bool' ? [`--${flag}=${fallback}`] : [`--${flag}`, fallback];
    const written = flag === 'metrics-cache-expiration' || flag === 'wq-cooldown-ns' || fallback !== '' ? asked : [];
    const told = readArgs(runOptions, written, {}).config;
    const silent = readArgs(runOptions, [], {}).config;
    expect(told[name as keyof typeof told]).toEqual(silent[name as keyof typeof silent]);
  });

  it.each(differing)('--%s [%s] is accepted, and empty unless given', (flag, env) => {
    const [, spec] = byFlag.get(flag) ?? [];
    expect([spec?.env, spec && defaultOf(spec)]).toEqual([env, '']);
  });

  it.each(variables)('%s=%s', (env, value, name, expected) => {
    expect(readArgs(runOptions, [], { [env]: value }).config[name]).toEqual(expected);
  });
});

describe('what has no effect', () => {
  it.each(variables.filter(([, , name]) => 'noEffect' in runOptions[name]))(
    '%s is accepted with a word',
    (env, value) => {
      expect(readArgs(runOptions, [], { [env]: value }).warnings).toEqual([
        expect.stringMatching(/^--[a-z0-9-]+ has no effect: /),
      ]);
    },
  );
});

describe('the table', () => {
  it('names each flag and each variable once', () => {
    const specs: readonly OptionSpec[] = Object.values(runOptions);
    const flags = specs.map((spec) => spec.flag);
    const envs = specs.flatMap((spec) => spec.env ?? []);
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set(envs).size).toBe(envs.length);
  });

  it('gives every flag a sentence of help', () => {
    const bad = Object.values(runOptions).filter((spec) => !/^\S.*[.]$/.test(spec.help));
    expect(bad.map((spec) => spec.flag)).toEqual([]);
  });
});

import type { OptionSpec } from './args.ts';

/**
 * Variables of Argo CD's controller without a flag there that have nothing to change here. Setting
 * one to another value than its default logs a warning.
 */
export const inertOptions = {
  clusterCacheListPageBufferSize: {
    flag: 'cluster-cache-list-page-buffer-size',
    kind: 'int',
    default: 1,
    env: 'ARGOCD_CLUSTER_CACHE_LIST_PAGE_BUFFER_SIZE',
    min: 1,
    help: 'Pages of a list that are fetched in advance.',
    noEffect: 'objects of a page are handled as they arrive, so no page waits in memory',
  },
  clusterCacheRetryUseBackoff: {
    flag: 'cluster-cache-retry-use-backoff',
    kind: 'bool',
    env: 'ARGOCD_CLUSTER_CACHE_RETRY_USE_BACKOFF',
    help: 'Increase the delay between the attempts of a list.',
    noEffect: 'the delay always increases',
  },
  fakeInCluster: {
    flag: 'fake-in-cluster',
    kind: 'string',
    env: 'ARGOCD_FAKE_IN_CLUSTER',
    help: 'Use the kubeconfig for the in-cluster address.',
    noEffect: "https://kubernetes.default.svc always has the hub's connection",
  },
  kubeCacheDir: {
    flag: 'kube-cache-dir',
    kind: 'string',
    default: '/tmp/kubecache',
    env: 'KUBECACHEDIR',
    help: "Directory of kubectl's discovery cache.",
    noEffect: 'discovery is kept in memory, and API versions in --cache-dir',
  },
  grpcTimeHistogram: {
    flag: 'grpc-time-histogram',
    kind: 'string',
    env: 'ARGOCD_ENABLE_GRPC_TIME_HISTOGRAM',
    help: 'Measure the duration of gRPC calls.',
    noEffect: "only Argo CD's servers read it, not its controller",
  },
  tracingEnabled: {
    flag: 'tracing-enabled',
    kind: 'string',
    env: 'ARGOCD_TRACING_ENABLED',
    help: 'Log the duration of each kubectl command.',
    noEffect: 'no kubectl command is run',
  },
  profilerFile: {
    flag: 'enable-profiler-file-path',
    kind: 'string',
    default: '/home/argocd/params/profiler.enabled',
    env: 'ARGOCD_ENABLE_PROFILER_FILE_PATH',
    help: 'File that enables the Go profiler on the metrics port.',
    noEffect: 'there is no Go profiler',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

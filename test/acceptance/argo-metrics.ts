/**
 * Argo CD's families: type and labels (controller/metrics, util/metrics/kubectl, the Git client of
 * reposerver/metrics, and the work queues of controller-runtime).
 */
export const argoFamilies: Readonly<Record<string, string>> = {
  argocd_app_condition: 'gauge condition name namespace project',
  argocd_app_info:
    'gauge autosync_enabled dest_namespace dest_server health_status hydrator_status name namespace operation phase project repo sync_status',
  argocd_app_k8s_request_total:
    'counter dry_run name namespace project resource_kind resource_namespace response_code server verb',
  argocd_app_labels: 'gauge label_<name> name namespace project',
  argocd_app_orphaned_resources_count: 'gauge name namespace project',
  argocd_app_reconcile: 'histogram dest_server namespace',
  argocd_app_sync_duration_seconds_total: 'counter dest_server name namespace project',
  argocd_app_sync_total: 'counter dest_server dry_run name namespace phase project',
  argocd_cluster_api_resource_objects: 'gauge server',
  argocd_cluster_api_resources: 'gauge server',
  argocd_cluster_cache_age_seconds: 'gauge server',
  argocd_cluster_connection_status: 'gauge k8s_version server',
  argocd_cluster_events_total: 'counter group kind server',
  argocd_cluster_info: 'gauge k8s_version name server',
  argocd_cluster_labels: 'gauge label_<name> name server',
  argocd_git_request_duration_seconds: 'histogram repo request_type',
  argocd_git_request_total: 'counter repo request_type',
  argocd_info: 'gauge version',
  argocd_kubectl_client_cert_rotation_age_seconds: 'gauge',
  argocd_kubectl_dns_resolution_duration_seconds: 'histogram host',
  argocd_kubectl_exec_pending: 'gauge command hostname',
  argocd_kubectl_exec_plugin_call_total: 'counter call_status code',
  argocd_kubectl_exec_total: 'counter command hostname',
  argocd_kubectl_rate_limiter_duration_seconds: 'histogram host verb',
  argocd_kubectl_request_duration_seconds: 'histogram host verb',
  argocd_kubectl_request_retries_total: 'counter code host method',
  argocd_kubectl_request_size_bytes: 'histogram host method',
  argocd_kubectl_requests_total: 'counter code host method',
  argocd_kubectl_response_size_bytes: 'histogram host method',
  argocd_kubectl_transport_cache_entries: 'gauge',
  argocd_kubectl_transport_create_calls_total: 'counter result',
  argocd_redis_request_duration: 'histogram hostname initiator',
  argocd_redis_request_total: 'counter command failed hostname initiator',
  argocd_resource_events_processed_in_batch: 'gauge server',
  argocd_resource_events_processing: 'histogram server',
  workqueue_adds_total: 'counter controller name',
  workqueue_depth: 'gauge controller name priority',
  workqueue_longest_running_processor_seconds: 'gauge controller name',
  workqueue_queue_duration_seconds: 'histogram controller name',
  workqueue_retries_total: 'counter controller name',
  workqueue_unfinished_work_seconds: 'gauge controller name',
  workqueue_work_duration_seconds: 'histogram controller name',
};

const requestSeconds = ['0.005', '0.1', '0.5', '2', '8', '30'];
const requestBytes = ['64', '512', '4096', '65536', '1.048576e+06', '1.6777216e+07'];
const passSeconds = ['0.25', '0.5', '1', '2', '4', '8', '16'];
const queueSeconds = [
  '1e-08',
  '1e-07',
  '1e-06',
  '9.999999999999999e-06',
  '9.999999999999999e-05',
  '0.001',
  '0.01',
  '0.1',
  '1',
  '10',
  '100',
  '1000',
];

/** Upper bounds of the buckets of Argo CD's histograms, as `le` shows them, without +Inf. */
export const argoBuckets: Readonly<Record<string, readonly string[]>> = {
  argocd_app_reconcile: passSeconds,
  argocd_git_request_duration_seconds: ['0.1', '0.25', '0.5', '1', '2', '4', '10', '20'],
  argocd_kubectl_dns_resolution_duration_seconds: requestSeconds,
  argocd_kubectl_rate_limiter_duration_seconds: requestSeconds,
  argocd_kubectl_request_duration_seconds: requestSeconds,
  argocd_kubectl_request_size_bytes: requestBytes,
  argocd_kubectl_response_size_bytes: requestBytes,
  argocd_redis_request_duration: ['0.01', '0.05', '0.1', '0.25', '0.5', '1'],
  argocd_resource_events_processing: passSeconds,
  workqueue_queue_duration_seconds: queueSeconds,
  workqueue_work_duration_seconds: queueSeconds,
};

/** A selector of a query of Argo CD's dashboard, and the labels that the query groups by. */
export interface DashboardQuery {
  readonly panel: string;
  readonly metric: string;
  /** Labels that the query names; `namespace` is that of the scraped Pod, which Prometheus adds. */
  readonly labels: readonly string[];
  /** Values that it selects. */
  readonly where?: Readonly<Record<string, RegExp>>;
}

/** Queries of the panels of Argo CD's dashboard that show its controller. */
export const dashboardQueries: readonly DashboardQuery[] = [
  { panel: 'Clusters', metric: 'argocd_cluster_info', labels: ['server'] },
  { panel: 'Applications', metric: 'argocd_app_info', labels: ['dest_server', 'health_status', 'sync_status'] },
  { panel: 'Repositories', metric: 'argocd_app_info', labels: ['repo', 'namespace'] },
  { panel: 'Operations', metric: 'argocd_app_info', labels: ['operation'], where: { operation: /./ } },
  {
    panel: 'Sync Activity',
    metric: 'argocd_app_sync_total',
    labels: ['namespace', 'name', 'project', 'dest_server'],
  },
  {
    panel: 'Sync Failures',
    metric: 'argocd_app_sync_total',
    labels: ['namespace', 'name', 'project', 'dest_server', 'phase'],
    where: { phase: /^(?:Error|Failed)$/ },
  },
  { panel: 'Reconciliation Activity', metric: 'argocd_app_reconcile_count', labels: ['namespace', 'dest_server'] },
  { panel: 'Reconciliation Performance', metric: 'argocd_app_reconcile_bucket', labels: ['namespace', 'le'] },
  { panel: 'K8s API Activity', metric: 'argocd_app_k8s_request_total', labels: ['server', 'verb', 'resource_kind'] },
  { panel: 'Workqueue Depth', metric: 'workqueue_depth', labels: ['name'], where: { name: /^app_/ } },
  { panel: 'Pending kubectl run', metric: 'argocd_kubectl_exec_pending', labels: ['command'] },
  { panel: 'CPU Usage', metric: 'process_cpu_seconds_total', labels: [] },
  { panel: 'Resource Objects Count', metric: 'argocd_cluster_api_resource_objects', labels: ['server'] },
  { panel: 'API Resources Count', metric: 'argocd_cluster_api_resources', labels: ['server'] },
  { panel: 'Cluster Events Count', metric: 'argocd_cluster_events_total', labels: ['server'] },
  gitQuery('Git Requests (ls-remote)', 'argocd_git_request_total', /^ls-remote$/),
  gitQuery('Git Requests (checkout)', 'argocd_git_request_total', /^fetch$/),
  gitQuery('Git Fetch Performance', 'argocd_git_request_duration_seconds_bucket', /^fetch$/),
  gitQuery('Git Ls-Remote Performance', 'argocd_git_request_duration_seconds_bucket', /^ls-remote$/),
  { panel: 'Requests by result', metric: 'argocd_redis_request_total', labels: ['failed'] },
];

function gitQuery(panel: string, metric: string, type: RegExp): DashboardQuery {
  const labels = metric.endsWith('_bucket') ? ['request_type', 'le'] : ['request_type'];
  return { panel, metric, labels, where: { request_type: type } };
}

/** The other metrics of that dashboard, and who has them. docs/metrics.md lists the same names. */
export const foreignDashboardMetrics: Readonly<Record<string, string>> = {
  go_gc_duration_seconds: 'Go runtime',
  go_goroutines: 'Go runtime',
  go_memstats_heap_alloc_bytes: 'Go runtime',
  grpc_server_handled_total: 'argocd-server',
  kube_pod_info: 'kube-state-metrics',
  process_start_time_seconds: 'argocd-server',
};

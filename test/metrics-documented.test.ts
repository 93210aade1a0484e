import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const modules = ['cli', 'controller', 'live', 'publish', 'queues', 'sharding', 'telemetry'];
const root = join(import.meta.dirname, '..');

function sources(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'testing' ? [] : sources(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

const names = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();

it('docs/metrics.md documents every metric, and no others', () => {
  const code = modules.flatMap(sources).map((path) => readFileSync(join(root, path), 'utf8'));
  const made = names(code.join('\n'), /'(driftless_[a-z_]+)'/g);
  expect(made.length).toBeGreaterThan(30);
  expect(names(readFileSync(join(root, 'docs/metrics.md'), 'utf8'), /`(driftless_[a-z_]+)/g)).toEqual(made);
});

/** Argo CD's families: type and labels (controller/metrics, util/metrics/kubectl, workqueue). */
const argoFamilies: Readonly<Record<string, string>> = {
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

it("registers every family of Argo CD's controller with its type and labels, and no other", () => {
  const page = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const rows = [
    ...page.matchAll(/^\| `((?:argocd|workqueue)_[a-z0-9_]+)` \| (gauge|counter|histogram) \| ([^|]*)\|/gm),
  ];
  const registered = rows.map(([, name = '', type = '', labels = '']) => [
    name,
    [type, ...[...labels.matchAll(/`([^`]+)`/g)].map(([, label = '']) => label).sort()].join(' '),
  ]);
  expect(Object.fromEntries(registered)).toEqual(argoFamilies);
});

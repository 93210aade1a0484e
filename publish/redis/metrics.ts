import type { MetricRegistry } from '#telemetry';

export interface StoreMetrics {
  /** Counts a command and its outcome. */
  request(command: string, failed: boolean, durationMs: number): void;
  /** Counts a written value that was missing later. */
  lost(): void;
  /** Sets the sources of the gauges, read at scrape time. */
  show(values: { readonly up: () => boolean; readonly waiting: () => number; readonly bytes: () => number }): void;
}

const initiator = 'argocd-application-controller';

/** Argo CD's two Redis metrics (controller/metrics/metrics.go), and four of our own. */
export function storeMetrics(metrics: MetricRegistry, hostname: string): StoreMetrics {
  const total = metrics.counter(
    'argocd_redis_request_total',
    'Number of redis requests executed during application reconciliation.',
    ['hostname', 'initiator', 'command', 'failed'],
  );
  const duration = metrics.histogram(
    'argocd_redis_request_duration',
    'Redis requests duration.',
    [0.01, 0.05, 0.1, 0.25, 0.5, 1],
    ['hostname', 'initiator'],
  );
  const lost = metrics.counter('driftless_publish_lost_total', 'Published values that were not in Redis any more.');
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.family({ name, help, type: 'gauge', collect: () => [{ labels: {}, value: value() }] });
  return {
    request: (command, failed, durationMs) => {
      total.inc({ hostname, initiator, command, failed: String(failed) });
      duration.observe(durationMs / 1000, { hostname, initiator });
    },
    lost: () => lost.inc(),
    show: ({ up, waiting, bytes }) => {
      gauge('driftless_publish_up', 'Whether Redis accepts writes.', () => Number(up()));
      gauge('driftless_publish_waiting', 'Published values that are not in Redis yet.', waiting);
      gauge('driftless_publish_bytes', 'Memory of published values.', bytes);
    },
  };
}

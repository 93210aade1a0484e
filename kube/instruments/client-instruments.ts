import { X509Certificate } from 'node:crypto';
import type { MetricRegistry } from '#telemetry';
import type { RequestVerb } from './request-facts.ts';

/** Result of a run of a credential plugin, as client-go names it. */
export type PluginCallStatus =
  'no_error' | 'plugin_execution_error' | 'plugin_not_found_error' | 'client_internal_error';

/** Result of a search for existing connections: reused, opened, or opened through a proxy. */
export type TransportResult = 'hit' | 'miss' | 'unreachable';

/** One attempt of a request. */
export interface RequestAttempt {
  readonly host: string;
  readonly method: string;
  /** HTTP status; 0 if there was no response. */
  readonly code: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly sentBytes: number;
}

const secondsBuckets = [0.005, 0.1, 0.5, 2, 8, 30];
const bytesBuckets = [64, 512, 4096, 65_536, 1_048_576, 16_777_216];

/**
 * The eleven `argocd_kubectl_*` families that Argo CD fills from client-go
 * (util/metrics/kubectl/kubectl_metrics.go), of all clients of a process. The series of a host go
 * with its last client.
 */
export class ClientInstruments {
  readonly #metrics: ReturnType<typeof registerClientMetrics>;
  /** Clients by host, with and without its port. */
  readonly #clients = new Map<string, number>();
  #transports = 0;

  constructor(registry: MetricRegistry) {
    this.#metrics = registerClientMetrics(registry);
    for (const name of hostMetrics) registry.dropWhen(name, ({ host }) => !this.#clients.has(String(host)));
    registry.family({
      name: 'argocd_kubectl_transport_cache_entries',
      help: 'Number of kubectl transport cache entries',
      type: 'gauge',
      collect: () => [{ labels: {}, value: this.#transports }],
    });
  }

  clientOpened(host: string): void {
    for (const name of namesOf(host)) this.#clients.set(name, (this.#clients.get(name) ?? 0) + 1);
  }

  clientClosed(host: string): void {
    for (const name of namesOf(host)) {
      const left = (this.#clients.get(name) ?? 1) - 1;
      if (left > 0) this.#clients.set(name, left);
      else this.#clients.delete(name);
    }
  }

  /** @param durationMs of all attempts, with waits and the reading of the response. */
  called(host: string, verb: RequestVerb, durationMs: number): void {
    this.#metrics.duration.observe(durationMs / 1000, { host, verb });
  }

  attempted({ host, method, code, attempt, sentBytes }: RequestAttempt): void {
    const labels = { host, method, code: code === 0 ? '<error>' : String(code) };
    this.#metrics.requests.inc(labels);
    if (attempt > 1) this.#metrics.retries.inc(labels);
    this.#metrics.requestSize.observe(sentBytes, { host, method });
  }

  received(host: string, method: string, bytes: number): void {
    this.#metrics.responseSize.observe(bytes, { host, method });
  }

  throttled(host: string, verb: RequestVerb, waitedMs: number): void {
    this.#metrics.rateLimiter.observe(waitedMs / 1000, { host, verb });
  }

  /** @param host without its port, as it was looked up. */
  resolved(host: string, durationMs: number): void {
    this.#metrics.dns.observe(durationMs / 1000, { host });
  }

  pluginCalled(code: number, status: PluginCallStatus): void {
    this.#metrics.pluginCalls.inc({ code: String(code), call_status: status });
  }

  transport(result: TransportResult): void {
    this.#metrics.transportCalls.inc({ result });
  }

  transportOpened(): void {
    this.#transports += 1;
  }

  transportClosed(): void {
    this.#transports -= 1;
  }

  /** @param certificate the client certificate that was replaced, in PEM. */
  certificateRotated(certificate: string, now: number): void {
    const since = validSince(certificate);
    if (since !== undefined) this.#metrics.certificateAge.set((now - since) / 1000);
  }
}

function namesOf(host: string): readonly string[] {
  return [...new Set([host, host.replace(/:\d+$/, '')])];
}

const hostMetrics = [
  'argocd_kubectl_request_duration_seconds',
  'argocd_kubectl_dns_resolution_duration_seconds',
  'argocd_kubectl_rate_limiter_duration_seconds',
  'argocd_kubectl_request_size_bytes',
  'argocd_kubectl_response_size_bytes',
  'argocd_kubectl_requests_total',
  'argocd_kubectl_request_retries_total',
];

function registerClientMetrics(metrics: MetricRegistry) {
  const seconds = secondsBuckets;
  const bytes = bytesBuckets;
  const byVerb = ['host', 'verb'];
  const byMethod = ['host', 'method'];
  const byCode = ['host', 'method', 'code'];
  return {
    certificateAge: metrics.gauge(
      'argocd_kubectl_client_cert_rotation_age_seconds',
      'Age of a certificate that has just been rotated',
    ),
    duration: metrics.histogram(
      'argocd_kubectl_request_duration_seconds',
      'Request latency in seconds',
      seconds,
      byVerb,
    ),
    dns: metrics.histogram('argocd_kubectl_dns_resolution_duration_seconds', 'Kubectl resolver latency', seconds, [
      'host',
    ]),
    rateLimiter: metrics.histogram(
      'argocd_kubectl_rate_limiter_duration_seconds',
      'Kubectl rate limiter latency',
      seconds,
      byVerb,
    ),
    requestSize: metrics.histogram('argocd_kubectl_request_size_bytes', 'Size of kubectl requests', bytes, byMethod),
    responseSize: metrics.histogram('argocd_kubectl_response_size_bytes', 'Size of kubectl responses', bytes, byMethod),
    requests: metrics.counter('argocd_kubectl_requests_total', 'Number of kubectl request results', byCode),
    retries: metrics.counter('argocd_kubectl_request_retries_total', 'Number of kubectl request retries', byCode),
    pluginCalls: metrics.counter('argocd_kubectl_exec_plugin_call_total', 'Number of kubectl exec plugin calls', [
      'code',
      'call_status',
    ]),
    transportCalls: metrics.counter(
      'argocd_kubectl_transport_create_calls_total',
      'Number of kubectl transport create calls',
      ['result'],
    ),
  };
}

function validSince(pem: string): number | undefined {
  try {
    const since = Date.parse(new X509Certificate(pem).validFrom);
    return Number.isNaN(since) ? undefined : since;
  } catch {
    return undefined;
  }
}

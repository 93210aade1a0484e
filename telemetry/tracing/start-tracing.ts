import { createSecureContext } from 'node:tls';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { newAbortController, UsageError, withDeadline, untilAborted } from '#base';
import type { Clock, Runnable, SecretValue } from '#base';
import type { Logger } from '../log.ts';
import type { MetricRegistry } from '../metrics.ts';
import { OtlpTracer } from './otlp-tracer.ts';
import { BoundedExport, ExportReport } from './span-export.ts';
import type { SpanAttributes, Tracer } from './tracer.ts';

/** PEM texts for the connection to the collector. */
export interface CollectorTls {
  /** CAs that may have signed its certificate; undefined: those of Node.js. */
  readonly authorities?: string;
  /** The client certificate. */
  readonly identity?: { readonly certificate: string; readonly key: SecretValue };
}

export interface TracingOptions {
  /** `host:port` of the collector. */
  readonly address: string;
  /** Undefined: plain text. */
  readonly tls?: CollectorTls;
  readonly headers: Readonly<Record<string, SecretValue>>;
  /** Attributes of this process. */
  readonly resource: SpanAttributes;
  /** 0 to 1. */
  readonly sampleRatio: number;
  /** Longest wait for a batch to fill. Default 5 s. */
  readonly batchDelayMs?: number;
  /** Spans that may wait for the collector; further ones are dropped. Default 2048. */
  readonly maxWaitingSpans?: number;
  /** How long a stop waits for the last spans. Default 2 s. */
  readonly flushLimitMs?: number;
}

export interface TracingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A tracer; running it sends the last spans when it stops. */
export interface Tracing extends Runnable {
  readonly tracer: Tracer;
  /** Adds the counts of sent and lost spans. */
  exposeMetrics(metrics: MetricRegistry): void;
}

/**
 * Starts to send traces over OTLP. Loads OpenTelemetry here, so that a process without a collector
 * does not pay for it.
 * @throws UsageError for an address, header or certificate that cannot be used
 */
export async function startTracing(options: TracingOptions, deps: TracingDeps): Promise<Tracing> {
  const [api, sdk, { envDetector, detectResources, resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
  ]);
  const { sampleRatio, batchDelayMs, maxWaitingSpans = 2048, flushLimitMs = 2000 } = options;
  const hidden = Object.values(options.headers).map((value) => value.reveal());
  const report = new ExportReport(deps.logger, hidden);
  const { processor } = new BoundedExport(await exporterOf(options), report, {
    maxSpans: maxWaitingSpans,
    batching: (exporter) =>
      new sdk.BatchSpanProcessor({
        exporter,
        maxQueueSize: maxWaitingSpans,
        ...(batchDelayMs === undefined ? {} : { scheduledDelayMillis: batchDelayMs }),
      }),
  });
  const provider = new sdk.TracerProvider({
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sampleRatio) }),
    // OTEL_RESOURCE_ATTRIBUTES apply where our own attributes do not.
    resource: detectResources({ detectors: [envDetector] }).merge(resourceFromAttributes({ ...options.resource })),
    spanProcessors: [processor],
  });
  return {
    name: 'tracing',
    tracer: new OtlpTracer({ api, provider }),
    exposeMetrics: (metrics) => report.exposeMetrics(metrics),
    run: async (signal) => {
      await untilAborted(signal);
      await flush(() => provider.shutdown(), flushLimitMs, deps);
    },
  };
}

/** Sends the last spans. A collector that does not answer must not delay the stop. */
async function flush(shutdown: () => Promise<void>, limitMs: number, { clock, logger }: TracingDeps): Promise<void> {
  const never = newAbortController().signal;
  try {
    await withDeadline(never, { clock, limitMs, what: 'sending the last spans' }, shutdown);
  } catch (error) {
    logger.warn('The last traces were not sent', { error });
  }
}

const exportTimeoutMs = 5000;

async function exporterOf({ address, tls, headers }: TracingOptions): Promise<SpanExporter> {
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
  const { credentials, Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    try {
      metadata.set(name, value.reveal());
    } catch {
      throw new UsageError(`--otlp-headers: ${name} is not a valid header: use letters, digits, "-" and "_"`);
    }
  }
  return new OTLPTraceExporter({
    url: urlOf(address),
    // A call in flight keeps the process alive: at most this long after a stop.
    timeoutMillis: exportTimeoutMs,
    metadata,
    credentials: tls === undefined ? credentials.createInsecure() : credentialsOf(tls),
  });

  function credentialsOf({ authorities, identity }: CollectorTls): ReturnType<typeof credentials.createInsecure> {
    try {
      const context = createSecureContext({
        ...(authorities === undefined ? {} : { ca: authorities }),
        ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key.reveal() }),
        // As in Go, a certificate that is itself configured as a CA is enough, whatever its issuer.
        allowPartialTrustChain: true,
      });
      return credentials.createFromSecureContext(context);
    } catch {
      throw new UsageError('The certificates for the OpenTelemetry collector cannot be used: check their PEM files');
    }
  }
}

/** The exporter takes a URL and uses its host and port. */
function urlOf(address: string): string {
  const target = address.replace(/^dns:\/{2,3}/, '');
  const url = /^[a-z]+:\/\//i.test(target) ? target : `https://${target}`;
  if (!url.startsWith('unix:') && !URL.canParse(url))
    throw new UsageError(`--otlp-address: ${address} is not an address, use HOST:PORT`);
  return url;
}

/**
 * telemetry: logger, metrics registry, tracer, and the HTTP endpoints that expose them. Each module
 * registers its own metrics in the registry that it gets.
 */
export { EventLoopDelay } from './event-loop-delay.ts';
export { createLogger, silentLogger } from './log.ts';
export type { LogFields, Logger, LogOptions } from './log.ts';
export { PromMetrics } from './metrics.ts';
export type {
  CounterMetric,
  GaugeMetric,
  HistogramMetric,
  MetricFamily,
  MetricRegistry,
  MetricSample,
} from './metrics.ts';
export { labelName, labelValues } from './exposition.ts';
export type { MetricLabels } from './exposition.ts';
export { startTracing } from './tracing/start-tracing.ts';
export type { CollectorTls, Tracing, TracingOptions } from './tracing/start-tracing.ts';
export { noTracer } from './tracing/tracer.ts';
export type { Span, SpanAttributes, Tracer } from './tracing/tracer.ts';
export { sendMetrics } from './scrape.ts';
export { MetricsUpkeep } from './upkeep.ts';
export { listen, ListenError, TelemetryServer } from './http.ts';
export type { HealthReport, TelemetryServerOptions } from './http.ts';

/**
 * telemetry: the instruments. Logger, metrics registry and the HTTP endpoints that show them. Nothing here knows what is
 * measured; each module registers its own metrics in the registry that it is given.
 */
export { createLogger, silentLogger } from './log.ts';
export type { LogFields, Logger, LogLevel, LogOptions } from './log.ts';
export { PromMetrics } from './metrics.ts';
export type { CounterMetric, GaugeMetric, HistogramMetric, Labels, MetricFamily, Metrics } from './metrics.ts';
export { listen, ListenError, TelemetryServer } from './http.ts';
export type { Health, TelemetryServerOptions } from './http.ts';

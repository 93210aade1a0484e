/** Parts of cli that acceptance tests use. Imported by tests only. */
export { createMetrics } from '../run/telemetry/metrics.ts';
export { runCommandLine } from '../driftless.ts';

/** Parts of cli that acceptance tests use. Imported by tests only. */
export { freePorts } from '../demo/free-ports.ts';
export { verdictExitCodes } from '../explain/explanation.ts';
export { createMetrics } from '../run/telemetry/metrics.ts';
export { runCommandLine } from '../driftless.ts';

/** Lent to tests of other modules. Imported by tests only. */
export { TestCollector } from './test-collector.ts';
export type { CollectedSpan, CollectorMode } from './test-collector.ts';
export { RecordingTracer } from './recording-tracer.ts';
export type { RecordedSpan } from './recording-tracer.ts';

/**
 * queues: work queues and the pools that empty them. One key is processed at most once at a time; an add while the key is being
 * worked on is never lost; entries of one key merge (deepest payload, earliest time, highest priority).
 *
 * A queue is a tool without a world: it knows keys and payloads, not Applications. It keeps nothing beyond the process, and says
 * nothing about two queues: the same key may be processed by both.
 */
export { QueueMetrics } from './metrics.ts';
export type { ItemResult } from './metrics.ts';
export type { Place } from './places.ts';
export { Processors, stallOf } from './processors.ts';
export type { Handler, Outcome, ProcessorsConfig, ProcessorsDeps, ProcessorsProgress, Requeue } from './processors.ts';
export { createFailureBackoff, createRateLimiter, defaultRateLimiterConfig, ItemBackoff } from './rate-limiters.ts';
export type { Backoff, RateLimiter, RateLimiterConfig } from './rate-limiters.ts';
export type { AddOptions, Priority, RequeueOptions, Taken, WorkQueue } from './types.ts';
export { createWorkQueue } from './work-queue.ts';
export type { WorkQueueDeps } from './work-queue.ts';

/**
 * queues: work queues and their worker pools. A key is processed at most once at a time; an add
 * during processing is never lost; entries of one key merge (payloads, earliest time, highest
 * priority).
 *
 * A queue knows keys and payloads, not Applications. It lives in memory only, and queues are
 * independent: two of them may process the same key at once.
 */
export { FairSlots, FlowFull } from './fair-slots.ts';
export { QueueMetrics } from './metrics.ts';
export type { WorkerSlot } from './worker-slots.ts';
export { Processors, describeStall } from './processors.ts';
export type { ItemHandler, HandlerResult, ProcessorsProgress } from './processors.ts';
export { createRateLimiter, defaultRateLimiterConfig, ItemBackoff } from './rate-limiters.ts';
export type { RateLimiter, RateLimiterConfig } from './rate-limiters.ts';
export { SlotLoan } from './slot-loan.ts';
export type { AddOptions, Priority, QueueContents, QueuedItem, TakenItem, WorkQueue } from './types.ts';
export { createWorkQueue } from './work-queue.ts';

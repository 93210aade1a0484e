/**
 * queues: work queues and the pools that empty them. One key is in at most one pair of hands; an add while the key is being
 * worked on is never lost; entries of one key merge (deepest payload, earliest time, highest priority).
 *
 * A queue is a tool without a world: it knows keys and payloads, not Applications.
 */
export type { AddOptions, Priority, Taken, WorkQueue } from './types.ts';

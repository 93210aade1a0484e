import { noLinks } from './priority-lanes.ts';
import type { LaneLinks, TurnTicket, Urgency } from './priority-lanes.ts';

/**
 * The entry of one key. It has two independent states: processed or not, and pending or not.
 *
 *                 add                          time comes, or add
 *     (unknown) ───────▶ DELAYED ─────────────────────────────────▶ READY ◀──┐ add
 *         │              in the heap                               in lanes ─┘ merges
 *         │                  ▲                                         │
 *         └── add, no delay ─┼──────────────────────────────▶ READY    │ take
 *                            │                                         ▼
 *                            │ done(key, requeue)                PROCESSING ── done ──▶ (unknown)
 *                            │                                        │ ▲
 *                            │                               add with │ │ drop: removes the pending
 *                            │                                a delay │ │ run, and `done` requeues
 *                            │                                        │ │ nothing
 *                            │                                        ▼ │
 *                            └──────────────── done ──── PROCESSING + DELAYED
 *                                                                     │ time comes, or add
 *                                              READY ◀── done ── PROCESSING + DUE
 *
 *     drop: DELAYED, READY ──▶ (unknown)
 *     shutDown: drops every DELAYED; READY and DUE are still handed out
 */
export interface QueueEntry<K, P> {
  readonly key: K;
  /** `delayed`: waits for its time. `due`: waits for a worker. */
  pending: 'none' | 'delayed' | 'due';
  payload: P | undefined;
  urgency: Urgency;
  /** Due time of the pending run. */
  dueAt: number;
  /** The rate limiter set `dueAt`. */
  isRateLimited: boolean;
  /** When the entry entered the lanes. */
  readyAt: number;
  /** Start of the current run; undefined while the key is not processed. */
  startedAt: number | undefined;
  /** Payload and urgency of the current run. */
  running: { readonly payload: P | undefined; readonly urgency: Urgency } | undefined;
  /** The flow that is charged for the current run; undefined while the key is not processed. */
  ticket: TurnTicket<QueueEntry<K, P>> | undefined;
  /** Dropped during the current run, so `done` does not requeue it. */
  isDropped: boolean;
  flow: string;
  readonly links: LaneLinks<QueueEntry<K, P>>;
  order: number;
  heapIndex: number;
}

/** A run to merge into an entry. */
export interface PendingRun<P> {
  readonly payload: P | undefined;
  readonly urgency: Urgency;
  readonly dueAt: number;
  readonly isRateLimited: boolean;
}

export function newEntry<K, P>(key: K): QueueEntry<K, P> {
  return {
    key,
    pending: 'none',
    payload: undefined,
    urgency: 0,
    dueAt: 0,
    isRateLimited: false,
    readyAt: 0,
    startedAt: undefined,
    running: undefined,
    ticket: undefined,
    isDropped: false,
    flow: '',
    links: noLinks(),
    order: 0,
    heapIndex: -1,
  };
}

/** Removes the pending run. */
export function clearPending<K, P>(entry: QueueEntry<K, P>): void {
  entry.pending = 'none';
  entry.payload = undefined;
  entry.isRateLimited = false;
}

import { DriftlessError } from '#base';
import type { Clock, ClockTimer } from '#base';
import { DueHeap } from './due-heap.ts';
import { clearPending, newEntry } from './entry.ts';
import type { PendingRun, QueueEntry } from './entry.ts';
import { PriorityLanes, priorityOf, urgencyOf } from './priority-lanes.ts';
import type { Urgency } from './priority-lanes.ts';
import type { QueueEvents, QueueMetrics } from './metrics.ts';
import { createFailureBackoff, createRateLimiter } from './rate-limiters.ts';
import type { RateLimiter } from './rate-limiters.ts';
import type {
  AddOptions,
  QueueContents,
  QueuedItem,
  QueueProgress,
  RequeueOptions,
  TakenItem,
  WorkQueue,
} from './types.ts';

export interface WorkQueueDeps<K extends string, P> {
  readonly clock: Clock;
  /** The `name` label of the metrics; '' for a queue without metrics. */
  readonly name: string;
  /** Merges the payloads of two adds and must keep both requests. Default: the newer one wins. */
  readonly merge?: (older: P, newer: P) => P;
  /** For `addRateLimited`; not shared between queues. Default: Argo CD's default limiter. */
  readonly rateLimiter?: RateLimiter<K>;
  /** For `done(key, { after: 'backoff' })`. Default: 0.5 s, doubled up to 5 min. */
  readonly failureBackoff?: RateLimiter<K>;
  readonly metrics?: QueueMetrics;
  /**
   * The flow (tenant) of a key; flows of one priority take turns. Called when the key becomes due.
   * Default: all keys belong to one flow.
   */
  readonly flowOf?: (key: K) => string;
}

/** A run costs its flow one extra turn for each full interval of this length. */
const turnMs = 100;

/**
 * Creates a work queue with client-go's semantics (util/workqueue), merging entries as in
 * controller-runtime's priority queue, and three priorities with fair turns between flows (see
 * `PriorityLanes` for the bounds).
 *
 * Differences from client-go: an add brings a pending delayed add forward instead of leaving a
 * second one; payloads merge; a rate-limited add of a key that is due or already delayed by the
 * rate limiter uses no further token; keys can be dropped. A throwing `merge` leaves the queue
 * unchanged.
 */
export function createWorkQueue<K extends string, P = undefined>(deps: WorkQueueDeps<K, P>): WorkQueue<K, P> {
  return new MergingWorkQueue(deps);
}

interface TakeWaiter<K, P> {
  readonly resolve: (taken: TakenItem<K, P> | undefined) => void;
}

class MergingWorkQueue<K extends string, P> implements WorkQueue<K, P> {
  readonly name: string;
  readonly #clock: Clock;
  readonly #merge: (older: P, newer: P) => P;
  readonly #rateLimiter: RateLimiter<K>;
  readonly #failures: RateLimiter<K>;
  readonly #metrics: QueueEvents | undefined;
  readonly #flowOf: (key: K) => string;
  readonly #entries = new Map<K, QueueEntry<K, P>>();
  readonly #lanes = new PriorityLanes<QueueEntry<K, P>>();
  readonly #heap = new DueHeap<QueueEntry<K, P>>();
  /** Oldest first: in the order in which the entries were taken. */
  readonly #processing = new Set<QueueEntry<K, P>>();
  /** Pending calls of `take`; empty while an entry is ready. */
  readonly #waiters = new Set<TakeWaiter<K, P>>();
  #alarm: { readonly timer: ClockTimer; readonly at: number } | undefined;
  #isShutDown = false;
  #order = 0;
  #takenTotal = 0;

  constructor(deps: WorkQueueDeps<K, P>) {
    this.name = deps.name;
    this.#clock = deps.clock;
    this.#merge = deps.merge ?? ((_older, newer) => newer);
    this.#rateLimiter = deps.rateLimiter ?? createRateLimiter();
    this.#failures = deps.failureBackoff ?? createFailureBackoff();
    this.#flowOf = deps.flowOf ?? (() => '');
    this.#metrics = deps.metrics?.register({
      name: deps.name,
      dirty: () => this.#lanes.size + [...this.#processing].filter((entry) => entry.pending === 'due').length,
      inFlightMs: () => this.#inFlightAges(),
    });
  }

  get depth(): number {
    return this.#lanes.size;
  }

  get delayed(): number {
    return this.#heap.size;
  }

  get inFlight(): number {
    return this.#processing.size;
  }

  add(key: K, options: AddOptions<P> = {}): void {
    if (this.#isShutDown) return;
    if (options.delayMs !== undefined) this.#metrics?.retried();
    this.#addAfter(key, options, options.delayMs ?? 0, false);
  }

  addRateLimited(key: K, options: Omit<AddOptions<P>, 'delayMs'> = {}): void {
    if (this.#isShutDown) return;
    this.#metrics?.retried();
    const entry = this.#entries.get(key);
    const isWaiting = entry?.pending === 'due' || (entry?.pending === 'delayed' && entry.isRateLimited);
    const delayMs = isWaiting ? Infinity : this.#rateLimiter.delayMs(key, this.#clock.monotonic());
    this.#addAfter(key, options, delayMs, true);
  }

  forget(key: K): void {
    this.#rateLimiter.forget(key);
    this.#failures.forget(key);
  }

  take(signal: AbortSignal): Promise<TakenItem<K, P> | undefined> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const now = this.#clock.monotonic();
    // The timer may be late on a busy event loop.
    this.#moveDueEntries(now);
    const taken = this.#startNext(now);
    if (taken !== undefined) return Promise.resolve(taken);
    if (this.#isShutDown) return Promise.resolve(undefined);
    return this.#waitForEntry(signal);
  }

  done(key: K, requeue?: RequeueOptions<P>): void {
    const entry = this.#entries.get(key);
    if (entry?.startedAt === undefined)
      throw new DriftlessError(
        'QUEUE_KEY_NOT_TAKEN',
        `${key} of queue ${this.name} is not being processed: take it first`,
        {
          retry: 'never',
          fields: { queue: this.name, key },
        },
      );
    const now = this.#clock.monotonic();
    if (requeue?.after !== 'backoff') this.#failures.forget(key);
    const pending =
      requeue === undefined || entry.isDropped || this.#isShutDown ? undefined : this.#requeued(entry, requeue, now);
    this.#metrics?.worked(now - entry.startedAt);
    if (entry.ticket !== undefined) this.#lanes.settle(entry.ticket, Math.floor((now - entry.startedAt) / turnMs));
    entry.ticket = undefined;
    this.#processing.delete(entry);
    entry.startedAt = undefined;
    entry.running = undefined;
    if (entry.pending === 'due') this.#enterLanes(entry, now);
    if (pending !== undefined) this.#mergePending(entry, pending, now);
    if (entry.pending === 'none') this.#entries.delete(key);
    this.#serveWaiters(now);
  }

  drop(key: K): void {
    this.forget(key);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (entry.pending === 'delayed') this.#heap.remove(entry);
    else if (entry.pending === 'due' && entry.startedAt === undefined) this.#lanes.remove(entry);
    clearPending(entry);
    if (entry.startedAt === undefined) this.#entries.delete(key);
    else entry.isDropped = true;
    this.#setAlarm();
  }

  shutDown(): void {
    if (this.#isShutDown) return;
    const now = this.#clock.monotonic();
    this.#moveDueEntries(now);
    this.#isShutDown = true;
    for (const [key, entry] of this.#entries) {
      if (entry.pending !== 'delayed') continue;
      clearPending(entry);
      if (entry.startedAt === undefined) this.#entries.delete(key);
    }
    this.#heap.clear();
    this.#setAlarm();
    this.#serveWaiters(now);
  }

  /** The waiting time of a key that became due during its own run begins when that run ends. */
  progress(): QueueProgress {
    const oldest = this.#lanes.oldest;
    const [oldestInFlightMs = 0] = this.#inFlightAges();
    return {
      oldestWaitingMs: oldest === undefined ? 0 : this.#clock.monotonic() - oldest.readyAt,
      oldestInFlightMs,
      takenTotal: this.#takenTotal,
    };
  }

  waiting(key: K): QueuedItem<K, P> | undefined {
    const entry = this.#entries.get(key);
    if (entry?.pending !== 'due' || entry.startedAt !== undefined) return undefined;
    return itemOf(entry, entry.readyAt, entry);
  }

  contents(): QueueContents<K, P> {
    const depthByPriority = { user: 0, live: 0, resync: 0 };
    for (const { pending, startedAt, urgency } of this.#entries.values())
      if (pending === 'due' && startedAt === undefined) depthByPriority[priorityOf(urgency)] += 1;
    const { oldest } = this.#lanes;
    return {
      depthByPriority,
      oldest: oldest === undefined ? undefined : itemOf(oldest, oldest.readyAt, oldest),
      inProgress: [...this.#processing].map((entry) =>
        itemOf(entry, entry.startedAt ?? 0, entry.running ?? { payload: undefined, urgency: 0 }),
      ),
    };
  }

  *#inFlightAges(): Iterable<number> {
    const now = this.#clock.monotonic();
    for (const { startedAt } of this.#processing) if (startedAt !== undefined) yield now - startedAt;
  }

  #addAfter(key: K, options: AddOptions<P>, delayMs: number, limited: boolean): void {
    const now = this.#clock.monotonic();
    const entry = this.#entries.get(key) ?? newEntry<K, P>(key);
    const payload = this.#merged(entry.payload, options.payload);
    const dueAt = delayMs > 0 ? now + delayMs : now;
    this.#mergePending(
      entry,
      { payload, urgency: urgencyOf(options.priority ?? 'live'), dueAt, isRateLimited: limited },
      now,
    );
    this.#entries.set(key, entry);
    this.#serveWaiters(now);
  }

  #requeued(entry: QueueEntry<K, P>, requeue: RequeueOptions<P>, now: number): PendingRun<P> {
    const payload = this.#merged(requeue.payload, entry.payload);
    this.#metrics?.retried();
    const delayMs = requeue.after === 'backoff' ? this.#retryDelay(entry.key, now) : requeue.after;
    const dueAt = delayMs > 0 ? now + delayMs : now;
    return { payload, urgency: urgencyOf(requeue.priority ?? 'live'), dueAt, isRateLimited: false };
  }

  /** Failed items also pass the rate limiter, so that a configured bucket applies to them. */
  #retryDelay(key: K, now: number): number {
    return Math.max(this.#failures.delayMs(key, now), this.#rateLimiter.delayMs(key, now));
  }

  #merged(older: P | undefined, newer: P | undefined): P | undefined {
    if (older === undefined) return newer;
    return newer === undefined ? older : this.#merge(older, newer);
  }

  /** Merges urgency and time of a pending run into the entry. Its payload is already merged. */
  #mergePending(entry: QueueEntry<K, P>, pending: PendingRun<P>, now: number): void {
    entry.payload = pending.payload;
    if (entry.pending === 'due') {
      if (entry.startedAt === undefined) this.#lanes.raise(entry, pending.urgency);
      else entry.urgency = higher(entry.urgency, pending.urgency);
      return;
    }
    const isFirst = entry.pending === 'none';
    entry.urgency = isFirst ? pending.urgency : higher(entry.urgency, pending.urgency);
    if (!isFirst && pending.dueAt >= entry.dueAt) return;
    entry.dueAt = pending.dueAt;
    entry.isRateLimited = pending.isRateLimited;
    if (pending.dueAt <= now) {
      if (!isFirst) this.#heap.remove(entry);
      this.#makeDue(entry, now);
    } else if (isFirst) this.#delay(entry);
    else this.#heap.movedEarlier(entry);
    this.#setAlarm();
  }

  #delay(entry: QueueEntry<K, P>): void {
    entry.pending = 'delayed';
    this.#order += 1;
    entry.order = this.#order;
    this.#heap.push(entry);
  }

  #makeDue(entry: QueueEntry<K, P>, now: number): void {
    entry.pending = 'due';
    this.#metrics?.added();
    if (entry.startedAt === undefined) this.#enterLanes(entry, now);
  }

  #enterLanes(entry: QueueEntry<K, P>, now: number): void {
    entry.readyAt = now;
    entry.flow = this.#flowOf(entry.key);
    this.#lanes.push(entry);
  }

  /** Moves the entries that are due by `until` from the heap to the lanes. */
  #moveDueEntries(until: number): void {
    const now = this.#clock.monotonic();
    for (let entry = this.#heap.first; entry !== undefined && entry.dueAt <= until; entry = this.#heap.first) {
      this.#heap.remove(entry);
      this.#makeDue(entry, now);
    }
    this.#setAlarm();
  }

  /**
   * Keeps one timer for the first due time. The timer stays when that entry is removed; it then
   * fires too early and is set again.
   */
  #setAlarm(): void {
    const first = this.#heap.first;
    if (first !== undefined && this.#alarm !== undefined && this.#alarm.at <= first.dueAt) return;
    this.#alarm?.timer.cancel();
    this.#alarm = undefined;
    if (first === undefined) return;
    const at = first.dueAt;
    const timer = this.#clock.timer(at - this.#clock.monotonic(), () => {
      this.#alarm = undefined;
      // Rounding may fire the timer slightly early. Count that as on time; otherwise the timer
      // would be set again at once.
      const now = Math.max(at, this.#clock.monotonic());
      this.#moveDueEntries(now);
      this.#serveWaiters(now);
    });
    this.#alarm = { timer, at };
  }

  /**
   * Resolves waiting `take` calls with ready entries, or with undefined once shut down and empty.
   */
  #serveWaiters(now: number): void {
    for (const waiter of this.#waiters) {
      const taken = this.#startNext(now);
      if (taken === undefined && !this.#isShutDown) return;
      this.#waiters.delete(waiter);
      waiter.resolve(taken);
    }
  }

  #waitForEntry(signal: AbortSignal): Promise<TakenItem<K, P> | undefined> {
    return new Promise((resolve, reject) => {
      const waiter: TakeWaiter<K, P> = {
        resolve: (taken) => {
          signal.removeEventListener('abort', onAbort);
          resolve(taken);
        },
      };
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Starts the run of the next entry. */
  #startNext(now: number): TakenItem<K, P> | undefined {
    const next = this.#lanes.next();
    if (next === undefined) return undefined;
    const { entry } = next;
    entry.ticket = next.ticket;
    const waitedMs = Math.max(0, now - entry.dueAt);
    entry.running = { payload: entry.payload, urgency: entry.urgency };
    const taken: TakenItem<K, P> = {
      key: entry.key,
      payload: entry.payload,
      priority: priorityOf(entry.urgency),
      waitedMs,
    };
    clearPending(entry);
    entry.isDropped = false;
    entry.startedAt = now;
    this.#processing.add(entry);
    this.#takenTotal += 1;
    this.#metrics?.taken(waitedMs);
    return taken;
  }
}

function itemOf<K, P>(
  { key }: QueueEntry<K, P>,
  since: number,
  { payload, urgency }: { readonly payload: P | undefined; readonly urgency: Urgency },
): QueuedItem<K, P> {
  return { key, since, priority: priorityOf(urgency), payload };
}

function higher(a: Urgency, b: Urgency): Urgency {
  return a > b ? a : b;
}

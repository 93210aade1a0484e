import { DriftlessError } from '#base';
import type { Clock, Timer } from '#base';
import { DueHeap } from './due-heap.ts';
import { Lanes, noLinks, priorityOf, urgencyOf } from './lanes.ts';
import type { Links, Urgency } from './lanes.ts';
import type { QueueEvents, QueueMetrics } from './metrics.ts';
import { createFailureBackoff, createRateLimiter } from './rate-limiters.ts';
import type { RateLimiter } from './rate-limiters.ts';
import type { AddOptions, RequeueOptions, Taken, WorkQueue } from './types.ts';

export interface WorkQueueDeps<K extends string, P> {
  readonly clock: Clock;
  /** The `name` label of the metrics; '' for a queue that shows none. */
  readonly name: string;
  /** Joins the payloads of two adds; must not lose what either asked for. Default: the newer one replaces the older. */
  readonly merge?: (older: P, newer: P) => P;
  /** For `addRateLimited`. Default: Argo CD's with its default parameters. Every queue needs its own. */
  readonly rateLimiter?: RateLimiter<K>;
  /** For `done(key, { after: 'backoff' })`. Default: 0.5 s doubled up to 5 min. */
  readonly failureBackoff?: RateLimiter<K>;
  readonly metrics?: QueueMetrics;
}

/**
 * A work queue with client-go's semantics (util/workqueue), entries that merge as controller-runtime's priority queue does, and three
 * priorities that cannot starve each other (see `Lanes` for the bound).
 *
 * Deliberate differences from client-go: an add makes the key's pending delayed add earlier instead of leaving a second one behind,
 * so what is pending gives one run; what waits merges, payload included; the delay of a rate-limited add is not asked for (and no
 * token is used) while the key waits for one already; `drop` exists.
 *
 * All methods but `take` return at once and may be called from anywhere; a throwing `merge` leaves the queue as it was.
 */
export function createWorkQueue<K extends string, P = undefined>(deps: WorkQueueDeps<K, P>): WorkQueue<K, P> {
  return new MergingWorkQueue(deps);
}

/**
 * One key. It has two states at once: being processed or not, and pending (asked to run) or not.
 *
 *                 add                          time comes, or add
 *     (unknown) ───────▶ DELAYED ─────────────────────────────────▶ READY ◀──┐ add
 *         │              in the heap                               in lanes ─┘ merges
 *         │                  ▲                                         │
 *         └── add, no delay ─┼──────────────────────────────▶ READY    │ take
 *                            │                                         ▼
 *                            │ done(key, requeue)                PROCESSING ── done ──▶ (unknown)
 *                            │                                        │ ▲
 *                            │                               add with │ │ drop: forgets what is pending, and
 *                            │                                a delay │ │ what `done` would add
 *                            │                                        ▼ │
 *                            └──────────────── done ──── PROCESSING + DELAYED
 *                                                                     │ time comes, or add
 *                                              READY ◀── done ── PROCESSING + DUE  (never lost, never processed twice at once)
 *
 *     drop: DELAYED, READY ──▶ (unknown)         shutDown: forgets every DELAYED; READY and DUE are still handed out
 */
interface Entry<K, P> {
  readonly key: K;
  /** What the key waits for: nothing, its time, or a free worker. */
  pending: 'none' | 'delayed' | 'due';
  payload: P | undefined;
  urgency: Urgency;
  /** When the pending run is, or became, due. */
  dueAt: number;
  /** The pending run got its time from the rate limiter. */
  limited: boolean;
  /** When the entry joined the lanes. */
  readyAt: number;
  /** When it was taken; undefined while it is not processed. */
  startedAt: number | undefined;
  /** Dropped while it was processed. */
  dropped: boolean;
  readonly links: Links<Entry<K, P>>;
  order: number;
  heapIndex: number;
}

interface Pending<P> {
  readonly payload: P | undefined;
  readonly urgency: Urgency;
  readonly dueAt: number;
  readonly limited: boolean;
}

interface Waiter<K, P> {
  readonly resolve: (taken: Taken<K, P> | undefined) => void;
}

class MergingWorkQueue<K extends string, P> implements WorkQueue<K, P> {
  readonly name: string;
  readonly #clock: Clock;
  readonly #merge: (older: P, newer: P) => P;
  readonly #rateLimiter: RateLimiter<K>;
  readonly #failures: RateLimiter<K>;
  readonly #metrics: QueueEvents | undefined;
  readonly #entries = new Map<K, Entry<K, P>>();
  readonly #lanes = new Lanes<Entry<K, P>>();
  readonly #heap = new DueHeap<Entry<K, P>>();
  /** In the order of taking, so that the first is the oldest. */
  readonly #processing = new Set<Entry<K, P>>();
  /** Whoever waits in `take`; never while an entry is ready. */
  readonly #waiters = new Set<Waiter<K, P>>();
  #alarm: { readonly timer: Timer; readonly at: number } | undefined;
  #closed = false;
  #order = 0;
  #takenTotal = 0;

  constructor(deps: WorkQueueDeps<K, P>) {
    this.name = deps.name;
    this.#clock = deps.clock;
    this.#merge = deps.merge ?? ((_older, newer) => newer);
    this.#rateLimiter = deps.rateLimiter ?? createRateLimiter();
    this.#failures = deps.failureBackoff ?? createFailureBackoff();
    this.#metrics = deps.metrics?.register({
      name: deps.name,
      dirty: () => this.#lanes.size + [...this.#processing].filter((entry) => entry.pending === 'due').length,
      inFlightMs: () => this.#ages(),
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
    if (this.#closed) return;
    if (options.delayMs !== undefined) this.#metrics?.retried();
    this.#addAfter(key, options, options.delayMs ?? 0, false);
  }

  addRateLimited(key: K, options: Omit<AddOptions<P>, 'delayMs'> = {}): void {
    if (this.#closed) return;
    this.#metrics?.retried();
    const entry = this.#entries.get(key);
    const waitsAlready = entry?.pending === 'due' || (entry?.pending === 'delayed' && entry.limited);
    const delayMs = waitsAlready ? Infinity : this.#rateLimiter.delayMs(key, this.#clock.monotonic());
    this.#addAfter(key, options, delayMs, true);
  }

  forget(key: K): void {
    this.#rateLimiter.forget(key);
    this.#failures.forget(key);
  }

  take(signal: AbortSignal): Promise<Taken<K, P> | undefined> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const now = this.#clock.monotonic();
    // Timers may be late on a busy event loop; what is due is due.
    this.#release(now);
    const entry = this.#lanes.next();
    if (entry !== undefined) return Promise.resolve(this.#start(entry, now));
    if (this.#closed) return Promise.resolve(undefined);
    return this.#wait(signal);
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
      requeue === undefined || entry.dropped || this.#closed ? undefined : this.#requeued(entry, requeue, now);
    this.#metrics?.worked(now - entry.startedAt);
    this.#processing.delete(entry);
    entry.startedAt = undefined;
    if (entry.pending === 'due') this.#enter(entry, now);
    if (pending !== undefined) this.#setPending(entry, pending, now);
    if (entry.pending === 'none') this.#entries.delete(key);
    this.#serve(now);
  }

  drop(key: K): void {
    this.forget(key);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (entry.pending === 'delayed') this.#heap.remove(entry);
    else if (entry.pending === 'due' && entry.startedAt === undefined) this.#lanes.remove(entry);
    clearPending(entry);
    if (entry.startedAt === undefined) this.#entries.delete(key);
    else entry.dropped = true;
    this.#setAlarm();
  }

  shutDown(): void {
    if (this.#closed) return;
    const now = this.#clock.monotonic();
    this.#release(now);
    this.#closed = true;
    for (const [key, entry] of this.#entries) {
      if (entry.pending !== 'delayed') continue;
      clearPending(entry);
      if (entry.startedAt === undefined) this.#entries.delete(key);
    }
    this.#heap.clear();
    this.#setAlarm();
    this.#serve(now);
  }

  /**
   * Oldest waiting counts from when the key could have been taken: the time that it was due but still processed shows as in flight.
   */
  progress(): { readonly oldestWaitingMs: number; readonly oldestInFlightMs: number; readonly takenTotal: number } {
    const oldest = this.#lanes.oldest;
    const [oldestInFlightMs = 0] = this.#ages();
    return {
      oldestWaitingMs: oldest === undefined ? 0 : this.#clock.monotonic() - oldest.readyAt,
      oldestInFlightMs,
      takenTotal: this.#takenTotal,
    };
  }

  *#ages(): Iterable<number> {
    const now = this.#clock.monotonic();
    for (const { startedAt } of this.#processing) if (startedAt !== undefined) yield now - startedAt;
  }

  #addAfter(key: K, options: AddOptions<P>, delayMs: number, limited: boolean): void {
    const now = this.#clock.monotonic();
    const entry = this.#entries.get(key) ?? newEntry<K, P>(key);
    const payload = this.#merged(entry.payload, options.payload);
    const dueAt = delayMs > 0 ? now + delayMs : now;
    this.#setPending(entry, { payload, urgency: urgencyOf(options.priority ?? 'live'), dueAt, limited }, now);
    this.#entries.set(key, entry);
    this.#serve(now);
  }

  #requeued(entry: Entry<K, P>, requeue: RequeueOptions<P>, now: number): Pending<P> {
    const payload = this.#merged(requeue.payload, entry.payload);
    this.#metrics?.retried();
    const delayMs = requeue.after === 'backoff' ? this.#retryDelay(entry.key, now) : requeue.after;
    const dueAt = delayMs > 0 ? now + delayMs : now;
    return { payload, urgency: urgencyOf(requeue.priority ?? 'live'), dueAt, limited: false };
  }

  /** Failed items pass the limiter too, so that a configured bucket holds for them. */
  #retryDelay(key: K, now: number): number {
    return Math.max(this.#failures.delayMs(key, now), this.#rateLimiter.delayMs(key, now));
  }

  #merged(older: P | undefined, newer: P | undefined): P | undefined {
    if (older === undefined) return newer;
    return newer === undefined ? older : this.#merge(older, newer);
  }

  /** Merges a pending run into the entry: its payload is merged already, the higher urgency and the earlier time count. */
  #setPending(entry: Entry<K, P>, pending: Pending<P>, now: number): void {
    entry.payload = pending.payload;
    if (entry.pending === 'due') {
      if (entry.startedAt === undefined) this.#lanes.raise(entry, pending.urgency);
      else entry.urgency = higher(entry.urgency, pending.urgency);
      return;
    }
    const first = entry.pending === 'none';
    entry.urgency = first ? pending.urgency : higher(entry.urgency, pending.urgency);
    if (!first && pending.dueAt >= entry.dueAt) return;
    entry.dueAt = pending.dueAt;
    entry.limited = pending.limited;
    if (pending.dueAt <= now) {
      if (!first) this.#heap.remove(entry);
      this.#becomeDue(entry, now);
    } else if (first) this.#delay(entry);
    else this.#heap.movedEarlier(entry);
    this.#setAlarm();
  }

  #delay(entry: Entry<K, P>): void {
    entry.pending = 'delayed';
    this.#order += 1;
    entry.order = this.#order;
    this.#heap.push(entry);
  }

  #becomeDue(entry: Entry<K, P>, now: number): void {
    entry.pending = 'due';
    this.#metrics?.added();
    if (entry.startedAt === undefined) this.#enter(entry, now);
  }

  #enter(entry: Entry<K, P>, now: number): void {
    entry.readyAt = now;
    this.#lanes.push(entry);
  }

  /** Moves everything that is due by `until` out of the heap. */
  #release(until: number): void {
    const now = this.#clock.monotonic();
    for (let entry = this.#heap.first; entry !== undefined && entry.dueAt <= until; entry = this.#heap.first) {
      this.#heap.remove(entry);
      this.#becomeDue(entry, now);
    }
    this.#setAlarm();
  }

  /** Keeps one timer, set no later than the first due time; an early one finds nothing due and is set anew. */
  #setAlarm(): void {
    const first = this.#heap.first;
    if (first !== undefined && this.#alarm !== undefined && this.#alarm.at <= first.dueAt) return;
    this.#alarm?.timer.cancel();
    this.#alarm = undefined;
    if (first === undefined) return;
    const at = first.dueAt;
    const timer = this.#clock.timer(at - this.#clock.monotonic(), () => {
      this.#alarm = undefined;
      // A timer may fire a fraction early, by rounding: its own time has come all the same, or it would spin.
      const now = Math.max(at, this.#clock.monotonic());
      this.#release(now);
      this.#serve(now);
    });
    this.#alarm = { timer, at };
  }

  /** Hands ready entries to those who wait; once closed and empty, sends them home. */
  #serve(now: number): void {
    for (const waiter of this.#waiters) {
      const entry = this.#lanes.next();
      if (entry === undefined && !this.#closed) return;
      this.#waiters.delete(waiter);
      waiter.resolve(entry === undefined ? undefined : this.#start(entry, now));
    }
  }

  #wait(signal: AbortSignal): Promise<Taken<K, P> | undefined> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter<K, P> = {
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

  /** Begins the run of an entry that has just left the lanes. */
  #start(entry: Entry<K, P>, now: number): Taken<K, P> {
    const waitedMs = Math.max(0, now - entry.dueAt);
    const taken: Taken<K, P> = {
      key: entry.key,
      payload: entry.payload,
      priority: priorityOf(entry.urgency),
      waitedMs,
    };
    clearPending(entry);
    entry.dropped = false;
    entry.startedAt = now;
    this.#processing.add(entry);
    this.#takenTotal += 1;
    this.#metrics?.taken(waitedMs);
    return taken;
  }
}

function newEntry<K, P>(key: K): Entry<K, P> {
  return {
    key,
    pending: 'none',
    payload: undefined,
    urgency: 0,
    dueAt: 0,
    limited: false,
    readyAt: 0,
    startedAt: undefined,
    dropped: false,
    links: noLinks(),
    order: 0,
    heapIndex: -1,
  };
}

function clearPending<K, P>(entry: Entry<K, P>): void {
  entry.pending = 'none';
  entry.payload = undefined;
  entry.limited = false;
}

function higher(a: Urgency, b: Urgency): Urgency {
  return a > b ? a : b;
}

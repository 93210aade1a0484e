/**
 * Why a key is queued, most urgent first: a request of a user, a change of a live object, or a
 * timer or resync. No priority starves another (see `PriorityLanes`).
 */
export type Priority = 'user' | 'live' | 'resync';

export interface AddOptions<P> {
  /** Merged with the pending payload by `WorkQueueDeps.merge`. */
  readonly payload?: P;
  /** Default `live`. Merged adds keep the highest. */
  readonly priority?: Priority;
  /** Minimum delay; merged adds keep the earliest due time. Default, and below 0: due now. */
  readonly delayMs?: number;
}

/** An item handed to a worker, which processes the key until it calls `done`. */
export interface TakenItem<K, P> {
  readonly key: K;
  /** Merged payload of all adds since the key was last taken; undefined if none had one. */
  readonly payload: P | undefined;
  readonly priority: Priority;
  /** How long the key waited after it became due (monotonic). */
  readonly waitedMs: number;
}

/**
 * Requeues a key whose run has ended. Payloads that were added during the run merge into this one
 * as the newer ones.
 */
export interface RequeueOptions<P> {
  /** Delay in milliseconds, or the backoff of the key's consecutive failures. */
  readonly after: 'backoff' | number;
  readonly payload?: P;
  readonly priority?: Priority;
}

export interface QueueProgress {
  readonly oldestWaitingMs: number;
  readonly oldestInFlightMs: number;
  readonly takenTotal: number;
}

/** A key in a queue, for display. Times are of the monotonic clock. */
export interface QueuedItem<K, P> {
  readonly key: K;
  /** When it became due, or when its run began. */
  readonly since: number;
  readonly priority: Priority;
  readonly payload: P | undefined;
}

/** The contents of a queue, for display. */
export interface QueueContents<K, P> {
  readonly depthByPriority: Readonly<Record<Priority, number>>;
  /** The key that has been due for the longest time. */
  readonly oldest: QueuedItem<K, P> | undefined;
  /** In the order in which they were taken. */
  readonly inProgress: readonly QueuedItem<K, P>[];
}

/**
 * client-go's work queue with merging entries. Adds of a waiting key merge into one entry. A key
 * added during processing becomes due again after `done`. Delayed adds keep the earliest due time,
 * and an immediate add keeps the payload of a pending delayed one.
 */
export interface WorkQueue<K extends string, P> {
  readonly name: string;
  add(key: K, options?: AddOptions<P>): void;
  /** Adds after the rate limiter's delay: the longer of the key's backoff and the token bucket. */
  addRateLimited(key: K, options?: Omit<AddOptions<P>, 'delayMs'>): void;
  /** Resets the key's backoff, both for rate-limited adds and after failures. */
  forget(key: K): void;
  /**
   * Waits for the next due item, by priority. Rejects with the signal's reason; resolves undefined
   * once the queue is shut down and empty.
   */
  take(signal: AbortSignal): Promise<TakenItem<K, P> | undefined>;
  /**
   * Ends the run of a key; a key that was added meanwhile becomes due again. `requeue` adds it in
   * the same step, unless the key was dropped during the run. Anything but `after: 'backoff'`
   * resets the failure count. Throws if the key is not being processed.
   */
  done(key: K, requeue?: RequeueOptions<P>): void;
  /** Removes a waiting or delayed key. An in-flight run continues, but is not requeued. */
  drop(key: K): void;
  /** Ignores further adds and drops delayed entries; `take` still hands out what is due. */
  shutDown(): void;
  /** Number of keys that are due and wait for a worker. */
  readonly depth: number;
  readonly delayed: number;
  readonly inFlight: number;
  /** For liveness probes; the ages are 0 if no key is waiting or in flight. */
  progress(): QueueProgress;
  /** The key, if it is due and waits for a worker. */
  waiting(key: K): QueuedItem<K, P> | undefined;
  /** Takes time linear in the number of keys. */
  contents(): QueueContents<K, P>;
}

/** Who waits: a person asked > a live object changed > a timer or resync. The lowest cannot starve (see WorkQueue). */
export type Priority = 'asked' | 'live' | 'resync';

export interface AddOptions<P> {
  /** Merged with what waits already, by `WorkQueueOptions.merge`. */
  readonly payload?: P;
  /** Default `live`. The highest of the merged adds counts. */
  readonly priority?: Priority;
  /** Not before this much later; the earliest of the merged times counts. Missing or <= 0: now. */
  readonly delayMs?: number;
}

/** What a worker got: it processes the key until `done`. */
export interface Taken<K, P> {
  readonly key: K;
  /** The merged payload of every add since the key was last taken; undefined when none carried one. */
  readonly payload: P | undefined;
  readonly priority: Priority;
  /** Milliseconds (monotonic) that the key waited after it became due. */
  readonly waitedMs: number;
}

/**
 * What shall happen next with a key whose run has ended: it waits `after` that many milliseconds, or as long as the backoff of its
 * repeated failures says. Payload and priority count as older than what was added meanwhile.
 */
export interface RequeueOptions<P> {
  readonly after: 'backoff' | number;
  readonly payload?: P;
  readonly priority?: Priority;
}

/**
 * client-go's work queue with merging entries. Semantics of the sets: a key that is added while it waits is one entry; added while it is
 * processed it waits again after `done`; added with a delay it keeps the earliest due time; an immediate add does not lose the
 * payload of a pending delayed one.
 */
export interface WorkQueue<K extends string, P> {
  readonly name: string;
  add(key: K, options?: AddOptions<P>): void;
  /** Adds after the rate limiter's delay for this key (Argo CD: AddRateLimited): max of item backoff and bucket. */
  addRateLimited(key: K, options?: Omit<AddOptions<P>, 'delayMs'>): void;
  /** Forgets the key's failures. */
  forget(key: K): void;
  /** Next due key by priority; waits for one. Rejects with the signal's reason; resolves undefined when the queue was shut down and is empty. */
  take(signal: AbortSignal): Promise<Taken<K, P> | undefined>;
  /**
   * The run of a key has ended; if the key was added meanwhile it becomes due again. `requeue` adds it in the same step, unless it was
   * dropped while it was processed. Anything but `after: 'backoff'` ends the row of failures. Throws for a key that is not processed.
   */
  done(key: K, requeue?: RequeueOptions<P>): void;
  /** Drops a waiting or delayed key (ownership lost); in-flight work is not touched, but it will not run again. */
  drop(key: K): void;
  /** No more adds; `take` hands out what is due, then resolves undefined. Delayed entries are dropped. */
  shutDown(): void;
  /** Due and waiting. */
  readonly depth: number;
  readonly delayed: number;
  readonly inFlight: number;
  /** Progress signal for liveness: age of the oldest due entry and of the oldest in-flight one, in ms. 0 when there is none. */
  progress(): { readonly oldestWaitingMs: number; readonly oldestInFlightMs: number; readonly takenTotal: number };
}

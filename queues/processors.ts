import { DeadlineExceeded, DriftlessError, isAbort, newAbortController, Shutdown, withChild, yieldToLoop } from '#base';
import type { Clock, Runnable, Timer } from '#base';
import type { Logger } from '#telemetry';
import type { ItemResult, QueueMetrics } from './metrics.ts';
import { Places } from './places.ts';
import type { Place } from './places.ts';
import type { Priority, RequeueOptions, Taken, WorkQueue } from './types.ts';

/** How a run ended when it did not fail: finished, or to be run again after a while. */
export type Outcome<P> = 'done' | Requeue<P>;

export interface Requeue<P> {
  readonly requeueAfterMs: number;
  /** Default: the priority that it was taken with. */
  readonly priority?: Priority;
  /** Default: none; what the next run needs to know of this one. */
  readonly payload?: P;
}

/**
 * Works on one key. The signal aborts when the pool's grace is over: stop promptly then and rethrow its reason. A thrown error requeues the
 * key with the payload that it was taken with, as the error's `retry` says.
 */
export type Handler<K extends string, P> = (
  taken: Taken<K, P>,
  signal: AbortSignal,
  place: Place,
) => Promise<Outcome<P>>;

export interface ProcessorsDeps<K extends string, P> {
  readonly queue: WorkQueue<K, P>;
  readonly handler: Handler<K, P>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: QueueMetrics;
}

export interface ProcessorsConfig {
  /** Keys worked on at once (--status-processors, --operation-processors); at least 1. */
  readonly workers: number;
  /** How long running items may take to finish after the stop, before they are aborted. */
  readonly graceMs: number;
  /** How long aborted items may take to settle. Default 1 s. */
  readonly settleMs?: number;
}

/** For liveness probes, metrics and the dashboard. */
export interface ProcessorsProgress {
  readonly workers: number;
  /** Items that a handler is working on, without those that wait outside (`Place.leave`). */
  readonly running: number;
  /** Keys that could be taken. */
  readonly waiting: number;
  readonly oldestWaitingMs: number;
  readonly oldestInFlightMs: number;
  readonly takenTotal: number;
  /** Since a worker last took a key, or since the pool was made. */
  readonly sinceTakenMs: number;
}

/**
 * Why a pool makes no progress, undefined when it does: work waits for `limitMs` and for as long no worker took any. One slow item does
 * not stall a pool, an empty queue neither, nor a long one that moves.
 */
export function stallOf(progress: ProcessorsProgress, limitMs: number): string | undefined {
  const { workers, running, waiting, oldestWaitingMs, oldestInFlightMs, sinceTakenMs } = progress;
  if (waiting === 0 || Math.min(oldestWaitingMs, sinceTakenMs) < limitMs) return undefined;
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
  const busy = running === 0 ? 'work' : `are busy, one for ${seconds(oldestInFlightMs)}`;
  return `${waiting} keys wait, the oldest for ${seconds(oldestWaitingMs)}; ${running} of ${workers} processors ${busy}`;
}

/** What a run means for the queue, and for the counter. */
export interface Verdict<P> {
  readonly result: ItemResult;
  readonly requeue?: RequeueOptions<P>;
}

/** The one place where an outcome becomes a queue action. */
export function verdictOf<P>(taken: Taken<string, P>, outcome: Outcome<P>): Verdict<P> {
  if (outcome === 'done') return { result: 'done' };
  return {
    result: 'requeued',
    requeue: {
      after: outcome.requeueAfterMs,
      priority: outcome.priority ?? taken.priority,
      ...(outcome.payload === undefined ? {} : { payload: outcome.payload }),
    },
  };
}

/**
 * The same for an error: `retry: 'never'` ends it, anything else tries again with the payload that the failed run had. Argo CD
 * does not requeue failed items at all; a lost one waits there for the next event or resync.
 */
export function verdictOfError<P>(taken: Taken<string, P>, error: unknown): Verdict<P> {
  const retry = error instanceof DriftlessError ? error.retry : 'backoff';
  if (retry === 'never') return { result: isAbort(error) ? 'aborted' : 'failed' };
  return {
    result: 'retried',
    requeue: {
      after: retry === 'backoff' ? 'backoff' : retry.afterMs,
      priority: taken.priority,
      ...(taken.payload === undefined ? {} : { payload: taken.payload }),
    },
  };
}

/**
 * N loops that empty one queue. An item that throws is logged, counted, let go and, unless its error says never, requeued; the loop goes
 * on. Items that need no waiting do not hold the event loop: the loops pause for one turn of it every few milliseconds.
 *
 * `run` stops taking when its signal aborts, waits for the running items, aborts them after `graceMs` with {@link Shutdown},
 * and resolves when all have settled; it rejects with DeadlineExceeded, naming the keys, when one ignores its abort for
 * `settleMs`, and with the queue's error if taking fails. The queue belongs to the caller: shut it down afterwards, or its
 * delayed adds keep their timer.
 */
export class Processors<K extends string, P> implements Runnable {
  readonly name: string;
  readonly #deps: ProcessorsDeps<K, P>;
  readonly #config: ProcessorsConfig;
  readonly #yielder: EventLoopYielder;
  readonly #running = new Set<K>();
  readonly #places = new Places();
  #takenAt: number;

  constructor(deps: ProcessorsDeps<K, P>, config: ProcessorsConfig) {
    this.name = `processors ${deps.queue.name}`;
    this.#deps = deps;
    this.#config = config;
    this.#yielder = new EventLoopYielder(deps.clock);
    this.#takenAt = deps.clock.monotonic();
  }

  async run(signal: AbortSignal): Promise<void> {
    const work = newAbortController();
    let timer: Timer | undefined;
    let giveUp: (reason: Error) => void = () => undefined;
    const stuck = new Promise<never>((_resolve, reject) => {
      giveUp = reject;
    });
    const onStop = (): void => {
      timer = this.#deps.clock.timer(this.#config.graceMs, () => {
        work.abort(new Shutdown(`${this.name}: the grace period of ${this.#config.graceMs / 1000} s is over`));
        timer = this.#deps.clock.timer(this.#settleMs, () => giveUp(this.#stuck()));
      });
    };
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
    try {
      await Promise.race([this.#loops(signal, work.signal), stuck]);
    } finally {
      signal.removeEventListener('abort', onStop);
      timer?.cancel();
    }
  }

  progress(): ProcessorsProgress {
    const { queue } = this.#deps;
    return {
      workers: this.#workers,
      running: this.#running.size - this.#places.away,
      waiting: queue.depth,
      ...queue.progress(),
      sinceTakenMs: this.#deps.clock.monotonic() - this.#takenAt,
    };
  }

  get #workers(): number {
    return Math.max(1, Math.floor(this.#config.workers));
  }

  get #settleMs(): number {
    return this.#config.settleMs ?? 1000;
  }

  #stuck(): DeadlineExceeded {
    const keys = [...this.#running];
    const shown = keys.slice(0, 5).join(', ') + (keys.length > 5 ? ` and ${keys.length - 5} more` : '');
    return new DeadlineExceeded(`${this.name}: stopping ${shown} after the abort`, this.#settleMs);
  }

  /** One failing loop (only the queue itself can make it fail) stops the others. */
  async #loops(signal: AbortSignal, work: AbortSignal): Promise<void> {
    await withChild(signal, async (stop, stopAll) => {
      const loop = (): Promise<void> =>
        this.#loop(stop, work).catch((error: unknown) => {
          stopAll(new Shutdown('a processor loop failed'));
          throw error;
        });
      await this.#places.fill(this.#workers, stop, loop);
    });
  }

  async #loop(stop: AbortSignal, work: AbortSignal): Promise<void> {
    for (;;) {
      await this.#yielder.pause();
      if (this.#places.isAskedFor) return;
      const taken = await this.#places.idle(stop, (signal) => this.#next(signal));
      if (taken === undefined) return;
      if (stop.aborted) {
        // Handed over in the moment of the stop: nothing new starts, nothing is lost.
        this.#deps.queue.done(
          taken.key,
          verdictOf(taken, { requeueAfterMs: 0, ...withPayload(taken.payload) }).requeue,
        );
        return;
      }
      await this.#process(taken, work);
    }
  }

  async #next(stop: AbortSignal): Promise<Taken<K, P> | undefined> {
    if (stop.aborted) return undefined;
    try {
      return await this.#deps.queue.take(stop);
    } catch (error) {
      if (error === stop.reason) return undefined;
      throw error;
    }
  }

  async #process(taken: Taken<K, P>, work: AbortSignal): Promise<void> {
    const { queue, handler, metrics } = this.#deps;
    this.#running.add(taken.key);
    this.#takenAt = this.#deps.clock.monotonic();
    let verdict: Verdict<P>;
    try {
      verdict = verdictOf(taken, await withChild(work, (signal) => handler(taken, signal, this.#places)));
    } catch (error) {
      verdict = verdictOfError(taken, error);
      this.#log(taken, error, verdict);
    }
    this.#running.delete(taken.key);
    queue.done(taken.key, verdict.requeue);
    metrics?.ended(queue.name, verdict.result);
  }

  #log(taken: Taken<K, P>, error: unknown, { result, requeue }: Verdict<P>): void {
    const { queue, logger } = this.#deps;
    const fields = {
      queue: queue.name,
      key: taken.key,
      error,
      ...(requeue === undefined ? {} : { retry: requeue.after }),
    };
    if (result === 'aborted') logger.info('Item was aborted', fields);
    else logger.error('Item failed', fields);
  }
}

function withPayload<P>(payload: P | undefined): { payload?: P } {
  return payload === undefined ? {} : { payload };
}

const sliceMs = 8;
const sliceItems = 64;

/**
 * Shares the event loop: promises that are always ready run in microtasks and would keep timers and sockets waiting until the queue is
 * empty. After 8 ms or 64 items all loops of the pool wait for one turn of the event loop together.
 */
class EventLoopYielder {
  readonly #clock: Clock;
  #since: number;
  #items = 0;
  #turn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  async pause(): Promise<void> {
    this.#items += 1;
    if (this.#items < sliceItems && this.#clock.monotonic() - this.#since < sliceMs) return;
    this.#turn ??= yieldToLoop().then(() => {
      this.#turn = undefined;
      this.#items = 0;
      this.#since = this.#clock.monotonic();
    });
    await this.#turn;
  }
}

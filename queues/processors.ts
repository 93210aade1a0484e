import { DeadlineExceeded, DriftlessError, isAbort, newAbortController, Shutdown, withChild, yieldToLoop } from '#base';
import type { Clock, Runnable, ClockTimer } from '#base';
import type { Logger } from '#telemetry';
import type { ItemResult, QueueMetrics } from './metrics.ts';
import { WorkerSlots } from './worker-slots.ts';
import type { WorkerSlot } from './worker-slots.ts';
import type { Priority, RequeueOptions, TakenItem, WorkQueue } from './types.ts';

/** Result of a run that did not fail: the key is done, or runs again later. */
export type HandlerResult<P> = 'done' | RequeueRequest<P>;

export interface RequeueRequest<P> {
  readonly requeueAfterMs: number;
  /** Default: the priority of this run. */
  readonly priority?: Priority;
  /** For the next run. Default: none. */
  readonly payload?: P;
}

/**
 * Processes one key. The signal aborts when the pool's grace period is over: stop promptly and
 * rethrow its reason. A thrown error requeues the key with its payload, according to `error.retry`.
 */
export type ItemHandler<K extends string, P> = (
  taken: TakenItem<K, P>,
  signal: AbortSignal,
  slot: WorkerSlot,
) => Promise<HandlerResult<P>>;

export interface ProcessorsDeps<K extends string, P> {
  readonly queue: WorkQueue<K, P>;
  readonly handler: ItemHandler<K, P>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: QueueMetrics;
}

export interface ProcessorsConfig {
  /** Concurrent items (`--status-processors`, `--operation-processors`); at least 1. */
  readonly workers: number;
  /** Time that running items get to finish after the stop, before they are aborted. */
  readonly graceMs: number;
  /** Time that aborted items get to settle. Default 1 s. */
  readonly settleMs?: number;
}

/** State of a pool for liveness probes, metrics and the dashboard. */
export interface ProcessorsProgress {
  readonly workers: number;
  /** Items in flight, without those that have released their slot (`WorkerSlot.releaseWhile`). */
  readonly running: number;
  /** Keys that are due. */
  readonly waiting: number;
  readonly oldestWaitingMs: number;
  readonly oldestInFlightMs: number;
  readonly takenTotal: number;
  /** Time since a worker last took a key, or since the pool was created. */
  readonly sinceTakenMs: number;
}

/**
 * Describes why a pool makes no progress; undefined if it does. A pool is stalled when keys have
 * waited for `limitMs` and no worker has taken one in that time. Neither one slow item nor a long
 * queue stalls it.
 */
export function describeStall(progress: ProcessorsProgress, limitMs: number): string | undefined {
  const { workers, running, waiting, oldestWaitingMs, oldestInFlightMs, sinceTakenMs } = progress;
  if (waiting === 0 || Math.min(oldestWaitingMs, sinceTakenMs) < limitMs) return undefined;
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
  const busy = running === 0 ? 'work' : `are busy, one for ${seconds(oldestInFlightMs)}`;
  return `${waiting} keys wait, the oldest for ${seconds(oldestWaitingMs)}; ${running} of ${workers} processors ${busy}`;
}

/** Queue action after a run, and its value for the items counter. */
export interface RunVerdict<P> {
  readonly result: ItemResult;
  readonly requeue?: RequeueOptions<P>;
}

/** Converts a handler's result into a queue action. */
export function verdictOf<P>(taken: TakenItem<string, P>, result: HandlerResult<P>): RunVerdict<P> {
  if (result === 'done') return { result: 'done' };
  return {
    result: 'requeued',
    requeue: {
      after: result.requeueAfterMs,
      priority: result.priority ?? taken.priority,
      ...(result.payload === undefined ? {} : { payload: result.payload }),
    },
  };
}

/**
 * Converts an error into a queue action: `retry: 'never'` ends the item, anything else requeues it
 * with the payload of the failed run. Argo CD never requeues failed items: they wait for the next
 * event or resync.
 */
export function verdictOfError<P>(taken: TakenItem<string, P>, error: unknown): RunVerdict<P> {
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
 * A pool of worker loops for one queue. Items that throw are logged, counted and requeued, unless
 * their error forbids it. The loops yield to the event loop every few milliseconds.
 *
 * When its signal aborts, `run` takes no more items and waits for the running ones. After `graceMs`
 * it aborts them with {@link Shutdown}, and resolves when all have settled. It rejects with
 * DeadlineExceeded, naming the keys, if items ignore the abort for `settleMs`, and with the queue's
 * error if taking fails. The caller must shut down the queue, or its delayed adds keep their timer.
 */
export class Processors<K extends string, P> implements Runnable {
  readonly name: string;
  readonly #deps: ProcessorsDeps<K, P>;
  readonly #config: ProcessorsConfig;
  readonly #yielder: EventLoopYielder;
  readonly #running = new Set<K>();
  readonly #slots = new WorkerSlots();
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
    let timer: ClockTimer | undefined;
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
      running: this.#running.size - this.#slots.released,
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

  /** A failing loop stops the others. Only an error of the queue itself makes a loop fail. */
  async #loops(signal: AbortSignal, work: AbortSignal): Promise<void> {
    await withChild(signal, async (stop, stopAll) => {
      const loop = (): Promise<void> =>
        this.#loop(stop, work).catch((error: unknown) => {
          stopAll(new Shutdown('a processor loop failed'));
          throw error;
        });
      await this.#slots.runLoops(this.#workers, stop, loop);
    });
  }

  async #loop(stop: AbortSignal, work: AbortSignal): Promise<void> {
    for (;;) {
      await this.#yielder.pause();
      if (this.#slots.shouldEndLoop(this.#deps.queue.depth)) return;
      const taken = await this.#slots.waitForItem(stop, (signal) => this.#next(signal));
      if (taken === undefined) return;
      if (stop.aborted) {
        // The pool was stopped while this key was being taken. Put it back, because nothing new
        // starts.
        this.#deps.queue.done(
          taken.key,
          verdictOf(taken, { requeueAfterMs: 0, ...withPayload(taken.payload) }).requeue,
        );
        return;
      }
      await this.#process(taken, work);
    }
  }

  async #next(stop: AbortSignal): Promise<TakenItem<K, P> | undefined> {
    if (stop.aborted) return undefined;
    try {
      return await this.#deps.queue.take(stop);
    } catch (error) {
      if (error === stop.reason) return undefined;
      throw error;
    }
  }

  async #process(taken: TakenItem<K, P>, work: AbortSignal): Promise<void> {
    const { queue, handler, metrics } = this.#deps;
    this.#running.add(taken.key);
    this.#takenAt = this.#deps.clock.monotonic();
    let verdict: RunVerdict<P>;
    try {
      verdict = verdictOf(taken, await withChild(work, (signal) => handler(taken, signal, this.#slots)));
    } catch (error) {
      verdict = verdictOfError(taken, error);
      this.#log(taken, error, verdict);
    }
    this.#running.delete(taken.key);
    queue.done(taken.key, verdict.requeue);
    metrics?.ended(queue.name, verdict.result);
  }

  #log(taken: TakenItem<K, P>, error: unknown, { result, requeue }: RunVerdict<P>): void {
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

/** The pool yields to the event loop after this time or this many items, whichever comes first. */
const maxSliceMs = 8;
const maxSliceItems = 64;

/**
 * Makes all loops of a pool yield together. Handlers that never wait run in microtasks only, which
 * would block timers and sockets until the queue is empty.
 */
class EventLoopYielder {
  readonly #clock: Clock;
  #since: number;
  #items = 0;
  #yielding: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  async pause(): Promise<void> {
    this.#items += 1;
    if (this.#items < maxSliceItems && this.#clock.monotonic() - this.#since < maxSliceMs) return;
    this.#yielding ??= yieldToLoop().then(() => {
      this.#yielding = undefined;
      this.#items = 0;
      this.#since = this.#clock.monotonic();
    });
    await this.#yielding;
  }
}

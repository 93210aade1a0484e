import { abortable, newAbortController, withDeadline } from '#base';
import type { Clock, DeadlineOptions } from '#base';

interface SharedJob<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
  isOver: boolean;
}

/** All callers have stopped waiting for the work. */
class WorkAbandoned extends Error {
  override readonly name = 'AbortError';
}

export interface JobOptions {
  readonly clock: Clock;
  /** Deadline of one job, measured from its start. */
  readonly limitMs: number;
  /**
   * Continue after the last waiter has left: the next caller needs the result, and partial work
   * would be lost.
   */
  readonly keepGoing?: boolean;
}

/**
 * Runs one job per key and shares it between concurrent callers. A caller leaves when its own
 * signal aborts; the job is aborted when the last caller has left (unless `keepGoing` is set) or at
 * its deadline.
 */
export class SharedJobs<T> {
  readonly #options: JobOptions;
  readonly #jobs = new Map<string, SharedJob<T>>();

  constructor(options: JobOptions) {
    this.#options = options;
  }

  /** @param what describes the work in the deadline error */
  async run(
    key: string,
    what: DeadlineOptions['what'],
    signal: AbortSignal,
    body: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const job = this.#jobs.get(key) ?? this.#start(key, what, signal, body);
    job.waiters += 1;
    try {
      return await abortable(job.result, signal);
    } finally {
      job.waiters -= 1;
      if (job.waiters === 0 && this.#options.keepGoing !== true) {
        if (this.#jobs.get(key) === job) this.#jobs.delete(key);
        if (!job.isOver) job.stop.abort(new WorkAbandoned('all callers stopped waiting'));
      }
    }
  }

  get idle(): boolean {
    return this.#jobs.size === 0;
  }

  /** Aborts all running jobs; their callers get `reason`. */
  stop(reason: Error): void {
    for (const job of this.#jobs.values()) job.stop.abort(reason);
  }

  #start(
    key: string,
    what: DeadlineOptions['what'],
    first: AbortSignal,
    body: (signal: AbortSignal) => Promise<T>,
  ): SharedJob<T> {
    const stop = newAbortController(first);
    const { clock, limitMs } = this.#options;
    const result = withDeadline(stop.signal, { clock, limitMs, what }, body).finally(() => {
      job.isOver = true;
      if (this.#jobs.get(key) === job) this.#jobs.delete(key);
    });
    result.catch(() => undefined);
    const job: SharedJob<T> = { result, stop, waiters: 0, isOver: false };
    this.#jobs.set(key, job);
    return job;
  }
}

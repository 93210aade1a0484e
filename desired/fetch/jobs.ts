import { abortable, newAbortController, withDeadline } from '#base';
import type { Clock } from '#base';

interface Job<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
}

/** No one waits for the work any more. */
class Abandoned extends Error {
  override readonly name = 'AbortError';
}

export interface JobOptions {
  readonly clock: Clock;
  /** The deadline of a piece of work, from its start. */
  readonly limitMs: number;
  /** Go on when nobody waits any more, because what has been done would be lost and somebody will come back for it. */
  readonly keepGoing?: boolean;
}

/**
 * One piece of work per key, however many ask for it at once. Each waiter leaves when its own signal aborts; the work is aborted when the
 * last one has left (unless it keeps going), or at its deadline.
 */
export class SharedJobs<T> {
  readonly #options: JobOptions;
  readonly #jobs = new Map<string, Job<T>>();

  constructor(options: JobOptions) {
    this.#options = options;
  }

  /** `what` is for the message of the deadline. */
  async run(key: string, what: string, signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const job = this.#jobs.get(key) ?? this.#start(key, what, body);
    job.waiters += 1;
    try {
      return await abortable(job.result, signal);
    } finally {
      job.waiters -= 1;
      if (job.waiters === 0 && this.#options.keepGoing !== true) {
        if (this.#jobs.get(key) === job) this.#jobs.delete(key);
        job.stop.abort(new Abandoned('nobody waits for this any more'));
      }
    }
  }

  get idle(): boolean {
    return this.#jobs.size === 0;
  }

  /** Aborts everything that runs; its waiters get `reason`. */
  stop(reason: Error): void {
    for (const job of this.#jobs.values()) job.stop.abort(reason);
  }

  #start(key: string, what: string, body: (signal: AbortSignal) => Promise<T>): Job<T> {
    const stop = newAbortController();
    const { clock, limitMs } = this.#options;
    const result = withDeadline(stop.signal, { clock, limitMs, what }, body).finally(() => {
      if (this.#jobs.get(key) === job) this.#jobs.delete(key);
    });
    result.catch(() => undefined);
    const job: Job<T> = { result, stop, waiters: 0 };
    this.#jobs.set(key, job);
    return job;
  }
}

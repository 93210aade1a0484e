import { abortable, withDeadline } from '#base';
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

/**
 * One piece of work per key, however many ask for it at once. Each waiter leaves when its own signal aborts; the work is aborted when the
 * last one has left, or at its deadline, which counts from its start.
 */
export class SharedJobs<T> {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #jobs = new Map<string, Job<T>>();

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
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
      if (job.waiters === 0) {
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
    const stop = new AbortController();
    const deadline = { clock: this.#clock, limitMs: this.#limitMs, what };
    const result = withDeadline(stop.signal, deadline, body).finally(() => {
      if (this.#jobs.get(key) === job) this.#jobs.delete(key);
    });
    result.catch(() => undefined);
    const job: Job<T> = { result, stop, waiters: 0 };
    this.#jobs.set(key, job);
    return job;
  }
}

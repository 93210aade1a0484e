import { KeyedMutex } from '#base';
import { SharedJobs } from './shared-jobs.ts';
import type { JobOptions } from './shared-jobs.ts';

/** Numbers of the jobs of one key; equal when none runs. */
interface JobNumbers {
  started: number;
  finished: number;
  callers: number;
}

export interface FreshJob {
  readonly key: string;
  /** Describes the work in the deadline error. */
  readonly what: string;
  /** The job must begin after this call: a running one may miss what the caller knows of. */
  readonly mustBegin: boolean;
}

/**
 * Runs one job at a time per key and shares it between concurrent callers, like {@link SharedJobs}.
 * A caller that needs a later result waits for the running job, then shares the next one.
 */
export class FreshJobs<T> {
  readonly #jobs: SharedJobs<T>;
  readonly #turns = new KeyedMutex<string>();
  readonly #numbers = new Map<string, JobNumbers>();

  constructor(options: JobOptions) {
    this.#jobs = new SharedJobs(options);
  }

  async run(job: FreshJob, signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { key, what, mustBegin } = job;
    const numbers = this.#numbers.get(key) ?? { started: 0, finished: 0, callers: 0 };
    this.#numbers.set(key, numbers);
    const isRunning = numbers.finished < numbers.started;
    const number = isRunning && !mustBegin ? numbers.started : numbers.started + 1;
    numbers.callers += 1;
    try {
      return await this.#jobs.run(`${key} ${number}`, what, signal, (work) =>
        this.#turns.run(key, work, () => numbered(numbers, () => body(work))),
      );
    } finally {
      numbers.callers -= 1;
      const isIdle = numbers.callers === 0 && numbers.finished === numbers.started;
      if (isIdle && this.#numbers.get(key) === numbers) this.#numbers.delete(key);
    }
  }

  /** Aborts all running jobs; their callers get `reason`. */
  stop(reason: Error): void {
    this.#jobs.stop(reason);
  }
}

async function numbered<T>(numbers: JobNumbers, body: () => Promise<T>): Promise<T> {
  numbers.started += 1;
  try {
    return await body();
  } finally {
    numbers.finished = numbers.started;
  }
}

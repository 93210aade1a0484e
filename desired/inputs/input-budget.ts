import type { Clock } from '#base';
import { SizeLimitExceeded } from '../errors.ts';
import { InputShares } from './input-shares.ts';
import { ScheduledStarts } from './scheduled-starts.ts';

/** Longer than reading nearly all sources takes, and a fraction of an answer's deadline. */
const claimAfterMs = 5000;

/** An input that a caller wants to hold in memory. */
export interface InputWanted {
  readonly project: string;
  readonly bytes: number;
}

/**
 * Limits the memory of all files that were read for programs and plugins, and shares it fairly
 * between projects. A caller that holds an input must not wait for another one.
 */
export class InputBudget {
  readonly #clock: Clock;
  readonly #shares: InputShares;
  readonly #starts: ScheduledStarts;
  readonly #remedy: string;

  /** @param option name of the option that sets `totalBytes`, for messages */
  constructor(clock: Clock, totalBytes: number, option?: string) {
    this.#clock = clock;
    this.#remedy = option === undefined ? 'split the source' : `split the source, or raise ${option}`;
    this.#shares = new InputShares({ totalBytes, claimAfterMs });
    this.#starts = new ScheduledStarts(clock, this.#shares);
  }

  get heldBytes(): number {
    return this.#shares.heldBytes;
  }

  get waitingCount(): number {
    return this.#shares.waitingCount;
  }

  /**
   * Runs `body` while its input counts as held. The caller's signal has the deadline of the wait.
   * @throws SizeLimitExceeded for an input that is too big; the reason of `signal` while waiting
   */
  async run<T>({ project, bytes }: InputWanted, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const shares = this.#shares;
    if (bytes > shares.maxInputBytes)
      throw new SizeLimitExceeded(
        `the source needs ${bytes} bytes of files, more than the ${shares.maxInputBytes} bytes that one source may hold in memory: ${this.#remedy}`,
      );
    const id = shares.add(project, bytes, this.#clock.monotonic());
    await this.#starts.wait(id, signal);
    try {
      return await body();
    } finally {
      shares.end(id);
      this.#starts.startNext();
    }
  }
}

import type { Clock, ClockTimer } from '#base';

/** Decides which of the waiting IDs start. All times are monotonic milliseconds. */
export interface StartSchedule {
  /** Removes an ID that no longer waits. */
  drop(id: number): void;
  /** The ID that starts now; undefined if none may start. */
  next(now: number): number | undefined;
  /** When time alone may start one; undefined if nothing waits for that. */
  nextChangeAt(now: number): number | undefined;
}

/** Callers that wait until a schedule starts them. */
export class ScheduledStarts {
  readonly #clock: Clock;
  readonly #schedule: StartSchedule;
  readonly #starts = new Map<number, () => void>();
  #timer: ClockTimer | undefined;

  constructor(clock: Clock, schedule: StartSchedule) {
    this.#clock = clock;
    this.#schedule = schedule;
  }

  /** Resolves when an ID that was added to the schedule starts. @throws the reason of `signal` */
  wait(id: number, signal: AbortSignal): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#starts.delete(id);
        this.#schedule.drop(id);
        this.startNext();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#starts.set(id, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
    this.startNext();
    return started;
  }

  /** Starts all that may start, after a change of the schedule. */
  startNext(): void {
    const now = this.#clock.monotonic();
    for (let id = this.#schedule.next(now); id !== undefined; id = this.#schedule.next(now)) this.#start(id);
    this.#timer?.cancel();
    const at = this.#schedule.nextChangeAt(now);
    this.#timer = at === undefined ? undefined : this.#clock.timer(at - now, () => this.startNext());
  }

  #start(id: number): void {
    this.#starts.get(id)?.();
    this.#starts.delete(id);
  }
}

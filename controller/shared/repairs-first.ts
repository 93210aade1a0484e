import type { Clock, ClockTimer } from '#base';

/** Number of Applications that wait for a worker because something changed. */
export interface WaitingRepairs {
  /** Those that are to be compared. */
  readonly passes: () => number;
  /** Those whose operation is to run a step. */
  readonly steps: () => number;
}

/** So many make a storm. */
export const stormKeys = 10;
/** Upper bound on delaying one record. */
export const maxRecordDelayMs = 5000;
/** Upper bound on delaying one pass. */
export const maxPassDelayMs = 250;
const checkMs = 10;

interface WaitingTurn {
  readonly mayGo: () => boolean;
  readonly until: number;
  readonly proceed: () => void;
}

/**
 * The order of work in a storm of changes, when each waits for the same CPU: steps of operations
 * repair, passes find what to repair, and records tell of it: the ends of finished self-heals, and
 * Events.
 */
export class RepairsFirst {
  readonly #clock: Clock;
  readonly #waiting: WaitingRepairs;
  readonly #turns = new Set<WaitingTurn>();
  #timer: ClockTimer | undefined;

  constructor(clock: Clock, waiting: WaitingRepairs) {
    this.#clock = clock;
    this.#waiting = waiting;
  }

  get isStorm(): boolean {
    return this.#waiting.passes() + this.#waiting.steps() >= stormKeys;
  }

  /**
   * Resolves at the turn of a record, or when the signal aborts. Never rejects.
   * @param isAsked whether a person waits for the record
   */
  recordTurn(signal: AbortSignal, isAsked = (): boolean => false): Promise<void> {
    return this.#turn(() => !this.isStorm || isAsked(), maxRecordDelayMs, signal);
  }

  /** The same for a pass over an Application whose objects changed. */
  passTurn(signal: AbortSignal): Promise<void> {
    const { passes, steps } = this.#waiting;
    return this.#turn(() => steps() === 0 || passes() < stormKeys, maxPassDelayMs, signal);
  }

  async #turn(mayGo: () => boolean, limitMs: number, signal: AbortSignal): Promise<void> {
    if (mayGo() || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const proceed = (): void => {
        this.#turns.delete(turn);
        signal.removeEventListener('abort', proceed);
        resolve();
      };
      const turn = { mayGo, until: this.#clock.monotonic() + limitMs, proceed };
      this.#turns.add(turn);
      signal.addEventListener('abort', proceed, { once: true });
      this.#arm();
    });
  }

  /** One timer for all. */
  #arm(): void {
    this.#timer ??= this.#clock.timer(checkMs, () => {
      this.#timer = undefined;
      const now = this.#clock.monotonic();
      for (const { mayGo, until, proceed } of [...this.#turns]) if (until <= now || mayGo()) proceed();
      if (this.#turns.size > 0) this.#arm();
    });
  }
}

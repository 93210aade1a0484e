import type { Clock, ClockTimer } from '#base';

/** Interval in which a subject is not published again. */
interface PaceInterval {
  readonly timer: ClockTimer;
  /** Publishes the last value at the end of the interval. */
  held?: () => void;
}

/**
 * Rate limiter per subject: the first value passes at once, and the last value of each interval at
 * its end. An idle subject costs nothing.
 */
export class PublishPace {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #ms: number;
  readonly #moments = new Map<string, PaceInterval>();

  constructor(clock: Pick<Clock, 'timer'>, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** Returns true if `later` replaces the waiting value and runs later; false: publish now. */
  holds(id: string, later: () => void): boolean {
    const moment = this.#moments.get(id);
    if (moment !== undefined) moment.held = later;
    return moment !== undefined;
  }

  /** Whether a newer value waits to be published. */
  isHolding(id: string): boolean {
    return this.#moments.get(id)?.held !== undefined;
  }

  /** A value is published now: drops an older waiting one. */
  begin(id: string): void {
    this.drop(id);
    const timer = this.#clock.timer(this.#ms, () => {
      const { held } = this.#moments.get(id) ?? {};
      this.#moments.delete(id);
      if (held === undefined) return;
      this.begin(id);
      held();
    });
    this.#moments.set(id, { timer });
  }

  /** Drops what waits for the subject. */
  drop(id: string): void {
    this.#moments.get(id)?.timer.cancel();
    this.#moments.delete(id);
  }

  stop(): void {
    for (const id of [...this.#moments.keys()]) this.drop(id);
  }
}

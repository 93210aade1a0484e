import type { Clock, Timer } from '#base';

/** A moment in which a subject is not published again. */
interface Moment {
  readonly timer: Timer;
  /** What is to be done at its end. */
  held?: () => void;
}

/**
 * Publishes each subject once in so many milliseconds: the first time at once, and the last of what comes within that time at its end. A subject at rest costs
 * nothing.
 */
export class Pace {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #ms: number;
  readonly #moments = new Map<string, Moment>();

  constructor(clock: Pick<Clock, 'timer'>, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** Whether `later` is done later, in place of what waited until now; false: it is to be done now. */
  holds(id: string, later: () => void): boolean {
    const moment = this.#moments.get(id);
    if (moment !== undefined) moment.held = later;
    return moment !== undefined;
  }

  /** It is published now: what waited is older. */
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

  /** Nothing is to be published of it any more. */
  drop(id: string): void {
    this.#moments.get(id)?.timer.cancel();
    this.#moments.delete(id);
  }

  stop(): void {
    for (const id of [...this.#moments.keys()]) this.drop(id);
  }
}

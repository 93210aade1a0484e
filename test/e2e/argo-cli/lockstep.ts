import type { Clock } from '#base';

/** Application controllers whose worlds play the scenario. */
export type ControllerUnderTest = 'Argo CD' | 'Driftless';

/** The output of each world at a step. */
export type Readings = Readonly<Record<ControllerUnderTest, string>>;

interface WaitingReader {
  readonly controller: ControllerUnderTest;
  readonly read: () => Promise<string>;
  readonly resolve: (text: string | Promise<string>) => void;
  readonly reject: (error: unknown) => void;
}

export interface LockstepOptions {
  readonly clock: Clock;
  /** True if the outputs are as expected, with all listed differences. */
  readonly agree: (step: string, readings: Readings) => boolean;
  /** How long a step is read again. The default is 90 s. */
  readonly withinMs?: number;
}

/**
 * Lets two worlds play the same scenario at the same time. Other components of Argo CD write their
 * state when they get to it, in either world, so one reading on each side differs by chance. Both
 * worlds read a step again until they agree, and keep the last readings if they never do.
 */
export class Lockstep {
  /** Steps that were read more than once, and the number of readings. */
  readonly repeated = new Map<string, number>();
  readonly #options: LockstepOptions;
  readonly #waiting = new Map<string, WaitingReader>();
  readonly #stopped = new Set<ControllerUnderTest>();

  constructor(options: LockstepOptions) {
    this.#options = options;
  }

  /** Waits until both worlds begin the act. */
  async begin(act: string, controller: ControllerUnderTest): Promise<void> {
    await this.#meet(`act ${act}`, controller, () => Promise.resolve(''));
    this.#stopped.clear();
  }

  /** The rest of this controller's act is not played: the other world reads alone until its end. */
  stop(controller: ControllerUnderTest): void {
    this.#stopped.add(controller);
    for (const [step, { read, resolve }] of this.#waiting)
      if (!step.startsWith('act ') && this.#waiting.delete(step)) resolve(read());
  }

  /** The output of a command without effects, read when both worlds agree on it. */
  async read(step: string, controller: ControllerUnderTest, read: () => Promise<string>): Promise<string> {
    if (this.#stopped.size > 0) return read();
    return this.#meet(step, controller, read);
  }

  async #meet(step: string, controller: ControllerUnderTest, read: () => Promise<string>): Promise<string> {
    const other = this.#waiting.get(step);
    if (other === undefined)
      return new Promise((resolve, reject) => this.#waiting.set(step, { controller, read, resolve, reject }));
    this.#waiting.delete(step);
    const readers = { [controller]: read, [other.controller]: other.read } as Record<
      ControllerUnderTest,
      () => Promise<string>
    >;
    try {
      const readings = await this.#settled(step, readers);
      other.resolve(readings[other.controller]);
      return readings[controller];
    } catch (error) {
      other.reject(error);
      throw error;
    }
  }

  async #settled(step: string, readers: Record<ControllerUnderTest, () => Promise<string>>): Promise<Readings> {
    const { clock, agree, withinMs = 90_000 } = this.#options;
    const end = clock.monotonic() + withinMs;
    for (let count = 1; ; count++) {
      const [theirs, ours] = await Promise.all([readers['Argo CD'](), readers.Driftless()]);
      const readings = { 'Argo CD': theirs, Driftless: ours };
      if (count > 1) this.repeated.set(step, count);
      if (agree(step, readings) || clock.monotonic() >= end) return readings;
      await clock.sleep(500);
    }
  }
}

import { sleepOn } from '#base';
import type { Clock, ClockTimer } from '#base';
import { MachineClock } from '../../sharding/testing/index.ts';
import type { VirtualTime } from '../../sharding/testing/index.ts';

/** The clock of one process. It counts its pending timers, so that a test sees which are left. */
export class ProcessClock implements Clock {
  readonly machine: MachineClock;
  #pending = 0;

  constructor(time: VirtualTime, character: { readonly rate: number; readonly skew: number }) {
    this.machine = new MachineClock(time, character);
  }

  /** Timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.#pending;
  }

  now(): number {
    return this.machine.now();
  }

  /** In whole milliseconds: a timer never fires before its time by the fraction of one. */
  monotonic(): number {
    return Math.floor(this.machine.monotonic() + 1e-3);
  }

  timer(delayMs: number, fire: () => void): ClockTimer {
    let isPending = true;
    this.#pending += 1;
    const end = (): void => {
      if (isPending) this.#pending -= 1;
      isPending = false;
    };
    const inner = this.machine.timer(Math.ceil(delayMs), () => {
      end();
      fire();
    });
    return {
      cancel: () => {
        end();
        inner.cancel();
      },
    };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }
}

/** A process as the network sees it. */
export interface NetworkProcess {
  readonly name: string;
  readonly index: number;
  readonly clock: ProcessClock;
  kill(): void;
}

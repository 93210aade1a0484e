import { sleepOn } from '#base';
import type { Clock, Timer } from '#base';
import { Agenda } from './agenda.ts';

/** One time for many machines. After each thing that is due, all promises that it wakes have run before the next one. */
export class VirtualTime {
  readonly #agenda = new Agenda();
  now = 1_000_000;

  at(at: number, run: () => void): void {
    this.#agenda.add(Math.max(at, this.now), run);
  }

  /** Plays what is due until `end`, or until `isOver`. */
  async play(end: number, isOver: () => boolean): Promise<void> {
    await flush();
    while (!isOver()) {
      const next = this.#agenda.takeBefore(end);
      if (next === undefined) break;
      this.now = Math.max(this.now, next.at);
      next.run();
      await flush();
    }
    if (!isOver()) this.now = Math.max(this.now, end);
  }
}

interface Sleep {
  readonly from: number;
  readonly until: number;
}

function flush(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * The clocks of one machine, which run at their own speed. Stopped: the process does nothing, its clocks go on. Suspended: the machine does
 * nothing, and of its clocks only the boot clock goes on. Paused, as a virtual machine can be: nothing goes on. Off: for good.
 */
export class MachineClock implements Clock {
  readonly #time: VirtualTime;
  readonly #rate: number;
  readonly #origin: number;
  #skew: number;
  #stoppedUntil = 0;
  readonly #sleeps: Sleep[] = [];
  readonly #pauses: Sleep[] = [];
  #isOff = false;

  constructor(time: VirtualTime, { rate, skew }: { readonly rate: number; readonly skew: number }) {
    this.#time = time;
    this.#rate = rate;
    this.#skew = skew;
    this.#origin = time.now;
  }

  now(): number {
    return this.#time.now - this.#lengthOf(this.#sleeps) + this.#skew;
  }

  monotonic(): number {
    return (this.#time.now - this.#origin - this.#lengthOf(this.#sleeps)) * this.#rate;
  }

  boot(): number {
    return (this.#time.now - this.#origin - this.#lengthOf(this.#pauses)) * this.#rate;
  }

  timer(delayMs: number, fire: () => void): Timer {
    let cancelled = false;
    const due = this.monotonic() + Math.max(0, delayMs);
    const look = (): void => {
      if (cancelled || this.#isOff) return;
      const left = due - this.monotonic();
      if (this.isStopped()) this.#time.at(this.#stoppedUntil, look);
      else if (left > 1e-6) this.#time.at(this.#time.now + left / this.#rate, look);
      else fire();
    };
    this.#time.at(this.#time.now + Math.max(0, delayMs) / this.#rate, look);
    return { cancel: () => void (cancelled = true) };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /** Runs when the process does: now, later, or never. */
  whenRunning(run: () => void): void {
    if (this.#isOff) return;
    if (this.isStopped()) this.#time.at(this.#stoppedUntil, () => this.whenRunning(run));
    else run();
  }

  isStopped(): boolean {
    return this.#stoppedUntil > this.#time.now;
  }

  stoppedUntil(): number {
    return this.#stoppedUntil;
  }

  stop(ms: number): void {
    if (!this.isStopped()) this.#stoppedUntil = this.#time.now + ms;
  }

  suspend(ms: number): void {
    if (this.isStopped()) return;
    this.#stoppedUntil = this.#time.now + ms;
    this.#sleeps.push({ from: this.#time.now, until: this.#stoppedUntil });
  }

  pause(ms: number): void {
    if (this.isStopped()) return;
    this.suspend(ms);
    this.#pauses.push({ from: this.#time.now, until: this.#stoppedUntil });
  }

  jump(ms: number): void {
    this.#skew += ms;
  }

  off(): void {
    this.#isOff = true;
  }

  /** How long all of them have lasted so far. */
  #lengthOf(sleeps: readonly Sleep[]): number {
    const { now } = this.#time;
    return sleeps.reduce((sum, { from, until }) => sum + Math.min(now, until) - from, 0);
  }
}

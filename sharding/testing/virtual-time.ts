import { sleepOn } from '#base';
import type { Clock, ClockTimer } from '#base';
import { EventAgenda } from './agenda.ts';

/** A pause of this length counts as idle. */
const idleMs = 20;
const yieldsWhenIdle = 3;

/** One timeline for many machines. All promises woken by an event run before the next event. */
export class VirtualTime {
  readonly #agenda = new EventAgenda();
  now = 1_000_000;

  at(at: number, run: () => void): void {
    this.#agenda.add(Math.max(at, this.now), run);
  }

  /** Plays events until `end`, or until `isOver`. */
  async play(end: number, isOver: () => boolean): Promise<void> {
    await flush();
    while (!isOver()) {
      // Code that yielded to the event loop goes on before time passes without any event.
      if (this.#agenda.firstAt > this.now + idleMs) for (let i = 0; i < yieldsWhenIdle; i += 1) await flush();
      const next = this.#agenda.takeBefore(end);
      if (next === undefined) break;
      this.now = Math.max(this.now, next.at);
      next.run();
      await flush();
    }
    if (!isOver()) this.now = Math.max(this.now, end);
  }
}

interface PendingSleep {
  readonly from: number;
  readonly until: number;
}

function flush(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Clocks of one machine, at their own speed. Stopped: the process halts, its clocks go on.
 * Suspended: only the boot clock goes on. Paused, like a virtual machine: no clock goes on. Off:
 * for good.
 */
export class MachineClock implements Clock {
  readonly #time: VirtualTime;
  readonly #rate: number;
  readonly #origin: number;
  #skew: number;
  #stoppedUntil = 0;
  readonly #sleeps: PendingSleep[] = [];
  readonly #pauses: PendingSleep[] = [];
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

  timer(delayMs: number, fire: () => void): ClockTimer {
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

  /** Runs the callback when the process runs: now, later, or never. */
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

  /** Total length of the sleeps so far. */
  #lengthOf(sleeps: readonly PendingSleep[]): number {
    const { now } = this.#time;
    return sleeps.reduce((sum, { from, until }) => sum + Math.min(now, until) - from, 0);
  }
}

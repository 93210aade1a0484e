import { messageOf } from '#base';
import type { Clock, ClockTimer } from '#base';
import { keyOfRef } from '#model';
import type { ResourceKey, ResourceRef } from '#model';
import type { CacheProblem } from './types.ts';

/** Failures of this time are reported together. */
const reportMs = 1000;

interface KeepFault {
  readonly object: ResourceRef;
  readonly cause: unknown;
}

/** Reports a `keep` that throws: once after a fill, then at most once a second, with the count. */
export class KeepFaults {
  readonly #clock: Clock;
  readonly #report: (problem: CacheProblem) => void;
  readonly #objects = new Set<ResourceKey>();
  #first: KeepFault | undefined;
  #isFilled = false;
  #timer: ClockTimer | undefined;

  constructor(clock: Clock, report: (problem: CacheProblem) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  add(fault: KeepFault): void {
    this.#objects.add(keyOfRef(fault.object));
    this.#first ??= fault;
    if (this.#isFilled) this.#timer ??= this.#clock.timer(reportMs, () => this.flush());
  }

  /** Reports what was added. Call it when the cache is filled, and when it is closed. */
  flush(): void {
    this.#isFilled = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    const [first, others] = [this.#first, this.#objects.size - 1];
    this.#first = undefined;
    this.#objects.clear();
    if (first === undefined) return;
    const more = others === 0 ? '' : ` and of ${others} other object${others === 1 ? '' : 's'}`;
    const message = `keep of ${keyOfRef(first.object)}${more} failed: ${messageOf(first.cause)}`;
    this.#report({ kind: 'threw', message, ...first });
  }
}

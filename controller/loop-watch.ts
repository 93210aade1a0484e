import { inSlices } from '#base';
import type { Clock, Steps } from '#base';
import type { AppKey } from '#model';
import type { CounterMetric, Logger, Metrics } from '#telemetry';

/** What a replica does for one Application without a pause. */
export type Stage = 'validation' | 'normalization' | 'comparison';

/** A stage that kept everything else waiting. */
export interface Hold {
  readonly key: AppKey;
  readonly stage: Stage;
  readonly ms: number;
}

/** Longer than this nothing may run without a pause: leases, watches and probes wait meanwhile. */
const holdMs = 1000;

/**
 * Notices which Application, in which stage, holds the event loop up: tells the log, a metric, and who asks for the health of this process. The
 * input of these stages is what tenants write, and every limit on it may have a gap.
 */
export class LoopWatch {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #seconds: CounterMetric;
  /** Since they were asked for: Applications that were compared, and with what hold. */
  readonly #compared = new Map<AppKey, Hold | undefined>();
  #last: Hold | undefined;

  constructor(deps: { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#seconds = deps.metrics.counter(
      'driftless_loop_held_seconds_total',
      'Time for which one Application kept everything else of this replica waiting, in pieces of a second and more.',
      ['namespace', 'name', 'stage'],
    );
  }

  /** Runs work that does not pause, and measures it. */
  run<T>(key: AppKey, stage: Stage, work: () => T): T {
    const began = this.#clock.monotonic();
    if (stage === 'comparison') this.#compared.set(key, this.#compared.get(key));
    try {
      return work();
    } finally {
      const ms = this.#clock.monotonic() - began;
      if (ms > holdMs) this.#held({ key, stage, ms });
    }
  }

  /** Runs work that pauses now and then, and measures each of its slices. Rejects with the reason of the signal. */
  slices<T>(key: AppKey, stage: Stage, steps: Steps<T>, signal: AbortSignal): Promise<T> {
    return inSlices(steps, { clock: this.#clock, around: (slice) => this.run(key, stage, slice) }, signal);
  }

  /** The last hold of an Application since this was asked last, `none` when it was compared without one; undefined when nothing was done for it. */
  take(key: AppKey): Hold | 'none' | undefined {
    if (!this.#compared.has(key)) return undefined;
    const hold = this.#compared.get(key);
    this.#compared.delete(key);
    return hold ?? 'none';
  }

  /** The last hold of all, in words. */
  last(): string | undefined {
    return this.#last === undefined ? undefined : `held up by ${wordsOf(this.#last)}`;
  }

  #held(hold: Hold): void {
    const { key, stage, ms } = hold;
    this.#compared.set(key, hold);
    this.#last = hold;
    const [namespace = '', name = ''] = key.split('/');
    this.#seconds.inc({ namespace, name, stage }, ms / 1000);
    this.#logger.warn('One Application kept everything else waiting', {
      application: key,
      stage,
      time_ms: Math.round(ms),
    });
  }
}

export function wordsOf({ key, stage, ms }: Hold): string {
  return `the ${stage} of ${key} for ${(ms / 1000).toFixed(1)} s`;
}

import { inSlices } from '#base';
import type { Clock, SlicedWork } from '#base';
import { appKeyLogFields, appKeyOf } from '#model';
import type { AppKey } from '#model';
import type { CounterMetric, Logger, MetricRegistry } from '#telemetry';

/** A synchronous stage of the work for one Application. */
export type LoopStage = 'validation' | 'normalization' | 'comparison';

/** A stage that blocked the event loop. */
export interface LoopHold {
  readonly key: AppKey;
  readonly stage: LoopStage;
  readonly ms: number;
}

/** Blocking the event loop for longer delays leases, watches and probes. */
const minLoopHoldMs = 1000;

/**
 * Detects which Application blocks the event loop, and in which stage; reports it to the log, a
 * metric and the health endpoint. Tenants write the input of these stages, and any limit on it may
 * have a gap.
 */
export class LoopWatch {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #seconds: CounterMetric;
  readonly #spent: (key: AppKey, ms: number) => void;
  /** Applications compared since `take` was called for them, with their last hold. */
  readonly #compared = new Map<AppKey, LoopHold | undefined>();
  #last: LoopHold | undefined;

  /** `spent` gets the time of each stage. */
  constructor(deps: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: MetricRegistry;
    readonly spent?: (key: AppKey, ms: number) => void;
    /** Whether this replica has the Application; the series of others end. */
    readonly owns?: (key: AppKey) => boolean;
  }) {
    this.#spent = deps.spent ?? (() => undefined);
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#seconds = deps.metrics.counter(
      'driftless_loop_held_seconds_total',
      'Time for which one Application blocked the event loop of this replica, in blocks of one second and more.',
      ['namespace', 'name', 'stage'],
    );
    const { owns = () => true } = deps;
    deps.metrics.dropWhen(
      'driftless_loop_held_seconds_total',
      ({ namespace, name }) => !owns(appKeyOf({ metadata: { namespace: String(namespace), name: String(name) } })),
    );
  }

  /** Runs synchronous work and measures it. */
  run<T>(key: AppKey, stage: LoopStage, work: () => T): T {
    const began = this.#clock.monotonic();
    if (stage === 'comparison') this.#compared.set(key, this.#compared.get(key));
    try {
      return work();
    } finally {
      const ms = this.#clock.monotonic() - began;
      this.#spent(key, ms);
      if (ms > minLoopHoldMs) this.#held({ key, stage, ms });
    }
  }

  /** Runs work in slices and measures each slice. Rejects with the abort reason. */
  slices<T>(key: AppKey, stage: LoopStage, steps: SlicedWork<T>, signal: AbortSignal): Promise<T> {
    return inSlices(steps, { clock: this.#clock, around: (slice) => this.run(key, stage, slice) }, signal);
  }

  /**
   * The last hold of an Application since the previous call; `none` if it was compared without one;
   * undefined if it was neither compared nor held the loop.
   */
  take(key: AppKey): LoopHold | 'none' | undefined {
    if (!this.#compared.has(key)) return undefined;
    const hold = this.#compared.get(key);
    this.#compared.delete(key);
    return hold ?? 'none';
  }

  /** A description of the most recent hold. */
  last(): string | undefined {
    return this.#last === undefined ? undefined : `blocked by ${describeHold(this.#last)}`;
  }

  #held(hold: LoopHold): void {
    const { key, stage, ms } = hold;
    this.#compared.set(key, hold);
    this.#last = hold;
    const [namespace = '', name = ''] = key.split('/');
    this.#seconds.inc({ namespace, name, stage }, ms / 1000);
    this.#logger.warn('An Application blocked the event loop', {
      ...appKeyLogFields(key),
      stage,
      time_ms: Math.round(ms),
    });
  }
}

export function describeHold({ key, stage, ms }: LoopHold): string {
  return `the ${stage} of ${key} for ${(ms / 1000).toFixed(1)} s`;
}

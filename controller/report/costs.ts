import { RollingSums } from '#base';
import type { Clock } from '#base';
import type { AppKey } from '#model';

export const costFields = ['cpuMs', 'passes', 'renders', 'apiRequests', 'watchEvents', 'bytes'] as const;
export type CostField = (typeof costFields)[number];

/** Costs of Applications over the last hour. */
export class CostBook {
  /** By {@link AppKey}. */
  readonly apps = new RollingSums<CostField>(costFields);
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  ofApp(key: AppKey, field: CostField, amount = 1): void {
    this.apps.add(key, field, amount, this.#clock.monotonic());
  }

  /** Counts a request for an Application when it is sent. */
  counting<A extends unknown[], T>(key: AppKey, send: (...args: A) => T): (...args: A) => T {
    return (...args) => {
      this.ofApp(key, 'apiRequests');
      return send(...args);
    };
  }
}

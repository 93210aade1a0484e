import { RollingSums } from '#base';
import type { Clock } from '#base';
import type { AppKey } from '#model';

export const costFields = ['cpuMs', 'passes', 'renders', 'apiRequests', 'watchEvents', 'bytes'] as const;
export type CostField = (typeof costFields)[number];
export type CostSums = RollingSums<CostField>;

/** Costs of Applications, clusters, kinds and repositories over the last hour. */
export class CostBook {
  /** By {@link AppKey}. */
  readonly apps: CostSums = new RollingSums(costFields);
  /** By URL. */
  readonly clusters: CostSums = new RollingSums(costFields);
  /** By `<group>/<Kind>`. */
  readonly kinds: CostSums = new RollingSums(costFields);
  /** By URL without credentials. */
  readonly repositories: CostSums = new RollingSums(costFields);
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

  ofCluster(server: string, field: CostField, amount = 1): void {
    this.clusters.add(server, field, amount, this.#clock.monotonic());
  }

  ofKind(kind: string, field: CostField, amount = 1): void {
    this.kinds.add(kind, field, amount, this.#clock.monotonic());
  }

  ofRepository(url: string, field: CostField, amount = 1): void {
    this.repositories.add(url, field, amount, this.#clock.monotonic());
  }
}

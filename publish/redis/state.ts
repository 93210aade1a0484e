import { messageOf } from '#base';
import type { Clock } from '#base';
import type { Logger } from '#telemetry';

/** Log interval while the store fails for changing reasons. */
const troubleLogIntervalMs = 60_000;

/** Whether the store accepts writes; logs transitions only. */
export class StoreState {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  #trouble: string | undefined = 'not connected yet';
  #told: string | undefined;
  #toldAt = 0;

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    this.#deps = deps;
  }

  get takesWrites(): boolean {
    return this.#trouble === undefined;
  }

  fails(error: unknown): void {
    const reason = messageOf(error);
    const now = this.#deps.clock.monotonic();
    this.#trouble = reason;
    if (this.#told === reason || (this.#told !== undefined && now - this.#toldAt < troubleLogIntervalMs)) return;
    this.#told = reason;
    this.#toldAt = now;
    const fields = { reason };
    this.#deps.logger.warn(
      'Redis rejects writes: clients of Argo CD see old state, Applications are still reconciled; changes are written when it recovers',
      fields,
    );
  }

  works(): void {
    this.#trouble = undefined;
    if (this.#told === undefined) return;
    this.#told = undefined;
    this.#deps.logger.info('Redis accepts writes again: writing the changes since');
  }
}

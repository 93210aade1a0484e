import { messageOf } from '#base';
import type { Clock } from '#base';
import type { Logger } from '#telemetry';

/** While the store stays in trouble for changing reasons, one of them is told this often. */
const againMs = 60_000;

/** Whether the store takes what is written, told to the log when it changes, not for every write. */
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
    if (this.#told === reason || (this.#told !== undefined && now - this.#toldAt < againMs)) return;
    this.#told = reason;
    this.#toldAt = now;
    const fields = { reason };
    this.#deps.logger.warn(
      'Redis takes no writes: clients of Argo CD see old state, Applications are reconciled all the same; what changes is written when it is back',
      fields,
    );
  }

  works(): void {
    this.#trouble = undefined;
    if (this.#told === undefined) return;
    this.#told = undefined;
    this.#deps.logger.info('Redis takes writes again: what changed meanwhile is being written');
  }
}

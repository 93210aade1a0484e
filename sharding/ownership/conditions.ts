import type { Clock } from '#base';
import type { Logger } from '#telemetry';
import type { OwnershipCondition } from './types.ts';

/** Conditions for users, logged when they begin and when they end. */
export class OwnershipConditions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #current = new Map<OwnershipCondition['type'], OwnershipCondition>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Begins, changes or (without a message) ends a condition. */
  set(type: OwnershipCondition['type'], message: string | undefined): void {
    const known = this.#current.get(type);
    if (message === undefined) {
      if (!this.#current.delete(type)) return;
      this.#logger.info('ownership condition resolved', { type });
      return;
    }
    if (known?.message === message) return;
    this.#current.set(type, { type, message, since: known?.since ?? this.#clock.now() });
    if (known === undefined) this.#logger.warn(message, { type });
  }

  all(): readonly OwnershipCondition[] {
    return [...this.#current.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
  }
}

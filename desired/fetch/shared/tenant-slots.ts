import { tenantOf } from '#base';
import { FairSlots } from '#queues';

/** Slots for work of the current tenant: projects take turns, and none has all of several slots. */
export class TenantSlots {
  readonly #slots: FairSlots;

  constructor(slots: number) {
    this.#slots = new FairSlots({ slots, slotsOfOne: Math.max(1, slots - Math.floor(slots / 4)) });
  }

  /** @throws the reason of `signal` while it waits */
  run<T>(signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    return this.#slots.run(tenantOf(signal).project, signal, body);
  }
}

import type { SlotLoan } from '#queues';
import type { WriteSlots } from './write-slots.ts';

/** A cluster silent for this long blocks its callers, so they lend out their worker slots. */
const silentClusterMs = 50;

/**
 * Paces the writes of one pass to one cluster: within the cluster's share, and without holding a
 * worker slot while the cluster is silent.
 */
export class WritePace {
  readonly #slots: WriteSlots;
  readonly #server: string;
  readonly #loan: SlotLoan;

  constructor(slots: WriteSlots, server: string, loan: SlotLoan) {
    this.#slots = slots;
    this.#server = server;
    this.#loan = loan;
  }

  /** Keeps the worker slot while the cluster answers, which bounds the writes in flight. */
  write<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    return this.#loan.during(this.#slots.run(this.#server, signal, send), () => this.#isSilent);
  }

  get #isSilent(): boolean {
    return this.#slots.silentMs(this.#server) >= silentClusterMs;
  }

  read<T>(work: Promise<T>): Promise<T> {
    return this.#loan.during(work);
  }

  /** Waits for slow work on the cluster without holding the worker slot. */
  during<T>(work: Promise<T>): Promise<T> {
    return this.#loan.during(work);
  }
}

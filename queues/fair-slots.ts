import { FairRing, FlowTurns } from './fair-ring.ts';

interface SlotWaiter {
  readonly flow: string;
  readonly start: () => void;
}

interface SlotFlow {
  readonly turns: FlowTurns<SlotWaiter>;
  waiting: number;
  running: number;
}

export interface FairSlotsOptions {
  readonly slots: number;
  /** Slots that one flow may have, so that slow work of one leaves some to others. */
  readonly slotsOfOne: number;
  /** Waiting bodies of one flow; further ones are refused. Absent: no limit. */
  readonly waitingOfOne?: number;
}

/** Too many bodies of the flow wait already. */
export class FlowFull extends Error {}

/** Runs a limited number of bodies at once; flows take turns, and an idle flow uses no memory. */
export class FairSlots {
  readonly #options: FairSlotsOptions;
  readonly #flows = new Map<string, SlotFlow>();
  readonly #ring = new FairRing<SlotWaiter>();
  #running = 0;
  #sequence = 0;

  constructor(options: FairSlotsOptions) {
    this.#options = options;
  }

  /** @throws FlowFull; the reason of `signal` while it waits */
  async run<T>(flow: string, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const own = this.#flows.get(flow) ?? { turns: new FlowTurns<SlotWaiter>(), waiting: 0, running: 0 };
    if (own.waiting >= (this.#options.waitingOfOne ?? Infinity)) throw new FlowFull();
    this.#flows.set(flow, own);
    await this.#turnOf(flow, own, signal);
    try {
      return await body();
    } finally {
      this.#running -= 1;
      own.running -= 1;
      this.#forgetIdle(flow, own);
      this.#startNext();
    }
  }

  #turnOf(flow: string, own: SlotFlow, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#sequence += 1;
      const start = (): void => {
        this.#ring.remove(link);
        own.waiting -= 1;
        own.running += 1;
        this.#running += 1;
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#ring.remove(link);
        own.waiting -= 1;
        this.#forgetIdle(flow, own);
        reject(signal.reason as Error);
      };
      const link = this.#ring.append(own.turns, { flow, start }, this.#sequence);
      own.waiting += 1;
      signal.addEventListener('abort', leave, { once: true });
      this.#startNext();
    });
  }

  #startNext(): void {
    // Each flow is looked at once: those with all of their slots in use give their turn away.
    for (let looked = this.#flows.size; looked > 0 && this.#running < this.#options.slots; looked -= 1) {
      const next = this.#ring.take();
      if (next === undefined) return;
      if ((this.#flows.get(next.flow)?.running ?? 0) >= this.#options.slotsOfOne) continue;
      next.start();
      looked = this.#flows.size + 1;
    }
  }

  #forgetIdle(flow: string, { waiting, running }: SlotFlow): void {
    if (waiting === 0 && running === 0) this.#flows.delete(flow);
  }
}

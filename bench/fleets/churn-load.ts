import type { RandomSource } from '#base';
import type { SimStore } from '#sim';

export interface ChurnRates {
  readonly eventsPerSecond: number;
}

interface ChurnOptions extends ChurnRates {
  readonly stores: readonly SimStore[];
  /** Objects of Applications. */
  readonly managed: readonly { readonly cluster: number; readonly namespace: string; readonly name: string }[];
  readonly random: RandomSource;
}

const tickMs = 50;
/** The remaining events create, change and delete objects that no Application has. */
const managedShare = 0.3;
/** Objects in each cluster that no Application has. */
const strangerSlots = 40;
const strangerNamespace = 'default';

/** The writes of other controllers in a day, at the given rate. */
export class ChurnLoad {
  readonly #options: ChurnOptions;
  readonly #timer: NodeJS.Timeout;
  #due = 0;
  /** Number of events so far. */
  events = 0;

  constructor(options: ChurnOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#due += (options.eventsPerSecond * tickMs) / 1000;
      for (; this.#due >= 1; this.#due -= 1) this.#changeOne();
    }, tickMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const store of this.#options.stores)
      for (let slot = 0; slot < strangerSlots; slot += 1)
        if (store.get('', 'ConfigMap', strangerNamespace, `stranger-${slot}`) !== undefined)
          store.delete('', 'ConfigMap', strangerNamespace, `stranger-${slot}`);
  }

  #changeOne(): void {
    const { random } = this.#options;
    this.events += 1;
    if (random.next() < managedShare) this.#touchManaged();
    else this.#changeStranger();
  }

  /** Changes a label that no manifest has: an event without a difference. */
  #touchManaged(): void {
    const { managed, stores } = this.#options;
    const { cluster, namespace, name } = managed[this.#below(managed.length)] ?? {
      cluster: 0,
      namespace: '',
      name: '',
    };
    const store = stores[cluster];
    const object = store?.get('', 'ConfigMap', namespace, name);
    if (object === undefined) return;
    const labels = { ...object.metadata.labels, touched: String(this.events) };
    store?.update({ ...object, metadata: { ...object.metadata, labels } });
  }

  #changeStranger(): void {
    const store = this.#options.stores[this.#below(this.#options.stores.length)];
    const name = `stranger-${this.#below(strangerSlots)}`;
    const object = store?.get('', 'ConfigMap', strangerNamespace, name);
    const data = { key: String(this.events) };
    if (object === undefined)
      store?.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: strangerNamespace }, data });
    else if (this.events % 3 === 0) store?.delete('', 'ConfigMap', strangerNamespace, name);
    else store?.update({ ...object, data });
  }

  #below(limit: number): number {
    return Math.floor(this.#options.random.next() * limit);
  }
}

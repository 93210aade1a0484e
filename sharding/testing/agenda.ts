interface ScheduledCallback {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Scheduled callbacks: a binary heap by time, FIFO for equal times. */
export class EventAgenda {
  readonly #due: ScheduledCallback[] = [];
  #order = 0;

  add(at: number, run: () => void): void {
    this.#order += 1;
    const due = { at, order: this.#order, run };
    let i = this.#due.push(due) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(due, this.#due[parent])) break;
      this.#due[i] = this.#due[parent] ?? due;
      i = parent;
    }
    this.#due[i] = due;
  }

  /** When the next callback is due; infinity: there is none. */
  get firstAt(): number {
    return this.#due[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  /** Removes and returns the next callback due by `end`. */
  takeBefore(end: number): { readonly at: number; readonly run: () => void } | undefined {
    const [first] = this.#due;
    if (first === undefined || first.at > end) return undefined;
    const last = this.#due.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Puts an entry at the root and sifts it down. */
  #sink(entry: ScheduledCallback): void {
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      const right = this.#due[child + 1];
      if (right !== undefined && before(right, this.#due[child])) child += 1;
      const smaller = this.#due[child];
      if (smaller === undefined || !before(smaller, entry)) break;
      this.#due[i] = smaller;
      i = child;
    }
    this.#due[i] = entry;
  }
}

function before(a: ScheduledCallback, b: ScheduledCallback | undefined): boolean {
  return b === undefined || a.at < b.at || (a.at === b.at && a.order < b.order);
}

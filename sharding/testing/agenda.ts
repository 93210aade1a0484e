interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** What is to happen when: a binary heap by time, in order of entry among equals. */
export class Agenda {
  readonly #due: Due[] = [];
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

  /** The next thing that is due by `end`. */
  takeBefore(end: number): { readonly at: number; readonly run: () => void } | undefined {
    const [first] = this.#due;
    if (first === undefined || first.at > end) return undefined;
    const last = this.#due.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Puts an entry at the top and lets it sink to its place. */
  #sink(entry: Due): void {
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

function before(a: Due, b: Due | undefined): boolean {
  return b === undefined || a.at < b.at || (a.at === b.at && a.order < b.order);
}

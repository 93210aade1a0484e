/** What an entry carries to wait in the heap; `heapIndex` is -1 while it does not. */
export interface InHeap {
  dueAt: number;
  /** Orders entries that are due at the same time. */
  order: number;
  heapIndex: number;
}

/**
 * Binary heap of entries by due time, then by order. Each entry knows its index, so that moving or removing one from the middle is
 * O(log n) and leaves no garbage behind (a dropped key is gone at once, not when its time comes).
 */
export class DueHeap<E extends InHeap> {
  readonly #items: E[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** The entry that is due first. */
  get first(): E | undefined {
    return this.#items[0];
  }

  push(entry: E): void {
    entry.heapIndex = this.#items.length;
    this.#items.push(entry);
    this.#up(entry);
  }

  /** Restores the order after `entry.dueAt` became earlier. */
  movedEarlier(entry: E): void {
    this.#up(entry);
  }

  remove(entry: E): void {
    const hole = entry.heapIndex;
    entry.heapIndex = -1;
    const last = this.#items.pop();
    if (last === undefined || last === entry) return;
    this.#place(last, hole);
    this.#up(last);
    this.#down(last);
  }

  clear(): void {
    for (const entry of this.#items) entry.heapIndex = -1;
    this.#items.length = 0;
  }

  #place(entry: E, index: number): void {
    this.#items[index] = entry;
    entry.heapIndex = index;
  }

  #up(entry: E): void {
    for (let index = entry.heapIndex; index > 0;) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#items[parentIndex];
      if (parent === undefined || !before(entry, parent)) return;
      this.#place(parent, index);
      this.#place(entry, parentIndex);
      index = parentIndex;
    }
  }

  #down(entry: E): void {
    for (let index = entry.heapIndex; ;) {
      const left = this.#items[2 * index + 1];
      const right = this.#items[2 * index + 2];
      const child = right !== undefined && left !== undefined && before(right, left) ? right : left;
      if (child === undefined || !before(child, entry)) return;
      const childIndex = child.heapIndex;
      this.#place(child, index);
      this.#place(entry, childIndex);
      index = childIndex;
    }
  }
}

function before(a: InHeap, b: InHeap): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}

/** Fields of a heap entry. */
export interface HeapEntry {
  dueAt: number;
  /** Orders entries with equal due times. */
  order: number;
  /** Position in the heap; -1 outside it. */
  heapIndex: number;
}

/**
 * Binary heap of entries by due time, then by order. Each entry stores its index, so that any entry
 * can be moved or removed in O(log n) and a dropped key frees its memory at once.
 */
export class DueHeap<E extends HeapEntry> {
  readonly #items: E[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** The entry with the earliest due time. */
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

function before(a: HeapEntry, b: HeapEntry): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}

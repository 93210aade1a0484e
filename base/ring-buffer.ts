/** Keeps the newest items, up to a number. */
export class RingBuffer<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  /** Position of the next item, once the buffer is full. */
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#next] = item;
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /** All items, the newest first. */
  *newestFirst(): Iterable<T> {
    const { length } = this.#items;
    for (let age = 1; age <= length; age += 1) yield this.#items[(this.#next - age + 2 * length) % length] as T;
  }
}

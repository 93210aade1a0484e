/** Longest text of a record. */
const maxRecordedText = 1000;

/**
 * A text for a buffer of records, cut. It is a copy: behind a plain slice, V8 keeps the whole text
 * in memory.
 */
export function recordedText(text: string): string {
  if (text.length <= maxRecordedText) return text;
  return Buffer.from(`${text.slice(0, maxRecordedText)}…`).toString();
}

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

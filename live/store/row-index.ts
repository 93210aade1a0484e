/**
 * An index for properties that each row has once. Linked lists in two typed arrays: 8 bytes per
 * row, independent of the number of lists.
 */
export class RowIndex<K> {
  readonly #lists = new Map<K, { first: number; last: number; count: number }>();
  #next = new Int32Array(0);
  #previous = new Int32Array(0);

  /** The row must not be in the index yet. */
  add(key: K, row: number): void {
    this.#reserve(row);
    const list = this.#lists.get(key);
    this.#next[row] = none;
    this.#previous[row] = list === undefined ? none : list.last;
    if (list === undefined) {
      this.#lists.set(key, { first: row, last: row, count: 1 });
      return;
    }
    this.#next[list.last] = row;
    list.last = row;
    list.count += 1;
  }

  /** The row must have been added with this key. */
  drop(key: K, row: number): void {
    const list = this.#lists.get(key);
    if (list === undefined) return;
    const [previous, next] = [this.#previous[row] ?? none, this.#next[row] ?? none];
    if (previous === none) list.first = next;
    else this.#next[previous] = next;
    if (next === none) list.last = previous;
    else this.#previous[next] = previous;
    list.count -= 1;
    if (list.count === 0) this.#lists.delete(key);
  }

  /** In insertion order. Do not modify the index while iterating. */
  *of(key: K): Generator<number> {
    for (let row = this.#lists.get(key)?.first ?? none; row !== none; row = this.#next[row] ?? none) yield row;
  }

  count(key: K): number {
    return this.#lists.get(key)?.count ?? 0;
  }

  #reserve(row: number): void {
    if (row < this.#next.length) return;
    // Growing by half wastes at most half a million entries at a million rows.
    const length = Math.max(1024, row + 1, Math.ceil(this.#next.length * 1.5));
    this.#next = grown(this.#next, length);
    this.#previous = grown(this.#previous, length);
  }
}

const none = -1;

function grown(column: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(column);
  return larger;
}

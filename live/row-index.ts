/**
 * Rows by some property that each has once. A list through two columns of numbers: 8 bytes a row, whatever the number of lists.
 */
export class RowIndex<K> {
  readonly #lists = new Map<K, { first: number; last: number; count: number }>();
  #next = new Int32Array(0);
  #previous = new Int32Array(0);

  /** A row that is in no list of this index. */
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

  /** A row that was added under this key. */
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

  /** In order of arrival. Do not change the index while iterating. */
  *of(key: K): Generator<number> {
    for (let row = this.#lists.get(key)?.first ?? none; row !== none; row = this.#next[row] ?? none) yield row;
  }

  count(key: K): number {
    return this.#lists.get(key)?.count ?? 0;
  }

  #reserve(row: number): void {
    if (row < this.#next.length) return;
    // By a half: a million rows are then at most half a million numbers too many.
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

/**
 * Splits texts into runs of items that are built, hashed and compressed separately, so that a
 * change rebuilds few of them. The items alone decide where a run ends: adding or removing one
 * moves only nearby ends, and equal texts are split alike whatever was published before.
 */

/** Items of one kind, in order. */
export interface ItemList {
  /** Text before the first item; a comma precedes the others. */
  readonly before: string;
  readonly items: readonly NamedItem[];
  /** Builds the text of one item. */
  readonly json: (item: NamedItem) => string;
}

/** @param before text before the first item, if there is one */
export function itemList<T extends NamedItem>(
  before: string,
  items: readonly T[],
  json: (item: T) => string,
): ItemList {
  // Only called with these items.
  return { before, items, json: json as ItemList['json'] };
}

/** Members of every item, which decide where runs end. */
export interface NamedItem {
  readonly kind?: string;
  readonly name: string;
}

/** Content of one key: the concatenated runs. */
export interface DocumentPart {
  readonly runs: readonly ItemRun[];
}

export interface ItemRun {
  readonly lists: readonly ItemList[];
  /** Text after the last item. */
  readonly after: string;
  /** Marks of its objects; empty where reuse is not worth it. */
  readonly marks: readonly number[];
  /** All text outside the items. Runs with equal marks and seams have equal texts. */
  readonly seams: string;
}

/** With fewer items, rebuilding only a part gains nothing. */
const minItemsForReuse = 16;
/** Number of hash values within a mark. */
const nameHashCount = 64;

let lastMark = 0;
const marks = new WeakMap<object, number>();

/**
 * A number unique to this object; its remainder by {@link nameHashCount} comes from the name.
 * Published objects are immutable, so equal numbers mean equal texts. Holds objects weakly.
 */
function markOf(item: NamedItem): number {
  const known = marks.get(item);
  if (known !== undefined) return known;
  lastMark += 1;
  const mark = lastMark * nameHashCount + (hashOf(item) % nameHashCount);
  marks.set(item, mark);
  return mark;
}

/** FNV-1a. */
function hashOf({ kind = '', name }: NamedItem): number {
  let hash = 0x811c9dc5;
  for (const text of [kind, name])
    for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // The low bits alone depend on the last letters only.
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * Splits lists into runs of about `size` items, between a fourth and four times of it. Omits empty
 * lists.
 * @param after end of the whole text
 */
export function runsOf(lists: readonly ItemList[], size: number, after: string): readonly ItemRun[] {
  const count = lists.reduce((sum, { items }) => sum + items.length, 0);
  const full = lists.filter(({ items }) => items.length > 0);
  if (count < minItemsForReuse) return [{ lists: full, after, marks: [], seams: '' }];
  const runs: ItemRun[] = [];
  let run: ItemList[] = [];
  let runMarks: number[] = [];
  let left = count;
  const close = (end: string): void => {
    const seams = run.map(({ before, items }) => `${before} ${items.length} `).join('') + end;
    runs.push({ lists: run, after: end, marks: runMarks, seams });
    [run, runMarks] = [[], []];
  };
  for (const { before, items, json } of full) {
    let from = 0;
    const take = (to: number): void => {
      if (to > from) run.push({ before: from === 0 ? before : ',', items: items.slice(from, to), json });
      from = to;
    };
    for (const [i, item] of items.entries()) {
      const mark = markOf(item);
      runMarks.push(mark);
      left -= 1;
      if (left === 0 || !endsRun(mark, runMarks.length, size)) continue;
      take(i + 1);
      close('');
    }
    take(items.length);
  }
  close(after);
  return runs;
}

function endsRun(mark: number, length: number, size: number): boolean {
  return length >= size * 4 || (length >= size / 4 && mark % size === 0);
}

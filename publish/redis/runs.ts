/**
 * How texts are cut, so that one that was made before need not be made whole again: into runs of items, each of which is made, hashed and compressed by
 * itself. Where a run ends follows from its items alone, so that an item that comes or goes moves the ends near it only, and equal texts are cut
 * alike whatever was published before.
 */

/** Items of one kind, one after the other. */
export interface List {
  /** What stands before the first one; before the others stands a comma. */
  readonly before: string;
  readonly items: readonly Named[];
  /** The text of one of them. */
  readonly json: (item: Named) => string;
}

/** @param before what stands before the first item, if there is one */
export function listOf<T extends Named>(before: string, items: readonly T[], json: (item: T) => string): List {
  // It is asked about these items only.
  return { before, items, json: json as List['json'] };
}

/** What all items have: by it ends of runs are found. */
export interface Named {
  readonly kind?: string;
  readonly name: string;
}

/** What one key holds. Its runs, one after the other, are the text. */
export interface Part {
  readonly runs: readonly Run[];
}

export interface Run {
  readonly lists: readonly List[];
  /** After the last item. */
  readonly after: string;
  /** The marks of its items, each of which stands for one object; none where that is not worth it. */
  readonly marks: readonly number[];
  /** All of the text but the items. Runs with equal marks and seams have equal texts. */
  readonly seams: string;
}

/** With fewer items than these, nothing is gained by making a part of the text only. */
const few = 16;
/** Values of the hash that is part of a mark. */
const hashes = 64;

let lastMark = 0;
const marks = new WeakMap<object, number>();

/**
 * A number for this very object, which no other one has; its rest by {@link hashes} follows from the name. Objects that are published never change, so that
 * the same number means the same text. No object lives longer because of it.
 */
function markOf(item: Named): number {
  const known = marks.get(item);
  if (known !== undefined) return known;
  lastMark += 1;
  const mark = lastMark * hashes + (hashOf(item) % hashes);
  marks.set(item, mark);
  return mark;
}

/** FNV-1a. */
function hashOf({ kind = '', name }: Named): number {
  let hash = 0x811c9dc5;
  for (const text of [kind, name])
    for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // The lower bits alone are those of the last letters.
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * Cuts lists into runs of about `size` items: at least a fourth of it, at most four times as many. Lists without items are left out.
 * @param after what ends the whole text
 */
export function runsOf(lists: readonly List[], size: number, after: string): readonly Run[] {
  const count = lists.reduce((sum, { items }) => sum + items.length, 0);
  const full = lists.filter(({ items }) => items.length > 0);
  if (count < few) return [{ lists: full, after, marks: [], seams: '' }];
  const runs: Run[] = [];
  let run: List[] = [];
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

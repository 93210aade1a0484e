/** How a list is sorted by one of its columns. */
export interface SortOrder<C extends string> {
  readonly sort: C;
  readonly descending: boolean;
}

/** The order after a click on a column: a second one turns it round. */
export function toggledOrder<C extends string>(now: SortOrder<C>, sort: C): SortOrder<C> {
  return { sort, descending: sort === now.sort && !now.descending };
}

/** The `aria-sort` of a column. */
export function ariaSort<C extends string>(now: SortOrder<C>, sort: C): 'ascending' | 'descending' | 'none' {
  if (sort !== now.sort) return 'none';
  return now.descending ? 'descending' : 'ascending';
}

/** Sorts by a key; equal ones stay in their order, also when it is turned round. */
export function sortedBy<T>(
  items: readonly T[],
  keyOf: (item: T) => string | number,
  descending: boolean,
): readonly T[] {
  const sign = descending ? -1 : 1;
  return items.toSorted((a, b) => {
    const [x, y] = [keyOf(a), keyOf(b)];
    return sign * (x < y ? -1 : Number(x > y));
  });
}

/** The shortest accepted list, and its answer (undefined if nothing could be left out). */
export interface ShrunkList<T, R> {
  readonly items: readonly T[];
  readonly result: R | undefined;
  readonly attempts: number;
}

/**
 * Leaves out items, the larger part first, as long as `attempt` accepts the rest: it answers
 * undefined to refuse it.
 */
export async function shrinkList<T, R>(
  all: readonly T[],
  attempt: (items: readonly T[]) => Promise<R | undefined>,
  maxAttempts: number,
): Promise<ShrunkList<T, R>> {
  let [items, result, attempts]: [readonly T[], R | undefined, number] = [all, undefined, 0];
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < items.length && attempts < maxAttempts;) {
      const fewer = items.filter((_item, i) => i < from || i >= from + size);
      const answer = await attempt(fewer);
      attempts += 1;
      if (answer === undefined) from += size;
      else [items, result] = [fewer, answer];
    }
  }
  return { items, result, attempts };
}

import type { HiddenPart } from '../types.ts';

const maxListed = 20;

/** Counts what a page does not show, by the right that would show it. */
export class HiddenParts {
  readonly #counts = new Map<string, number>();

  add(needs: string, count = 1): void {
    if (count > 0) this.#counts.set(needs, (this.#counts.get(needs) ?? 0) + count);
  }

  /** The most frequent first; rare ones are one part. */
  list(): readonly HiddenPart[] {
    const all = [...this.#counts].map(([needs, count]) => ({ needs, count })).toSorted((a, b) => b.count - a.count);
    const rest = all.slice(maxListed).reduce((sum, { count }) => sum + count, 0);
    return [...all.slice(0, maxListed), ...(rest === 0 ? [] : [{ needs: 'further rights', count: rest }])];
  }
}

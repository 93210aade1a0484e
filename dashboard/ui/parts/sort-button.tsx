import type { JSX } from 'preact';
import { ariaSort, toggledOrder } from '../logic/sorting.ts';
import type { SortOrder } from '../logic/sorting.ts';

const arrows = { ascending: ' ↑', descending: ' ↓', none: '' } as const;

interface SortButtonProps<C extends string> {
  readonly sort: C;
  readonly text: string;
  readonly order: SortOrder<C>;
  readonly change: (next: SortOrder<C>) => void;
}

/** The head of a column that sorts by it. */
export function SortButton<C extends string>({ sort, text, order, change }: SortButtonProps<C>): JSX.Element {
  return (
    <button type="button" class="sort" onClick={() => change(toggledOrder(order, sort))}>
      {text}
      <span aria-hidden="true">{arrows[ariaSort(order, sort)]}</span>
    </button>
  );
}

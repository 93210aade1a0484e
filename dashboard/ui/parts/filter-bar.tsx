import type { JSX, RefObject } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { facets, optionsOf } from '../logic/filters.ts';
import type { Facet, ListedApplication, ListFilters, ListView } from '../logic/filters.ts';
import { shortUrl } from '../logic/format.ts';

interface FilterBarProps {
  readonly filters: ListFilters;
  readonly all: readonly ListedApplication[];
  readonly change: (next: Partial<ListFilters>) => void;
  readonly search: RefObject<HTMLInputElement | null>;
}

const views: readonly (readonly [ListView, string])[] = [
  ['attention', 'Needs attention'],
  ['all', 'All'],
  ['favourites', 'Favourites'],
];

export function FilterBar({ filters, all, change, search }: FilterBarProps): JSX.Element {
  const chosen = Object.keys(filters.facets).length;
  const [opened, setOpened] = useState(0);
  return (
    <div class="filters">
      <div class="choice" role="group" aria-label="View">
        {views.map(([view, text]) => (
          <button key={view} type="button" aria-pressed={filters.view === view} onClick={() => change({ view })}>
            {text}
          </button>
        ))}
      </div>
      <label class="search">
        <span class="hidden">Search</span>
        <input
          ref={search}
          type="search"
          placeholder="Name, cluster, repository, image, label …  ( / )"
          value={filters.text}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
      </label>
      <details class="facets" open={chosen > 0} onToggle={() => setOpened(opened + 1)}>
        <summary>
          Filters
          {chosen > 0 && <span class="count">{chosen}</span>}
        </summary>
        <Facets filters={filters} all={all} change={change} opened={opened} />
      </details>
    </div>
  );
}

type FacetsProps = Omit<FilterBarProps, 'search'> & { readonly opened: number };

function Facets({ filters, all, change, opened }: FacetsProps): JSX.Element {
  // The options of ten thousand Applications are not collected again for each change.
  const options = useMemo(() => optionsOf(all), [opened, all.length]);
  const set = (name: Facet, value: string): void => {
    const others = Object.entries(filters.facets).filter(([other]) => other !== name);
    change({ facets: Object.fromEntries(value === '' ? others : [...others, [name, value]]) });
  };
  return (
    <div class="facet-list">
      {facets.map((name) => {
        const value = filters.facets[name] ?? '';
        const known = options[name];
        return (
          <label key={name}>
            <span>{name}</span>
            <select aria-label={name} value={value} onChange={(event) => set(name, event.currentTarget.value)}>
              <option value="">any</option>
              {value !== '' && !known.includes(value) && <option value={value}>{value}</option>}
              {known.map((option) => (
                <option key={option} value={option}>
                  {name === 'repository' ? shortUrl(option) : option}
                </option>
              ))}
            </select>
          </label>
        );
      })}
      {Object.keys(filters.facets).length > 0 && (
        <button type="button" class="quiet" onClick={() => change({ facets: {} })}>
          Clear
        </button>
      )}
    </div>
  );
}

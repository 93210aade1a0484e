import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isUnderWay } from '../../../api/words/index.ts';
import { applications, isLoaded, listProblem } from '../data/applications.ts';
import { isTyping } from '../data/keys.ts';
import { go, replaceQuery, route } from '../data/location.ts';
import { favourites, toggleFavourite } from '../data/storage.ts';
import { calm, formatFilters, parseFilters, selectRows } from '../logic/filters.ts';
import type { ListedApplication, ListFilters, SortColumn } from '../logic/filters.ts';
import { tellingPart } from '../logic/format.ts';
import { applicationLink, clusterLink } from '../logic/routes.ts';
import { ariaSort } from '../logic/sorting.ts';
import { Ago } from '../parts/ago.tsx';
import { FilterBar } from '../parts/filter-bar.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { SortButton } from '../parts/sort-button.tsx';
import { Empty, Problem, Skeleton, State } from '../parts/state.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';

const rowHeight = 52;
const narrowRowHeight = 96;

export function ApplicationsPage(): JSX.Element {
  const filters = useMemo(() => parseFilters(route.value.query), [route.value]);
  const all = applications.value;
  const stars = favourites.value;
  const { rows, hidden } = useMemo(() => selectRows(all, filters, stars), [all, filters, stars]);
  const [focused, setFocused] = useState(-1);
  const search = useRef<HTMLInputElement>(null);
  const narrow = useNarrow();
  const at = Math.min(focused, rows.length - 1);
  useListKeys({ rows, at, setFocused, search: () => search.current });
  const change = (next: Partial<ListFilters>): void => {
    setFocused(-1);
    replaceQuery(formatFilters({ ...filters, ...next }));
  };
  return (
    <div class="list-page">
      <PageTitle title="Applications">
        <Summary all={all} shown={rows.length} />
        {rows.length > 0 && <HiddenMatches hidden={hidden} change={change} />}
      </PageTitle>
      <FilterBar filters={filters} all={all} change={change} search={search} />
      <Problem text={listProblem.value} />
      {isLoaded.value ? null : <Skeleton />}
      {isLoaded.value && rows.length === 0 && (
        <Nothing filters={filters} total={all.length} hidden={hidden} change={change} />
      )}
      {rows.length > 0 && (
        <VirtualRows
          items={rows}
          rowHeight={narrow ? narrowRowHeight : rowHeight}
          label="Applications"
          head={<Head filters={filters} change={change} />}
          focused={at}
          render={(row, i) => (
            <Row key={row.key} row={row} index={i} isFocused={i === at} isStarred={stars.has(row.key)} />
          )}
        />
      )}
    </div>
  );
}

function Summary({ all, shown }: { all: readonly ListedApplication[]; shown: number }): JSX.Element {
  const urgent = all.filter(({ urgency }) => urgency < calm).length;
  return (
    <p class="muted" role="status">
      {isLoaded.value
        ? `${shown.toLocaleString('en')} shown of ${all.length.toLocaleString('en')}; ${urgent.toLocaleString('en')} need attention`
        : 'Reading Applications …'}
    </p>
  );
}

type Change = (next: Partial<ListFilters>) => void;

/** The search looks in all Applications: those that view and filters hide are a step away. */
function HiddenMatches({ hidden, change }: { hidden: number; change: Change }): JSX.Element | null {
  if (hidden === 0) return null;
  return (
    <button type="button" onClick={() => change({ view: 'all', facets: {} })}>
      Show {hidden.toLocaleString('en')} more that {hidden === 1 ? 'matches' : 'match'} the search
    </button>
  );
}

interface NothingProps {
  readonly filters: ListFilters;
  readonly total: number;
  readonly hidden: number;
  readonly change: Change;
}

function Nothing({ filters, total, hidden, change }: NothingProps): JSX.Element {
  const isFiltered = filters.text !== '' || Object.keys(filters.facets).length > 0;
  if (filters.view === 'attention' && !isFiltered && total > 0)
    return (
      <Empty>
        <span class="big tone-good" aria-hidden="true">
          ✓
        </span>
        Nothing needs attention. All {total.toLocaleString('en')} Applications are fine.
        <button type="button" onClick={() => change({ view: 'all' })}>
          Show all
        </button>
      </Empty>
    );
  return (
    <Empty>
      {total === 0
        ? 'There are no Applications that you may see.'
        : `No Application ${filters.view === 'attention' ? 'that needs attention ' : ''}matches.`}
      <HiddenMatches hidden={hidden} change={change} />
      {total > 0 && hidden === 0 && (
        <button type="button" onClick={() => change({ text: '', facets: {}, view: 'all' })}>
          Show all
        </button>
      )}
    </Empty>
  );
}

const columns: readonly { readonly sort: SortColumn; readonly text: string }[] = [
  { sort: 'name', text: 'Application' },
  { sort: 'sync', text: 'Sync' },
  { sort: 'health', text: 'Health' },
  { sort: 'attention', text: 'Attention' },
  { sort: 'cluster', text: 'Cluster' },
  { sort: 'replica', text: 'Replica' },
  { sort: 'compared', text: 'Compared' },
];

function Head({ filters, change }: { filters: ListFilters; change: Change }): JSX.Element {
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      <span role="columnheader">
        <span class="hidden">Favourite</span>
      </span>
      {columns.map(({ sort, text }) => (
        <span key={sort} role="columnheader" class={`cell-${sort}`} aria-sort={ariaSort(filters, sort)}>
          <SortButton sort={sort} text={text} order={filters} change={change} />
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  readonly row: ListedApplication;
  readonly index: number;
  readonly isFocused: boolean;
  readonly isStarred: boolean;
}

function Row({ row: { key, app, urgency }, index, isFocused, isStarred }: RowProps): JSX.Element {
  const { namespace, name, sync, health, operation, attention } = app;
  return (
    <div class={`row${isFocused ? ' focused' : ''}`} role="row" aria-rowindex={index + 2} data-key={key}>
      <span role="cell" class="cell-star">
        <button
          type="button"
          class={`star${isStarred ? ' on' : ''}`}
          aria-pressed={isStarred}
          aria-label={`Favourite ${name}`}
          onClick={() => toggleFavourite(key)}
        >
          {isStarred ? '★' : '☆'}
        </button>
      </span>
      <span role="cell" class="cell-name">
        <a href={applicationLink(namespace, name)}>{name}</a>
        <small>
          {namespace} · {app.project}
        </small>
      </span>
      <span role="cell" class="cell-sync">
        <State word={sync === '' ? 'Not compared' : sync} />
      </span>
      <span role="cell" class="cell-health">
        <State word={health === '' ? 'Not compared' : health} />
        {isUnderWay(app) && <State word={operation} />}
      </span>
      <span role="cell" class={`cell-attention${urgency < 4 ? ' urgent' : ''}`} title={attention}>
        <span>{tellingPart(attention ?? '')}</span>
      </span>
      <span role="cell" class="cell-cluster">
        {app.server === '' ? (
          <State word="Unknown cluster" tone="bad" />
        ) : (
          <a href={clusterLink(app.server)}>{app.clusterName === '' ? app.server : app.clusterName}</a>
        )}
      </span>
      <span role="cell" class="cell-replica">
        {app.owner === '' ? <State word="no owner" tone="bad" /> : app.owner}
      </span>
      <span role="cell" class="cell-compared">
        <Ago time={app.comparedAt} />
      </span>
    </div>
  );
}

interface ListKeys {
  readonly rows: readonly ListedApplication[];
  readonly at: number;
  readonly setFocused: (index: number) => void;
  readonly search: () => HTMLInputElement | null;
}

function useListKeys(keys: ListKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { rows, at, setFocused, search } = latest.current;
      if (isTyping(event)) {
        if (event.key === 'Escape' && event.target === search()) search()?.blur();
        return;
      }
      const row = rows[at];
      if (event.key === '/') {
        event.preventDefault();
        search()?.focus();
      } else if (event.key === 'j') setFocused(Math.min(rows.length - 1, at + 1));
      else if (event.key === 'k') setFocused(Math.max(0, at - 1));
      else if (event.key === 's' && row !== undefined) toggleFavourite(row.key);
      // Enter on a link or a button is theirs.
      else if (event.key === 'Enter' && row !== undefined && !isControl(event.target))
        go(applicationLink(row.app.namespace, row.app.name));
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(?:A|BUTTON)$/.test(target.tagName);
}

const narrowWidth = '(max-width: 760px)';

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(narrowWidth).matches);
  useEffect(() => {
    const query = matchMedia(narrowWidth);
    const update = (): void => setNarrow(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return isNarrow;
}

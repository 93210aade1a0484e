import type { ApplicationSummary } from '../../../api/application-types.ts';
import { sortedBy } from './sorting.ts';
import type { SortOrder } from './sorting.ts';

export const facets = [
  'project',
  'cluster',
  'namespace',
  'shard',
  'replica',
  'repository',
  'label',
  'sync',
  'health',
  'operation',
] as const;
export type Facet = (typeof facets)[number];

export const sortColumns = [
  'attention',
  'name',
  'project',
  'cluster',
  'replica',
  'sync',
  'health',
  'compared',
] as const;
export type SortColumn = (typeof sortColumns)[number];
export type ListView = 'attention' | 'all' | 'favourites';

/** What the list of Applications shows; it is the query of its address. */
export interface ListFilters extends SortOrder<SortColumn> {
  readonly view: ListView;
  readonly text: string;
  readonly facets: Readonly<Partial<Record<Facet, string>>>;
}

export function parseFilters(query: URLSearchParams): ListFilters {
  const view = query.get('view');
  const sort = sortColumns.find((name) => name === query.get('sort'));
  return {
    view: view === 'all' || view === 'favourites' ? view : 'attention',
    text: query.get('text') ?? '',
    facets: Object.fromEntries(facets.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : []))),
    sort: sort ?? 'attention',
    descending: query.get('order') === 'desc',
  };
}

/** The query of filters, without what is the default. */
export function formatFilters({ view, text, facets: chosen, sort, descending }: ListFilters): string {
  const query = new URLSearchParams();
  if (view !== 'attention') query.set('view', view);
  if (text !== '') query.set('text', text);
  for (const name of facets) if (chosen[name] !== undefined) query.set(name, chosen[name]);
  if (sort !== 'attention') query.set('sort', sort);
  if (descending) query.set('order', 'desc');
  return query.toString();
}

/** An Application with what the list computes once for each change. */
export interface ListedApplication {
  readonly key: string;
  readonly app: ApplicationSummary;
  /** 0: the most urgent. */
  readonly urgency: number;
  readonly searched: string;
}

export const calm = 9;

export function listedApplication(app: ApplicationSummary): ListedApplication {
  const key = `${app.namespace}/${app.name}`;
  return { key, app, urgency: urgencyOf(app), searched: searchedText(key, app) };
}

/** All that a search finds an Application by, each on a line of its own. */
function searchedText(key: string, app: ApplicationSummary): string {
  const { project, server, clusterName, destinationNamespace, repositories, images, owner, labels } = app;
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const own = [key, project, clusterName, server, destinationNamespace, owner];
  return [...own, ...repositories, ...images, ...pairs].join('\n').toLowerCase();
}

const urgencies = { broken: 0, waiting: 5, healthy: calm } as const;

/** How urgent it is that a person looks, by the verdict of the API; {@link calm}: not at all. */
export function urgencyOf({ verdict }: Pick<ApplicationSummary, 'verdict'>): number {
  return urgencies[verdict.verdict];
}

type FacetReader = (app: ApplicationSummary) => readonly string[];

export const facetValues: Readonly<Record<Facet, FacetReader>> = {
  project: ({ project }) => [project],
  cluster: ({ clusterName, server }) => [clusterName === '' ? server : clusterName],
  namespace: ({ namespace }) => [namespace],
  shard: ({ shard }) => (shard === undefined ? [] : [String(shard)]),
  replica: ({ owner }) => [owner === '' ? 'none' : owner],
  repository: ({ repositories }) => repositories,
  label: ({ labels }) => Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  sync: ({ sync }) => [sync === '' ? 'Not compared' : sync],
  health: ({ health }) => [health === '' ? 'Not compared' : health],
  operation: ({ operation }) => (operation === '' ? ['None'] : [operation]),
};

export interface SelectedRows {
  readonly rows: readonly ListedApplication[];
  /** How many more match the text, but not the view or the facets. */
  readonly hidden: number;
}

/** The rows that the filters select, in their order. `rows` are sorted by key. */
export function selectRows(
  rows: readonly ListedApplication[],
  filters: ListFilters,
  favourites: ReadonlySet<string>,
): SelectedRows {
  const text = filters.text.trim().toLowerCase();
  const chosen = facets.flatMap((name) => {
    const value = filters.facets[name];
    return value === undefined ? [] : [{ read: facetValues[name], value }];
  });
  const matching = text === '' ? rows : rows.filter(({ searched }) => searched.includes(text));
  const found = matching.filter(({ key, app, urgency }) => {
    if (filters.view === 'attention' && urgency === calm) return false;
    if (filters.view === 'favourites' && !favourites.has(key)) return false;
    return chosen.every(({ read, value }) => read(app).includes(value));
  });
  const sorted = sortedBy(found, sortKeys[filters.sort], filters.descending);
  return { rows: sorted, hidden: text === '' ? 0 : matching.length - found.length };
}

type SortKey = (row: ListedApplication) => string | number;

const sortKeys: Readonly<Record<SortColumn, SortKey>> = {
  attention: ({ urgency }) => urgency,
  name: ({ key }) => key,
  project: ({ app }) => app.project,
  cluster: ({ app }) => app.clusterName,
  replica: ({ app }) => app.owner,
  sync: ({ app }) => app.sync,
  health: ({ app }) => app.health,
  compared: ({ app }) => app.comparedAt ?? '',
};

const maxOptions = 500;

/** The values that each facet has in all rows, sorted. */
export function optionsOf(rows: readonly ListedApplication[]): Readonly<Record<Facet, readonly string[]>> {
  const found = new Map(facets.map((name) => [name, valuesOf(rows, facetValues[name])]));
  return Object.fromEntries(
    facets.map((name) => [name, [...(found.get(name) ?? [])].sort(byNumber)]),
  ) as unknown as Readonly<Record<Facet, readonly string[]>>;
}

function valuesOf(rows: readonly ListedApplication[], read: FacetReader): ReadonlySet<string> {
  const values = new Set<string>();
  for (const { app } of rows) {
    for (const value of read(app)) values.add(value);
    if (values.size >= maxOptions) break;
  }
  return values;
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

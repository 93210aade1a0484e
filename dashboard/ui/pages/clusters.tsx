import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ClustersResponse, ClusterSummary, OwnedCluster, OwnershipResponse } from '../../../api/types.ts';
import { shortDuration } from '../../../api/words/index.ts';
import { replaceQuery, route } from '../data/location.ts';
import { usePage } from '../data/poll.ts';
import {
  clusterColumns,
  formatClusterFilters,
  listedClusters,
  parseClusterFilters,
  selectClusters,
} from '../logic/clusters.ts';
import type { ClusterFilters } from '../logic/clusters.ts';
import { numberText } from '../logic/format.ts';
import { clusterLink } from '../logic/routes.ts';
import { ariaSort } from '../logic/sorting.ts';
import { Ago } from '../parts/ago.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { SortButton } from '../parts/sort-button.tsx';
import { Empty, PageState, State } from '../parts/state.tsx';

const pollMs = 3000;

type Change = (next: Partial<ClusterFilters>) => void;

export function ClustersPage(): JSX.Element {
  const answer = usePage<ClustersResponse>('clusters', pollMs);
  const { page: ownership } = usePage<OwnershipResponse>('ownership', pollMs);
  const filters = useMemo(() => parseClusterFilters(route.value.query), [route.value]);
  const all = useMemo(
    () => (answer.page === undefined ? undefined : listedClusters(answer.page, ownership)),
    [answer.page, ownership],
  );
  const shown = useMemo(() => selectClusters(all ?? [], filters), [all, filters]);
  const change: Change = (next) => replaceQuery(formatClusterFilters({ ...filters, ...next }));
  return (
    <>
      <PageTitle title="Clusters">
        {all !== undefined && (
          <p class="muted" role="status">
            {numberText(shown.length)} shown of {numberText(all.length)}
          </p>
        )}
      </PageTitle>
      <div class="filters">
        <label class="search">
          <span class="hidden">Search clusters</span>
          <input
            type="search"
            placeholder="Name, URL, replica, version …"
            value={filters.text}
            onInput={(event) => change({ text: event.currentTarget.value })}
          />
        </label>
      </div>
      <PageState {...answer} />
      {all !== undefined && (
        <div class="panel scroll" tabIndex={0} role="region" aria-label="Table of clusters">
          <table>
            <Head filters={filters} change={change} />
            <tbody>
              {shown.map(({ server, name, watched, owned }) => (
                <tr key={`${server} ${watched?.replica ?? ''}`}>
                  <th scope="row">
                    <a href={clusterLink(server)}>{name}</a>
                    <small>{server}</small>
                  </th>
                  {watched === undefined ? <Unwatched cluster={owned} /> : <Watched cluster={watched} />}
                </tr>
              ))}
            </tbody>
          </table>
          {shown.length === 0 && (
            <Empty>{all.length === 0 ? 'No replica watches a cluster.' : 'No cluster matches.'}</Empty>
          )}
        </div>
      )}
    </>
  );
}

function Head({ filters, change }: { filters: ClusterFilters; change: Change }): JSX.Element {
  return (
    <thead>
      <tr>
        {clusterColumns.map(({ sort, text }) => (
          <th key={sort} scope="col" aria-sort={ariaSort(filters, sort)}>
            <SortButton sort={sort} text={text} order={filters} change={change} />
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Watched({ cluster }: { cluster: ClusterSummary }): JSX.Element {
  const { state, message, replica, kinds, degradedKinds, silentMs } = cluster;
  return (
    <>
      <td>
        <State word={state} />
        {message !== undefined && <small>{message}</small>}
      </td>
      <td>{replica}</td>
      <td>{numberText(cluster.applications)}</td>
      <td>{numberText(cluster.objects)}</td>
      <td>
        {numberText(kinds)}
        {degradedKinds > 0 && <State word={`${degradedKinds} degraded`} tone="warn" />}
      </td>
      <td>{numberText(cluster.eventsPerSecond)}/s</td>
      <td>{silentMs === undefined ? '–' : shortDuration(silentMs)}</td>
      <td>{cluster.serverVersion ?? '–'}</td>
    </>
  );
}

function Unwatched({ cluster }: { cluster: OwnedCluster | undefined }): JSX.Element {
  const unownedSince = cluster?.unownedSince;
  const isUnowned = unownedSince !== undefined;
  return (
    <td colSpan={clusterColumns.length - 1}>
      <State word={isUnowned ? 'Without an owner' : 'Not watched yet'} tone={isUnowned ? 'bad' : 'busy'} />
      {isUnowned && (
        <small>
          for <Ago time={unownedSince} suffix="" />
        </small>
      )}
    </td>
  );
}

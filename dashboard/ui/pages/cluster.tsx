import type { JSX } from 'preact';
import type {
  ClusterKind,
  ClusterOwner,
  ClusterResponse,
  ClustersResponse,
  ClusterSummary,
  NoisyObject,
  OwnedCluster,
  OwnershipResponse,
} from '../../../api/types.ts';
import { objectText, shortDuration } from '../../../api/words/index.ts';
import { usePage } from '../data/poll.ts';
import { numberText } from '../logic/format.ts';
import { clusterLink } from '../logic/routes.ts';
import { Ago } from '../parts/ago.tsx';
import { HandOvers } from '../parts/hand-overs.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { Empty, Incomplete, OutsideLinks, Panel, Problem, State } from '../parts/state.tsx';

const pollMs = 3000;

const columns = ['Cluster', 'State', 'Replica', 'Applications', 'Objects', 'Kinds', 'Events', 'Silent for', 'Version'];

export function ClustersPage(): JSX.Element {
  const { page, problem } = usePage<ClustersResponse>('clusters', pollMs);
  const { page: ownership } = usePage<OwnershipResponse>('ownership', pollMs);
  const items = page?.items ?? [];
  const watched = new Set(items.map(({ server }) => server));
  // While a cluster moves, no replica reports about it.
  const unwatched = page === undefined ? [] : (ownership?.clusters ?? []).filter(({ server }) => !watched.has(server));
  return (
    <>
      <PageTitle title="Clusters" />
      <Problem text={problem} />
      <Incomplete parts={page?.incomplete ?? []} />
      <div class="panel scroll" tabIndex={0} role="region" aria-label="Table of clusters">
        <table>
          <thead>
            <tr>
              {columns.map((text) => (
                <th key={text} scope="col">
                  {text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {unwatched.map((cluster) => (
              <UnwatchedRow key={cluster.server} cluster={cluster} />
            ))}
            {items.map((item) => (
              <ClusterRow key={`${item.server} ${item.replica}`} cluster={item} />
            ))}
          </tbody>
        </table>
        {page !== undefined && items.length + unwatched.length === 0 && <Empty>No replica watches a cluster.</Empty>}
      </div>
    </>
  );
}

function ClusterRow({ cluster }: { cluster: ClusterSummary }): JSX.Element {
  const { server, name, state, message, replica, kinds, degradedKinds, silentMs } = cluster;
  return (
    <tr>
      <ClusterCell server={server} name={name} />
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
    </tr>
  );
}

function UnwatchedRow({ cluster: { server, names, unownedSince } }: { cluster: OwnedCluster }): JSX.Element {
  const isUnowned = unownedSince !== undefined;
  return (
    <tr>
      <ClusterCell server={server} name={names[0] ?? server} />
      <td colSpan={columns.length - 1}>
        <State word={isUnowned ? 'Without an owner' : 'Not watched yet'} tone={isUnowned ? 'bad' : 'busy'} />
        {isUnowned && (
          <small>
            for <Ago time={unownedSince} suffix="" />
          </small>
        )}
      </td>
    </tr>
  );
}

function ClusterCell({ server, name }: { server: string; name: string }): JSX.Element {
  return (
    <th scope="row">
      <a href={clusterLink(server)}>{name}</a>
      <small>{server}</small>
    </th>
  );
}

export function ClusterPage({ cluster }: { cluster: string }): JSX.Element {
  const { page, problem } = usePage<ClusterResponse>(`clusters/${encodeURIComponent(cluster)}`, pollMs);
  const name = page?.names[0] ?? cluster;
  return (
    <>
      <PageTitle title={name}>
        {page !== undefined && <p class="muted">{page.server}</p>}
        {page !== undefined && (
          <a href={`#/applications?view=all&cluster=${encodeURIComponent(name)}`}>Its Applications</a>
        )}
        <OutsideLinks links={page?.owners[0]?.links ?? []} />
      </PageTitle>
      <Problem text={problem} />
      <Incomplete parts={page?.incomplete ?? []} />
      {page?.owners.length === 0 && (
        <p class="banner tone-bad" role="status">
          <State word="No owner" tone="bad" /> No replica watches this cluster.
        </p>
      )}
      {page?.owners.map((owner) => (
        <Owner key={owner.replica} owner={owner} />
      ))}
      {page !== undefined && (
        <HandOvers moves={page.handOvers} clusters={[{ server: page.server, names: page.names }]} />
      )}
    </>
  );
}

function Owner({ owner }: { owner: ClusterOwner }): JSX.Element {
  const { replica, state, message, objects, kinds, applications, eventsPerSecond, lastSyncAt, serverVersion } = owner;
  return (
    <>
      <dl class="facts">
        <div>
          <dt>Owner</dt>
          <dd>{replica}</dd>
        </div>
        <div>
          <dt>State</dt>
          <dd>
            <State word={state} /> {message}
          </dd>
        </div>
        <div>
          <dt>Contents</dt>
          <dd>
            {numberText(applications)} Applications, {numberText(objects)} objects of {numberText(kinds)} kinds
          </dd>
        </div>
        <div>
          <dt>Events</dt>
          <dd>{numberText(eventsPerSecond)} a second</dd>
        </div>
        <div>
          <dt>API server</dt>
          <dd>
            {serverVersion ?? 'unknown'}, discovered <Ago time={lastSyncAt} />
          </dd>
        </div>
      </dl>
      {owner.noisiest.length > 0 && <Noisiest objects={owner.noisiest} />}
      <Kinds kinds={owner.watched} replica={replica} />
    </>
  );
}

function Noisiest({ objects }: { objects: readonly NoisyObject[] }): JSX.Element {
  return (
    <Panel title="Objects that change too often">
      <ul class="plain">
        {objects.map((object) => (
          <li key={objectText(object)}>
            {objectText(object)}: {numberText(object.changes)} changes held back in the last minute
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const urgency: Readonly<Record<ClusterKind['state'], number>> = {
  degraded: 0,
  forbidden: 1,
  polled: 2,
  listing: 3,
  synced: 4,
  'left-out': 5,
};

function Kinds({ kinds, replica }: { kinds: readonly ClusterKind[]; replica: string }): JSX.Element {
  const sorted = kinds.toSorted(
    (a, b) => urgency[a.state] - urgency[b.state] || b.events - a.events || b.objects - a.objects,
  );
  return (
    <Panel title={`Kinds watched by ${replica}`} id={`kinds-${replica}`}>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Table of the kinds of ${replica}`}>
        <table class="small">
          <thead>
            <tr>
              {['Kind', 'Watch', 'Objects', 'Events', 'Last event', 'Last heard', 'Lag', 'Last error'].map((text) => (
                <th key={text} scope="col">
                  {text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((kind) => (
              <tr key={`${kind.group}/${kind.kind}`}>
                <th scope="row">
                  {kind.kind}
                  <small>
                    {kind.group === '' ? '' : `${kind.group}/`}
                    {kind.version}
                  </small>
                </th>
                <td>
                  <State word={kind.state} title={kind.message ?? ''} /> <Ago time={kind.since} suffix="" />
                </td>
                <td>{numberText(kind.objects)}</td>
                <td>{numberText(kind.events)}</td>
                <td>
                  <Ago time={kind.lastEventAt} />
                </td>
                <td>
                  <Ago time={kind.lastHeardAt} />
                </td>
                <td>{kind.lagMs === undefined ? '–' : shortDuration(kind.lagMs)}</td>
                <td>{kind.message ?? kind.lastError?.message ?? '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

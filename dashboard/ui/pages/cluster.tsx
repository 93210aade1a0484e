import type { JSX } from 'preact';
import type { ClusterKind, ClusterOwner, ClusterResponse, NoisyObject } from '../../../api/types.ts';
import { objectText, shortDuration } from '../../../api/words/index.ts';
import { usePage } from '../data/poll.ts';
import { numberText } from '../logic/format.ts';
import { Ago } from '../parts/ago.tsx';
import { HandOvers } from '../parts/hand-overs.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { OutsideLinks, PageState, Panel, State } from '../parts/state.tsx';

const pollMs = 3000;

export function ClusterPage({ cluster }: { cluster: string }): JSX.Element {
  const answer = usePage<ClusterResponse>(`clusters/${encodeURIComponent(cluster)}`, pollMs);
  const { page } = answer;
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
      <PageState {...answer} />
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

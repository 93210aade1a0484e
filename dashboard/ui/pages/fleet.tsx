import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { ClustersResponse, OwnershipResponse, QueuesResponse, ReplicaResponse } from '../../../api/types.ts';
import { applications } from '../data/applications.ts';
import { usePage } from '../data/poll.ts';
import { calm } from '../logic/filters.ts';
import { fleetOf } from '../logic/fleet.ts';
import type { Fleet, UnownedCluster } from '../logic/fleet.ts';
import { clusterLink } from '../logic/routes.ts';
import { Ago } from '../parts/ago.tsx';
import { HandOvers } from '../parts/hand-overs.tsx';
import { useMoves } from '../parts/moves.ts';
import { ShardCard } from '../parts/shard-card.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { Incomplete, PageState, Panel, State } from '../parts/state.tsx';
import { WhatIf } from '../parts/what-if.tsx';

const fastMs = 1500;
const slowMs = 3000;

export function FleetPage(): JSX.Element {
  const ownership = usePage<OwnershipResponse>('ownership', fastMs);
  const replicas = usePage<ReplicaResponse>('replica', fastMs);
  const clusters = usePage<ClustersResponse>('clusters', slowMs);
  const queues = usePage<QueuesResponse>('queues', fastMs);
  const all = applications.value;
  const fleet = useMemo(
    () =>
      ownership.page === undefined
        ? undefined
        : fleetOf({
            ownership: ownership.page,
            replicas: replicas.page,
            clusters: clusters.page,
            queues: queues.page,
            applications: all,
          }),
    [ownership.page, replicas.page, clusters.page, queues.page, all],
  );
  return (
    <>
      <PageTitle title="Fleet">
        {ownership.page !== undefined && (
          <p class="muted">
            {ownership.page.algorithm}, {ownership.page.shards} shards
            {ownership.page.epoch !== undefined && (
              <>
                , unchanged for <Ago time={ownership.page.epochSince} suffix="" />
              </>
            )}
          </p>
        )}
      </PageTitle>
      <PageState {...ownership} />
      <Incomplete parts={replicas.page?.incomplete ?? []} />
      {fleet !== undefined && <FleetView fleet={fleet} replicas={replicas.page} />}
      {ownership.page !== undefined && (
        <div class="columns">
          <HandOvers moves={ownership.page.handOvers} clusters={ownership.page.clusters} />
          <WhatIf ownership={ownership.page} />
        </div>
      )}
      {ownership.page !== undefined && <Conditions ownership={ownership.page} />}
    </>
  );
}

function FleetView({ fleet, replicas }: { fleet: Fleet; replicas: ReplicaResponse | undefined }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const placement = fleet.shards
    .map(({ slot, clusters }) => `${slot}:${clusters.map(({ id }) => id).join()}`)
    .join(';');
  useMoves(box, placement);
  const busiest = Math.max(1, ...fleet.shards.map(({ replica }) => replica?.applications ?? 0));
  return (
    <>
      <Tiles fleet={fleet} replicas={replicas} />
      <Unowned clusters={fleet.unowned} />
      <div class="shards" ref={box}>
        {fleet.shards.map((shard) => (
          <ShardCard key={shard.slot} shard={shard} busiest={busiest} />
        ))}
        {fleet.standbys.map(({ name, ready }) => (
          <article key={name} class="shard standby" aria-label={`Standby ${name}`}>
            <h2>{name}</h2>
            <p class="muted">Standby: it takes over when a replica is lost.</p>
            <State word={ready ? 'Ready' : 'Not ready'} />
          </article>
        ))}
      </div>
    </>
  );
}

function Tiles({ fleet, replicas }: { fleet: Fleet; replicas: ReplicaResponse | undefined }): JSX.Element {
  const infos = replicas?.items ?? [];
  const ready = infos.filter((info) => info.ready).length;
  const held = fleet.shards.filter(({ holder }) => holder !== undefined).length;
  const clusterCount = new Set(fleet.shards.flatMap(({ clusters }) => clusters.map(({ server }) => server))).size;
  const moving = fleet.shards.flatMap(({ clusters }) => clusters.filter(({ waitsFor }) => waitsFor.length > 0)).length;
  const urgent = applications.value.filter(({ urgency }) => urgency < calm).length;
  const tiles = [
    {
      label: 'Replicas ready',
      value: `${ready} of ${Math.max(infos.length, fleet.shards.length)}`,
      isBad: ready < fleet.shards.length,
    },
    { label: 'Shards held', value: `${held} of ${fleet.shards.length}`, isBad: held < fleet.shards.length },
    { label: 'Clusters', value: String(clusterCount), isBad: false },
    { label: 'Without an owner', value: String(fleet.unowned.length), isBad: fleet.unowned.length > 0 },
    { label: 'Moving now', value: String(moving), isBad: false },
    { label: 'Applications', value: applications.value.length.toLocaleString('en'), isBad: false },
    { label: 'Need attention', value: urgent.toLocaleString('en'), isBad: false, link: '#/applications' },
  ];
  return (
    <dl class="tiles">
      {tiles.map(({ label, value, isBad, link }) => (
        <div key={label} class={isBad ? 'bad' : ''}>
          <dt>{label}</dt>
          <dd>{link === undefined ? value : <a href={link}>{value}</a>}</dd>
        </div>
      ))}
    </dl>
  );
}

function Unowned({ clusters }: { clusters: readonly UnownedCluster[] }): JSX.Element | null {
  if (clusters.length === 0) return null;
  return (
    <section class="unowned" aria-labelledby="unowned">
      <h2 id="unowned">
        <span aria-hidden="true">✕</span> Without an owner
      </h2>
      <ul>
        {clusters.map(({ server, name, since }) => (
          <li key={server}>
            <a href={clusterLink(server)}>{name}</a> for <Ago time={since} suffix="" />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Conditions({ ownership }: { ownership: OwnershipResponse }): JSX.Element | null {
  if (ownership.conditions.length === 0) return null;
  return (
    <Panel title="Conditions">
      <ul class="plain">
        {ownership.conditions.map(({ replica, type, message, since }) => (
          <li key={`${replica} ${type}`}>
            <State word={type} tone="warn" /> {replica}: {message} (<Ago time={since} />)
          </li>
        ))}
      </ul>
    </Panel>
  );
}

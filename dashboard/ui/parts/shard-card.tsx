import type { JSX } from 'preact';
import { shortDuration } from '../../../api/words/index.ts';
import { nowMs } from '../data/time.ts';
import type { FleetCluster, FleetShard } from '../logic/fleet.ts';
import { bytesText, numberText } from '../logic/format.ts';
import { clusterLink } from '../logic/routes.ts';
import { toneOf } from '../logic/tones.ts';
import { Ago } from './ago.tsx';
import { Meter, State } from './state.tsx';

const maxShown = 60;

/** A shard, its replica, and the clusters that it owns. */
export function ShardCard({ shard, busiest }: { shard: FleetShard; busiest: number }): JSX.Element {
  const { slot, holder, replica, clusters, isForeign } = shard;
  const title = holder ?? 'no replica';
  const word =
    holder === undefined ? 'Free' : replica === undefined ? 'No answer' : replica.ready ? 'Ready' : 'Not ready';
  const tone = word === 'Ready' ? 'good' : word === 'Free' ? 'bad' : 'warn';
  return (
    <article class={`shard tone-${tone}`} aria-label={`Shard ${slot}, ${title}`}>
      <header>
        <h2>
          <span class="number">{slot}</span>
          {title}
        </h2>
        <State word={word} tone={tone} title={replica?.reason ?? ''} />
      </header>
      {isForeign && <p class="notice">A replica of Argo CD, which obeys no table.</p>}
      {replica?.reason !== undefined && <p class="notice">{replica.reason}</p>}
      <Load shard={shard} busiest={busiest} />
      <ul class="chips" aria-label={`Clusters of shard ${slot}`}>
        {clusters.slice(0, maxShown).map((cluster) => (
          <Chip key={cluster.id} cluster={cluster} />
        ))}
        {clusters.length > maxShown && <li class="muted">and {clusters.length - maxShown} more</li>}
        {clusters.length === 0 && <li class="muted">No clusters</li>}
      </ul>
    </article>
  );
}

function Load({ shard, busiest }: { shard: FleetShard; busiest: number }): JSX.Element {
  const { replica, queue } = shard;
  const heap = replica === undefined ? 0 : replica.heapBytes / Math.max(1, replica.heapLimitBytes);
  return (
    <div class="load">
      {replica !== undefined && (
        <>
          <Meter
            label="Applications"
            share={replica.applications / busiest}
            text={numberText(replica.applications)}
            tone="busy"
          />
          <Meter
            label="Heap"
            share={heap}
            text={`${bytesText(replica.heapBytes)} of ${bytesText(replica.heapLimitBytes)}`}
            tone={heap > 0.85 ? 'bad' : 'busy'}
          />
        </>
      )}
      {queue !== undefined && (
        <Meter
          label="Queue"
          share={queue.running / Math.max(1, queue.workers)}
          text={queueText(queue.depth, queue.running)}
          tone={queue.stalled === undefined ? 'busy' : 'bad'}
        />
      )}
      {queue?.oldestSince !== undefined && (
        <p class="muted">
          Oldest item: <Ago time={queue.oldestSince} suffix="" />
        </p>
      )}
      {queue?.stalled !== undefined && <p class="problem">{queue.stalled}</p>}
      <Lease shard={shard} />
    </div>
  );
}

function queueText(depth: number, running: number): string {
  return `${numberText(depth)} waiting, ${numberText(running)} running`;
}

function Lease({ shard: { renewedAt, leaseMs } }: { shard: FleetShard }): JSX.Element | null {
  const at = Date.parse(renewedAt ?? '');
  if (leaseMs === undefined || Number.isNaN(at)) return null;
  const age = Math.max(0, nowMs.value - at);
  const left = 1 - age / leaseMs;
  const text = left <= 0 ? `expired ${shortDuration(age - leaseMs)} ago` : `renewed ${shortDuration(age)} ago`;
  return <Meter label="Lease" share={left} text={text} tone={left <= 0 ? 'bad' : left < 0.4 ? 'warn' : 'good'} />;
}

function Chip({ cluster }: { cluster: FleetCluster }): JSX.Element {
  const { id, server, name, part, parts, slot, home, waitsFor, applications, summary } = cluster;
  const state = summary?.state ?? '';
  const isMoving = waitsFor.length > 0;
  return (
    <li data-move={id}>
      <a
        href={clusterLink(server)}
        class={`chip tone-${isMoving ? 'warn' : toneOf(state)}`}
        title={summary?.message ?? server}
      >
        <span class="glyph" aria-hidden="true">
          {isMoving ? '⇢' : '●'}
        </span>
        <span class="chip-name">
          {name}
          {parts > 1 && ` ${part + 1}/${parts}`}
        </span>
        <span class="chip-figures">
          {isMoving
            ? `waits for shard ${waitsFor.join(', ')}`
            : `${numberText(applications)} apps${summary === undefined ? '' : ` · ${numberText(summary.eventsPerSecond)}/s`}`}
          {home !== slot && ` · stands in for ${home}`}
        </span>
        {state !== '' && state !== 'synced' && <State word={state} />}
      </a>
    </li>
  );
}

import type { JSX } from 'preact';
import { shortDuration } from '../../../api/words/index.ts';
import type { Application } from '../../../api/application-types.ts';
import type { RecentEvent } from '../../../api/types.ts';
import { Ago } from './ago.tsx';
import { Empty, Panel, State } from './state.tsx';

const words: Readonly<Record<RecentEvent['type'], string>> = {
  pass: 'Pass',
  sync: 'Sync',
  'hand-over': 'Hand-over',
  fault: 'Fault',
};

/** What happened to an Application within the last hour, with causes. */
export function Timeline({ app }: { app: Application }): JSX.Element {
  return (
    <div class="stack">
      <LastPass app={app} />
      <Panel title="Last hour">
        <EventList events={app.recent} />
      </Panel>
    </div>
  );
}

export function EventList({ events }: { events: readonly RecentEvent[] }): JSX.Element {
  if (events.length === 0) return <Empty>Nothing happened.</Empty>;
  return (
    <ol class="timeline">
      {events.map((event, i) => (
        <li key={`${event.at} ${i}`}>
          <Ago time={event.at} />
          <span>
            <State word={words[event.type]} tone={event.ok ? (event.type === 'sync' ? 'good' : 'none') : 'bad'} />{' '}
            {event.message}
            {event.durationMs !== undefined && <small>took {shortDuration(event.durationMs)}</small>}
          </span>
        </li>
      ))}
    </ol>
  );
}

const stageNames = ['sources', 'live', 'comparison', 'tree', 'publishing', 'status'] as const;

function LastPass({ app: { lastPass } }: { app: Application }): JSX.Element {
  if (lastPass === undefined)
    return (
      <Panel title="Last pass">
        <Empty>None since this replica became the owner.</Empty>
      </Panel>
    );
  const { at, durationMs, queuedMs, cause, stages, result, message, priority } = lastPass;
  const sum = Math.max(1, ...[stageNames.reduce((total, name) => total + (stages[name] ?? 0), 0)]);
  return (
    <Panel title="Last pass" aside={<State word={result} />}>
      <p>
        <Ago time={at} />, because {cause.message}; {shortDuration(queuedMs)} in the queue with priority {priority},
        then {shortDuration(durationMs)}
      </p>
      {message !== undefined && <p class="notice">{message}</p>}
      <div class="stages">
        {stageNames.map((name) => {
          const ms = stages[name];
          if (ms === undefined) return null;
          return (
            <div key={name} style={{ flexGrow: Math.max(0.02, ms / sum) }} title={`${name}: ${ms} ms`}>
              <span>{name}</span>
              <small>{shortDuration(ms)}</small>
            </div>
          );
        })}
      </div>
    </Panel>
  );
}

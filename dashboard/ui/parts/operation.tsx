import type { JSX } from 'preact';
import type { Application, ApplicationOperation } from '../../../api/application-types.ts';
import { objectText } from '../../../api/words/index.ts';
import { shortRevision } from '../logic/format.ts';
import { Ago } from './ago.tsx';
import { Empty, Panel, State } from './state.tsx';

export function Operation({ app }: { app: Application }): JSX.Element {
  const { lastOperation: operation, automatedSync, conditions } = app;
  // Nothing is wrong with a sync that is not needed.
  const stopTone = app.sync === 'OutOfSync' ? 'warn' : 'none';
  return (
    <div class="stack">
      <Panel title="Operation">
        {operation === undefined ? <Empty>None yet.</Empty> : <Progress operation={operation} />}
      </Panel>
      <Panel
        title="Automated sync"
        aside={<State word={app.isAutomated ? 'On' : 'Off'} tone={app.isAutomated ? 'good' : 'none'} />}
      >
        <p>
          {automatedSync.decision === 'none' ? '' : `${decisions[automatedSync.decision]}: `}
          {automatedSync.reason} {automatedSync.at !== undefined && <Ago time={automatedSync.at} />}
        </p>
        <ul class="checks">
          {automatedSync.checks.map(({ name, passes, message }) => (
            <li key={name}>
              <State word={passes ? 'passes' : 'stops it'} tone={passes ? 'good' : stopTone} />
              <span>
                {name}: {message}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
      {conditions.length > 0 && (
        <Panel title="Conditions">
          <ul class="plain">
            {conditions.map(({ type, message, since }) => (
              <li key={`${type} ${message}`}>
                <State word={type} tone={type.endsWith('Error') ? 'bad' : 'warn'} /> {message} <Ago time={since} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

const decisions = { start: 'Started', wait: 'Waits', skip: 'Not started', refuse: 'Refused' } as const;

function Progress({ operation }: { operation: ApplicationOperation }): JSX.Element {
  const { type, phase, message, startedAt, finishedAt, initiatedBy, revisions, retries, blockedBy, resources } =
    operation;
  return (
    <>
      <p>
        <State word={phase} /> {type} by {initiatedBy}, begun <Ago time={startedAt} />
        {finishedAt !== undefined && (
          <>
            , ended <Ago time={finishedAt} />
          </>
        )}
      </p>
      <p class="muted">
        {[message, revisions.map(shortRevision).join(', ')].filter((part) => part !== '').join(' · ')}
        {retries > 0 && ` · ${retries} ${retries === 1 ? 'retry' : 'retries'}`}
      </p>
      <Phases operation={operation} />
      {blockedBy !== undefined && finishedAt === undefined && (
        <p class="notice" role="status">
          Blocked by {blockedBy.object === undefined ? '' : `${objectText(blockedBy.object)}: `}
          {blockedBy.message} <Ago time={blockedBy.since} suffix="" />
        </p>
      )}
      <ul class="checks">
        {resources.map((resource) => (
          <li key={`${objectText(resource)} ${resource.syncPhase ?? ''}`}>
            <State word={resource.hookType === undefined ? resource.status : (resource.hookPhase ?? '')} />
            <span>
              {objectText(resource)}: {resource.message}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

const phases = ['PreSync', 'Sync', 'PostSync'] as const;

/** The phases of a running sync, with the wave where it is. */
function Phases({ operation }: { operation: ApplicationOperation }): JSX.Element | null {
  const { syncPhase, wave, finishedAt, type } = operation;
  if (finishedAt !== undefined || syncPhase === undefined || type !== 'sync') return null;
  const at = phases.findIndex((phase) => phase === syncPhase);
  return (
    <ol class="phases" aria-label="Phases of the sync">
      {phases.map((phase, i) => (
        <li key={phase} class={i < at ? 'done' : i === at ? 'now' : ''} aria-current={i === at ? 'step' : undefined}>
          {phase}
          {i === at && wave !== undefined && <small> wave {wave}</small>}
        </li>
      ))}
    </ol>
  );
}

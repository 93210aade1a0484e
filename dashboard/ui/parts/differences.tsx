import type { JSX } from 'preact';
import type { Application, FieldDifference, FieldWriter, ResourceDifference } from '../../../api/application-types.ts';
import { changeText, objectText, RelativeTimes } from '../../../api/words/index.ts';
import { prettyValue } from '../logic/format.ts';
import { Ago } from './ago.tsx';
import { OldState } from './old-state.tsx';
import { Empty, Panel, State } from './state.tsx';

type DiffStyle = 'sides' | 'lines';

interface DifferencesProps {
  readonly app: Application;
  /** When the page was assembled. */
  readonly time: string;
  readonly style: DiffStyle;
  readonly setStyle: (style: DiffStyle) => void;
}

export function Differences({ app, time, style, setStyle }: DifferencesProps): JSX.Element {
  const { differences, differencesTotal, ignored } = app;
  const times = new RelativeTimes(time);
  const changeOf = ({ changedBy }: FieldDifference): string =>
    changedBy === undefined ? '' : changeText(changedBy, app, times);
  return (
    <div class="stack">
      <div class="choice" role="group" aria-label="Style of the differences">
        <button type="button" aria-pressed={style === 'sides'} onClick={() => setStyle('sides')}>
          Side by side
        </button>
        <button type="button" aria-pressed={style === 'lines'} onClick={() => setStyle('lines')}>
          Unified
        </button>
      </div>
      {differences.length === 0 && <Empty>Every resource is as Git says.</Empty>}
      {differences.map((difference) => (
        <Resource key={objectText(difference)} difference={difference} style={style} changeOf={changeOf} />
      ))}
      {differencesTotal > differences.length && (
        <p class="muted">and {differencesTotal - differences.length} more resources</p>
      )}
      {ignored.length > 0 && (
        <Panel title="Ignored by rules">
          <ul class="plain">
            {ignored.map((resource) => (
              <li key={objectText(resource)}>
                {objectText(resource)}:{' '}
                {resource.rules.map(({ rule, origin }) => (
                  <code
                    key={`${origin} ${rule}`}
                    title={origin === 'application' ? 'spec.ignoreDifferences' : 'argocd-cm'}
                  >
                    {rule}
                  </code>
                ))}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

const stateWords: Readonly<Record<ResourceDifference['state'], string>> = {
  modified: 'Modified',
  missing: 'Missing',
  extra: 'Not in Git',
  unread: 'Could not be read',
  refused: 'Not permitted',
};

interface ResourceProps {
  readonly difference: ResourceDifference;
  readonly style: DiffStyle;
  /** The change that made a field differ. */
  readonly changeOf: (field: FieldDifference) => string;
}

function Resource({ difference, style, changeOf }: ResourceProps): JSX.Element {
  const { state, fields, manifest, lastWriter, faults, contestedBy, liveAge } = difference;
  return (
    <Panel
      title={objectText(difference)}
      id={`difference-${objectText(difference).replace(/[^A-Za-z0-9]+/g, '-')}`}
      aside={<State word={stateWords[state]} tone={state === 'modified' ? 'warn' : 'bad'} />}
    >
      {lastWriter !== undefined && (
        <p class="muted">
          Last written by <Writer writer={lastWriter} />
        </p>
      )}
      <OldState age={liveAge} />
      {contestedBy !== undefined && <p class="notice">{contestedBy} undoes each repair.</p>}
      {fields.map((field) => (
        <Field key={field.path} field={field} style={style} change={changeOf(field)} />
      ))}
      {manifest !== undefined && (
        <div class="diff">
          <Value
            label={state === 'missing' ? 'Git' : 'Live'}
            sign={state === 'missing' ? '+' : '−'}
            text={manifest}
            className={state === 'missing' ? 'added' : 'removed'}
          />
        </div>
      )}
      {faults.map((fault) => (
        <p key={fault} class="notice">
          {fault}
        </p>
      ))}
    </Panel>
  );
}

function Field({ field, style, change }: { field: FieldDifference; style: DiffStyle; change: string }): JSX.Element {
  const { path, desired, live, isMasked } = field;
  return (
    <div class="field">
      <p class="field-head">
        <code>{path}</code>
        {isMasked && <State word="Masked" tone="none" />}
        {change !== '' && <span class="who">{change}</span>}
      </p>
      <div class={`diff diff-${style}`}>
        <Value label="Live" sign="−" text={live} className="removed" />
        <Value label="Git" sign="+" text={desired} className="added" />
      </div>
    </div>
  );
}

interface ValueProps {
  readonly label: string;
  readonly sign: string;
  readonly text: string | undefined;
  readonly className: string;
}

function Value({ label, sign, text, className }: ValueProps): JSX.Element {
  return (
    <div class={`value ${className}`}>
      <span class="value-label">
        <span aria-hidden="true">{sign} </span>
        {label}
      </span>
      {text === undefined ? <em>absent</em> : <pre>{prettyValue(text)}</pre>}
    </div>
  );
}

function Writer({ writer }: { writer: FieldWriter }): JSX.Element {
  const { manager, operation, subresource, time, isOurs } = writer;
  const how = [operation, subresource].filter((text) => text !== '').join(' ');
  return (
    <>
      <strong>{isOurs ? 'Driftless' : manager}</strong>
      {how !== '' && ` (${how})`} {time === undefined ? 'at an unknown time' : <Ago time={time} />}
    </>
  );
}

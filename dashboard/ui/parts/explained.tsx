import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ApplicationResponse } from '../../../api/application-types.ts';
import { explainApplication } from '../../../api/words/index.ts';
import { Panel } from './state.tsx';

/** The words of `driftless explain`. */
export function Explained({ answer }: { answer: ApplicationResponse }): JSX.Element {
  const { sections } = useMemo(() => explainApplication(answer, { more: 'the tab Differences has all' }), [answer]);
  return (
    <Panel title="Explained">
      <dl class="explained">
        {sections
          .filter(({ lines }) => lines.length > 0)
          .map(({ label, lines }) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                {lines.map((line, i) => (
                  <span key={i} class={line.startsWith(' ') ? 'indented' : ''}>
                    {line.trim()}
                  </span>
                ))}
              </dd>
            </div>
          ))}
      </dl>
    </Panel>
  );
}

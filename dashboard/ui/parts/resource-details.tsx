import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ResourceDifference } from '../../../api/application-types.ts';
import type { TreeNode } from '../../../api/view-types.ts';
import { Ago } from './ago.tsx';
import { State } from './state.tsx';

interface ResourceDetailsProps {
  readonly node: TreeNode;
  readonly differences: readonly ResourceDifference[];
  readonly close: () => void;
}

export function ResourceDetails({ node, differences, close }: ResourceDetailsProps): JSX.Element {
  const { group, kind, namespace, name, health, healthMessage, sync, createdAt } = node;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [node]);
  const differs = differences.some(
    (other) => other.kind === kind && other.name === name && other.namespace === namespace && other.group === group,
  );
  const facts = factsOf(node);
  return (
    <aside class="details" aria-labelledby="details-title" onKeyDown={(event) => event.key === 'Escape' && close()}>
      <header>
        <h2 id="details-title" ref={heading} tabIndex={-1}>
          {name}
        </h2>
        <button type="button" class="quiet" onClick={close} aria-label="Close">
          ✕
        </button>
      </header>
      <p>
        <State word={health ?? ''} /> <State word={sync ?? ''} />
      </p>
      {healthMessage !== undefined && healthMessage !== '' && <p class="notice">{healthMessage}</p>}
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([label, value], i) => (
            <div key={i}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        <div>
          <dt>Created</dt>
          <dd>
            <Ago time={createdAt} />
          </dd>
        </div>
      </dl>
      {differs && (
        <p>
          <a href={`${location.hash.split('?', 1)[0] ?? ''}?tab=differences`}>Show the difference</a>
        </p>
      )}
    </aside>
  );
}

function factsOf(node: TreeNode): readonly (readonly [string, string])[] {
  const { group, version, kind, namespace, wave, isHook, details, images } = node;
  return [
    ['Kind', `${group === '' ? '' : `${group}/`}${version} ${kind}`],
    ['Namespace', namespace === '' ? 'none' : namespace],
    ['Wave', wave === undefined ? '' : String(wave)],
    ['Hook', isHook ? 'yes' : ''],
    ...details.map(({ name: label, value }) => [label, value] as const),
    ...images.map((image) => ['Image', image] as const),
  ];
}

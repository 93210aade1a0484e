import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ResourceDifference } from '../../../api/application-types.ts';
import type { TreeNode } from '../../../api/view-types.ts';
import { Ago } from './ago.tsx';
import { Command, shellWord } from './command.tsx';
import { Manifests } from './manifests.tsx';
import { Log, ObjectEvents } from './object-activity.tsx';
import { OldState } from './old-state.tsx';
import { State } from './state.tsx';

interface ResourceDetailsProps {
  /** Of the Application in the API. */
  readonly path: string;
  readonly node: TreeNode;
  readonly differences: readonly ResourceDifference[];
  readonly close: () => void;
}

export function ResourceDetails({ path, node, differences, close }: ResourceDetailsProps): JSX.Element {
  const { group, kind, namespace, name, health, healthMessage, sync, createdAt, liveAge } = node;
  const heading = useRef<HTMLHeadingElement>(null);
  const [chosen, setView] = useState<View | undefined>();
  const view = viewsOf(node).find((one) => one === chosen);
  useEffect(() => heading.current?.focus(), [node]);
  const differs = differences.some(
    (other) => other.kind === kind && other.name === name && other.namespace === namespace && other.group === group,
  );
  const facts = factsOf(node);
  return (
    <aside
      class={`details${view === undefined ? '' : ' wide'}`}
      aria-labelledby="details-title"
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
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
      <OldState age={liveAge} />
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
      <Views path={path} node={node} view={view} setView={setView} />
      {commandsOf(node).map((text) => (
        <Command key={text} text={text} />
      ))}
      {differs && (
        <p>
          <a href={`${location.hash.split('?', 1)[0] ?? ''}?tab=differences`}>Show the difference</a>
        </p>
      )}
    </aside>
  );
}

type View = 'Manifests' | 'Events' | 'Log';

interface ViewsProps extends Pick<ResourceDetailsProps, 'path' | 'node'> {
  readonly view: View | undefined;
  readonly setView: (view: View | undefined) => void;
}

function Views({ path, node, view, setView }: ViewsProps): JSX.Element {
  return (
    <>
      <p class="views">
        {viewsOf(node).map((one) => (
          <button
            key={one}
            type="button"
            aria-expanded={view === one}
            onClick={() => setView(view === one ? undefined : one)}
          >
            {one}
          </button>
        ))}
      </p>
      {view === 'Manifests' && <Manifests path={path} node={node} />}
      {view === 'Events' && <ObjectEvents path={path} node={node} />}
      {view === 'Log' && <Log key={`${node.namespace}/${node.name}`} path={path} node={node} />}
    </>
  );
}

function viewsOf({ group, kind }: TreeNode): readonly View[] {
  return group === '' && kind === 'Pod' ? ['Manifests', 'Events', 'Log'] : ['Manifests', 'Events'];
}

/** Events and logs are read with the rights of the person, in the cluster of the object. */
function commandsOf({ group, version, kind, namespace, name }: TreeNode): readonly string[] {
  const kubectl = namespace === '' ? 'kubectl' : `kubectl -n ${shellWord(namespace)}`;
  const type = group === '' ? kind : `${kind}.${version}.${group}`;
  const object = `${shellWord(type)} ${shellWord(name)}`;
  const logs = group === '' && kind === 'Pod' ? [`${kubectl} logs ${shellWord(name)} --all-containers --tail=200`] : [];
  return [`${kubectl} describe ${object}`, ...logs];
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

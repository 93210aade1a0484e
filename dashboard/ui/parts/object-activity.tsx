import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { LogResponse, ObjectEventsResponse, TreeNode } from '../../../api/view-types.ts';
import { usePage } from '../data/poll.ts';
import { Ago } from './ago.tsx';
import { Empty, PageState, State } from './state.tsx';

const pollMs = 5000;

interface ObjectProps {
  /** The path of the Application in the read API. */
  readonly path: string;
  readonly node: TreeNode;
}

/** The parameters that name an object to the API. */
export function objectQuery({ group, kind, namespace, name }: TreeNode): URLSearchParams {
  return new URLSearchParams({ group, kind, namespace, name });
}

/** The events about an object of the tree. */
export function ObjectEvents({ path, node }: ObjectProps): JSX.Element {
  const answer = usePage<ObjectEventsResponse>(`${path}/object/events?${objectQuery(node).toString()}`, pollMs);
  const events = answer.page?.events;
  return (
    <section aria-label="Events">
      <PageState {...answer} />
      {events?.message !== undefined && <p class="notice">{events.message}</p>}
      {events?.items.length === 0 && events.message === undefined && <Empty>The cluster has no events about it.</Empty>}
      <ol class="timeline">
        {events?.items.map(({ type, reason, message, reporter, count, lastAt }, i) => (
          <li key={i}>
            <Ago time={lastAt} />
            <span>
              <State word={reason} tone={type === 'Warning' ? 'warn' : 'none'} title={reporter} /> {message}
              {count > 1 && <small>{count} times</small>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The end of the log of a pod of the tree. */
export function Log({ path, node }: ObjectProps): JSX.Element {
  const [container, setContainer] = useState('');
  const [isPrevious, setPrevious] = useState(false);
  const query = objectQuery(node);
  if (container !== '') query.set('container', container);
  if (isPrevious) query.set('previous', 'true');
  const answer = usePage<LogResponse>(`${path}/object/log?${query.toString()}`, pollMs);
  const log = answer.page?.log;
  // The choice stays while another log is read.
  const containers = useRef<readonly string[]>([]);
  if (log !== undefined) containers.current = log.containers;
  return (
    <section aria-label="Log">
      <p class="log-choice">
        <label>
          Container{' '}
          <select value={log?.container ?? container} onChange={(event) => setContainer(event.currentTarget.value)}>
            {containers.current.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={isPrevious} onChange={(event) => setPrevious(event.currentTarget.checked)} />{' '}
          Before its last restart
        </label>
      </p>
      <PageState {...answer} />
      {log?.message !== undefined && <p class="notice">{log.message}</p>}
      {log !== undefined && log.message === undefined && (
        <pre class="log" tabIndex={0}>
          {log.text === '' ? 'The log is empty.' : log.text}
        </pre>
      )}
    </section>
  );
}

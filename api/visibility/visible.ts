import type { Viewer } from './access/viewer.ts';
import type { Application } from './application-types.ts';
import { ApiFault } from './fault.ts';
import type { ApiRequest } from './request.ts';
import type { CostRow, Queue, QueueItem, RecentEvent } from './types.ts';

/** Namespaces whose Applications a viewer may get. */
export type ReadableNamespaces = 'all' | ReadonlySet<string>;

/** Most namespaces that are checked for one viewer. */
const maxCheckedNamespaces = 500;

/** @throws ApiFault 400 if there are too many to check */
export async function readableNamespaces(
  namespaces: readonly string[],
  viewer: Viewer,
  signal: AbortSignal,
): Promise<ReadableNamespaces> {
  if (await viewer.mayRead('', signal)) return 'all';
  if (namespaces.length > maxCheckedNamespaces)
    throw new ApiFault(400, 'too many namespaces have Applications: list those of one by ?namespace=');
  const readable = new Set<string>();
  for (const namespace of namespaces) if (await viewer.mayRead(namespace, signal)) readable.add(namespace);
  return readable;
}

export function canRead(readable: ReadableNamespaces, namespace: string): boolean {
  return readable === 'all' || readable.has(namespace);
}

interface Visibility {
  readonly viewer: Viewer;
  /** Undefined: the page is not one of Applications. */
  readonly readable: ReadableNamespaces | undefined;
  /** May read the controller's own namespace, and so what belongs to no Application. */
  readonly isAdmin: boolean;
  readonly signal: AbortSignal;
}

/** A page without the Applications of namespaces that the viewer may not read. */
export async function visibleTo(
  { viewer, readable = 'all', isAdmin, signal }: Visibility,
  request: ApiRequest,
  body: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  if (request.page === 'queues') {
    const known = new Map<string, Promise<boolean>>();
    const mayRead = (namespace: string): Promise<boolean> => {
      const asked = known.get(namespace) ?? viewer.mayRead(namespace, signal);
      known.set(namespace, asked);
      return asked;
    };
    const items = body['items'] as readonly Queue[];
    return { ...body, items: await Promise.all(items.map((queue) => withoutHidden(queue, mayRead))) };
  }
  if (request.page === 'application') return withoutHiddenWorker(body, viewer, signal);
  if (request.page === 'events') {
    const items = (body['items'] as readonly RecentEvent[]).filter(({ namespace }) =>
      namespace === undefined ? isAdmin : canRead(readable, namespace),
    );
    // The oldest time is that of an Application which the viewer may not know.
    return { ...body, items, oldest: isAdmin ? body['oldest'] : {} };
  }
  if (request.page === 'costs' && request.subject === 'apps') {
    const items = (body['items'] as readonly CostRow[]).filter(({ name }) => canRead(readable, namespaceOf(name)));
    return { ...body, items };
  }
  return body;
}

async function withoutHidden(queue: Queue, mayRead: (namespace: string) => Promise<boolean>): Promise<Queue> {
  const shown = async (item: QueueItem): Promise<QueueItem> => {
    if (await mayRead(namespaceOf(item.key))) return item;
    const { since, priority } = item;
    return { key: '', since, priority };
  };
  const inProgress: QueueItem[] = [];
  for (const item of queue.inProgress) inProgress.push(await shown(item));
  return { ...queue, inProgress, ...(queue.oldest === undefined ? {} : { oldest: await shown(queue.oldest) }) };
}

/** An Application's page names another Application in one place: the one that occupies a worker. */
async function withoutHiddenWorker(
  body: Readonly<Record<string, unknown>>,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const application = body['application'] as Pick<Application, 'waiting'>;
  const { waiting } = application;
  const longest = waiting?.queue?.longest;
  if (waiting?.queue === undefined || longest === undefined) return body;
  if (await viewer.mayRead(namespaceOf(longest.key), signal)) return body;
  const queue = { ...waiting.queue, longest: { ...longest, key: '' } };
  return { ...body, application: { ...application, waiting: { ...waiting, queue } } };
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

import type { Viewer } from './access/viewer.ts';
import type { ApiRequest } from './request.ts';
import type { CostRow, Queue, QueueItem, RecentEvent } from './types.ts';

interface VisibilityContext {
  /** The controller's own namespace: the right to it shows what belongs to no Application. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** A page without the Applications of namespaces that the viewer may not read. */
export async function visibleTo(
  viewer: Viewer,
  request: ApiRequest,
  body: Readonly<Record<string, unknown>>,
  { namespace: own, signal }: VisibilityContext,
): Promise<Readonly<Record<string, unknown>>> {
  const known = new Map<string, Promise<boolean>>();
  const mayRead = (namespace: string): Promise<boolean> => {
    const asked = known.get(namespace) ?? viewer.mayRead(namespace, signal);
    known.set(namespace, asked);
    return asked;
  };
  if (request.page === 'queues') {
    const items = body['items'] as readonly Queue[];
    return { ...body, items: await Promise.all(items.map((queue) => withoutHidden(queue, mayRead))) };
  }
  if (request.page === 'events') {
    const items = body['items'] as readonly RecentEvent[];
    return { ...body, items: await keep(items, ({ namespace = own }) => mayRead(namespace)) };
  }
  if (request.page === 'costs' && request.subject === 'apps') {
    const items = body['items'] as readonly CostRow[];
    return { ...body, items: await keep(items, ({ name }) => mayRead(namespaceOf(name))) };
  }
  return body;
}

async function keep<T>(items: readonly T[], isShown: (item: T) => Promise<boolean>): Promise<readonly T[]> {
  const kept: T[] = [];
  for (const item of items) if (await isShown(item)) kept.push(item);
  return kept;
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

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

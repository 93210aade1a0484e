import { omit } from '#base';
import type { ResourceRef } from '#model';
import { mayReadApplications } from '../access/viewer.ts';
import type { Viewer } from '../access/viewer.ts';
import type { ApplicationSummary, UnjudgedApplication } from '../application-types.ts';
import { ApiFault } from '../fault.ts';
import type { LinkSubject, LinkTemplate } from '../links.ts';
import type { ApiRequest } from '../request.ts';
import type { ClusterOwner, CostRow, Queue, QueueItem, RecentEvent, ReplicaInfo } from '../types.ts';
import type { TreeNode } from '../view-types.ts';
import { visibleNodes, withoutHiddenObjects } from './objects.ts';
import type { PageAccess } from './page-access.ts';
import { withoutHiddenDetails, withoutHiddenFaults } from './clusters.ts';
import type { SpelledCluster } from './clusters.ts';

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
  if (await mayReadApplications(viewer, '', signal)) return 'all';
  if (namespaces.length > maxCheckedNamespaces)
    throw new ApiFault(400, 'too many namespaces have Applications: list those of one by ?namespace=');
  const readable = new Set<string>();
  for (const namespace of namespaces) if (await mayReadApplications(viewer, namespace, signal)) readable.add(namespace);
  return readable;
}

export function canRead(readable: ReadableNamespaces, namespace: string): boolean {
  return readable === 'all' || readable.has(namespace);
}

export interface Visibility {
  readonly viewer: Viewer;
  readonly access: PageAccess;
  /** Undefined: the page is not one of Applications. */
  readonly readable: ReadableNamespaces | undefined;
  /** May read the controller's own namespace, and so what belongs to no Application. */
  readonly isAdmin: boolean;
  /** The cluster of the page's Application as its spec spells it. */
  readonly spelled: SpelledCluster;
  readonly links: readonly LinkTemplate[];
  readonly signal: AbortSignal;
}

type PageBody = Readonly<Record<string, unknown>>;

/** A page without what the viewer may not see. */
export async function visibleTo(visibility: Visibility, request: ApiRequest, body: PageBody): Promise<PageBody> {
  const { readable = 'all', access, viewer, signal } = visibility;
  if (viewer.isFull === true) return body;
  switch (request.page) {
    case 'queues':
      return { ...body, items: await visibleQueues(body['items'] as readonly Queue[], viewer, signal) };
    case 'application':
      return { ...body, application: await visibleApplication(body['application'] as UnjudgedApplication, visibility) };
    case 'tree':
      return { ...body, nodes: await visibleNodes(body['nodes'] as readonly TreeNode[], access) };
    case 'object':
      return visibleObject(body, request.object, access);
    case 'events':
      return visibleEvents(body, visibility);
    case 'replica':
      return { ...body, items: await withoutHiddenDetails(body['items'] as readonly ReplicaInfo[], access) };
    case 'cluster':
      return { ...body, owners: await visibleOwners(body['owners'] as readonly ClusterOwner[], access) };
    case 'costs': {
      if (request.subject !== 'apps') return body;
      const items = (body['items'] as readonly CostRow[]).filter(({ name }) => canRead(readable, namespaceOf(name)));
      return { ...body, items };
    }
    default:
      return body;
  }
}

async function visibleObject(body: PageBody, ref: ResourceRef, access: PageAccess): Promise<PageBody> {
  const missing = (await access.objects([ref]))(ref);
  if (missing === undefined) return body;
  access.hidden.add(missing);
  return { object: { ...ref, version: '' } };
}

async function visibleEvents(body: PageBody, { readable = 'all', access, isAdmin }: Visibility): Promise<PageBody> {
  const all = body['items'] as readonly RecentEvent[];
  const missing = isAdmin ? await access.missing('clusters') : undefined;
  const items = all.filter(({ namespace }) =>
    namespace === undefined ? isAdmin && missing === undefined : canRead(readable, namespace),
  );
  if (missing !== undefined) access.hidden.add(missing, all.filter(({ namespace }) => namespace === undefined).length);
  // The oldest time is that of an Application which the viewer may not know.
  return { ...body, items, oldest: isAdmin ? body['oldest'] : {} };
}

async function visibleQueues(items: readonly Queue[], viewer: Viewer, signal: AbortSignal): Promise<readonly Queue[]> {
  const known = new Map<string, Promise<boolean>>();
  const mayRead = (namespace: string): Promise<boolean> => {
    const asked = known.get(namespace) ?? mayReadApplications(viewer, namespace, signal);
    known.set(namespace, asked);
    return asked;
  };
  return Promise.all(items.map((queue) => withoutHidden(queue, mayRead)));
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

async function visibleApplication(
  application: UnjudgedApplication,
  { access, spelled, links, viewer, signal }: Visibility,
): Promise<UnjudgedApplication> {
  const app = await withoutHiddenWorker(await withoutHiddenObjects(application, access), viewer, signal);
  const missing = await access.missing('clusters');
  if (missing === undefined) return app;
  access.hidden.add(missing);
  return {
    ...app,
    ...spelled,
    ownership: omit(app.ownership, 'pinnedTo'),
    degraded: withoutHiddenFaults(app.degraded, spelled),
    links: links.map((link) => link(subjectOf(app, spelled))),
  };
}

function subjectOf(
  { namespace, name }: Pick<ApplicationSummary, 'namespace' | 'name'>,
  { server, clusterName }: SpelledCluster,
): LinkSubject {
  return { namespace, application: name, cluster: clusterName, server };
}

/** An Application's page names another Application in one place: the one that occupies a worker. */
async function withoutHiddenWorker(
  app: UnjudgedApplication,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<UnjudgedApplication> {
  const { waiting } = app;
  const longest = waiting?.queue?.longest;
  if (waiting?.queue === undefined || longest === undefined) return app;
  if (await mayReadApplications(viewer, namespaceOf(longest.key), signal)) return app;
  const queue = { ...waiting.queue, longest: { ...longest, key: '' } };
  return { ...app, waiting: { ...waiting, queue } };
}

async function visibleOwners(owners: readonly ClusterOwner[], access: PageAccess): Promise<readonly ClusterOwner[]> {
  const missing = await access.objects(owners.flatMap(({ noisiest }) => noisiest));
  return owners.map((owner) => ({
    ...owner,
    noisiest: owner.noisiest.filter((object) => {
      const right = missing(object);
      if (right !== undefined) access.hidden.add(right);
      return right === undefined;
    }),
  }));
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

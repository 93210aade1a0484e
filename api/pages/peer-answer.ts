import type { ApiRequest } from '../request.ts';
import { apiVersion } from '../types.ts';
import { isRecordingPiece } from './recording.ts';

/** The body of a page without its head. */
export type PageBody = Readonly<Record<string, unknown>>;

/** The `kind` of each page. */
export const kinds: Readonly<Record<ApiRequest['page'], string>> = {
  replica: 'Replicas',
  ownership: 'Ownership',
  clusters: 'Clusters',
  cluster: 'Cluster',
  queues: 'Queues',
  applications: 'Applications',
  application: 'Application',
  tree: 'Tree',
  object: 'Object',
  'object/events': 'ObjectEvents',
  'object/log': 'Log',
  plan: 'Plan',
  history: 'History',
  recording: 'Recording',
  repositories: 'Repositories',
  events: 'Events',
  costs: 'Costs',
};

/** Whether a peer, maybe of another release, answered with the page. */
export function isPage(answer: unknown, request: ApiRequest): answer is PageBody {
  if (!isJsonObject(answer)) return false;
  const { apiVersion: version, kind, items, owners, application } = answer;
  if (version !== apiVersion || kind !== kinds[request.page]) return false;
  if (request.page === 'application') return isJsonObject(application);
  if (request.page === 'tree') return areObjects(answer['nodes']);
  if (request.page === 'object') return isJsonObject(answer['object']);
  if (request.page === 'object/events') return isJsonObject(answer['events']);
  if (request.page === 'object/log') return isJsonObject(answer['log']);
  if (request.page === 'recording') return isRecordingPiece(answer['recording']);
  if (request.page === 'ownership') return true;
  if (!areObjects(request.page === 'cluster' ? owners : items)) return false;
  return request.page === 'cluster' || (items as readonly PageBody[]).every(itemCheckOf(request.page));
}

/** Checks the fields that the assembly of a page reads: a peer may be of another release. */
function itemCheckOf(page: ApiRequest['page']): (item: Readonly<Record<string, unknown>>) => boolean {
  if (page === 'queues')
    return ({ inProgress, oldest }) =>
      areObjects(inProgress) && [...(inProgress as readonly unknown[]), oldest ?? { key: '' }].every(hasKey);
  if (page === 'events') return ({ at, namespace = '' }) => typeof at === 'string' && typeof namespace === 'string';
  if (page === 'history') return ({ samples }) => areObjects(samples);
  if (page === 'costs')
    return ({ name, cpuMs, passes, renders, apiRequests, watchEvents, bytes }) =>
      typeof name === 'string' && [cpuMs, passes, renders, apiRequests, watchEvents, bytes].every(Number.isFinite);
  return () => true;
}

/** The members of a tree in a peer's answer. */
export function treeOf(body: PageBody | undefined): PageBody | undefined {
  if (body === undefined) return undefined;
  const { nodes, total, message } = body;
  return { nodes, total, ...(message === undefined ? {} : { message }) };
}

function hasKey(item: unknown): boolean {
  return isJsonObject(item) && typeof item['key'] === 'string';
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function areObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => isJsonObject(item));
}

/** A peer speaks for itself only: its parts get the name under which it holds its slot. */
export function renamed(body: PageBody, name: string): PageBody {
  const parts = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.map((item: object) => ({ ...item, ...('replica' in item ? { replica: name } : {}) }))
      : list;
  const items = body['kind'] === kinds.replica ? nameReplicas(body['items'], name) : parts(body['items']);
  return { ...body, items, owners: parts(body['owners']), conditions: parts(body['conditions']) };
}

function nameReplicas(items: unknown, name: string): unknown {
  return Array.isArray(items) ? items.slice(0, 1).map((item: object) => ({ ...item, name })) : items;
}

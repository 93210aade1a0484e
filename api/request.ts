import { defined } from '#base';
import type { ResourceRef } from '#model';
import { algorithms } from '#sharding';
import type { ShardingAlgorithm } from '#sharding';
import { ApiFault } from './fault.ts';
import { costSubjects } from './types.ts';
import type { CostSubject } from './types.ts';

/** Filters of the list of Applications; absent: all. */
export interface ApplicationFilters {
  readonly project?: string;
  /** Name or URL. */
  readonly cluster?: string;
  readonly namespace?: string;
  readonly sync?: string;
  readonly health?: string;
  readonly operation?: string;
  /** Part of the name, in any case. */
  readonly text?: string;
  /** `name` or `name=value`. */
  readonly label?: string;
}

/** A change of the shards, to see what would move; absent: as it is. */
export interface PlannedChange {
  readonly replicas?: number;
  readonly algorithm?: ShardingAlgorithm;
  /** A cluster, by name or URL, and the shard that it is pinned to; undefined: no pin. */
  readonly pin?: { readonly cluster: string; readonly shard: number | undefined };
}

/** A parsed request. */
export type ApiRequest =
  | { readonly page: 'replica' | 'ownership' | 'clusters' | 'queues' | 'repositories' | 'events' | 'history' }
  | { readonly page: 'plan'; readonly change: PlannedChange }
  | { readonly page: 'cluster'; readonly cluster: string }
  | { readonly page: 'application' | 'tree'; readonly namespace: string; readonly name: string }
  | {
      readonly page: 'object' | 'object/events';
      readonly namespace: string;
      readonly name: string;
      readonly object: ResourceRef;
    }
  | {
      readonly page: 'object/log';
      readonly namespace: string;
      readonly name: string;
      readonly object: ResourceRef;
      /** '': the one that kubectl chooses. */
      readonly container: string;
      /** The log of the container before its last restart. */
      readonly isPrevious: boolean;
    }
  | {
      readonly page: 'recording';
      readonly namespace: string;
      readonly name: string;
      /** Chosen by the caller: names the recording in later requests. */
      readonly recording: string;
      /** Only the last passes, which are kept. */
      readonly isLast: boolean;
      /** `next` of the answer before; '': the first request. */
      readonly after: string;
    }
  | { readonly page: 'costs'; readonly subject: CostSubject }
  | {
      readonly page: 'applications';
      readonly filters: ApplicationFilters;
      readonly limit: number;
      /** Only Applications after this key. */
      readonly after: string | undefined;
    };

export const apiRoot = '/api/v1';
const plainPages = ['replica', 'ownership', 'clusters', 'queues', 'repositories', 'events', 'history'] as const;
const filterNames = ['project', 'cluster', 'namespace', 'sync', 'health', 'operation', 'text', 'label'] as const;
const defaultLimit = 100;
export const maxLimit = 1000;
const maxUrlLength = 4096;
/** Longer values name nothing that exists. */
const maxValueLength = 512;

/**
 * Reads path and query of a request.
 * @throws ApiFault 404 for an unknown path, 400 for a query that is not understood
 */
export function parseApiRequest(target: string): ApiRequest {
  if (target.length > maxUrlLength) throw new ApiFault(414, `the path is longer than ${maxUrlLength} characters`);
  const [path = '', query = ''] = splitOnce(target, '?');
  const steps = stepsOf(path);
  const parameters = new URLSearchParams(query);
  const [page = '', first, second, ...more] = steps;
  if (page === 'applications' && first === undefined) return readList(parameters);
  if (page === 'plan' && first === undefined) return readPlan(parameters);
  const part = page === 'applications' ? more.join('/') : '';
  if (part === 'recording') return readRecordingRequest(parameters, steps);
  if (part === 'object' || part === 'object/events' || part === 'object/log')
    return readObjectRequest(part, parameters, steps);
  rejectUnknown(parameters, []);
  if (part === 'tree') return { page: 'tree', ...applicationIn(steps) };
  return readPage(
    page,
    [first, second].filter((step) => step !== undefined),
    more.length > 0,
  );
}

/** The Application that the steps of a path name. */
function applicationIn([, namespace = '', name = '']: readonly string[]): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace, name };
}

function readRecordingRequest(parameters: URLSearchParams, steps: readonly string[]): ApiRequest {
  rejectUnknown(parameters, ['recording', 'last', 'after']);
  const recording = parameters.get('recording') ?? '';
  if (!/^[\w-]{8,64}$/.test(recording))
    throw new ApiFault(400, 'query parameter "recording" must be a name of 8 to 64 letters, digits and dashes');
  const after = parameters.get('after') ?? '';
  return { page: 'recording', ...applicationIn(steps), recording, isLast: flagIn(parameters, 'last'), after };
}

function flagIn(parameters: URLSearchParams, name: string): boolean {
  const value = parameters.get(name) ?? 'false';
  if (value === 'true' || value === 'false') return value === 'true';
  throw new ApiFault(400, `query parameter "${name}" must be true or false`);
}

const refMembers = ['group', 'kind', 'namespace', 'name'] as const;

function readObjectRequest(
  page: 'object' | 'object/events' | 'object/log',
  parameters: URLSearchParams,
  steps: readonly string[],
): ApiRequest {
  rejectUnknown(parameters, page === 'object/log' ? [...refMembers, 'container', 'previous'] : refMembers);
  const read = (member: (typeof refMembers)[number]): string => parameters.get(member) ?? '';
  const object = { group: read('group'), kind: read('kind'), namespace: read('namespace'), name: read('name') };
  if (object.kind === '' || object.name === '')
    throw new ApiFault(400, 'query parameters "kind" and "name" are required');
  const place = { ...applicationIn(steps), object };
  if (page !== 'object/log') return { page, ...place };
  const [container, isPrevious] = [parameters.get('container') ?? '', flagIn(parameters, 'previous')];
  return { page, ...place, container, isPrevious };
}

function readPage(page: string, [first, second]: readonly string[], isLonger: boolean): ApiRequest {
  const plain = plainPages.find((name) => name === page);
  if (plain !== undefined && first === undefined) return { page: plain };
  if (first !== undefined && second === undefined) {
    const subject = costSubjects.find((name) => name === first);
    if (page === 'clusters') return { page: 'cluster', cluster: first };
    if (page === 'costs' && subject !== undefined) return { page: 'costs', subject };
  }
  if (page === 'applications' && first !== undefined && second !== undefined && !isLonger)
    return { page: 'application', namespace: first, name: second };
  throw new ApiFault(404, 'no such page; the pages are described in docs/api.md');
}

/** The path and query of a request, as {@link parseApiRequest} reads them. */
export function formatApiRequest(request: ApiRequest): string {
  if ('object' in request) return formatObjectRequest(request);
  switch (request.page) {
    case 'cluster':
      return `${apiRoot}/clusters/${encodeURIComponent(request.cluster)}`;
    case 'application':
      return `${apiRoot}/applications/${encodeURIComponent(request.namespace)}/${encodeURIComponent(request.name)}`;
    case 'tree':
      return `${formatApiRequest({ ...request, page: 'application' })}/tree`;
    case 'plan': {
      const { replicas, algorithm, pin } = request.change;
      const parameters = new URLSearchParams();
      if (replicas !== undefined) parameters.set('replicas', String(replicas));
      if (algorithm !== undefined) parameters.set('algorithm', algorithm);
      if (pin !== undefined) parameters.set('pin', `${pin.cluster}=${pin.shard ?? ''}`);
      return `${apiRoot}/plan?${parameters.toString()}`;
    }
    case 'recording': {
      const { recording, isLast, after } = request;
      const parameters = new URLSearchParams({ recording, ...(isLast ? { last: 'true' } : {}), after });
      const place = [request.namespace, request.name].map(encodeURIComponent).join('/');
      return `${apiRoot}/applications/${place}/recording?${parameters.toString()}`;
    }
    case 'costs':
      return `${apiRoot}/costs/${request.subject}`;
    case 'applications': {
      const parameters = new URLSearchParams({ ...request.filters, limit: String(request.limit) });
      if (request.after !== undefined) parameters.set('continue', continueAfter(request.after));
      return `${apiRoot}/applications?${parameters.toString()}`;
    }
    default:
      return `${apiRoot}/${request.page}`;
  }
}

function formatObjectRequest(request: Extract<ApiRequest, { readonly object: ResourceRef }>): string {
  const parameters = new URLSearchParams({ ...request.object });
  if (request.page === 'object/log') {
    if (request.container !== '') parameters.set('container', request.container);
    if (request.isPrevious) parameters.set('previous', 'true');
  }
  const { namespace, name } = request;
  return `${formatApiRequest({ page: 'application', namespace, name })}/${request.page}?${parameters.toString()}`;
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The decoded steps below the root. A step may contain an encoded slash. */
function stepsOf(path: string): readonly string[] {
  if (path !== apiRoot && !path.startsWith(`${apiRoot}/`))
    throw new ApiFault(404, `no such page; all pages are below ${apiRoot}`);
  try {
    const steps = path
      .slice(apiRoot.length + 1)
      .split('/')
      .map(decodeURIComponent);
    if (steps.every((step) => step !== '' && step.length <= maxValueLength)) return steps;
  } catch {
    // An invalid escape.
  }
  throw new ApiFault(404, 'no such page; the path has an empty, invalid or very long part');
}

function rejectUnknown(parameters: URLSearchParams, known: readonly string[]): void {
  for (const name of parameters.keys()) {
    const shown = JSON.stringify(name.slice(0, 64));
    if (!known.includes(name)) throw new ApiFault(400, `unknown query parameter ${shown}`);
    if (parameters.getAll(name).length > 1) throw new ApiFault(400, `query parameter ${shown} is given twice`);
    if ((parameters.get(name) ?? '').length > maxValueLength)
      throw new ApiFault(400, `query parameter ${shown} is longer than ${maxValueLength} characters`);
  }
}

function readList(parameters: URLSearchParams): ApiRequest {
  rejectUnknown(parameters, [...filterNames, 'limit', 'continue']);
  const given = filterNames.flatMap((name) => {
    const value = parameters.get(name);
    return value === null || value === '' ? [] : [[name, value] as const];
  });
  const limit = Number(parameters.get('limit') ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw new ApiFault(400, `query parameter "limit" must be a number from 1 to ${maxLimit}`);
  const token = parameters.get('continue');
  return {
    page: 'applications',
    filters: Object.fromEntries(given),
    limit,
    after: token === null || token === '' ? undefined : afterToken(token),
  };
}

/** As in `driftless shards plan`, but bounded: the answer has a figure for each shard. */
const maxPlannedReplicas = 1000;

function readPlan(parameters: URLSearchParams): ApiRequest {
  rejectUnknown(parameters, ['replicas', 'algorithm', 'pin']);
  const text = (name: string): string => parameters.get(name) ?? '';
  const [replicas, algorithm, pin] = [
    plannedReplicas(text('replicas')),
    plannedAlgorithm(text('algorithm')),
    pinOf(text('pin')),
  ];
  return { page: 'plan', change: defined({ replicas, algorithm, pin }) };
}

function plannedReplicas(text: string): number | undefined {
  if (text === '') return undefined;
  const replicas = Number(text);
  if (/^\d{1,6}$/.test(text) && replicas >= 1 && replicas <= maxPlannedReplicas) return replicas;
  throw new ApiFault(400, `query parameter "replicas" must be a number from 1 to ${maxPlannedReplicas}`);
}

function plannedAlgorithm(text: string): ShardingAlgorithm | undefined {
  const algorithm = algorithms.find((name) => name === text);
  if (text === '' || algorithm !== undefined) return algorithm;
  throw new ApiFault(400, `query parameter "algorithm" must be one of ${algorithms.join(', ')}`);
}

function pinOf(text: string): PlannedChange['pin'] {
  if (text === '') return undefined;
  const [, cluster = '', shard = ''] = /^(.+)=(\d{0,6})$/s.exec(text) ?? [];
  if (cluster === '') throw new ApiFault(400, 'query parameter "pin" must be CLUSTER=SHARD, or CLUSTER=');
  return { cluster, shard: shard === '' ? undefined : Number(shard) };
}

/** A token names the last Application of its page, so the server keeps nothing. */
export function continueAfter(key: string): string {
  return Buffer.from(JSON.stringify({ v: 1, after: key })).toString('base64url');
}

function afterToken(token: string): string {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    const { v, after } = value as { readonly v?: unknown; readonly after?: unknown };
    if (v === 1 && typeof after === 'string') return after;
  } catch {
    // Not ours.
  }
  throw new ApiFault(400, 'query parameter "continue" is no token of this API: begin again without it');
}

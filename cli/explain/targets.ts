import { explainApplication } from '../../api/words/index.ts';
import type {
  ApplicationResponse,
  ApplicationsResponse,
  ClusterResponse,
  ClustersResponse,
  Explanation,
  QueuesResponse,
  ReplicaResponse,
  RepositoriesResponse,
} from '#api';
import { DriftlessError } from '#base';
import { nameHint } from '../process/name-hint.ts';
import type { ApiReader } from '../read-api/api-reader.ts';
import { explainCluster } from './cluster.ts';
import { explainReplica } from './replica.ts';
import { explainRepository } from './repository.ts';

export const explainedKinds = ['application', 'cluster', 'repository', 'replica'] as const;
export type ExplainedKind = (typeof explainedKinds)[number];

export interface ExplainedTarget {
  readonly kind: ExplainedKind;
  readonly name: string;
  /** Namespace of an Application. */
  readonly namespace: string;
}

/** An explanation, and the page that it was made from. */
export interface ExplainedPage {
  readonly explanation: Explanation;
  readonly page: unknown;
}

/** No such object; names the nearest ones. */
export class NothingToExplain extends DriftlessError {
  constructor(what: string, names: readonly string[], wanted: string) {
    const hint = nameHint(wanted, names);
    super('EXPLAIN_NOT_FOUND', `there is no ${what}${hint === '' ? '' : `: ${hint}`}`, { retry: 'never' });
  }
}

/** @throws NothingToExplain */
export function explainTarget(reader: ApiReader, target: ExplainedTarget): Promise<ExplainedPage> {
  switch (target.kind) {
    case 'application':
      return application(reader, target);
    case 'cluster':
      return cluster(reader, target.name);
    case 'repository':
      return repository(reader, target.name);
    case 'replica':
      return replica(reader, target.name);
  }
}

async function application(reader: ApiReader, { namespace, name }: ExplainedTarget): Promise<ExplainedPage> {
  const path = `/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const page = (await reader.get(path)) as ApplicationResponse | undefined;
  if (page !== undefined) return { explanation: explainApplication(page), page };
  const names = await applicationNames(reader);
  const wanted = `${namespace}/${name}`;
  throw new NothingToExplain(`Application ${wanted} that a replica owns and you may read`, names, wanted);
}

/** Enough for a fleet of 20,000. */
const maxPagesOfNames = 20;

async function applicationNames(reader: ApiReader): Promise<readonly string[]> {
  const names: string[] = [];
  let after: string | undefined = '';
  for (let page = 0; page < maxPagesOfNames && after !== undefined; page += 1) {
    const query: string = after === '' ? '' : `&continue=${encodeURIComponent(after)}`;
    const list = (await reader.get(`/applications?limit=1000${query}`)) as ApplicationsResponse | undefined;
    names.push(...(list?.items ?? []).map((item) => `${item.namespace}/${item.name}`));
    after = list?.continue;
  }
  return names;
}

async function cluster(reader: ApiReader, name: string): Promise<ExplainedPage> {
  const page = (await reader.get(`/clusters/${encodeURIComponent(name)}`)) as ClusterResponse | undefined;
  if (page !== undefined) return { explanation: explainCluster(page), page };
  const list = (await reader.get('/clusters')) as ClustersResponse | undefined;
  throw new NothingToExplain(
    `cluster ${name}`,
    (list?.items ?? []).map((item) => item.name),
    name,
  );
}

async function repository(reader: ApiReader, url: string): Promise<ExplainedPage> {
  const page = (await reader.get('/repositories')) as RepositoriesResponse;
  const explanation = explainRepository(page, url);
  if (explanation !== undefined) return { explanation, page: { ...page, items: page.items } };
  throw new NothingToExplain(
    `repository ${url}`,
    page.items.map((item) => item.url),
    url,
  );
}

async function replica(reader: ApiReader, name: string): Promise<ExplainedPage> {
  const page = (await reader.get('/replica')) as ReplicaResponse;
  const queues = (await reader.get('/queues')) as QueuesResponse;
  const explanation = explainReplica(page, queues, name);
  if (explanation !== undefined) return { explanation, page: { replicas: page, queues } };
  throw new NothingToExplain(
    `replica ${name}`,
    page.items.map((item) => item.name),
    name,
  );
}

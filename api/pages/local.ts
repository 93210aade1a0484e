import { defined } from '#base';
import { appKey } from '#model';
import type { AppKey } from '#model';
import type { UnjudgedApplication } from '../application-types.ts';
import type { ReplicaFacts } from '../facts.ts';
import type { CostRow, RecentEvent, ReplicaInfo, Repository } from '../types.ts';
import { conditionsOf } from './applications.ts';
import type { ApplicationIndex } from './applications.ts';
import { partFaults } from './degradations.ts';
import { recentEvents } from './events.ts';
import { optionalTime, wireTime } from './format.ts';

export function replicaInfo(facts: ReplicaFacts): ReplicaInfo {
  const { controller, ownership } = facts;
  const { startedAt, reason, ...process } = facts.process();
  const servers = facts.ownership.facts().entries.keys();
  return {
    name: facts.name,
    version: facts.version,
    startedAt: wireTime(startedAt),
    ...process,
    ...defined({ shard: ownership.identity().shard, reason }),
    applications: controller.owned().size,
    clusters: [...servers].filter((server) => ownership.ownsCluster(server)).sort(),
    degraded: partFaults(facts).map(({ fault }) => fault),
  };
}

export function repositories(facts: ReplicaFacts, index: ApplicationIndex): readonly Repository[] {
  const counts = new Map<string, number>();
  const owned = facts.controller.owned();
  for (const { key, summary } of index.all())
    if (owned.has(key)) for (const url of summary.repositories) counts.set(url, (counts.get(url) ?? 0) + 1);
  return facts.repositories().map(({ url, lastFetch, failingSince, lastSuccessAt, paused, ...report }) => ({
    ...report,
    url,
    replica: facts.name,
    applications: counts.get(url) ?? 0,
    lastFetch: { ...lastFetch, at: wireTime(lastFetch.at) },
    ...defined({ failingSince: optionalTime(failingSince), lastSuccessAt: optionalTime(lastSuccessAt) }),
    paused: paused.map(({ since, until, ...source }) => ({
      ...source,
      since: wireTime(since),
      ...defined({ until: optionalTime(until) }),
    })),
  }));
}

/** The page of one Application before it is judged; undefined unless it exists. */
export async function applicationPage(
  facts: ReplicaFacts,
  index: ApplicationIndex,
  key: AppKey,
  signal: AbortSignal,
): Promise<UnjudgedApplication | undefined> {
  const found = index.find(key);
  const details = await facts.controller.details(key, signal);
  if (found === undefined || details === undefined) return undefined;
  const { since, reason, ...rest } = details;
  const { app } = found;
  const summary = index.placed(found);
  return {
    ...summary,
    ...rest,
    ownership: index.ownershipOf(found, { since, reason }),
    conditions: conditionsOf(app),
    degraded: index.faultsOf(app, summary),
    recent: recentOf(facts, summary.namespace, summary.name),
    cost: costOf(facts, key),
    links: (facts.links ?? []).map((link) =>
      link({
        namespace: summary.namespace,
        application: summary.name,
        cluster: summary.clusterName,
        server: summary.server,
      }),
    ),
  };
}

const maxRecent = 50;

function recentOf(facts: ReplicaFacts, namespace: string, name: string): readonly RecentEvent[] {
  return recentEvents(facts, (key) => key === appKey(namespace, name)).slice(0, maxRecent);
}

function costOf({ controller, clock }: ReplicaFacts, key: AppKey): CostRow {
  return { name: key, ...roundedCost(controller.costs.apps.row(key, clock.monotonic())) };
}

export function roundedCost<T extends { readonly cpuMs: number }>(row: T): T {
  return { ...row, cpuMs: Math.round(row.cpuMs * 10) / 10 };
}

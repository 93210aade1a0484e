import { defined } from '#base';
import { appKey } from '#model';
import { clusterKey } from '#sharding';
import type { AppKey } from '#model';
import type { Application } from '../application-types.ts';
import type { ReplicaFacts } from '../facts.ts';
import type { CostRow, RecentEvent, ReplicaInfo, Repository } from '../types.ts';
import type { ApplicationIndex } from './applications.ts';
import { applicationDegradations, replicaDegradations } from './degradations.ts';
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
    degraded: replicaDegradations(facts),
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

/** The page of one Application; undefined unless this replica owns it. */
export async function applicationPage(
  facts: ReplicaFacts,
  index: ApplicationIndex,
  key: AppKey,
  signal: AbortSignal,
): Promise<Application | undefined> {
  const found = index.find(key);
  const details = await facts.controller.details(key, signal);
  if (found === undefined || details === undefined) return undefined;
  const { since, reason, ...rest } = details;
  const { app } = found;
  const cluster = facts.controller.clusterOf(app);
  const place = facts.ownership.placeOf(key, cluster);
  const { epoch, unowned } = facts.ownership.facts();
  const silentMs = cluster === undefined ? undefined : unowned.get(clusterKey(cluster.server));
  const summary = index.summaryOf(found);
  return {
    ...summary,
    ...rest,
    ownership: {
      replica: facts.name,
      since,
      reason,
      part: place?.part ?? 0,
      parts: place?.parts ?? 1,
      ...defined({
        shard: place?.slot,
        epoch,
        pinnedTo: cluster?.shard,
        unownedSince: silentMs === undefined ? undefined : wireTime(facts.clock.now() - silentMs),
      }),
    },
    conditions: (app.status?.conditions ?? []).map(({ type, message, lastTransitionTime }) => ({
      type,
      message,
      ...defined({ since: optionalTime(timeOf(lastTransitionTime)) }),
    })),
    degraded: applicationDegradations(facts, summary, app),
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

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
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

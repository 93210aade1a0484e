import { defined } from '#base';
import type { ClusterReport, KindReport } from '#live';
import { parseResourceKey } from '#model';
import type { ReplicaFacts } from '../facts.ts';
import type { ClusterKind, ClusterOwner, ClusterSummary } from '../types.ts';
import type { ApplicationIndex } from './applications.ts';
import { optionalTime, wireTime } from './format.ts';

/** The clusters that this replica owns, by URL. */
export function clusterSummaries(facts: ReplicaFacts, index: ApplicationIndex): readonly ClusterSummary[] {
  const counts = applicationsByServer(facts, index);
  const summaries = facts.watched().map((report) => summaryOf(facts, report, counts.get(report.info.server) ?? 0));
  return summaries.sort((a, b) => (a.server < b.server ? -1 : 1));
}

/** This replica's view of one cluster, by name or URL; undefined unless it owns it. */
export function clusterOwner(facts: ReplicaFacts, index: ApplicationIndex, wanted: string): ClusterOwner | undefined {
  const report = facts.watched().find(({ name, info }) => info.server === wanted || name === wanted);
  if (report === undefined) return undefined;
  const count = applicationsByServer(facts, index).get(report.info.server) ?? 0;
  return {
    ...summaryOf(facts, report, count),
    watched: report.kinds.map(kindOf),
    noisiest: report.noisiest.map(({ key, changes }) => ({ ...parseResourceKey(key), changes })),
    links: (facts.links ?? []).map((link) => link({ cluster: report.name, server: report.info.server })),
  };
}

function applicationsByServer({ controller }: ReplicaFacts, index: ApplicationIndex): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const owned = controller.owned();
  for (const { key, app } of index.all()) {
    if (!owned.has(key)) continue;
    const server = controller.clusterOf(app)?.server ?? '';
    counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  return counts;
}

function summaryOf(
  { name: replica, clock }: ReplicaFacts,
  report: ClusterReport,
  applications: number,
): ClusterSummary {
  const { info, kinds, name, eventsPerSecond } = report;
  const heard = Math.max(0, ...kinds.map(({ lastHeardAt }) => lastHeardAt ?? 0));
  return {
    server: info.server,
    name,
    replica,
    state: info.state,
    objects: info.resourcesCount,
    kinds: kinds.length,
    degradedKinds: kinds.filter(({ state }) => state !== 'synced').length,
    applications,
    events: info.eventsCount,
    eventsPerSecond: Math.round(eventsPerSecond * 100) / 100,
    ...defined({
      message: info.message,
      serverVersion: info.serverVersion,
      lastSyncAt: optionalTime(info.lastSyncAt),
      silentMs: heard === 0 ? undefined : Math.max(0, clock.now() - heard),
    }),
  };
}

function kindOf({ group, version, kind, state, objects, events, ...more }: KindReport): ClusterKind {
  const { message, since, lastEventAt, lastHeardAt, lagMs, lastError } = more;
  return {
    group,
    version,
    kind,
    state,
    objects,
    events,
    ...defined({
      message,
      since: optionalTime(since),
      lastEventAt: optionalTime(lastEventAt),
      lastHeardAt: optionalTime(lastHeardAt),
      lagMs,
      lastError: lastError === undefined ? undefined : { ...lastError, at: wireTime(lastError.at) },
    }),
  };
}

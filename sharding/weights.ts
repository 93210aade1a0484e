import type { Application } from '#model';
import { countApplications } from './distribution.ts';
import type { ShardedCluster } from './distribution.ts';
import type { EventRates } from './event-rates.ts';
import { clusterKey, partKey } from './parts.ts';

/** How much a cluster counts for: by its Applications (Argo CD), or by what they are measured to cost. */
export const weightings = ['applications', 'measured'] as const;
export type Weighting = (typeof weightings)[number];

/** A managed object costs about a twentieth of what its Application does: one with twenty weighs twice as much as one without. */
const perResource = 1 / 20;
/**
 * Taking in one event a second costs as much time as so many Applications at rest: 0.5 ms for an event, 0.03 ms a second for an Application with
 * one object, which takes memory besides (demo with 309 Applications; docs/scale.md).
 */
const perEvent = 10;
/** Not 0: even dead clusters should not all lie on one shard. */
const unreachableWeight = 0.01;

/**
 * The weight of each part of each cluster. Only of what every replica sees alike, the Applications with their status: whoever plans comes to
 * the same table (decision D7). A cluster that does not answer, as the status of all its Applications says, weighs about nothing, or replicas
 * with dead clusters would idle beside overloaded ones.
 */
export function weightsOf(
  clusters: Parameters<typeof countApplications>[0],
  apps: readonly Application[],
  weighting: Weighting,
): ReadonlyMap<string, number> {
  const counts = countApplications(clusters, apps);
  if (weighting === 'applications') return counts;
  const measured = countApplications(clusters, apps, (app) => 1 + perResource * (app.status?.resources?.length ?? 0));
  const unreachable = countApplications(clusters, apps, (app) => (isUnreachable(app) ? 1 : 0));
  return new Map(
    [...measured].map(([part, weight]) => {
      const count = counts.get(part) ?? 0;
      return [part, count > 0 && unreachable.get(part) === count ? unreachableWeight : weight];
    }),
  );
}

/** The weights with those of live events; a split cluster's are shared out over its parts. */
export function withEvents(
  weights: ReadonlyMap<string, number>,
  clusters: readonly Pick<ShardedCluster, 'server' | 'parts'>[],
  rates: EventRates,
): ReadonlyMap<string, number> {
  const all = new Map(weights);
  const seen = new Set<string>();
  for (const { server, parts = 1 } of clusters) {
    const key = clusterKey(server);
    const rate = rates.get(key) ?? 0;
    if (rate === 0 || seen.has(key)) continue;
    seen.add(key);
    for (let part = 0; part < parts; part += 1) {
      const name = partKey(key, part, parts);
      all.set(name, (all.get(name) ?? 0) + (perEvent * rate) / parts);
    }
  }
  return all;
}

/** Nothing could be compared, because of the cluster or of something else: there is no work in it but to try again. */
function isUnreachable({ status }: Application): boolean {
  return status?.sync?.status === 'Unknown' && (status.conditions ?? []).some(({ type }) => type === 'ComparisonError');
}

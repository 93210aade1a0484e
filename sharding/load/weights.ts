import type { Application } from '#model';
import { countApplications } from '../distribution/distribution.ts';
import type { ShardedCluster } from '../distribution/distribution.ts';
import type { EventRates } from './event-rates.ts';
import { clusterKey, partKey } from '../distribution/parts.ts';

/** How a cluster is weighed: by its number of Applications (Argo CD), or by their measured cost. */
export const clusterWeightings = ['applications', 'measured'] as const;
export type ClusterWeighting = (typeof clusterWeightings)[number];

/**
 * A managed object costs about a twentieth of its Application: one with twenty objects weighs twice
 * as much as one without.
 */
const weightPerResource = 1 / 20;
/**
 * Cost of one event per second in idle Applications: an event takes 0.5 ms, an Application with one
 * object 0.03 ms per second plus memory (demo with 309 Applications; docs/scale.md).
 */
const weightPerEventRate = 10;
/** Above 0, so that unreachable clusters do not all land on one shard. */
const unreachableWeight = 0.01;

/**
 * Weight of each part of each cluster, from inputs that are the same on all replicas, so that any
 * planner builds the same table (decision D7). With `measured`, a part weighs almost nothing if all
 * its Applications have an unreachable destination; otherwise replicas with dead clusters would
 * idle beside overloaded ones.
 */
export function weightsOf(
  clusters: Parameters<typeof countApplications>[0],
  apps: readonly Application[],
  weighting: ClusterWeighting,
): ReadonlyMap<string, number> {
  const counts = countApplications(clusters, apps);
  if (weighting === 'applications') return counts;
  const measured = countApplications(clusters, apps, (app) => loadOf(app).weight);
  const unreachable = countApplications(clusters, apps, (app) => (loadOf(app).isUnreachable ? 1 : 0));
  return new Map(
    [...measured].map(([part, weight]) => {
      const count = counts.get(part) ?? 0;
      return [part, count > 0 && unreachable.get(part) === count ? unreachableWeight : weight];
    }),
  );
}

/** Adds the weight of live events; that of a split cluster is divided among its parts. */
export function addEventWeights(
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
      all.set(name, (all.get(name) ?? 0) + (weightPerEventRate * rate) / parts);
    }
  }
  return all;
}

interface ApplicationLoad {
  readonly weight: number;
  readonly isUnreachable: boolean;
}

/** Cached by object, because the status of another replica's Application has to be parsed. */
const loads = new WeakMap<Application, ApplicationLoad>();

function loadOf(app: Application): ApplicationLoad {
  const known = loads.get(app);
  if (known !== undefined) return known;
  const weight = 1 + weightPerResource * (app.status?.resources?.length ?? 0);
  const load = { weight, isUnreachable: isUnreachable(app) };
  loads.set(app, load);
  return load;
}

/** The comparison failed, because of the cluster or otherwise: the only work is to retry. */
function isUnreachable({ status }: Application): boolean {
  return status?.sync?.status === 'Unknown' && (status.conditions ?? []).some(({ type }) => type === 'ComparisonError');
}

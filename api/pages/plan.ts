import { omit } from '#base';
import { asApplication } from '#model';
import { algorithms, clusterKey, countApplications, partKey, rankClusters, rebalance } from '#sharding';
import type { NextTableFacts, ShardingAlgorithm } from '#sharding';
import type { ReplicaFacts } from '../facts.ts';
import { ApiFault } from '../fault.ts';
import type { PlannedChange } from '../request.ts';
import type { PlannedMove, PlanResponse } from '../view-types.ts';

type PlanPage = Omit<PlanResponse, 'apiVersion' | 'kind' | 'time' | 'replica' | 'incomplete'>;

/**
 * What a change of the shards would move, by the functions that the controller and
 * `driftless shards plan` use. Reads only.
 * @throws ApiFault 503 while there is no table, 404 if the pinned cluster does not exist
 */
export function planPage(facts: ReplicaFacts, change: PlannedChange): Readonly<Record<string, unknown>> {
  const next = facts.ownership.facts().next?.();
  if (next === undefined) throw new ApiFault(503, 'no table of owners is published yet');
  const applications = countApplications(
    next.clusters,
    facts.controller.applications().map((object) => asApplication(object)),
  );
  const page: PlanPage = planOf({ ...next, applications }, change, facts.clock.now());
  return { ...page };
}

interface PlanInput extends NextTableFacts {
  /** By part. */
  readonly applications: ReadonlyMap<string, number>;
}

/** Pure; exported for its tests. */
export function planOf(input: PlanInput, change: PlannedChange, now: number): PlanPage {
  const { current, applications } = input;
  const replicas = change.replicas ?? current.replicas;
  const algorithm = change.algorithm ?? current.algorithm;
  const clusters = pinned(input, change.pin);
  const parts = partsOf(clusters);
  const outcome = (by: ShardingAlgorithm): ReadonlyMap<string, number> =>
    rebalance(current, { clusters, weights: input.weights, algorithm: by, replicas }, now).shards;
  const movesBy = (shards: ReadonlyMap<string, number>): readonly PlannedMove[] =>
    parts.flatMap(({ key, ...part }) => {
      const [from, to] = [current.shards.get(key) ?? 0, shards.get(key) ?? 0];
      return from === to ? [] : [{ ...part, from, to, applications: applications.get(key) ?? 0 }];
    });
  const chosen = outcome(algorithm);
  const moves = movesBy(chosen);
  return {
    from: { algorithm: current.algorithm, replicas: current.replicas },
    to: { algorithm, replicas },
    moves,
    movedApplications: applicationsOf(moves),
    parts: parts.length,
    applications: [...applications.values()].reduce((sum, count) => sum + count, 0),
    loadBefore: loads(applications, current.shards, current.replicas),
    loadAfter: loads(applications, chosen, replicas),
    algorithms: algorithms.map((name) => {
      const shards = outcome(name);
      const made = movesBy(shards);
      const ratio = fullestToAverage(loads(input.weights, shards, replicas));
      return {
        algorithm: name,
        moved: made.length,
        movedApplications: applicationsOf(made),
        ...(ratio === undefined ? {} : { fullestToAverage: ratio }),
      };
    }),
  };
}

function pinned({ clusters }: PlanInput, pin: PlannedChange['pin']): PlanInput['clusters'] {
  if (pin === undefined) return clusters;
  const isMeant = ({ name, server }: PlanInput['clusters'][number]): boolean =>
    name === pin.cluster || server === pin.cluster;
  if (!clusters.some(isMeant)) throw new ApiFault(404, `no cluster is named ${JSON.stringify(pin.cluster)}`);
  return clusters.map((cluster) => {
    if (!isMeant(cluster)) return cluster;
    const rest = omit(cluster, 'shard');
    return pin.shard === undefined ? rest : { ...rest, shard: pin.shard };
  });
}

/** Every part once, named after the cluster that decides for its URL. */
function partsOf(
  clusters: PlanInput['clusters'],
): readonly (Pick<PlannedMove, 'server' | 'name' | 'part' | 'parts'> & { readonly key: string })[] {
  return rankClusters(clusters).flatMap(({ server, name, parts = 1 }) =>
    Array.from({ length: parts }, (_, part) => ({
      key: partKey(clusterKey(server), part, parts),
      server,
      name,
      part,
      parts,
    })),
  );
}

function applicationsOf(moves: readonly PlannedMove[]): number {
  return moves.reduce((sum, { applications }) => sum + applications, 0);
}

function loads(
  values: ReadonlyMap<string, number>,
  shards: ReadonlyMap<string, number>,
  replicas: number,
): readonly number[] {
  const load = new Array<number>(replicas).fill(0);
  for (const [key, shard] of shards) load[shard] = (load[shard] ?? 0) + (values.get(key) ?? 0);
  return load;
}

function fullestToAverage(load: readonly number[]): number | undefined {
  const total = load.reduce((a, b) => a + b, 0);
  return total === 0 ? undefined : Math.round((100 * Math.max(...load) * load.length) / total) / 100;
}

import { defined } from '#base';
import type { Json, JsonObject } from '#base';
import { tableConfigMap } from '#sharding';
import type { ShardingAlgorithm } from '#sharding';
import { counted, table } from '../process/output.ts';
import { fullestToAverage, loadsOf, standIns } from './layout.ts';
import type { TableLayout, MoveOutcome, LayoutTarget } from './layout.ts';
import { distinctParts, listedParts } from './source.ts';
import type { ClusterPart, FleetSource } from './source.ts';

/** Describes the source of the table: the requested layout may differ from the controller's. */
export function originLine(
  { hub, published }: FleetSource,
  { origin, algorithm, replicas }: TableLayout,
): readonly string[] {
  if (hub === undefined) return [];
  const wanted = `${algorithm}, ${counted(replicas, 'replica')}`;
  if (published === undefined) return [`computed for ${wanted}: no table is published in namespace ${hub}`];
  if (origin === 'published') return [`the published table (ConfigMap ${hub}/${tableConfigMap}): ${wanted}`];
  const current = `${published.algorithm}, ${counted(published.replicas, 'replica')}`;
  return [`computed for ${wanted}: what the controller would make of the published table (${current})`];
}

/** Contract of `driftless shards -o json`. */
export function showJson(source: FleetSource, layout: TableLayout): JsonObject {
  const { algorithm, replicas, shards, origin } = layout;
  const substitutes = origin === 'published' ? standIns(source) : new Map<string, number>();
  const measured = source.weighting === 'measured';
  const assignments = listedParts(source.clusters).map((each): JsonObject => {
    const { cluster, key, part, parts } = each;
    const standIn = substitutes.get(key);
    return {
      id: cluster.id,
      server: cluster.server,
      name: partName(each),
      shard: shards.get(key) ?? 0,
      applications: source.applications.get(key) ?? 0,
      part,
      parts,
      ...(measured ? { weight: source.weights.get(key) ?? 0 } : {}),
      ...defined({ standIn }),
    };
  });
  const load = loadsOf(source.applications, shards, replicas);
  const weights = loadsOf(source.weights, shards, replicas);
  return {
    algorithm,
    replicas,
    assignments,
    load: [...load],
    source: origin,
    clusterWeights: source.weighting,
    ...(measured ? { weightLoad: [...weights] } : {}),
    fullestToAverage: fullestToAverage(weights),
  };
}

/** One line per cluster or part, then one per shard. */
export function showLines(source: FleetSource, layout: TableLayout): readonly string[] {
  const { shards, replicas, origin } = layout;
  const substitutes = origin === 'published' ? standIns(source) : new Map<string, number>();
  const measured = source.weighting === 'measured';
  const header = ['shard', 'name', 'server', 'applications', ...(measured ? ['weight'] : []), 'id'];
  const rows = listedParts(source.clusters).map((each) => {
    const { cluster, key } = each;
    const standIn = substitutes.get(key);
    return [
      `${shards.get(key) ?? 0}${standIn === undefined ? '' : ` (now with ${standIn})`}`,
      ...[partName(each), cluster.server, String(source.applications.get(key) ?? 0)],
      ...(measured ? [shown(source.weights.get(key) ?? 0)] : []),
      cluster.id,
    ];
  });
  const one = new Map(distinctParts(source.clusters).map(({ key }) => [key, 1]));
  const [counts, load] = [loadsOf(one, shards, replicas), loadsOf(source.applications, shards, replicas)];
  const weights = loadsOf(source.weights, shards, replicas);
  const split = listedParts(source.clusters).some(({ parts }) => parts > 1);
  const byShard = load.map((applications, shard) => [
    ...[String(shard), String(counts[shard] ?? 0), String(applications)],
    ...(measured ? [shown(weights[shard] ?? 0)] : []),
  ]);
  const unit = split ? 'clusters or parts' : 'clusters';
  return [
    ...table(header, rows),
    '',
    ...table(['shard', unit, 'applications', ...(measured ? ['weight'] : [])], byShard),
    '',
    `fullest shard to average: ${ratio(fullestToAverage(weights))}${measured ? ' (by weight)' : ''}`,
  ];
}

type OutcomeChoices = readonly (readonly [ShardingAlgorithm, MoveOutcome])[];

/** Contract of `driftless shards plan -o json`. */
export function planJson(
  before: TableLayout,
  target: LayoutTarget,
  outcome: MoveOutcome,
  choices: OutcomeChoices,
): JsonObject {
  const figures = ({ moves, movedApplications, load, fullestToAverage: fullest }: MoveOutcome): JsonObject => ({
    moved: moves.length,
    movedApplications,
    load: [...load],
    fullestToAverage: fullest,
  });
  const moves = outcome.moves.map(({ cluster, part, parts, from, to, applications }): Json => {
    const { id, server, name } = cluster;
    return { id, server, name, part, parts, applications, from, to };
  });
  const { algorithm, replicas, origin } = before;
  return {
    ...figures(outcome),
    moves,
    from: { algorithm, replicas, source: origin },
    to: { ...target },
    algorithms: Object.fromEntries(choices.map(([name, each]) => [name, figures(each)])),
  };
}

/** One line per move, then one per algorithm. */
export function planLines(
  source: FleetSource,
  target: LayoutTarget,
  outcome: MoveOutcome,
  choices: OutcomeChoices,
): readonly string[] {
  const moves = outcome.moves.map((move) => [
    ...[move.cluster.id, partName(move), String(move.applications), String(move.from), String(move.to)],
  ]);
  const parts = distinctParts(source.clusters).length;
  const applications = [...source.applications.values()].reduce((sum, count) => sum + count, 0);
  const rows = choices.map(([algorithm, each]) => [
    `${algorithm}${algorithm === target.algorithm ? '*' : ''}`,
    `${each.moves.length} (${percent(each.moves.length, parts)})`,
    `${each.movedApplications} (${percent(each.movedApplications, applications)})`,
    ratio(each.fullestToAverage),
  ]);
  const header = [
    `to ${counted(target.replicas, 'replica')} by`,
    'clusters moved',
    'applications moved',
    'fullest to average',
  ];
  return [
    ...table(['id', 'name', 'applications', 'from', 'to'], moves),
    ...(moves.length > 0 ? [''] : []),
    ...table(header, rows),
  ];
}

function partName({ cluster, part, parts }: ClusterPart): string {
  return parts === 1 ? cluster.name : `${cluster.name} (part ${part} of ${parts})`;
}

function percent(count: number, all: number): string {
  return all === 0 ? '0 %' : `${((100 * count) / all).toFixed(1)} %`;
}

function ratio(value: number | null): string {
  return value === null ? '-' : value.toFixed(2);
}

function shown(weight: number): string {
  return Number.isInteger(weight) ? String(weight) : weight.toFixed(2);
}

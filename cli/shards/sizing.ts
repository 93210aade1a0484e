import { outsideText } from '#base';
import type { JsonObject } from '#base';
import { counted, table } from '../process/output.ts';
import { fullestAfter, loadsOf } from './layout.ts';
import type { LayoutTarget, TableLayout } from './layout.ts';
import type { MeasuredLoad, ReplicaLoad } from './measured-load.ts';
import { distinctParts } from './source.ts';
import type { FleetSource } from './source.ts';

/** Cost of one shard to its replica. */
export interface ShardLoad {
  /** Share of one CPU. */
  readonly cpu: number;
  readonly heapBytes: number;
}

/** The number of replicas that a hub needs by its measured load. */
export interface ReplicaAdvice {
  /** Undefined: no number keeps the fullest shard below the targets. */
  readonly replicas: number | undefined;
  /** Load of the whole hub, as if one replica had it. */
  readonly total: ShardLoad;
  /** Estimated load of the fullest shard with `replicas`, or of the biggest part of a cluster. */
  readonly fullest: ShardLoad;
  readonly heapTargetBytes: number;
  /** Clusters of which one part fills a replica, with the number of parts that would not. */
  readonly tooBig: readonly { readonly server: string; readonly name: string; readonly parts: number }[];
}

/** The rest of the core is for mass changes, so that they do not delay repairs. */
export const cpuTarget = 0.6;
/** Share of the heap limit; the rest is garbage between two collections, and caches of a start. */
export const heapTarget = 0.7;
/** Heap of a replica without clusters. */
const emptyHeapBytes = 48 * 1024 * 1024;
const maxParts = 64;

/**
 * The smallest number of replicas whose fullest shard stays below the targets. A shard costs its
 * share of the weights by which the table is planned, so uneven shards count. Undefined if no
 * replica has figures, or nothing has weight.
 */
export function replicasNeeded(
  source: FleetSource,
  before: TableLayout,
  { replicas }: Pick<MeasuredLoad, 'replicas'>,
  now: number,
): ReplicaAdvice | undefined {
  const weights = loadsOf(source.weights, before.shards, before.replicas);
  const measured = sum(replicas.map(({ shard }) => weights[shard] ?? 0));
  if (measured === 0) return undefined;
  const heapTargetBytes = heapTarget * Math.min(...replicas.map(({ heapLimitBytes }) => heapLimitBytes));
  const cpuOfWeight = sum(replicas.map(({ cpu }) => cpu)) / measured;
  const heapOfWeight = sum(replicas.map(({ heapBytes }) => Math.max(0, heapBytes - emptyHeapBytes))) / measured;
  const loadOf = (weight: number): ShardLoad => ({
    cpu: cpuOfWeight * weight,
    heapBytes: emptyHeapBytes + heapOfWeight * weight,
  });
  const fits = (weight: number): boolean =>
    loadOf(weight).cpu <= cpuTarget && loadOf(weight).heapBytes <= heapTargetBytes;
  const tooBig = new Map(
    distinctParts(source.clusters).flatMap(({ cluster, key, parts }) => {
      const whole = (source.weights.get(key) ?? 0) * parts;
      const { server, name } = cluster;
      const needed = partCounts.find((count) => fits(whole / count)) ?? maxParts;
      return fits(whole / parts) ? [] : [[server, { server, name, parts: needed }] as const];
    }),
  );
  const all = [...source.weights.values()];
  const fullestOf = (count: number): number => fullestAfter(source, before, targetOf(before, count), now);
  const found =
    tooBig.size > 0 ? undefined : candidates(source).find((count) => fits(sum(all) / count) && fits(fullestOf(count)));
  return {
    replicas: found,
    total: loadOf(sum(all)),
    fullest: loadOf(found === undefined ? Math.max(0, ...all) : fullestOf(found)),
    heapTargetBytes,
    tooBig: [...tooBig.values()],
  };
}

const partCounts = Array.from({ length: maxParts }, (_part, i) => i + 1);

const targetOf = ({ algorithm }: TableLayout, replicas: number): LayoutTarget => ({ algorithm, replicas });

/** More replicas than parts of clusters would have nothing to do. */
function candidates({ clusters }: FleetSource): readonly number[] {
  return Array.from({ length: Math.max(1, distinctParts(clusters).length) }, (_count, i) => i + 1);
}

/** Contract of `sizing` in `driftless shards plan -o json`. */
export function sizingJson({ replicas, silent }: MeasuredLoad, advice: ReplicaAdvice | undefined): JsonObject {
  return {
    measured: replicas.map((each) => ({ ...each })),
    withoutFigures: [...silent],
    targets: { cpu: cpuTarget, heap: heapTarget },
    advice:
      advice === undefined
        ? null
        : {
            replicas: advice.replicas ?? null,
            total: { ...advice.total },
            fullest: { ...advice.fullest },
            split: advice.tooBig.map((each) => ({ ...each })),
          },
  };
}

/** A line for each replica, then the advice. */
export function sizingLines({ replicas }: MeasuredLoad, advice: ReplicaAdvice | undefined): readonly string[] {
  const rows = replicas.map((each) => [
    ...[String(each.shard), outsideText('field', each.name), each.cpu.toFixed(2)],
    `${mebibytes(each.heapBytes)} of ${mebibytes(each.heapLimitBytes)} MiB`,
    span(each),
  ]);
  return [...table(['shard', 'replica', 'cpu', 'heap', 'measured over'], rows), '', ...adviceLines(advice)];
}

function adviceLines(advice: ReplicaAdvice | undefined): readonly string[] {
  if (advice === undefined) return ['No advice: no replica with a cluster has figures yet; try again in a minute.'];
  const { replicas, fullest, heapTargetBytes, tooBig } = advice;
  const load = `CPU ${fullest.cpu.toFixed(2)} (target ${cpuTarget}), heap ${mebibytes(fullest.heapBytes)} MiB (target ${mebibytes(heapTargetBytes)})`;
  if (replicas !== undefined)
    return [
      `By the load of the last hour this hub needs ${counted(replicas, 'replica')}. Fullest shard then: ${load}.`,
    ];
  if (tooBig.length > 0)
    return tooBig.map(({ server, name, parts }) => {
      const cluster = outsideText('field', name === '' ? server : name);
      return `Cluster ${cluster} alone fills a replica: split it with the annotation driftless.io/split=${parts} on its Secret.`;
    });
  return [
    `No number of replicas is enough with these pins and this algorithm. Biggest part of a cluster: ${load}. Try --to-algorithm consistent-hashing.`,
  ];
}

function span({ sampledMs }: ReplicaLoad): string {
  return sampledMs < 120_000 ? `${Math.round(sampledMs / 1000)} s` : `${Math.round(sampledMs / 60_000)} min`;
}

const mebibytes = (bytes: number): string => String(Math.round(bytes / (1024 * 1024)));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

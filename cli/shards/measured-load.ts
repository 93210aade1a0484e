import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { ApiReader } from '../read-api/api-reader.ts';

/** Figures of one replica over the last hour, or since its start. */
export interface ReplicaLoad {
  readonly name: string;
  readonly shard: number;
  /** Share of one CPU: 95th percentile of samples of ten seconds. */
  readonly cpu: number;
  /** Median of the samples: between two collections a heap also contains garbage. */
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
  readonly sampledMs: number;
}

export interface MeasuredLoad {
  /** By shard. */
  readonly replicas: readonly ReplicaLoad[];
  /** Replicas that hold a shard but have no figures yet, or did not answer. */
  readonly silent: readonly string[];
}

/** Reads the figures of all replicas from the read API. */
export async function readMeasuredLoad(reader: ApiReader): Promise<MeasuredLoad> {
  const [replicas, history] = [await reader.get('/replica'), await reader.get('/history')];
  const histories = new Map(listIn(history, 'items').map((each) => [each['replica'], each]));
  const holders = listIn(replicas, 'items').flatMap(({ name, shard, heapLimitBytes }) =>
    typeof name === 'string' && typeof shard === 'number' ? [{ name, shard, limit: numberOf(heapLimitBytes) }] : [],
  );
  const loads = holders.flatMap(({ name, shard, limit }): ReplicaLoad[] => {
    const samples = listIn(histories.get(name), 'samples');
    if (samples.length === 0 || limit === 0) return [];
    const of = (member: string): readonly number[] => samples.map((sample) => numberOf(sample[member]));
    return [
      {
        ...{ name, shard },
        cpu: quantile(of('cpu'), 0.95),
        heapBytes: quantile(of('heapBytes'), 0.5),
        heapLimitBytes: limit,
        sampledMs: samples.length * numberOf(histories.get(name)?.['intervalMs']),
      },
    ];
  });
  const known = new Set(loads.map(({ name }) => name));
  const unanswered = listIn(replicas, 'incomplete').flatMap(({ replica }) =>
    typeof replica === 'string' ? [replica] : [],
  );
  const empty = holders.map(({ name }) => name).filter((name) => !known.has(name));
  return { replicas: loads.toSorted((a, b) => a.shard - b.shard), silent: [...new Set([...empty, ...unanswered])] };
}

/** The objects of a list of a page; a page of a newer release may lack it. */
export function listIn(page: unknown, member: string): readonly JsonObject[] {
  const list = isObject(page) ? page[member] : undefined;
  return Array.isArray(list) ? (list as readonly Json[]).filter(isObject) : [];
}

function numberOf(value: Json | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0;
}

/** The value below which the given share of the values lies; 0 without values. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

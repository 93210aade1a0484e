import { quantile } from '../fleet/measure.ts';
import type { BenchMetrics } from '../harness.ts';
import type { FleetReplica } from './replica.ts';
import type { FleetCounts, Witnessed } from './sim-fleet.ts';

/** Median, 99th percentile and worst of what was witnessed, as `PREFIX_p50_ms` and so on. */
export function timesOf(prefix: string, witnessed: readonly Witnessed[]): BenchMetrics {
  const times = witnessed.map(({ ms }) => ms);
  return {
    [`${prefix}_count`]: times.length,
    [`${prefix}_p50_ms`]: quantile(times, 0.5),
    [`${prefix}_p99_ms`]: quantile(times, 0.99),
    [`${prefix}_worst_ms`]: Math.max(...times),
  };
}

/** CPU time of the running replicas, and the highest resident memory of one of them. */
export function costOfReplicas(prefix: string, running: readonly FleetReplica[]): BenchMetrics {
  return {
    [`${prefix}_replica_cpu_seconds`]: running.reduce((sum, replica) => sum + replica.cpuSeconds(), 0),
    [`${prefix}_replica_peak_rss_bytes`]: Math.max(...running.map((replica) => replica.peakRssBytes())),
  };
}

/** Requests of the controller to the hub, by verb and resource, without watches. */
export function hubRequests(prefix: string, { hub, repeatedLists }: FleetCounts): BenchMetrics {
  const counted = Object.entries(hub).filter(([request]) => !request.startsWith('watch '));
  return {
    [`${prefix}_hub_lists_of_one_kind_worst_count`]: repeatedLists,
    ...Object.fromEntries(
      counted.sort().map(([request, count]) => [`${prefix}_hub_${request.replaceAll(' ', '_')}_count`, count]),
    ),
  };
}

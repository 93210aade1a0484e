import { apiBenchmark } from './api/index.ts';
import { besideBenchmark } from './beside/index.ts';
import { compareBenchmark } from './compare.ts';
import { fleetBenchmark } from './fleet.ts';
import { fleetsBenchmarks, restBenchmark, scaleOutBenchmark, stormBenchmark } from './fleets/index.ts';
import type { Benchmark } from './harness.ts';
import { healthBenchmark } from './health.ts';
import { liveBenchmark } from './live/index.ts';
import { metricsBenchmark } from './metrics.ts';
import { packageBenchmark } from './package/index.ts';
import { publishBenchmark } from './publish.ts';
import { queuesBenchmark } from './queues.ts';
import { shardingBenchmark } from './sharding.ts';
import { sourcesBenchmark } from './sources.ts';
import { splitBenchmark } from './split.ts';

/** All benchmarks; an entry here adds one to `npm run bench`. */
export const allBenchmarks: readonly Benchmark[] = [
  apiBenchmark,
  besideBenchmark,
  compareBenchmark,
  fleetBenchmark,
  ...fleetsBenchmarks,
  healthBenchmark,
  liveBenchmark,
  metricsBenchmark,
  packageBenchmark,
  publishBenchmark,
  queuesBenchmark,
  restBenchmark,
  scaleOutBenchmark,
  shardingBenchmark,
  sourcesBenchmark,
  splitBenchmark,
  stormBenchmark,
];

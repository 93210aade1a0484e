import { compare } from './compare.ts';
import { fleet } from './fleet.ts';
import type { Benchmark } from './harness.ts';
import { health } from './health.ts';
import { live } from './live/index.ts';
import { publish } from './publish.ts';
import { queues } from './queues.ts';
import { sharding } from './sharding.ts';
import { sources } from './sources.ts';
import { split } from './split.ts';

/** Every benchmark; one entry makes it known to `npm run bench`. */
export const benchmarks: readonly Benchmark[] = [
  compare,
  fleet,
  health,
  live,
  publish,
  queues,
  sharding,
  sources,
  split,
];

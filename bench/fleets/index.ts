/**
 * fleets: whole fleets with one process for each replica (`driftless run` as shipped), over a
 * simulated hub and simulated clusters in a process of their own. Each is `fleet/NAME`,
 * except `rest`, `scale-out` and `storm`.
 */
import type { Benchmark } from '../harness.ts';
import { churnScenario } from './churn.ts';
import { coldStartScenario } from './cold-start.ts';
import { firstSyncScenario } from './first-sync.ts';
import { namespacesScenario } from './namespaces.ts';
import { oneClusterScenario } from './one-cluster.ts';
import { pushesScenario } from './pushes.ts';
import { rescaleScenario } from './rescale.ts';
import { scaleOutScenario } from './scale-out.ts';
import { benchmarkOf } from './scenario.ts';
import { stormScenario } from './storm.ts';

export { restBenchmark } from './rest.ts';

export const fleetsBenchmarks: readonly Benchmark[] = [
  firstSyncScenario,
  coldStartScenario,
  rescaleScenario,
  pushesScenario,
  churnScenario,
  namespacesScenario,
  oneClusterScenario,
].map((scenario) => benchmarkOf(scenario));

export const scaleOutBenchmark = benchmarkOf(scaleOutScenario, scaleOutScenario.name);
export const stormBenchmark = benchmarkOf(stormScenario, stormScenario.name);

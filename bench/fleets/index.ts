/**
 * fleets: whole fleets with one process for each replica (`driftless run` as shipped), over a
 * simulated hub and simulated clusters in a process of their own. Each is `fleet/NAME`,
 * except `rest` and `scale-out`.
 */
import type { Benchmark } from '../harness.ts';
import { churnScenario } from './churn.ts';
import { coldStartScenario } from './cold-start.ts';
import { editsScenario } from './edits.ts';
import { firstSyncScenario } from './first-sync.ts';
import { namespacesScenario } from './namespaces.ts';
import { oneClusterScenario } from './one-cluster.ts';
import { pushesScenario } from './pushes.ts';
import { rescaleScenario } from './rescale.ts';
import { scaleOutScenario } from './scale-out.ts';
import { benchmarkOf } from './scenario.ts';

export { restBenchmark } from './rest.ts';

export const fleetsBenchmarks: readonly Benchmark[] = [
  firstSyncScenario,
  coldStartScenario,
  rescaleScenario,
  pushesScenario,
  editsScenario,
  churnScenario,
  namespacesScenario,
  oneClusterScenario,
].map((scenario) => benchmarkOf(scenario));

export const scaleOutBenchmark = benchmarkOf(scaleOutScenario, scaleOutScenario.name);

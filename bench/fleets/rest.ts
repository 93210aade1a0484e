import { readFileSync } from 'node:fs';
import type { Benchmark, BenchMetrics } from '../harness.ts';
import { activityOf, childrenOf } from '../process-tree.ts';
import type { ProcessActivity } from '../process-tree.ts';
import { numbered } from './fleet-objects.ts';
import { spreadApplications, withFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import { ScenarioRun } from './scenario.ts';

interface RestCase {
  readonly part: string;
  readonly applications: number;
  readonly clusters: number;
}

const restCases: readonly RestCase[] = [
  { part: 'empty', applications: 0, clusters: 1 },
  { part: 'one', applications: 1, clusters: 1 },
  { part: 'applications-200', applications: 200, clusters: 1 },
  { part: 'applications-2000', applications: 2000, clusters: 1 },
  { part: 'clusters-20', applications: 200, clusters: 20 },
  { part: 'clusters-200', applications: 200, clusters: 200 },
];
const smokeApplications = 4;
const smokeClusters = 2;
const objectsPerApplication = 4;
/** After the start: compiled code, first garbage and the log are out of the way. */
const calmMs = 45_000;
/** The mean time between two resyncs of an Application, so that each has one. */
const measuredSeconds = 150;

/**
 * CPU and wakeups of a replica with nothing to do. Each case has a fleet of its own, which an
 * earlier replica left Synced.
 */
export const restBenchmark: Benchmark = {
  name: 'rest',
  about: 'CPU and wakeups of a replica at rest, by Applications and clusters; its helper processes apart',
  parts: restCases.map(({ part }) => part),
  options: ['seconds'],
  run: async (context) => {
    const metrics: Record<string, number> = {};
    const seconds = secondsOf(context.option('seconds'));
    for (const restCase of restCases.filter(({ part }) => context.wants(part))) {
      const run = new ScenarioRun(context, `rest/${restCase.part}`);
      Object.assign(metrics, await measureRest(run, restCase, run.smoke ? 1 : seconds));
    }
    return { ...metrics, ...growthOf(metrics) };
  },
};

/** @throws Error unless it is a whole number above 0 */
function secondsOf(text = String(measuredSeconds)): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds > 0) return seconds;
  throw new Error(`--seconds ${text} is not a whole number above 0`);
}

function measureRest(
  run: ScenarioRun,
  { part, applications, clusters }: RestCase,
  seconds: number,
): Promise<BenchMetrics> {
  const count = run.smoke ? Math.min(applications, smokeApplications) : applications;
  const shape = { clusters: run.smoke ? Math.min(clusters, smokeClusters) : clusters, objectsPerApplication };
  return withFleet(run, shape, async (fleet) => {
    await startAtRest(fleet, count);
    await run.pause('the replica is calm', run.smoke ? 100 : calmMs);
    const { pid } = fleet.replica(0);
    const before = activitiesOf(pid);
    await run.pause('at rest', seconds * 1000);
    return restFigures(`rest_${part.replaceAll('-', '_')}`, before, activitiesOf(pid), seconds);
  });
}

/** Starts the measured replica, and waits until it has compared everything. */
async function startAtRest(fleet: Fleet, count: number): Promise<void> {
  if (count === 0) {
    await fleet.scale(1);
    return;
  }
  if (count === 1) {
    const only = { name: numbered('app', 0), cluster: 0, namespace: 'apps' };
    await fleet.commit([only.name]);
    await fleet.create([only]);
    await fleet.scale(1);
    await fleet.settled(1);
    return;
  }
  // The template of the others is one of them.
  await fleet.seed(spreadApplications(count - 1, fleet.shape.clusters));
  await fleet.scale(1);
  await fleet.compared(0, count);
}

/** The activity of the replica, and of each running child by its role. */
function activitiesOf(pid: number): ReadonlyMap<string, ProcessActivity> {
  const children = childrenOf(pid).map((child) => [roleOf(child), activityOf(child)] as const);
  return new Map([['replica', activityOf(pid)], ...children]);
}

function roleOf(pid: number): string {
  const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  return line.includes('render') ? 'renderer' : 'command_helper';
}

function restFigures(
  prefix: string,
  before: ReadonlyMap<string, ProcessActivity>,
  after: ReadonlyMap<string, ProcessActivity>,
  seconds: number,
): BenchMetrics {
  return Object.fromEntries(
    [...after].flatMap(([role, { cpuSeconds, wakeups }]) => {
      const earlier = before.get(role) ?? { cpuSeconds: 0, wakeups: 0 };
      return [
        [`${prefix}_${role}_cpu_per_second_ms`, ((cpuSeconds - earlier.cpuSeconds) * 1000) / seconds],
        [`${prefix}_${role}_wakeups_per_second_count`, (wakeups - earlier.wakeups) / seconds],
      ];
    }),
  );
}

/** CPU of one Application more and of one cluster more, where both cases were measured. */
function growthOf(metrics: BenchMetrics): BenchMetrics {
  const cpuOf = (part: string): number | undefined => metrics[`rest_${part}_replica_cpu_per_second_ms`];
  const [few, many, clusters] = ['applications_200', 'applications_2000', 'clusters_200'].map(cpuOf);
  if (few === undefined) return {};
  return {
    ...(many === undefined ? {} : { rest_each_application_cpu_per_second_ms: (many - few) / 1800 }),
    ...(clusters === undefined ? {} : { rest_each_cluster_cpu_per_second_ms: (clusters - few) / 199 }),
  };
}

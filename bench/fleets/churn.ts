import { systemClock } from '#base';
import { fitLine } from '../fleet/measure.ts';
import type { BenchMetrics } from '../harness.ts';
import type { FleetApplication } from './fleet-objects.ts';
import { spreadApplications, withFleet } from './fleet.ts';
import type { Fleet } from './fleet.ts';
import type { ProcessHoldings } from './inspect.ts';
import { costOfReplicas } from './measures.ts';
import type { Scenario, ScenarioRun } from './scenario.ts';

/** Events of one day; `--share` reduces all of them. */
const dayOfChurn = { events: 200_000, syncs: 2000, handOvers: 200, breaks: 50, seconds: 420 };
const smokeChurn = { events: 300, syncs: 6, handOvers: 1, breaks: 1, seconds: 2 };
const [shortest, longest] = [5, 20];
/** Times that the memory is measured during the churn. */
const samples = 24;
const smokeSamples = 3;

interface ChurnPlan {
  readonly events: number;
  readonly syncs: number;
  /** Moves of one cluster. */
  readonly handOvers: number;
  readonly breaks: number;
  readonly seconds: number;
}

export const churnScenario: Scenario = {
  name: 'churn',
  about:
    'a day in minutes: 200,000 events, 2,000 syncs, 200 hand-overs, 50 broken watches; what two replicas hold after it',
  run: async (run) => {
    const [size, clusters] = [run.size(400, 8), run.size(20, 2)];
    const plan = planOf(run);
    return withFleet(run, { clusters, objectsPerApplication: 2 }, async (fleet) => {
      fleet.heartbeatSeconds = run.smoke ? 1 : fleet.heartbeatSeconds;
      const applications = spreadApplications(size, clusters);
      await fleet.seed(applications);
      await fleet.scale(2);
      await fleet.sim.drift(applications.map(({ name }) => name));
      await fleet.repaired();
      // A fifth of the churn first: caches and histories with a limit are filled by it.
      await runChurn({ run, fleet, applications }, { ...plan, ...shareOf(plan, 0.2) }, async () => undefined);
      const before = await calmHoldings(run, fleet);
      const heaps: number[] = [];
      const done = await runChurn({ run, fleet, applications }, plan, async () => {
        heaps.push(sumOf(await holdingsOf(fleet, { withInstances: false }), ({ heapBytes }) => heapBytes));
      });
      const after = await calmHoldings(run, fleet);
      const { slope, mean, noise } = fitLine(heaps);
      return {
        ...done,
        churn_heap_bytes: mean,
        churn_heap_growth_percent: (100 * slope * (heaps.length - 1)) / mean,
        churn_heap_noise_percent: (100 * noise) / mean,
        churn_heap_after_to_before_ratio: heapOf(after) / heapOf(before),
        ...growthOf(before, after),
        ...costOfReplicas('churn', fleet.replicas()),
      };
    });
  },
};

function planOf(run: ScenarioRun): ChurnPlan {
  const of = (name: keyof ChurnPlan): number => run.size(dayOfChurn[name], smokeChurn[name]);
  return {
    events: of('events'),
    syncs: of('syncs'),
    handOvers: of('handOvers'),
    breaks: of('breaks'),
    seconds: run.smoke ? smokeChurn.seconds : Math.max(shortest * longest, of('seconds')),
  };
}

function shareOf({ events, syncs, handOvers, breaks, seconds }: ChurnPlan, share: number): ChurnPlan {
  return {
    events: events * share,
    syncs: syncs * share,
    handOvers: handOvers * share,
    breaks: Math.ceil(breaks * share),
    seconds: seconds * share,
  };
}

interface ChurnContext {
  readonly run: ScenarioRun;
  readonly fleet: Fleet;
  readonly applications: readonly FleetApplication[];
}

/** Does what the plan has, evenly over its time, and calls `sample` a few times. */
async function runChurn(
  { run, fleet, applications }: ChurnContext,
  plan: ChurnPlan,
  sample: () => Promise<void>,
): Promise<BenchMetrics> {
  const { sim, shape } = fleet;
  const sampleCount = run.smoke ? smokeSamples : samples;
  const finishedBefore = await sim.finishedOperations();
  await sim.startChurn({ eventsPerSecond: plan.events / plan.seconds });
  const done = { syncs: 0, handOvers: 0, breaks: 0, samples: 0 };
  const begin = systemClock.monotonic();
  let replicas = 2;
  for (let share = 0; share < 1;) {
    await run.pause(`churn, ${await sim.churned()} of ${plan.events.toFixed(0)} events`, run.smoke ? 100 : 1000);
    share = Math.min(1, (systemClock.monotonic() - begin) / 1000 / plan.seconds);
    done.syncs += await sim.sync(
      pick(applications, Math.floor(plan.syncs * share) - done.syncs, run).map(({ name }) => name),
    );
    if (done.breaks < plan.breaks * share) {
      await sim.breakConnections(done.breaks % 10 === 9 ? 'hub' : done.breaks % shape.clusters);
      done.breaks += 1;
    }
    // Both replicas keep running: the second one stands by while the workload has the size 1.
    if (done.handOvers < plan.handOvers * share) {
      replicas = 3 - replicas;
      await sim.scale(replicas);
      done.handOvers += shape.clusters / 2;
    }
    if (done.samples < sampleCount * share) {
      await sample();
      done.samples += 1;
    }
  }
  await sim.scale(2);
  const events = await sim.churned();
  await sim.stopChurn();
  await fleet.settled(applications.length + 1);
  return {
    churn_events_count: events,
    churn_syncs_count: (await sim.finishedOperations()) - finishedBefore,
    churn_hand_overs_count: done.handOvers,
    churn_watch_breaks_count: done.breaks,
  };
}

type NamedHoldings = ReadonlyMap<string, ProcessHoldings>;

async function holdingsOf(fleet: Fleet, options?: { readonly withInstances: boolean }): Promise<NamedHoldings> {
  const all: [string, ProcessHoldings][] = [];
  // One after the other: a collection stops the process.
  for (const replica of fleet.replicas()) all.push([replica.name, await replica.holdings(options)]);
  return new Map(all);
}

/** After the follow-ups of the churn; both replicas own clusters again, and prepare no others. */
async function calmHoldings(run: ScenarioRun, fleet: Fleet): Promise<NamedHoldings> {
  const calmMs = run.smoke ? 500 : 30_000;
  let [last, since] = ['', systemClock.monotonic()];
  await run.waitUntil('both replicas own clusters, and have for a while', async () => {
    const owned = await Promise.all(fleet.replicas().map(async (replica) => (await replica.owned()).length));
    const [all, now] = [owned.reduce((sum, count) => sum + count, 0), systemClock.monotonic()];
    const counts = owned.join(' and ');
    if (counts !== last || all !== fleet.shape.clusters || Math.min(...owned) === 0) [last, since] = [counts, now];
    return now - since >= calmMs ? undefined : `they own ${counts}`;
  });
  return holdingsOf(fleet);
}

function sumOf(holdings: NamedHoldings, of: (one: ProcessHoldings) => number): number {
  return [...holdings.values()].reduce((sum, one) => sum + of(one), 0);
}

const heapOf = (holdings: NamedHoldings): number => sumOf(holdings, ({ heapBytes }) => heapBytes);

/** How many more of each kind the replicas hold together; negative: fewer. */
function growthOf(before: NamedHoldings, after: NamedHoldings): BenchMetrics {
  const more = (of: (one: ProcessHoldings) => number): number => sumOf(after, of) - sumOf(before, of);
  const keys = (of: (one: ProcessHoldings) => object): readonly string[] => [
    ...new Set([...before.values(), ...after.values()].flatMap((one) => Object.keys(of(one)))),
  ];
  return {
    churn_more_file_descriptors_count: more(({ fileDescriptors }) => fileDescriptors),
    ...Object.fromEntries(
      keys(({ resources }) => resources).map((name) => [
        `churn_more_active_${snakeCase(name)}_count`,
        more(({ resources }) => resources[name] ?? 0),
      ]),
    ),
    ...Object.fromEntries(
      keys(({ instances }) => instances).map((name) => [
        `churn_more_${snakeCase(name)}_instances_count`,
        more(({ instances }) => instances[name] ?? 0),
      ]),
    ),
  };
}

const snakeCase = (name: string): string => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

function pick<T>(from: readonly T[], count: number, { random }: ScenarioRun): readonly T[] {
  return Array.from({ length: Math.max(0, count) }, () => from[Math.floor(random.next() * from.length)]).filter(
    (one): one is T => one !== undefined,
  );
}

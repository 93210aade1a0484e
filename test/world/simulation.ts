import { checkEnd, silentMs, silentWait, unsettled } from './oracle.ts';
import type { SeenWaits } from './oracle.ts';
import { createApps, perform } from './people.ts';
import type { FaultCounts } from './faults.ts';
import type { WorldPlan } from './plan.ts';
import { checkCalm } from './probes.ts';
import { World } from './world.ts';

/** How long everything may take to settle once faults have ceased. */
const settleMs = 600_000;
const quietMs = 20_000;
/** After everything is settled, the last status may follow, such as that of a deleted hook. */
const lastStatusMs = 1000;
/** How long a change of a person may stay unseen by the status. */
const reactionMs = 5000;

export interface Outcome {
  /** The first violation; undefined: there is none. */
  readonly violation: string | undefined;
  readonly counts: FaultCounts;
  /** Virtual time from the end of the faults until everything was settled. */
  readonly settledInMs: number;
  readonly clusterWrites: number;
  readonly log: readonly string[];
}

/** Plays a schedule: trouble, calm until everything is settled, then the end of all processes. */
export async function play(plan: WorldPlan): Promise<Outcome> {
  const world = new World(plan);
  createApps(world);
  for (const act of plan.acts) world.at(act.at, () => perform(world, act));
  await world.playTo(plan.troubleMs);
  world.network.calm();
  world.git.calm();
  world.redis.calm();
  // A silent watch of the hub would show settings of the trouble a minute after the calm.
  if (plan.owned === true) world.network.reviveWatches();
  const calmAt = world.elapsedMs;
  // People go on for a while.
  const lastActAt = Math.max(0, ...plan.acts.map(({ at }) => at));
  // A read that hangs ends after the calm, and its status is still to come.
  const hangsForMs = Math.max(0, world.git.hangsUntil - world.time.now);
  await world.playTo(Math.max(calmAt + hangsForMs, lastActAt + reactionMs));
  let wrong = unsettled(world);
  const waits: SeenWaits = new Map();
  while (world.violation === undefined && wrong !== undefined && world.elapsedMs < calmAt + settleMs) {
    await world.playTo(world.elapsedMs + 3000);
    wrong = unsettled(world);
    const silent = silentWait(world, waits, silentMs);
    if (silent !== undefined) world.break(silent);
  }
  if (wrong !== undefined) world.break(`not settled after ${settleMs} ms: ${wrong}`);
  const settledInMs = world.elapsedMs - calmAt;
  await world.playTo(world.elapsedMs + lastStatusMs);
  const { clusterWrites } = world.rules;
  const appWrites = world.rules.appWrites.length;
  await world.playTo(world.elapsedMs + quietMs);
  const later = world.rules.clusterWrites - clusterWrites;
  if (later > 0) world.break(`${later} writes to clusters although everything was settled`);
  const appLater = world.rules.appWrites.slice(appWrites);
  if (appLater.length > 0) world.break(`writes to ${appLater.join()} although everything was settled`);
  if (world.violation === undefined) await checkCalm(world);
  if (world.violation === undefined) await checkEnd(world);
  for (const replica of world.replicas) replica.kill();
  const { violation, counts, log } = world;
  return { violation, counts, settledInMs, clusterWrites, log };
}

import { seededRandom } from '#base';
import type { RandomSource } from '#base';
import type { DocumentEdit } from './document-edits.ts';
import { FleetSimulation } from './fleet-simulation.ts';
import { scenarioOf } from './scenario.ts';
import type { SimulatedHub } from './simulated-hub.ts';

export interface EditOutcome {
  readonly edits: readonly DocumentEdit[];
  /** What is wrong after that: two writers, a part without an owner, or too many writes. */
  readonly wrong: string | undefined;
  /** Highest number of writes that one replica sent within fifteen seconds. */
  readonly busiest: number;
}

export interface EditTrial {
  readonly edit: (hub: SimulatedHub, random: RandomSource) => readonly DocumentEdit[];
  /** Leases within which ownership must be complete again. */
  readonly leases: number;
}

/** One a second, of each replica in fifteen seconds: a new table causes several at once. */
const maxWrites = 15;
const windowMs = 15_000;
const clusterIds = ['a', 'b', 'c', 'd', 'e'];

/** Edits the documents of three real replicas at rest that share five clusters. */
export async function tryEdits(seed: number, { edit, leases }: EditTrial): Promise<EditOutcome> {
  const fleet = new FleetSimulation({ ...scenarioOf(seed, 3), shorthanded: false, mixed: false });
  for (const id of clusterIds) fleet.addCluster(id);
  for (const id of clusterIds) fleet.addApp(`app-${id}`, { name: id });
  fleet.scale(3);
  const unready = await fleet.settle();
  const began = fleet.now;
  const edits = unready === undefined ? edit(fleet.hub, seededRandom(seed)) : [];
  await fleet.play(began + fleet.longestLease());
  const wrong = unready ?? (await fleet.settle(leases - 1));
  for (const replica of fleet.replicas) fleet.kill(replica);
  const sent = fleet.replicas.map(({ line }) => (line.sentWrites ?? []).filter((at) => at >= began));
  const busiest = Math.max(...sent.map(busiestWindow));
  const tooMany =
    busiest > maxWrites ? `a replica sent ${busiest} writes within ${windowMs / 1000} seconds` : undefined;
  return { edits, wrong: wrong ?? tooMany, busiest };
}

function busiestWindow(times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));
}

import { splitAnnotation } from '../parts.ts';
import type { Fleet, Replica } from './scenario.ts';

/*
 * What goes wrong, by dice. The order of the throws is part of every seed: a new kind of trouble is thrown for in hostile scenarios only, or
 * the seeds of known counterexamples would mean something else.
 */

/** Up to which throw of a hundred each happens. */
type Throws<Act> = readonly (readonly [number, Act])[];

const toTheWorld: Throws<(fleet: Fleet) => void> = [
  [8, addSomeCluster],
  [14, (fleet) => fleet.removeCluster(fleet.pick([...fleet.clusters.keys()]) ?? '')],
  [22, editSomeCluster],
  [34, addSomeApp],
  [42, (fleet) => fleet.scale(fleet.below(13))],
  [48, loseSomething],
];
const toOne: Throws<(fleet: Fleet, replica: Replica) => void> = [
  [58, (fleet, replica) => fleet.kill(replica)],
  [62, (_fleet, replica) => void (replica.leaving = true)],
  [72, (fleet, replica) => fleet.pause(replica, fleet.below(60_000))],
  [82, (fleet, replica) => fleet.cut(replica, fleet.below(60_000))],
  [86, (fleet, replica) => void (replica.skew += (fleet.chance() - 0.5) * 200_000)],
  [90, (fleet, replica) => fleet.relist(replica)],
  [100, (fleet) => fleet.matchReplicas(fleet.below(2) === 0)],
];

export function makeTrouble(fleet: Fleet): void {
  const dice = fleet.below(100);
  const replica = fleet.pick(fleet.replicas.filter(({ alive }) => alive));
  if (fleet.scenario.hostile && makeHostileTrouble(fleet, replica)) return;
  const [, act] = toTheWorld.find(([limit]) => dice < limit) ?? [];
  if (act !== undefined) act(fleet);
  else if (replica === undefined) fleet.matchReplicas(false);
  else toOne.find(([limit]) => dice < limit)?.[1](fleet, replica);
}

function makeHostileTrouble(fleet: Fleet, replica: Replica | undefined): boolean {
  if (fleet.below(20) === 0) {
    fleet.intrude(fleet.below(4), fleet.below(40_000));
    return true;
  }
  if (replica === undefined || fleet.below(20) !== 0) return false;
  replica.desired = undefined;
  return true;
}

/** Kills some, for good; never all. */
export function decimate(fleet: Fleet): void {
  const [, ...others] = fleet.replicas.filter((replica) => replica.alive && !replica.leaving).reverse();
  for (const replica of others) if (fleet.below(2) === 0) fleet.kill(replica);
}

function loseSomething(fleet: Fleet): void {
  const dice = fleet.below(fleet.scenario.hostile ? 8 : 5);
  if (dice > 4) fleet.lose('slots', (['emptied', 'blanked', 'unkeyed'] as const)[dice - 5] ?? 'emptied');
  else if (dice === 4) fleet.lose('table', 'restored');
  else fleet.lose(dice < 2 ? 'slots' : 'table', dice % 2 === 0 ? 'deleted' : 'spoilt');
}

export function addSomeCluster(fleet: Fleet): void {
  const id = fleet.scenario.hostile && fleet.below(8) === 0 ? '' : `c${fleet.below(10)}`;
  const twin = fleet.below(6) === 0 ? { server: `https://c${fleet.below(10)}/` } : {};
  const named = fleet.below(5) === 0 ? { name: `c${fleet.below(10)}` } : {};
  const pinned = fleet.below(5) === 0 ? { shard: fleet.below(14) - 1 } : {};
  fleet.addCluster(id, { ...twin, ...named, ...pinned });
  fleet.note(`cluster ${id} ${JSON.stringify({ ...twin, ...named, ...pinned })}`);
}

function editSomeCluster(fleet: Fleet): void {
  const cluster = fleet.pick([...fleet.clusters.values()]);
  if (cluster === undefined) return;
  const split = String(1 + fleet.below(4));
  const edited =
    fleet.below(2) === 0
      ? { ...cluster, annotations: { [splitAnnotation]: split } }
      : { ...cluster, name: `c${fleet.below(10)}` };
  fleet.note(`cluster ${cluster.id} becomes ${edited.name} split ${split}`);
  fleet.setCluster(edited);
}

export function addSomeApp(fleet: Fleet): void {
  const target = `c${fleet.below(10)}`;
  const destination =
    fleet.below(3) === 0
      ? { name: target }
      : { server: fleet.below(4) === 0 ? `https://${target}/` : `https://${target}` };
  fleet.addApp(`app-${fleet.below(12)}`, destination);
}

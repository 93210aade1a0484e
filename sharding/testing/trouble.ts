import { splitAnnotation } from '../distribution/parts.ts';
import type { SimulatedFleet, ConfigMapLoss, SimulatedReplica } from './scenario.ts';

/* Random faults. */

/** Cumulative percentages of the faults. */
type FaultTable<Act> = readonly (readonly [number, Act])[];

const toTheWorld: FaultTable<(fleet: SimulatedFleet) => void> = [
  [6, addSomeCluster],
  [11, (fleet) => fleet.removeCluster(fleet.pick([...fleet.clusters.keys()]) ?? '')],
  [17, editSomeCluster],
  [24, addSomeApp],
  [30, editSomeDestination],
  [38, (fleet) => fleet.scale(fleet.below(fleet.scenario.most + 1))],
  [45, loseSomething],
  [48, (fleet) => fleet.intrude(fleet.below(4), fleet.below(40_000))],
  [50, (fleet) => fleet.forgetScale()],
];
const toOne: FaultTable<(fleet: SimulatedFleet, replica: SimulatedReplica) => void> = [
  [57, (fleet, replica) => fleet.kill(replica)],
  [61, (_fleet, replica) => replica.leave()],
  [69, (fleet, replica) => fleet.stop(replica, fleet.below(60_000))],
  [73, (fleet, replica) => fleet.suspend(replica, fleet.below(90_000))],
  // Shorter pauses are hidden by the different speeds of the clocks.
  [77, (fleet, replica) => fleet.pause(replica, 15_000 + fleet.below(75_000))],
  [84, (fleet, replica) => fleet.cut(replica, fleet.below(60_000), fleet.pick(['all', 'reads', 'writes']) ?? 'all')],
  [87, (fleet, replica) => replica.clock.jump((fleet.chance() - 0.5) * 200_000)],
  [90, (fleet, replica) => fleet.relist(replica)],
  [100, (fleet) => fleet.matchReplicas(fleet.below(2) === 0)],
];

export function makeTrouble(fleet: SimulatedFleet): void {
  const dice = fleet.below(100);
  const replica = fleet.pick(fleet.replicas.filter(({ alive }) => alive));
  const [, act] = toTheWorld.find(([limit]) => dice < limit) ?? [];
  if (act !== undefined) act(fleet);
  else if (replica === undefined) fleet.matchReplicas(false);
  else toOne.find(([limit]) => dice < limit)?.[1](fleet, replica);
}

/** Kills some replicas for good, never all. */
export function decimate(fleet: SimulatedFleet): void {
  const [, ...others] = fleet.replicas.filter((replica) => replica.alive && !replica.leaving).reverse();
  for (const replica of others) if (fleet.below(2) === 0) fleet.kill(replica);
}

const configMapLosses: readonly (readonly ['slots' | 'table', ConfigMapLoss])[] = [
  ['slots', 'deleted'],
  ['slots', 'spoilt'],
  ['slots', 'emptied'],
  ['slots', 'blanked'],
  ['slots', 'unkeyed'],
  ['slots', 'restored'],
  ['table', 'deleted'],
  ['table', 'spoilt'],
  ['table', 'restored'],
];

function loseSomething(fleet: SimulatedFleet): void {
  const [which, how] = fleet.pick(configMapLosses) ?? ['table', 'restored'];
  fleet.lose(which, how);
}

export function addSomeCluster(fleet: SimulatedFleet): void {
  const id = fleet.below(16) === 0 ? '' : `c${fleet.below(10)}`;
  const twin = fleet.below(6) === 0 ? { server: `https://c${fleet.below(10)}/` } : {};
  const named = fleet.below(5) === 0 ? { name: `c${fleet.below(10)}` } : {};
  const pinned = fleet.below(5) === 0 ? { shard: fleet.below(14) - 1 } : {};
  fleet.addCluster(id, { ...twin, ...named, ...pinned });
  fleet.note(`cluster ${id} ${JSON.stringify({ ...twin, ...named, ...pinned })}`);
}

function editSomeCluster(fleet: SimulatedFleet): void {
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

export function addSomeApp(fleet: SimulatedFleet): void {
  fleet.addApp(`app-${fleet.below(12)}`, someDestination(fleet));
}

function editSomeDestination(fleet: SimulatedFleet): void {
  const app = fleet.pick([...fleet.apps.values()]);
  if (app !== undefined) fleet.addApp(app.metadata.name ?? '', someDestination(fleet));
}

function someDestination(fleet: SimulatedFleet): { readonly name: string } | { readonly server: string } {
  const target = `c${fleet.below(10)}`;
  if (fleet.below(3) === 0) return { name: target };
  return { server: fleet.below(4) === 0 ? `https://${target}/` : `https://${target}` };
}

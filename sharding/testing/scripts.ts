import { splitAnnotation } from '../distribution/parts.ts';
import type { SimulatedFleet } from './scenario.ts';
import { makeTrouble } from './trouble.ts';

/** Events in a fleet during a schedule, beside the faults of its network. */
export interface FleetScript {
  /** Longest pause between two acts. */
  readonly pauseMs: number;
  readonly begin?: (fleet: SimulatedFleet) => void;
  readonly act: (fleet: SimulatedFleet) => void;
}

/** Any fault at any time. */
export const anyTrouble: FleetScript = { pauseMs: 6000, act: makeTrouble };

/** One kind of change, much more often than {@link anyTrouble} has it, which goes on beside it. */
export const scripts: Readonly<Record<string, FleetScript>> = {
  'two releases use one ConfigMap, and want different numbers of replicas': {
    pauseMs: 8000,
    begin: (fleet) => startOtherRelease(fleet, 1 + fleet.below(4)),
    act: makeTrouble,
  },
  'clusters are split into 12, 4 and 2 parts and joined again': {
    pauseMs: 2500,
    act: (fleet) => {
      const cluster = fleet.pick([...fleet.clusters.values()]);
      const split = fleet.pick(['1', '4', '2', '12']) ?? '1';
      if (cluster !== undefined) fleet.setCluster({ ...cluster, annotations: { [splitAnnotation]: split } });
      if (fleet.below(4) === 0) makeTrouble(fleet);
    },
  },
  'Secrets flip the URL of their cluster': {
    pauseMs: 2500,
    act: (fleet) => {
      const cluster = fleet.pick([...fleet.clusters.values()]);
      if (cluster !== undefined) fleet.setCluster({ ...cluster, server: `https://c${fleet.below(4)}` });
      if (fleet.below(4) === 0) makeTrouble(fleet);
    },
  },
  'the fleet is scaled from 5 to 1 and back': {
    pauseMs: 4000,
    act: (fleet) => {
      fleet.scale(fleet.pick([1, 5]) ?? 1);
      if (fleet.below(4) === 0) makeTrouble(fleet);
    },
  },
  'one replica is starved of CPU': {
    pauseMs: 2500,
    begin: (fleet) => fleet.scale(3),
    act: (fleet) => {
      const [starved] = fleet.replicas.filter(({ alive }) => alive);
      if (starved !== undefined) fleet.stop(starved, 1000 + fleet.below(9000));
      if (fleet.below(6) === 0) makeTrouble(fleet);
    },
  },
  'replicas end all the time': {
    pauseMs: 3000,
    act: (fleet) => {
      fleet.pick(fleet.replicas.filter(({ alive, leaving }) => alive && !leaving))?.leave();
      fleet.matchReplicas(false);
      if (fleet.below(4) === 0) makeTrouble(fleet);
    },
  },
};

/** Starts replicas of another workload, which use the same ConfigMaps. */
function startOtherRelease(fleet: SimulatedFleet, replicas: number): void {
  fleet.hub.put(fleet.scenario.dynamic ? 'Deployment' : 'StatefulSet', 'other', { spec: { replicas } });
  for (let i = 0; i < replicas; i += 1) fleet.start(`other-${i}`, 'other');
}

/** So many replicas start at once. */
export function crowdOf(replicas: number): FleetScript {
  return { pauseMs: 20_000, begin: (fleet) => fleet.scale(replicas), act: () => undefined };
}

import { afterEach, describe, expect, it } from '@jest/globals';
import { slotsConfigMap } from './documents/slots-document.ts';
import { FleetSimulation } from './testing/fleet-simulation.ts';
import type { FleetScenario, SimulatedReplica } from './testing/scenario.ts';

/* Public reports about sharding and leader election, tried with several replicas. */

let fleet: FleetSimulation;

function start(replicas: number, scenario: Partial<FleetScenario> = {}, clusters = 10): void {
  const usual = { seed: 7, algorithm: 'legacy', shorthanded: false, mixed: false, prepares: true, most: 3 } as const;
  fleet = new FleetSimulation({ ...usual, dynamic: false, splits: false, ...scenario });
  for (let i = 0; i < clusters; i += 1) {
    fleet.addCluster(`c${i}`);
    fleet.addApp(`app-${i}`, { name: `c${i}` });
  }
  fleet.scale(replicas);
}

/** Every cluster and Application has one owner, and no two have written meanwhile. */
async function expectOneOwnerEach(): Promise<void> {
  expect(await fleet.settle(2)).toBeUndefined();
}

const alive = (): readonly SimulatedReplica[] => fleet.replicas.filter((replica) => replica.alive && !replica.leaving);

afterEach(() => {
  for (const replica of fleet.replicas) fleet.kill(replica);
});

describe('dynamic distribution', () => {
  it('gives a pod that replaces another one its shard (argo-cd 20965)', async () => {
    start(3, { dynamic: true });
    await expectOneOwnerEach();
    const [first] = alive();
    if (first !== undefined) fleet.kill(first);
    fleet.matchReplicas(false);
    await expectOneOwnerEach();
    expect(alive().map(({ ownership }) => ownership.identity().shard)).toEqual(expect.arrayContaining([0, 1, 2]));
  });

  it.each(['legacy', 'round-robin', 'consistent-hashing'] as const)(
    'leaves no cluster without an owner when replicas come and go, with %s (argo-cd 24147)',
    async (algorithm) => {
      start(1, { dynamic: true, algorithm });
      for (const replicas of [1, 3, 2, 3, 1]) {
        fleet.scale(replicas);
        await expectOneOwnerEach();
      }
    },
  );

  it('leaves no cluster without an owner when one is added before all others (argo-cd 29476)', async () => {
    start(3, { dynamic: true, algorithm: 'round-robin' });
    await expectOneOwnerEach();
    fleet.addCluster('a-first');
    await expectOneOwnerEach();
  });

  it('starts many pods at once in spite of conflicts (argo-cd 21181)', async () => {
    start(12, { dynamic: true, most: 12 }, 24);
    await expectOneOwnerEach();
    expect(new Set(alive().map(({ ownership }) => ownership.identity().shard)).size).toBe(12);
  });

  it('starts with an empty ConfigMap that a chart has created (argo-cd 16349, argo-helm 3758)', async () => {
    start(0, { dynamic: true });
    fleet.hub.put('ConfigMap', slotsConfigMap, {});
    fleet.scale(3);
    await expectOneOwnerEach();
  });
});

describe('static distribution', () => {
  it('keeps the clusters of all shards when pod 0 is restarted (argo-cd 20620)', async () => {
    start(3);
    await expectOneOwnerEach();
    const zero = alive().find(({ name }) => name === 'ctl-0');
    if (zero !== undefined) fleet.kill(zero);
    fleet.matchReplicas(false);
    await expectOneOwnerEach();
  });

  it('has one owner for each cluster, whatever the number of pods (argo-cd 9633, 17124)', async () => {
    start(8);
    await expectOneOwnerEach();
    expect(alive().reduce((sum, { ownership }) => sum + ownership.identity().replicas, 0)).toBe(64);
  });
});

describe('a holder that cannot renew', () => {
  it.each(['writes', 'all'] as const)(
    'stops writing before another one begins, when %s are cut off (kubernetes 23731, cilium 42920)',
    async (what) => {
      start(3);
      await expectOneOwnerEach();
      const [, cut] = alive();
      if (cut !== undefined) fleet.cut(cut, 90_000, what);
      await fleet.play(fleet.now + 90_000);
      expect(fleet.violation).toBeUndefined();
      await expectOneOwnerEach();
    },
  );

  it('because it gets no CPU time never writes beside its successor (openshift/origin 7845)', async () => {
    start(3);
    await expectOneOwnerEach();
    for (let i = 0; i < 12; i += 1) {
      for (const replica of alive()) fleet.stop(replica, 2000 + 4000 * (i % 5));
      await fleet.play(fleet.now + 15_000);
    }
    expect(fleet.violation).toBeUndefined();
    await expectOneOwnerEach();
  });
});

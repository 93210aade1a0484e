import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { ChaosFleet, leaseMs, workload } from './fleet.ts';

const limitMs = 120_000;

describe('replicas as processes that hand clusters over', () => {
  let fleet: ChaosFleet;
  afterEach(() => fleet.close());

  const start = async (replicas: number): Promise<void> => {
    fleet = await ChaosFleet.start({ dynamic: false, seed: 3, clusters: 4 });
    await fleet.scale(replicas);
    await fleet.settled(limitMs);
    fleet.disturb();
  };

  it('start to list clusters that they will gain while the previous owner still has them', async () => {
    await start(1);
    await fleet.scale(2);
    await fleet.settled(limitMs);
    await eventually(() => {
      const { has, prepared } = fleet.preparedBy(`${workload}-1`);
      expect(has.length).toBeGreaterThan(0);
      expect(prepared).toEqual(has);
    }, limitMs);
    expect(fleet.violations).toEqual([]);
  }, 400_000);

  it('have one writer per cluster although writes without an answer land seconds later', async () => {
    await start(2);
    fleet.drop(30);
    for (const replicas of [3, 2, 3, 1]) {
      await fleet.scale(replicas);
      await fleet.settled(limitMs);
    }
    expect(fleet.landedLate()).toBeGreaterThan(20);
    expect(fleet.violations).toEqual([]);
  }, 600_000);

  it('keep one owner per cluster while a rolling update changes the heartbeat and one of them is killed', async () => {
    await start(3);
    for (const heartbeat of [4, 1]) {
      fleet.heartbeat = heartbeat;
      for (const name of fleet.names().toSorted()) {
        await fleet.roll(name);
        await fleet.owned(limitMs);
      }
      await fleet.settled(limitMs);
      const killed = fleet.ownerOfFirst();
      fleet.kill(killed);
      fleet.restart(killed);
      await fleet.settled(limitMs);
    }
    expect(fleet.violations).toEqual([]);
  }, 900_000);

  it('report a cluster that the planner does not see, and own it once the planner sees it', async () => {
    await start(3);
    const see = fleet.blindPlanner();
    const url = fleet.addHidden('hidden');
    const reporting = async (line: string): Promise<boolean[]> =>
      (await fleet.metrics()).map((text) => text.includes(line));
    await eventually(
      async () =>
        expect(await reporting(`driftless_cluster_unowned_seconds{server="${url}"}`)).toEqual([false, true, true]),
      2 * leaseMs + limitMs,
    );
    expect(await reporting('driftless_shard_clusters_off_table 1')).toEqual([false, true, true]);
    see();
    await eventually(
      async () => expect(await reporting('driftless_shard_clusters_off_table 0')).toEqual([true, true, true]),
      limitMs,
    );
    expect(await reporting(`driftless_cluster_unowned_seconds{server="${url}"}`)).toEqual([false, false, false]);
    expect(fleet.violations).toEqual([]);
  }, 400_000);
});

import { afterEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { ChaosFleet, heartbeat } from './fleet.ts';

let fleet: ChaosFleet;
afterEach(() => fleet.close());

/** Long enough for a lease to end. */
const beyondLease = (): Promise<void> => systemClock.sleep(4 * heartbeat * 1000);

describe.each([
  ['the hostname', false],
  ['a lease', true],
])('replicas as processes, with their shard from %s', (_how, dynamic) => {
  it('are scaled, killed, stopped and cut off while they heal: one owner each, no second writer, no restart (T-SHARD-4, T-FENCE-1, T-FENCE-2)', async () => {
    fleet = await ChaosFleet.start({ dynamic, seed: 1, clusters: 5 });
    await fleet.scale(2);
    await fleet.settled();
    fleet.disturb();
    const survivors = fleet.pids();

    await fleet.scale(3);
    await fleet.settled();
    expect([...fleet.pids()].slice(0, 2)).toEqual([...survivors]);

    const killed = fleet.ownerOfFirst();
    fleet.kill(killed);
    fleet.restart(killed);
    await fleet.settled();

    const frozen = fleet.ownerOfFirst();
    fleet.freeze(frozen);
    await beyondLease();
    // It comes back believing what it believed, and cannot look it up: only its own clock tells it to write nothing.
    const blind = fleet.partition(frozen, 'leases');
    fleet.thaw(frozen);
    await beyondLease();
    blind();
    await fleet.settled();

    for (const from of ['hub', 'leases'] as const) {
      const heal = fleet.partition(fleet.ownerOfFirst(), from);
      await beyondLease();
      heal();
      await fleet.settled();
    }

    const before = fleet.pids();
    await fleet.scale(1);
    await fleet.settled();
    const [last] = fleet.pids();
    expect(last).toEqual([last?.[0], before.get(last?.[0] ?? '')]);
    expect(fleet.violations).toEqual([]);
    // The promise means something only if there was much to write.
    expect([...fleet.writes.values()].reduce((a, b) => a + b, 0)).toBeGreaterThan(100);
  }, 120_000);
});

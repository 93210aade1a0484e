import { expect } from '@jest/globals';
import { systemClock } from '#base';
import { leaseMs } from './fleet.ts';
import type { ChaosFleet } from './fleet.ts';

/** Long enough for a lease to end, and for others to stand in. */
const beyondLease = (): Promise<void> => systemClock.sleep(leaseMs + 3000);

/** The name of the promise, for the tests. */
export const promise =
  'are scaled, killed, stopped and cut off while they heal: one owner each, no second writer, no restart, no credential in any output (T-SHARD-4, T-FENCE-1, T-FENCE-2, T-SEC-1, 13.1, 13.3, 14.3)';

/** Replicas come, go, die, freeze and lose the hub while objects are disturbed all the time. */
export async function play(fleet: ChaosFleet): Promise<void> {
  await fleet.scale(2);
  await fleet.settled();
  fleet.disturb();
  const survivors = fleet.pids();

  await fleet.scale(3);
  await fleet.settled();
  expect([...fleet.pids()].slice(0, 2)).toEqual([...survivors]);

  const killed = fleet.ownerOfFirst();
  fleet.kill(killed);
  const killedAt = systemClock.monotonic();
  fleet.restart(killed);
  // 13.1: the machine can tell that the earlier process is gone, so nobody waits for its lease. (Unless it is so busy that the start took longer.)
  await fleet.owned();
  const tookLong = systemClock.monotonic() - killedAt > leaseMs;
  const restartClaims = (await fleet.metrics()).filter((text) => text.includes('write="claim after a restart"'));
  expect({ restartClaims: restartClaims.length, tookLong }).not.toEqual({ restartClaims: 0, tookLong: false });
  await fleet.settled();

  const frozen = fleet.ownerOfFirst();
  fleet.freeze(frozen);
  await beyondLease();
  // It comes back believing what it believed, and cannot look it up: only its own clock tells it to write nothing.
  const blind = fleet.partition(frozen, 'leases');
  fleet.thaw(frozen);
  // Time enough to write, if it would.
  await systemClock.sleep(5000);
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
  expect(await fleet.canaries()).toEqual([]);
  // The promise means something only if there was much to write.
  expect([...fleet.writes.values()].reduce((a, b) => a + b, 0)).toBeGreaterThan(100);
}

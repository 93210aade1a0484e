import { expect } from '@jest/globals';
import { systemClock } from '#base';
import { leaseMs } from './fleet.ts';
import type { ChaosFleet } from './fleet.ts';

/** Long enough for a lease to expire and for stand-ins to take over. */
const beyondLease = (): Promise<void> => systemClock.sleep(leaseMs + 3000);

/** Title of the tests that play this scenario (T-SHARD-4, T-FENCE-1, T-FENCE-2, T-SEC-1). */
export const promise =
  'heal drift while they are scaled, killed, frozen and cut off: one writer per cluster, no restart, no credential in any output';

/** Scales, kills, freezes and partitions replicas while objects are deleted continuously. */
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
  // The restarted replica can see that the earlier process on this machine is gone, and claims
  // without waiting for its lease, unless a busy machine made the start take longer than the lease.
  await fleet.owned();
  const tookLong = systemClock.monotonic() - killedAt > leaseMs;
  const restartClaims = (await fleet.metrics()).filter((text) => text.includes('write="claim after a restart"'));
  expect({ restartClaims: restartClaims.length, tookLong }).not.toEqual({ restartClaims: 0, tookLong: false });
  await fleet.settled();

  const frozen = fleet.ownerOfFirst();
  fleet.freeze(frozen);
  await beyondLease();
  // The thawed replica still believes that it owns its clusters and cannot read the table: only its
  // own clock can keep it from writing.
  const blind = fleet.partition(frozen, 'leases');
  fleet.thaw(frozen);
  // Long enough for a wrong write to happen.
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
  // Without many writes the scenario would prove nothing.
  expect([...fleet.writes.values()].reduce((a, b) => a + b, 0)).toBeGreaterThan(100);
}

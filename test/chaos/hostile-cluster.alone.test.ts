import { afterEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { eventually } from '#support';
import { ChaosFleet } from './fleet.ts';
import { HostileServer } from './hostile-server.ts';
import type { ClusterAttack } from './hostile-server.ts';

/** Small, so that an unbounded attack crashes the process within seconds. */
const heapMb = 160;
/** An attack that has sent this much has failed: several times the heap. */
const attackBytes = 600 * 1024 * 1024;
/** An attack that is contained sends little more after its first seconds, so it ends early. */
const attackMs = 15_000;
/**
 * Either the kind is not watched any more, or the objects of the Application alone exceed the
 * limit.
 */
const limitReached = /ConfigMap.*no longer watched, because|live objects of this Application take/;

describe('a cluster that sends without end', () => {
  let fleet: ChaosFleet | undefined;
  let hostile: HostileServer | undefined;

  afterEach(async () => {
    await fleet?.close();
    await hostile?.close();
  });

  it.each<[ClusterAttack, RegExp | undefined]>([
    ['pages', limitReached],
    ['answer', limitReached],
    ['object', /ConfigMap.*an object larger than the limit of one/],
    ['line', /ConfigMap.*an object larger than the limit of one/],
    ['flood', limitReached],
    ['growth', limitReached],
    // The Application uses none of the kinds that are not watched any more: it gets no condition.
    ['kinds', undefined],
    ['foreign', undefined],
  ])(
    'neither crashes the process nor delays the repair of other clusters: %s',
    async (attack, condition) => {
      fleet = await ChaosFleet.start({ dynamic: false, seed: 1, clusters: 1 });
      fleet.runtime = [`--max-old-space-size=${heapMb}`];
      await fleet.scale(1);
      await fleet.settled(60_000);
      const [name = ''] = fleet.names();
      const pid = fleet.pids().get(name);
      hostile = await HostileServer.start(attack);
      fleet.addCluster('hostile', hostile.url);
      const stop = AbortSignal.timeout(attackMs);
      while (!stop.aborted && hostile.bytes < attackBytes) await systemClock.sleep(250, stop).catch(() => undefined);
      if (!isAlive(pid)) throw new Error(`the process has ended: ${tail(fleet.log(name))}`);
      await fleet.settled(60_000);
      expect(fleet.pids().get(name)).toBe(pid);
      if (condition !== undefined)
        await eventually(() => {
          const conditions = fleet?.conditionsOf('hostile-0') ?? '';
          if (!condition.test(conditions))
            throw new Error(`conditions "${conditions}"\n${tail(fleet?.log(name) ?? '')}`);
        }, 240_000);
    },
    420_000,
  );
});

function tail(log: string): string {
  return log.split('\n').slice(-40).join('\n');
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

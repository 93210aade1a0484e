import { afterEach, describe, it } from '@jest/globals';
import { eventually } from '#support';
import { ChaosFleet } from './fleet.ts';

const heapMb = 320;
/** Together more than the heap. */
const large = { count: 40, objects: 3, bytes: 3_000_000 };

describe('a tenant with more manifests than the heap holds', () => {
  let fleet: ChaosFleet | undefined;

  afterEach(() => fleet?.close());

  it('neither ends the process nor delays the repair of others, also after a restart', async () => {
    const running = await ChaosFleet.start({ dynamic: false, seed: 1, clusters: 1 });
    fleet = running;
    running.runtime = [`--max-old-space-size=${heapMb}`];
    await running.scale(1);
    await running.settled(60_000);
    const [name = ''] = running.names();
    const apps = running.addLarge('large', large);
    const isCompared = (): void => {
      if (!running.isRunning(name)) throw new Error(`the process has ended: ${tail(running.log(name))}`);
      const open = apps.filter((app) => running.syncStatusOf(app) !== 'OutOfSync');
      if (open.length > 0) throw new Error(`${open.length} are not compared: ${running.conditionsOf(open[0] ?? '')}`);
    };
    await running.settled(60_000);
    await eventually(isCompared, 300_000);
    await running.settled(60_000);
    // Now the manifests come from the disk.
    await running.roll(name);
    await running.settled(60_000);
    await running.refreshed(apps, 300_000);
    await running.settled(60_000);
    isCompared();
  }, 600_000);
});

function tail(log: string): string {
  return log.split('\n').slice(-40).join('\n');
}

import { describe, expect, it } from '@jest/globals';
import { PromMetrics } from '#telemetry';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);

// T-OBS-2
describe('an Application not compared for three resyncs', () => {
  const resyncs = 3 * 120_000;

  // T-OBS-2
  it('is counted by cluster until it is compared again; an idle one is not', async () => {
    const metrics = new PromMetrics();
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    await at.start({ metrics });
    const overdue = async (): Promise<string | undefined> =>
      /^driftless_applications_overdue\{dest_server="https:\/\/dest"\} (.*)$/m.exec(await metrics.expose())?.[1];
    // An idle Application is not written: an old status proves nothing.
    await at.clock.advance(4 * resyncs);
    expect(await overdue()).toBe('0');
    at.world.ready = false;
    await at.clock.advance(resyncs - 120_000);
    expect(await overdue()).toBe('0');
    await at.clock.advance(150_000);
    expect(await overdue()).toBe('1');
    at.world.ready = true;
    await at.clock.advance(60_000);
    expect(await overdue()).toBe('0');
  });

  // T-OBS-2
  it('is counted if this replica has never compared it, too', async () => {
    const metrics = new PromMetrics();
    at.world.ready = false;
    at.world.application();
    await at.start({ metrics, config: { appResyncMs: 0, hardResyncMs: 100_000 } });
    await at.clock.advance(320_000);
    expect(await metrics.expose()).toMatch(/driftless_applications_overdue\{dest_server="https:\/\/dest"\} 1/);
  });
});

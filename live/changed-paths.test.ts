import { describe, expect, it } from '@jest/globals';
import { tracked, world } from './testing/world.ts';

describe('changed paths', () => {
  it('are recorded for tracked objects that change too often, and for no calm one', async () => {
    const w = await world((server) => {
      server.put(tracked('calm', 'shop', { data: { x: '0' } }));
      server.put(tracked('noisy', 'shop', { data: { x: '0' } }));
    });
    for (let i = 1; i <= 120; i += 1) {
      w.server.put(tracked('noisy', 'shop', { data: { x: `canary-${i}` } }));
      if (i <= 3) w.server.put(tracked('calm', 'shop', { data: { x: `${i}` } }));
      await w.clock.advance(500);
    }
    const [report] = w.live.reports();
    expect(report?.changed.map(({ key }) => key)).toEqual([expect.stringContaining('noisy')]);
    const [noisy] = report?.changed ?? [];
    expect(noisy?.sets).toEqual([{ paths: [['data', 'x']], changesHealth: false, changes: expect.any(Number) }]);
    expect(noisy?.sets[0]?.changes).toBeGreaterThan(30);
    expect(JSON.stringify(report?.changed)).not.toContain('canary');
    await w.stop();
  });
});

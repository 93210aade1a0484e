import { expect, it } from '@jest/globals';
import type { AppKey } from '#model';
import { FakeClock } from '#support';
import { PromMetrics, silentLogger } from '#telemetry';
import { LoopWatch } from './loop-watch.ts';

/** A clock that moves while synchronous work runs. */
class BusyClock extends FakeClock {
  ms = 0;

  override monotonic(): number {
    return this.ms;
  }
}

it('shows the Applications of this replica that blocked the event loop, until they leave it', async () => {
  const clock = new BusyClock();
  const metrics = new PromMetrics();
  const mine = new Set(['argocd/a', 'argocd/b'] as AppKey[]);
  const loop = new LoopWatch({ clock, logger: silentLogger, metrics, owns: (key) => mine.has(key) });
  const held = async (): Promise<string[]> =>
    (await metrics.expose()).split('\n').filter((line) => line.startsWith('driftless_loop_held_seconds_total{'));
  for (const key of mine) loop.run(key, 'comparison', () => void (clock.ms += 2000));
  expect(await held()).toEqual([
    'driftless_loop_held_seconds_total{namespace="argocd",name="a",stage="comparison"} 2',
    'driftless_loop_held_seconds_total{namespace="argocd",name="b",stage="comparison"} 2',
  ]);
  mine.delete('argocd/a' as AppKey);
  expect(await held()).toEqual(['driftless_loop_held_seconds_total{namespace="argocd",name="b",stage="comparison"} 2']);
});

import { describe, expect, it } from '@jest/globals';
import { PromMetrics } from '#telemetry';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const at = stage();
const refresh = 'argocd.argoproj.io/refresh';
const delayed = 'driftless_refresh_requests_delayed_total{namespace="argocd",project="default"}';

function isAnswered(): boolean {
  return at.world.app.metadata.annotations?.[refresh] === undefined;
}

/** Requests a refresh and returns the milliseconds until it is answered. */
async function answerMs(type: string): Promise<number> {
  const from = at.clock.monotonic();
  at.world.annotate({ [refresh]: type });
  for (let i = 0; i < 2000 && !isAnswered(); i += 1) await at.clock.advance(10);
  return at.clock.monotonic() - from;
}

async function start(metrics = new PromMetrics()): Promise<PromMetrics> {
  at.world.git.push('a'.repeat(40), [configMap('one')]);
  at.world.application(automated);
  at.world.replica({ metrics, config: { selfHeal: { backoffMs: 0, factor: 1, capMs: 0, timeoutMs: 0 } } });
  await at.clock.advance(2000);
  return metrics;
}

describe('excessive refresh requests', () => {
  it('are all answered, one every ten seconds after the first thirty, and counted', async () => {
    const metrics = await start();
    const took: number[] = [];
    for (let i = 0; i < 33; i += 1) took.push(await answerMs('hard'));
    for (const ms of took.slice(0, 30)) expect(ms).toBeLessThanOrEqual(20);
    for (const ms of took.slice(30)) expect(ms).toBeGreaterThan(9000);
    for (const ms of took.slice(30)) expect(ms).toBeLessThan(10_100);
    expect(await metrics.expose()).toContain(`${delayed} 3`);
    const hard = at.world.git.requests.filter(({ cache }) => cache.manifests === 'rerender');
    expect(hard).toHaveLength(33);
  });

  it('are no longer counted when their Application is gone', async () => {
    const metrics = await start();
    for (let i = 0; i < 31; i += 1) await answerMs('normal');
    expect(await metrics.expose()).toContain(`${delayed} 1`);
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(1000);
    expect(await metrics.expose()).not.toContain('driftless_refresh_requests_delayed_total{');
  });

  it('do not delay other changes of the Application', async () => {
    await start();
    for (let i = 0; i < 30; i += 1) await answerMs('normal');
    at.world.annotate({ [refresh]: 'hard' });
    await at.clock.advance(100);
    expect(isAnswered()).toBe(false);
    const live = at.world.dest.get('ConfigMap', 'one');
    if (live === undefined) throw new Error('nothing is there');
    at.world.dest.put({ ...live, data: { key: 'drift' } });
    await at.clock.advance(300);
    expect(at.world.dest.get('ConfigMap', 'one')?.['data']).toEqual({ key: '1' });
    expect(isAnswered()).toBe(false);
    await at.clock.advance(10_000);
    expect(isAnswered()).toBe(true);
  });

  it('are counted without a project that does not exist, whatever its author writes', async () => {
    const metrics = await start();
    for (let i = 0; i < 3; i += 1) {
      at.world.edit(({ spec }) => ({ spec: { ...(spec as object), project: `none-${i}` } }));
      for (let n = 0; n < 12; n += 1) await answerMs('normal');
    }
    const text = await metrics.expose();
    expect(text).toContain('driftless_refresh_requests_delayed_total{namespace="argocd",project=""}');
    expect(text).not.toMatch(/driftless_refresh_requests_delayed_total\{[^}]*none-/);
  });

  it('of one Application do not delay those of another', async () => {
    await start();
    at.world.application(automated, { metadata: { name: 'other' } });
    await at.clock.advance(2000);
    for (let i = 0; i < 30; i += 1) await answerMs('hard');
    at.world.annotate({ [refresh]: 'hard' });
    const { metadata } = at.world.applicationOf('other');
    const annotations = { ...metadata.annotations, [refresh]: 'hard' };
    at.world.edit((object) => ({ metadata: { ...object.metadata, annotations } }), 'other');
    await at.clock.advance(100);
    expect(isAnswered()).toBe(false);
    expect(at.world.applicationOf('other').metadata.annotations?.[refresh]).toBeUndefined();
  });

  it('cost no token while the cluster is not ready', async () => {
    await start();
    at.world.ready = false;
    at.world.annotate({ [refresh]: 'hard' });
    await at.clock.advance(60_000);
    at.world.ready = true;
    await at.clock.advance(5000);
    expect(isAnswered()).toBe(true);
    expect(await answerMs('hard')).toBeLessThanOrEqual(20);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const at = stage();
const delayMs = 2000;
const config = { operationProcessors: 1, syncWaveDelayMs: delayMs };
const waves = (name: string, count: number): KubeObject[] =>
  Array.from({ length: count }, (_, i) =>
    configMap(`${name}-${i}`, '1', { 'argocd.argoproj.io/sync-wave': String(i) }),
  );

/** Creation time of each object, by name. */
function creations(): ReadonlyMap<string, number> {
  const madeAt = new Map<string, number>();
  at.world.dest.onEvent(({ type, object }) => {
    if (type === 'ADDED') madeAt.set(object.metadata.name ?? '', at.clock.monotonic());
  });
  return madeAt;
}

function begin(name: string, count: number, i = 0): void {
  const sha = String(i).padStart(40, '0');
  at.world.git.commits.set(sha, waves(name, count));
  const source = { repoURL: 'https://git/x', path: 'p', targetRevision: sha };
  at.world.application({ source }, { metadata: { name }, operation: { sync: { revision: sha } } });
}

const phaseOf = (name: string): string | undefined => at.world.applicationOf(name).status?.operationState?.phase;

describe('the delay between two waves', () => {
  it('takes its full time and holds no worker', async () => {
    const madeAt = creations();
    for (let i = 0; i < 10; i += 1) begin(`app-${i}`, 4, i);
    at.world.replica({ config });
    await at.clock.advance(3 * delayMs + 1000);
    for (let i = 0; i < 10; i += 1) {
      const times = [0, 1, 2, 3].map((n) => madeAt.get(`app-${i}-${n}`) ?? Number.NaN);
      const gaps = [1, 2, 3].map((n) => (times[n] ?? 0) - (times[n - 1] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(delayMs);
      expect(Math.max(...gaps)).toBeLessThan(delayMs * 1.1);
      expect(phaseOf(`app-${i}`)).toBe('Succeeded');
    }
  });

  it('is not shortened by changes of its objects, and costs one read of the hub per wave', async () => {
    const madeAt = creations();
    begin('demo', 3);
    at.world.replica({ config });
    for (let i = 0; i < 45; i += 1) {
      await at.clock.advance(100);
      const first = at.world.dest.get('ConfigMap', 'demo-0');
      if (first !== undefined) at.world.dest.put({ ...first, data: { key: '1', touched: String(i) } });
    }
    const times = [0, 1, 2].map((n) => madeAt.get(`demo-${n}`) ?? Number.NaN);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(delayMs);
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThanOrEqual(delayMs);
    expect(at.world.hub.calls.filter((call) => call === 'get Application demo').length).toBeLessThan(12);
  });

  it('starts again after a restart, and is never shorter', async () => {
    const madeAt = creations();
    begin('demo', 2);
    const first = at.world.replica({ config });
    await at.clock.advance(delayMs * 0.75);
    const ended = first.stop();
    await at.clock.advance(100);
    await ended;
    const restartedAt = at.clock.monotonic();
    at.world.replica({ config });
    await at.clock.advance(delayMs * 2);
    expect((madeAt.get('demo-1') ?? 0) - restartedAt).toBeGreaterThanOrEqual(delayMs);
    expect((madeAt.get('demo-1') ?? 0) - restartedAt).toBeLessThan(delayMs * 1.2);
    expect(phaseOf('demo')).toBe('Succeeded');
  });

  it('does not hold up the next operation', async () => {
    const madeAt = creations();
    begin('demo', 2);
    at.world.replica({ config });
    await at.clock.advance(delayMs * 1.5);
    expect(phaseOf('demo')).toBe('Succeeded');
    begin('demo', 1);
    const sha = 'b'.repeat(40);
    at.world.git.commits.set(sha, waves('next', 1));
    at.world.edit(({ spec }) => ({
      spec: { ...(spec as object), source: { repoURL: 'https://git/x', path: 'p', targetRevision: sha } },
      operation: { sync: { revision: sha } },
    }));
    const begunAt = at.clock.monotonic();
    await at.clock.advance(delayMs / 4);
    expect((madeAt.get('next-0') ?? Number.NaN) - begunAt).toBeLessThan(delayMs / 4);
  });

  it('ends early when the operation is terminated or times out', async () => {
    const madeAt = creations();
    begin('demo', 2);
    begin('late', 2, 1);
    at.world.replica({ config: { ...config, syncWaveDelayMs: 600_000, syncTimeoutMs: 20_000 } });
    await at.clock.advance(5000);
    at.world.edit(({ status }) => {
      const { operationState } = status as { readonly operationState: object };
      return { status: { ...(status as object), operationState: { ...operationState, phase: 'Terminating' } } };
    });
    await at.clock.advance(1000);
    expect([phaseOf('demo'), phaseOf('late')]).toEqual(['Failed', 'Running']);
    await at.clock.advance(20_000);
    expect(phaseOf('late')).toBe('Failed');
    expect([...madeAt.keys()]).toEqual(['demo-0', 'late-0']);
  });
});

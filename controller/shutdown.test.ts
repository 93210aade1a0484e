import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld } from './testing/fake-world.ts';

const wave = (name: string, number: number): KubeObject =>
  configMap(name, '1', { 'argocd.argoproj.io/sync-wave': String(number) });

let clock: FakeClock;
let world: FakeWorld;
beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
});
afterEach(() => world.close(clock));

/** Every status given to an Application, in order, after the first `from`. */
const statuses = (after = 0): readonly string[] =>
  world
    .statuses()
    .slice(after)
    .map(({ sync, health }) => `${sync?.status ?? ''} ${health?.status ?? ''}`);
const state = (): KubeObject['status'] => world.app.status?.operationState as KubeObject['status'];

describe('a replica that is shut down', () => {
  it('finishes its step, writes the result, starts no other, and leaves the rest to the next replica', async () => {
    world.git.push('a'.repeat(40), [wave('first', 0), wave('second', 0), wave('third', 1)]);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const before = (call: string): Promise<void> | undefined => (call === 'create ConfigMap second' ? held : undefined);
    const replica = world.replica({ dest: { before }, config: { graceMs: 10_000, syncWaveDelayMs: 2000 } });
    world.application({}, { operation: { sync: { revision: 'a'.repeat(40) } } });
    await clock.advance(1000);
    expect(world.dest.get('ConfigMap', 'second')).toBeUndefined();
    const end = { isReached: false };
    const ended = replica.stop().then(() => (end.isReached = true));
    await clock.advance(1000);
    expect(end).toEqual({ isReached: false });
    release();
    for (let second = 0; second < 20 && !end.isReached; second += 1) await clock.advance(1000);
    await ended;
    // Both of the first wave, as the written results show.
    const isThere = (name: string): boolean => world.dest.get('ConfigMap', name) !== undefined;
    expect(['first', 'second', 'third'].map(isThere)).toEqual([true, true, false]);
    expect(state()).toMatchObject({ phase: 'Running' });
    expect(JSON.stringify(state())).toContain('second');
    const calls = world.dest.calls.length;
    await clock.advance(60_000);
    expect(world.dest.calls).toHaveLength(calls);
    const next = world.replica();
    await clock.advance(30_000);
    expect(state()).toMatchObject({ phase: 'Succeeded' });
    expect(world.dest.get('ConfigMap', 'third')).toMatchObject({ data: { key: '1' } });
    expect(world.dest.calls.filter((call) => call === 'create ConfigMap second')).toHaveLength(1);
    const over = next.stop();
    await clock.advance(2000);
    await over;
  });

  it('ends in order although the API server answers no status write', async () => {
    world.git.push('a'.repeat(40), [configMap('first')]);
    let hasAnswers = true;
    const before = (call: string): Promise<void> | undefined =>
      !hasAnswers && call === 'patch Application demo' ? new Promise(() => undefined) : undefined;
    const replica = world.replica({ hub: { before }, config: { graceMs: 5000 } });
    world.application(automated);
    await clock.advance(10_000);
    expect(statuses().at(-1)).toBe('Synced Healthy');
    hasAnswers = false;
    world.git.push('b'.repeat(40), [configMap('first', '2'), configMap('second')]);
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await clock.advance(1000);
    expect(replica.controller.report.activity().passes[0]).toMatchObject({ key: 'argocd/demo', result: 'running' });
    const end: { failure?: unknown; isReached?: true } = {};
    void replica
      .stop()
      .catch((failure: unknown) => (end.failure = failure))
      .then(() => (end.isReached = true));
    // The grace period, and a second for the last writes.
    await clock.advance(5900);
    expect(end).toEqual({});
    await clock.advance(200);
    expect(end).toEqual({ isReached: true });
    expect(clock.pending).toBe(0);
  });
});

// T-START-1
describe('a rolling restart', () => {
  // T-START-1
  it('of ten replicas in turn writes no status without a change, and no transient one after a change', async () => {
    world.git.push('a'.repeat(40), [configMap('one'), configMap('two')]);
    world.application(automated);
    let replica = world.replica();
    await clock.advance(10_000);
    expect(statuses().at(-1)).toBe('Synced Healthy');
    const seen = statuses().length;
    const restart = async (): Promise<void> => {
      const ended = replica.stop();
      await clock.advance(2000);
      await ended;
      // Its caches are empty, and that of the cluster is not filled yet.
      world.ready = false;
      replica = world.replica();
      await clock.advance(30_000);
      world.ready = true;
      await clock.advance(30_000);
    };
    const before = world.writes().length;
    for (let turn = 0; turn < 10; turn += 1) await restart();
    expect(statuses(seen)).toEqual([]);
    expect(world.writes()).toHaveLength(before);
    world.git.push('b'.repeat(40), [configMap('one', '2'), configMap('two')]);
    for (let turn = 0; turn < 3; turn += 1) await restart();
    expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '2' } });
    expect(statuses(seen).filter((status) => !/^(?:Synced|OutOfSync) Healthy$/.test(status))).toEqual([]);
  });
});

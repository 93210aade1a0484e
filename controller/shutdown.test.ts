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

/** Every status that an Application was given, in order; after so many. */
const statuses = (after = 0): readonly string[] =>
  world
    .statuses()
    .slice(after)
    .map(({ sync, health }) => `${sync?.status ?? ''} ${health?.status ?? ''}`);
const state = (): KubeObject['status'] => world.app.status?.operationState as KubeObject['status'];

describe('14.6: a replica that is asked to end', () => {
  it('14.6: finishes the step that it is in, writes what came of it, begins no other, and leaves the rest to the next', async () => {
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
    // Both of the first wave, and what is written says so.
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
});

describe('14.6: T-START-1: a rolling restart', () => {
  it('14.6: T-START-1: of ten replicas in turn writes no status at all while nothing has changed, and none that is passing when something has', async () => {
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
      // Its caches are empty, and the cluster's is not there yet.
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

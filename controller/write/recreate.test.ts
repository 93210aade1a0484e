import { afterEach, describe, expect, it } from '@jest/globals';
import { withLastApplied } from '#diff';
import { KubeApiError } from '#kube';
import { FakeClock } from '#support';
import { configMap, FakeWorld } from '../testing/fake-world.ts';

const stops: (() => Promise<void>)[] = [];
const clock = new FakeClock();
afterEach(async () => {
  const ended = stops.splice(0).map((stop) => stop());
  await clock.advance(60_000);
  await Promise.all(ended);
});

describe('a replica that dies between the deletion and the creation of a forced sync', () => {
  it('is followed by one that creates the object from Git', async () => {
    const world = new FakeWorld(clock);
    const sha = 'a'.repeat(40);
    const forced = { 'argocd.argoproj.io/sync-options': 'Force=true' };
    world.git.push(sha, [configMap('one', '2', forced)]);
    const live = configMap('one', '1', forced);
    world.dest.put(withLastApplied({ ...live, metadata: { ...live.metadata, namespace: 'apps' } }));
    world.application({}, { operation: { sync: { revision: sha } } });
    const immutable = new KubeApiError({ code: 422, reason: 'Invalid', message: 'field is immutable' }, 'x');
    let dead = false;
    const never = new Promise<void>(() => undefined);
    const before = (call: string): Promise<void> => {
      if (dead) return never;
      if (call.startsWith('patch ConfigMap')) throw immutable;
      return Promise.resolve();
    };
    const after = (call: string): Promise<void> => {
      dead ||= call === 'delete ConfigMap one';
      return dead ? never : Promise.resolve();
    };
    world.replica({ dest: { before, after }, hub: { before: () => (dead ? never : undefined) } });
    await clock.advance(10_000);
    expect(dead).toBe(true);
    expect(world.dest.get('ConfigMap', 'one')).toBeUndefined();
    const next = world.replica();
    stops.push(() => next.stop());
    await clock.advance(30_000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.dest.get('ConfigMap', 'one')?.['data']).toEqual({ key: '2' });
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stringifyJson } from '#base';
import { jsonOf } from '#model';
import { automated, config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const waveOf = (wave: string): Readonly<Record<string, string>> => ({ 'argocd.argoproj.io/sync-wave': wave });

describe('an Application with integers that a double cannot represent', () => {
  it('syncs waves beyond 2^53 in their exact order, and its status has the exact numbers', async () => {
    repo.commit({
      'app/last.yaml': config('last', '1', waveOf('9007199254740993')),
      'app/first.yaml': config('first', '1', waveOf('9007199254740992')),
    });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    const app = await world.until('demo', synced);
    expect(app.status?.operationState?.phase).toBe('Succeeded');
    const rows = stringifyJson(jsonOf(app.status?.resources));
    expect(rows.match(/"syncWave":\d+/g)).toEqual(['"syncWave":9007199254740992', '"syncWave":9007199254740993']);
    const names = app.status?.operationState?.syncResult?.resources?.map(({ name }) => name);
    expect(names).toEqual(['first', 'last']);
  });

  it('gives a wave out of the range of 64 bits no effect, as Go does', async () => {
    repo.commit({ 'app/a.yaml': config('a', '1', waveOf('99999999999999999999')) });
    await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    const app = await world.until('demo', synced);
    expect(app.status?.resources?.[0]).not.toHaveProperty('syncWave');
  });

  it('retries and keeps history by limits and factors of any size', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    const huge = 9223372036854775807n;
    const retry = { limit: huge, backoff: { duration: '1s', factor: huge, maxDuration: '1s' } };
    world.application('demo', {
      ...repo.source(),
      revisionHistoryLimit: huge,
      syncPolicy: { ...automated.syncPolicy, retry },
    });
    const app = await world.until('demo', synced);
    expect(app.status?.history).toHaveLength(1);
    repo.commit({ 'app/b.yaml': config('b').replace('v1', 'nonsense/v1') });
    world.refresh('demo');
    await world.until('demo', ({ status }) => expect(status?.operationState?.retryCount).toBe(2));
    repo.commit({ 'app/b.yaml': null });
  });
});

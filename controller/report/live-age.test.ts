import { describe, expect, it } from '@jest/globals';
import type { KindState, LiveCluster } from '#live';
import { liveAges } from './live-age.ts';

const listedAt = Date.UTC(2026, 0, 2, 3, 4, 5);
const state = (kind: string, more: Partial<KindState>): KindState => ({
  group: '',
  kind,
  version: 'v1',
  state: 'degraded',
  objects: 1,
  ...more,
});
const ageOf = (...kinds: KindState[]): ReturnType<typeof liveAges> =>
  liveAges({ staleKinds: () => kinds } as unknown as LiveCluster);
const ref = (kind: string, namespace = 'red') => ({ group: '', kind, namespace, name: 'a' });

describe('the age of a live state', () => {
  it('is that of the last list of a kind that is not fresh', () => {
    const age = ageOf(state('Secret', { listedAt, message: 'the watch is refused' }));
    expect(age(ref('Secret'))).toEqual({ listedAt: '2026-01-02T03:04:05.000Z', reason: 'the watch is refused' });
    expect(age(ref('ConfigMap'))).toBeUndefined();
  });

  it('concerns one namespace only, in a cluster that is limited to some', () => {
    const age = ageOf(state('Secret', { namespace: 'red', state: 'forbidden' }));
    expect(age(ref('Secret'))).toEqual({ reason: 'forbidden' });
    expect(age(ref('Secret', 'blue'))).toBeUndefined();
  });

  it('is not known of objects that are read one by one, nor without a cluster', () => {
    expect(ageOf(state('Secret', { state: 'left-out' }))(ref('Secret'))).toBeUndefined();
    expect(liveAges(undefined)(ref('Secret'))).toBeUndefined();
  });
});

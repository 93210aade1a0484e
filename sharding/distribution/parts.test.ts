import { describe, expect, it } from '@jest/globals';
import { appKey, partIndex } from '#model';
import type { Application } from '#model';
import { algorithms, countApplications, distribute } from './distribution.ts';
import { clusterKey, maxParts, partKey, partsOf } from './parts.ts';

describe('partsOf', () => {
  const of = (split?: string): ReturnType<typeof partsOf> =>
    partsOf({ name: 'hot', annotations: split === undefined ? {} : { 'driftless.io/split': split } }, 2);

  it.each([
    [undefined, 2],
    ['1', 1],
    ['4', 4],
    [String(maxParts), maxParts],
  ])('parses %s as %s', (text, parts) => {
    expect(of(text)).toEqual({ parts });
  });

  it.each(['', '0', '-1', '65', '4.5', 'four', ' 4'])('uses the default for %j, and reports it', (text) => {
    expect(of(text)).toEqual({ parts: 2, problem: expect.stringContaining(`"${text}" is not a number from 1 to 64`) });
  });
});

// T-SHARD-6
describe('a split cluster', () => {
  const apps = Array.from({ length: 5000 }, (_, i) => appKey('argocd', `app-${i}`));
  const hot = { id: '5f2c1e7a-8b1d-4c55-9d0e-3a7b6f1c2d90', server: 'https://hot/', name: 'hot', parts: 4 };

  it('has parts of similar size', () => {
    const counts = [0, 1, 2, 3].map((i) => apps.filter((key) => partIndex(key, 4) === i).length);
    for (const count of counts) expect(Math.abs(count / apps.length - 0.25)).toBeLessThan(0.025);
  });

  it.each(algorithms)('spreads over as many shards as it has parts (%s)', (algorithm) => {
    const objects = apps.map(
      (key) =>
        ({
          metadata: { namespace: 'argocd', name: key.slice('argocd/'.length) },
          spec: { destination: { server: 'https://hot' } },
        }) as unknown as Application,
    );
    const table = distribute(algorithm, [hot], countApplications([hot], objects), 4);
    expect([...table.keys()]).toEqual([0, 1, 2, 3].map((i) => partKey('https://hot', i, 4)));
    expect(new Set(table.values()).size).toBe(4);
  });

  it.each(algorithms)('follows a pin with all its parts, and moves no other cluster (%s)', (algorithm) => {
    const others = ['a', 'b', 'c'].map((id) => ({ id, server: `https://${id}` }));
    const whole = distribute(algorithm, [{ ...hot, parts: 1 }, ...others], new Map(), 4);
    const split = distribute(algorithm, [hot, ...others], new Map(), 4);
    if (algorithm !== 'consistent-hashing')
      for (const { server } of others) expect(split.get(server)).toBe(whole.get(server));
    const pinned = distribute(algorithm, [{ ...hot, shard: 2 }], new Map(), 4);
    expect([...pinned.values()]).toEqual([2, 2, 2, 2]);
  });
});

it.each([
  ['https://a//', 'https://a'],
  ['https://a', 'https://a'],
  ['/', ''],
  ['', ''],
])('maps %j to the key %j', (server, key) => {
  expect(clusterKey(server)).toBe(key);
});

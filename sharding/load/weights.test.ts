import { describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { rebalance } from '../distribution/rebalance.ts';
import { weightsOf, addEventWeights } from './weights.ts';

const clusters = ['a', 'b', 'c'].map((name) => ({ id: name, name, server: `https://${name}` }));

function app(name: string, cluster: string, status: object = {}): Application {
  const metadata = { namespace: 'argocd', name };
  return { metadata, spec: { destination: { name: cluster } }, status } as unknown as Application;
}

const resources = (count: number): object => ({ resources: Array.from({ length: count }, () => ({})) });
const unreachable = { sync: { status: 'Unknown' }, conditions: [{ type: 'ComparisonError', message: 'no route' }] };

describe('weightsOf', () => {
  it('counts Applications, as Argo CD does', () => {
    const apps = [app('1', 'a', resources(100)), app('2', 'a', unreachable), app('3', 'b'), app('4', 'elsewhere')];
    expect(Object.fromEntries(weightsOf(clusters, apps, 'applications'))).toEqual({
      'https://a': 2,
      'https://b': 1,
      'https://c': 0,
    });
  });

  it('adds resources to the weight with measured weights', () => {
    const weights = weightsOf(clusters, [app('1', 'a', resources(40)), app('2', 'b', resources(0))], 'measured');
    expect(Object.fromEntries(weights)).toEqual({ 'https://a': 3, 'https://b': 1, 'https://c': 0 });
  });

  // T-SHARD-8
  it('gives an unreachable cluster almost no weight, and a partly reachable one its own', () => {
    const dead = Array.from({ length: 50 }, (_, i) => app(`dead-${i}`, 'a', unreachable));
    const half = [app('ill', 'b', unreachable), app('well', 'b', { sync: { status: 'Synced' } })];
    const weights = weightsOf(clusters, [...dead, ...half], 'measured');
    expect(weights.get('https://a')).toBeLessThan((weights.get('https://b') ?? 0) / 100);
    expect(weights.get('https://b')).toBe(2);
  });

  // T-SHARD-8
  it('does not idle a replica with dead clusters beside overloaded ones', () => {
    const many = Array.from({ length: 40 }, (_, i) => ({ id: `c${i}`, name: `c${i}`, server: `https://c${i}` }));
    const apps = many.flatMap(({ name }, i) =>
      Array.from({ length: 20 }, (_, j) => app(`${name}-${j}`, name, i < 20 ? unreachable : {})),
    );
    const weights = weightsOf(many, apps, 'measured');
    const { shards } = rebalance(
      undefined,
      { algorithm: 'consistent-hashing', replicas: 4, clusters: many, weights },
      0,
    );
    const busy = [0, 0, 0, 0];
    many.slice(20).forEach(({ server }) => (busy[shards.get(server) ?? 0] = (busy[shards.get(server) ?? 0] ?? 0) + 1));
    expect(Math.max(...busy)).toBeLessThanOrEqual(Math.ceil(1.25 * 5));
  });
});

describe('addEventWeights', () => {
  const weights = new Map([
    ['https://a', 10],
    ['https://b#0/2', 5],
    ['https://b#1/2', 7],
  ]);
  const split = [{ server: 'https://a/' }, { server: 'https://b', parts: 2 }, { server: 'https://c' }];

  it('adds to the weight of a busy cluster, to each part of a split one, and to no other', () => {
    const rates = new Map([
      ['https://a', 4],
      ['https://b', 16],
      ['https://gone', 64],
    ]);
    const heavier = addEventWeights(weights, split, rates);
    expect([...heavier.keys()]).toEqual([...weights.keys()]);
    const added = [...weights].map(([part, weight]) => (heavier.get(part) ?? 0) - weight);
    expect(added[0]).toBeGreaterThan(0);
    expect([added[1], added[2]]).toEqual([2 * (added[0] ?? 0), 2 * (added[0] ?? 0)]);
  });

  it('counts a cluster with two Secrets once', () => {
    const twice = [...split, { server: 'https://a' }];
    const rates = new Map([['https://a', 4]]);
    expect(addEventWeights(weights, twice, rates)).toEqual(addEventWeights(weights, split, rates));
  });
});

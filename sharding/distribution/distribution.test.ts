import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import fc from 'fast-check';
import type { Application } from '#model';
import { algorithms, countApplications, distribute, legacyShard, parseAlgorithm } from './distribution.ts';
import type { ShardedCluster } from './distribution.ts';
import { compareBytes } from './bounded-load.ts';
import { clusterKey, partKey } from './parts.ts';
import { legacyVectors, roundRobinVectors } from '../testing/vectors.ts';

const replicaCounts = [2, 3, 5, 7] as const;
const none = new Map<string, number>();

function clusters(ids: readonly string[]): readonly ShardedCluster[] {
  return ids.map((id, i) => ({ id, server: `https://c${i}` }));
}

describe('legacy', () => {
  it.each(legacyVectors)('assigns %s to the shard that Argo CD assigns', (id, ...shards) => {
    expect(replicaCounts.map((replicas) => legacyShard(id, replicas))).toEqual(shards);
  });

  it('assigns ids 1, 2, 3, 4 of the Go tests to shards 4, 1, 2, 2 of 5', () => {
    expect(['1', '2', '3', '4'].map((id) => legacyShard(id, 5))).toEqual([4, 1, 2, 2]);
  });
});

describe('round-robin', () => {
  it.each(replicaCounts.map((replicas, i) => [replicas, i] as const))('ranks by id over %s replicas', (replicas, i) => {
    const list = clusters(roundRobinVectors.map(([id]) => id));
    const table = distribute('round-robin', [...list].reverse(), none, replicas);
    expect(list.map((cluster) => table.get(cluster.server))).toEqual(roundRobinVectors.map((row) => row[i + 1]));
  });

  it('moves all clusters behind a new one in the order of ids: all 200 at most, half of them in the middle', () => {
    const ids = Array.from({ length: 200 }, (_, i) => `b${String(i).padStart(3, '0')}`);
    const before = distribute('round-robin', clusters(ids), none, 10);
    const movedBy = (id: string): number => {
      const after = distribute('round-robin', clusters([...ids, id]), none, 10);
      return [...before].filter(([server, shard]) => after.get(server) !== shard).length;
    };
    expect([movedBy('a'), movedBy('b099x'), movedBy('c')]).toEqual([200, 100, 0]);
  });

  it('sorts by bytes, not by UTF-16 units', () => {
    const table = distribute('round-robin', clusters(['🚀', '\uffee']), none, 2);
    expect([table.get('https://c0'), table.get('https://c1')]).toEqual([1, 0]);
  });
});

describe('pins', () => {
  const pinned = (shard: number): readonly ShardedCluster[] => [{ id: 'x', server: 'https://x/', shard }];

  it.each(algorithms)(
    '%s honours a pin, sends one beyond the replicas to 0 and ignores a negative one',
    (algorithm) => {
      expect(distribute(algorithm, pinned(2), none, 3).get('https://x')).toBe(2);
      expect(distribute(algorithm, pinned(3), none, 3).get('https://x')).toBe(0);
      const free = distribute(algorithm, [{ id: 'x', server: 'https://x' }], none, 3);
      expect(distribute(algorithm, pinned(-1), none, 3)).toEqual(free);
    },
  );

  it('a pinned cluster still takes a rank in round-robin', () => {
    const list = [
      { id: 'a', server: 'a', shard: 1 },
      { id: 'b', server: 'b' },
    ];
    expect(distribute('round-robin', list, none, 2).get('b')).toBe(1);
  });
});

// T-SHARD-1
describe('distribute', () => {
  const cluster = fc.record({
    id: fc.oneof(fc.constant(''), fc.uuid(), fc.string({ maxLength: 6 })),
    server: fc.constantFrom('https://a', 'https://a/', 'https://b', 'https://c', 'https://d', 'https://e'),
    shard: fc.option(fc.integer({ min: -2, max: 14 }), { nil: undefined }),
  });
  const list = fc
    .array(cluster, { maxLength: 12 })
    .map((items): readonly ShardedCluster[] =>
      items.map(({ id, server, shard }) => ({ id, server, ...defined({ shard }) })),
    );
  const counts = fc.dictionary(fc.constantFrom('https://a', 'https://b', 'https://c'), fc.nat(500));
  const replicas = fc.integer({ min: 0, max: 12 });

  it('assigns every cluster to exactly one shard, regardless of order and duplicates', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...algorithms),
        list,
        counts,
        replicas,
        fc.nat(),
        (algorithm, items, apps, n, seed) => {
          const table = distribute(algorithm, items, new Map(Object.entries(apps)), n);
          const rotated = [...items.slice(seed % (items.length + 1)), ...items, ...items.slice(0, 2)].reverse();
          const again = distribute(algorithm, rotated, new Map(Object.entries(apps).reverse()), n);
          expect(again).toEqual(table);
          expect(new Set(table.keys())).toEqual(new Set(items.map((item) => clusterKey(item.server))));
          for (const shard of table.values()) expect(shard >= 0 && shard < Math.max(1, n)).toBe(true);
        },
      ),
    );
  });
});

describe('consistent-hashing', () => {
  const many = Array.from({ length: 400 }, (_, i) => ({ id: `id-${i}`, server: `https://c${i}` }));
  const weights = new Map(many.map(({ server }, i) => [server, Math.floor(2000 / (i + 1))]));

  it('moves about a tenth of the clusters when scaling from 10 to 11 replicas; legacy moves nine tenths', () => {
    const moved = (algorithm: 'legacy' | 'consistent-hashing'): number => {
      const [before, after] = [10, 11].map((n) => distribute(algorithm, many, none, n));
      return many.filter(({ server }) => before?.get(server) !== after?.get(server)).length / many.length;
    };
    expect(moved('consistent-hashing')).toBeLessThan(0.2);
    expect(moved('legacy')).toBeGreaterThan(0.8);
  });

  it('keeps every shard within the bound, unless a single cluster is heavier', () => {
    const even = new Map(many.map(({ server }) => [server, 10]));
    for (const [counts, slack] of [
      [even, 0],
      [weights, 2000],
    ] as const) {
      const loads = new Array<number>(7).fill(0);
      const table = distribute('consistent-hashing', many, counts, 7);
      for (const [server, shard] of table) loads[shard]! += counts.get(server) ?? 0;
      const total = loads.reduce((a, b) => a + b, 0);
      expect(Math.max(...loads)).toBeLessThanOrEqual(Math.max(Math.ceil((1.25 * total) / 7), slack));
    }
  });

  it.each([
    [12, 3],
    [60, 8],
  ])('spreads %i parts of a new cluster over %i shards before they fill', (parts, replicas) => {
    const cluster = { id: 'new', server: 'https://new', parts };
    for (let part = 0; part < parts; part += 1) {
      const counts = new Map([[partKey(clusterKey(cluster.server), part, parts), 1]]);
      const shards = [...distribute('consistent-hashing', [cluster], counts, replicas).values()];
      const owned = Array.from({ length: replicas }, (_, shard) => shards.filter((one) => one === shard).length);
      expect([part, Math.max(...owned) <= Math.ceil((1.25 * parts) / replicas)]).toEqual([part, true]);
    }
  });

  it('keeps the bound for Applications regardless of empty clusters, and spreads these too', () => {
    const empty = Array.from({ length: 1000 }, (_, i) => ({ id: `empty-${i}`, server: `https://empty-${i}` }));
    const full = many.slice(0, 12);
    const counts = new Map(full.map(({ server }) => [server, 40]));
    const table = distribute('consistent-hashing', [...empty, ...full], counts, 6);
    const count = (list: readonly ShardedCluster[]): number[] =>
      [0, 1, 2, 3, 4, 5].map((shard) => list.filter(({ server }) => table.get(server) === shard).length);
    expect(Math.max(...count(full))).toBe(2);
    expect(Math.max(...count(empty))).toBeLessThanOrEqual(Math.ceil((1.25 * 1000) / 6));
  });

  it('keeps the bound, except for one heavy cluster on an average shard', () => {
    const list = fc.array(fc.oneof(fc.constant(0), fc.nat(20), fc.nat(500)), { maxLength: 60 });
    fc.assert(
      fc.property(list, fc.integer({ min: 2, max: 12 }), (applications, replicas) => {
        const counts = new Map(applications.map((count, i) => [`https://c${i}`, count]));
        const table = distribute('consistent-hashing', many.slice(0, applications.length), counts, replicas);
        const loads = new Array<number>(replicas).fill(0);
        for (const [server, shard] of table) loads[shard]! += counts.get(server) ?? 0;
        const average = loads.reduce((a, b) => a + b, 0) / replicas;
        const bound = Math.max(Math.ceil(1.25 * average), average + Math.max(0, ...applications));
        expect(Math.max(...loads)).toBeLessThanOrEqual(bound);
      }),
    );
  });
});

describe('countApplications', () => {
  const app = (namespace: string, destination: Application['spec']['destination']): Application =>
    ({ metadata: { namespace, name: 'web' }, spec: { destination } }) as Application;

  it('counts by server and by name in all namespaces, and ignores unresolvable destinations', () => {
    const list = [
      { id: '1', server: 'https://a', name: 'a' },
      { id: '2', server: 'https://b', name: 'twice' },
      { id: '3', server: 'https://c', name: 'twice' },
    ];
    const apps = [
      app('one', { server: 'https://a/' }),
      app('two', { name: 'a' }),
      app('one', { name: 'twice' }),
      app('one', { name: 'nobody' }),
      app('one', {}),
    ];
    expect(Object.fromEntries(countApplications(list, apps))).toEqual({
      'https://a': 2,
      'https://b': 0,
      'https://c': 0,
    });
  });
});

it('counts by the parts of the lowest id of a URL, regardless of the order of Secrets', () => {
  const twins = [
    { id: '2', server: 'https://a', name: 'a', parts: 1 },
    { id: '1', server: 'https://a/', name: 'b', parts: 3 },
  ];
  expect([...countApplications(twins, []).keys()]).toEqual(['https://a#0/3', 'https://a#1/3', 'https://a#2/3']);
});

it('falls back to legacy for an unknown algorithm, and reports it', () => {
  expect(parseAlgorithm('Legacy')).toEqual({ algorithm: 'legacy', known: false });
  expect(parseAlgorithm('round-robin')).toEqual({ algorithm: 'round-robin', known: true });
});

describe('invalid and rare inputs', () => {
  const id = (text: string): ShardedCluster => ({ id: text, server: `https://${text}` });

  it.each(algorithms)(
    '%s: builds an empty table without clusters, and one shard per cluster with more shards than clusters',
    (algorithm) => {
      expect(distribute(algorithm, [], none, 5).size).toBe(0);
      const table = distribute(algorithm, [id('a'), id('b')], none, 50);
      expect(table.size).toBe(2);
      for (const shard of table.values()) expect(shard >= 0 && shard < 50).toBe(true);
    },
  );

  it.each(algorithms)(
    '%s: counts two Secrets with one server as one cluster with one owner, known by the lower id',
    (algorithm) => {
      const twins = [
        { id: 'b', server: 'https://x/' },
        { id: 'a', server: 'https://x' },
      ];
      const table = distribute(algorithm, twins, none, 7);
      expect(table).toEqual(distribute(algorithm, [{ id: 'a', server: 'https://x' }], none, 7));
    },
  );

  it('legacy: puts an empty id on shard 0', () => {
    expect(
      distribute('legacy', [{ id: '', server: 'https://kubernetes.default.svc' }], none, 7).get(
        'https://kubernetes.default.svc',
      ),
    ).toBe(0);
  });

  it('orders texts by their UTF-8 bytes', () => {
    const text = fc.string({ unit: 'grapheme-composite', maxLength: 8 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        fc.pre([a, b].every((text) => Buffer.from(text).toString() === text));
        expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  it('keeps the bound with Zipf weights, except for a single heavier cluster', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.double({ min: 0, max: 1.2, noNaN: true }), (replicas, skew) => {
        const list = Array.from({ length: 300 }, (_, i) => id(`z${i}`));
        const weights = new Map(list.map(({ server }, i) => [server, Math.floor(3000 / (i + 1) ** skew)]));
        const loads = new Array<number>(replicas).fill(0);
        for (const [server, shard] of distribute('consistent-hashing', list, weights, replicas))
          loads[shard]! += weights.get(server)!;
        const bound = Math.ceil((1.25 * loads.reduce((a, b) => a + b, 0)) / replicas);
        expect(Math.max(...loads)).toBeLessThanOrEqual(Math.max(bound, 3000));
      }),
    );
  });
});

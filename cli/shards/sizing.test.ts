import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import type { ApiReader } from '../read-api/api-reader.ts';
import { fullestAfter, layoutFor, loadsOf } from './layout.ts';
import { readMeasuredLoad } from './measured-load.ts';
import type { ReplicaLoad } from './measured-load.ts';
import { cpuTarget, heapTarget, replicasNeeded, sizingJson, sizingLines } from './sizing.ts';
import { distinctParts } from './source.ts';
import type { FleetSource, ListedCluster } from './source.ts';

const mib = 1024 * 1024;
const now = 1_000_000;

/** A fleet that one replica has, with the given weight of each cluster. */
function fleetOf(weights: readonly number[], parts = 1, pin?: number): FleetSource {
  const clusters = weights.map((_weight, i): ListedCluster => {
    const name = `c${i}`;
    return { id: `id-${i}`, server: `https://${name}`, name, parts, ...(pin === undefined ? {} : { shard: pin }) };
  });
  const byKey = new Map(
    distinctParts(clusters).map(({ cluster, key }) => [key, (weights[clusters.indexOf(cluster)] ?? 0) / parts]),
  );
  return {
    clusters,
    applications: byKey,
    namespaces: new Map(),
    weights: byKey,
    weighting: 'applications',
    published: undefined,
    hub: 'argocd',
    defaults: { replicas: 1, algorithm: 'consistent-hashing' },
    notes: [],
  };
}

const replica = (over: Partial<ReplicaLoad> = {}): ReplicaLoad => ({
  name: 'driftless-0',
  shard: 0,
  cpu: 0.1,
  heapBytes: 100 * mib,
  heapLimitBytes: 1600 * mib,
  sampledMs: 3_600_000,
  ...over,
});

const layoutOf = (source: FleetSource, replicas = 1) =>
  layoutFor(source, { algorithm: 'consistent-hashing', replicas }, now);

const adviceFor = (source: FleetSource, load: Partial<ReplicaLoad>) =>
  replicasNeeded(source, layoutOf(source), { replicas: [replica(load)] }, now);

const even = Array.from({ length: 40 }, () => 25);

describe('the number of replicas that measured load needs', () => {
  it('is one while one replica has room', () => {
    expect(adviceFor(fleetOf(even), {})?.replicas).toBe(1);
  });

  it('grows with CPU, and with heap, whichever needs more', () => {
    const cpu = adviceFor(fleetOf(even), { cpu: 1.15 })?.replicas ?? 0;
    const heap = adviceFor(fleetOf(even), { heapBytes: 2200 * mib })?.replicas ?? 0;
    const both = adviceFor(fleetOf(even), { cpu: 1.15, heapBytes: 4000 * mib })?.replicas ?? 0;
    expect([cpu, heap].every((count) => count >= 2 && count <= 3)).toBe(true);
    expect(both).toBeGreaterThan(Math.max(cpu, heap));
  });

  it('is the smallest with which the fullest shard stays below both targets, for any fleet', () => {
    const random = seededRandom(20261127);
    for (let round = 0; round < 200; round += 1) {
      const source = fleetOf(
        Array.from({ length: 1 + Math.floor(random.next() * 30) }, () => 1 + Math.floor(random.next() * 50)),
      );
      const load = { cpu: random.next() * 3, heapBytes: (50 + random.next() * 4000) * mib };
      const before = layoutOf(source);
      const advice = adviceFor(source, load);
      const total = [...source.weights.values()].reduce((a, b) => a + b, 0);
      const fits = (count: number): boolean => {
        const share = fullestAfter(source, before, { algorithm: before.algorithm, replicas: count }, now) / total;
        const heap = 48 * mib + Math.max(0, load.heapBytes - 48 * mib) * share;
        return load.cpu * share <= cpuTarget + 1e-9 && heap <= heapTarget * 1600 * mib + 1;
      };
      const counts = Array.from({ length: source.clusters.length }, (_, i) => i + 1);
      if ((advice?.tooBig.length ?? 0) > 0) expect(advice?.replicas).toBeUndefined();
      else expect(advice?.replicas).toBe(counts.find(fits));
    }
  });

  it('counts what replicas without figures have by its weight', () => {
    const source = fleetOf(even);
    const before = layoutOf(source, 2);
    const shares = loadsOf(source.weights, before.shards, 2);
    const only = replicasNeeded(source, before, { replicas: [replica({ cpu: 0.55 })] }, now);
    expect(only?.total.cpu).toBeCloseTo((0.55 * ((shares[0] ?? 0) + (shares[1] ?? 0))) / (shares[0] ?? 1));
    expect(only?.replicas).toBeGreaterThanOrEqual(2);
  });

  it('is that of the replica with the smallest heap limit', () => {
    const source = fleetOf(even);
    const loads = [
      replica({ heapBytes: 900 * mib }),
      replica({ shard: 1, heapBytes: 48 * mib, heapLimitBytes: 800 * mib }),
    ];
    const advice = replicasNeeded(source, layoutOf(source, 2), { replicas: loads }, now);
    expect(advice?.heapTargetBytes).toBe(heapTarget * 800 * mib);
  });

  it('does not exist if one cluster fills a replica: it names it, and parts that would not', () => {
    const source = fleetOf([900, 10, 10]);
    const advice = adviceFor(source, { cpu: 1.4 });
    expect(advice).toMatchObject({ replicas: undefined, tooBig: [{ server: 'https://c0', name: 'c0', parts: 3 }] });
    const split = fleetOf([900, 10, 10], advice?.tooBig[0]?.parts);
    expect(adviceFor(split, { cpu: 1.4 })?.replicas).toBeGreaterThanOrEqual(3);
    expect(sizingLines({ replicas: [replica()], silent: [] }, advice).at(-1)).toBe(
      'Cluster c0 alone fills a replica: split it with the annotation driftless.io/split=3 on its Secret.',
    );
  });

  it('does not exist if pins keep too much on one shard', () => {
    const advice = adviceFor(fleetOf(even, 1, 0), { cpu: 1.4 });
    expect(advice).toMatchObject({ replicas: undefined, tooBig: [] });
    expect(sizingLines({ replicas: [replica()], silent: [] }, advice).at(-1)).toMatch(
      /^No number of replicas is enough/,
    );
  });

  it('is unknown without figures, and without Applications', () => {
    expect(replicasNeeded(fleetOf(even), layoutOf(fleetOf(even)), { replicas: [] }, now)).toBeUndefined();
    expect(adviceFor(fleetOf([]), {})).toBeUndefined();
    expect(sizingJson({ replicas: [], silent: ['driftless-0'] }, undefined)).toMatchObject({ advice: null });
  });
});

describe('the measured load', () => {
  const sample = (cpu: unknown, heapBytes: unknown): object => ({ cpu, heapBytes });
  const pages: Readonly<Record<string, unknown>> = {
    '/replica': {
      items: [
        { name: 'b', shard: 1, heapLimitBytes: 500 },
        { name: 'a', shard: 0, heapLimitBytes: 400 },
        { name: 'new', shard: 2, heapLimitBytes: 400 },
        { name: 'standby', heapLimitBytes: 400 },
        { name: 7, shard: 'x' },
        'nonsense',
      ],
      incomplete: [{ replica: 'gone', reason: 'no answer' }],
    },
    '/history': {
      items: [
        {
          replica: 'a',
          intervalMs: 10_000,
          samples: [...Array.from({ length: 19 }, () => sample(0.1, 100)), sample(0.9, 300)],
        },
        { replica: 'b', intervalMs: 10_000, samples: [sample('much', -1), sample(0.2, 7)] },
        { replica: 'new', intervalMs: 10_000, samples: [] },
      ],
    },
  };
  const reader: ApiReader = { get: (path) => Promise.resolve(pages[path]) };

  it('is the peak of CPU and the middle of heaps, of the replicas that hold a shard', async () => {
    expect(await readMeasuredLoad(reader)).toEqual({
      replicas: [
        { name: 'a', shard: 0, cpu: 0.9, heapBytes: 100, heapLimitBytes: 400, sampledMs: 200_000 },
        { name: 'b', shard: 1, cpu: 0.2, heapBytes: 7, heapLimitBytes: 500, sampledMs: 20_000 },
      ],
      silent: ['new', 'gone'],
    });
  });

  it('prints a line for each replica, and the advice', async () => {
    const load = await readMeasuredLoad(reader);
    const source = fleetOf(even);
    expect(sizingLines(load, adviceFor(source, { cpu: 0.3 }))).toEqual([
      'SHARD   REPLICA   CPU    HEAP         MEASURED OVER',
      '0       a         0.90   0 of 0 MiB   3 min',
      '1       b         0.20   0 of 0 MiB   20 s',
      '',
      'By the load of the last hour this hub needs 1 replica. Fullest shard then: CPU 0.30 (target 0.6), heap 100 MiB (target 1120).',
    ]);
  });

  it('is without figures for pages of another form', async () => {
    expect(await readMeasuredLoad({ get: () => Promise.resolve('a page') })).toEqual({ replicas: [], silent: [] });
  });
});

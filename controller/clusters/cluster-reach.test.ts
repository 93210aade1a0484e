import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { Cluster } from '#model';
import type { ClusterReach, OwnedParts } from '#sharding';
import { FakeClock } from '#support';
import { ClusterReachWatch } from './cluster-reach.ts';

const leaseMs = 30_000;
const hubServer = 'https://10.0.0.1';
const inCluster = 'https://kubernetes.default.svc';

let clock: FakeClock;
let owned: string[];
let gaining: string[];
let offered: string[];
let dead: Set<string>;
let probed: string[];
let reach: ClusterReach | undefined;
let end: AbortController;
let isSkipped: boolean;
let hub: 'answers' | 'refuses' | 'is silent';
let known: readonly string[];
let open: number;
let delayMs: number;
let mostOpen: number;
let watch: ClusterReachWatch;

function cluster(server: string): Cluster {
  const annotations: Record<string, string> = isSkipped ? { 'argocd.argoproj.io/skip-reconcile': 'true' } : {};
  const connection = { server, insecure: false, credentials: {} };
  return { id: server, server, name: '', namespaces: [], clusterResources: false, labels: {}, annotations, connection };
}

beforeEach(() => {
  clock = new FakeClock();
  [owned, gaining, offered, probed] = [['https://a', 'https://b', 'https://c'], [], [], []];
  dead = new Set();
  reach = undefined;
  isSkipped = false;
  hub = 'answers';
  known = ['https://a', 'https://b', 'https://c', 'https://other', inCluster, hubServer];
  [open, mostOpen, delayMs] = [0, 0, 0];
  end = new AbortController();
  const one: OwnedParts = { of: 1, owned: [0] };
  watch = new ClusterReachWatch({
    ownership: {
      ownsCluster: (server) => owned.includes(server),
      gaining: () => new Map(gaining.map((server) => [server, one])),
      offered: () => new Set(offered),
      reportReach: (next) => (reach = next),
      identity: () => ({ shard: 1, replicas: 2 }),
    },
    clusters: () => known.map(cluster),
    hubServer,
    probe: ({ server }, signal) => {
      probed.push(server);
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      const late = delayMs === 0 ? Promise.resolve() : clock.sleep(delayMs, signal);
      const answer = dead.has(server) ? silence(signal) : late;
      return answer.finally(() => (open -= 1));
    },
    probeHub: (signal) => {
      if (hub === 'is silent') return silence(signal);
      return hub === 'answers'
        ? Promise.resolve('v1.36.3')
        : Promise.reject(new KubeConnectionError('', '', undefined));
    },
    leaseMs,
    clock,
  });
  void watch.run(end.signal);
});

afterEach(() => end.abort());

function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

const none: ClusterReach = { unreached: [], reaches: [] };

describe('the clusters of a replica', () => {
  it('are probed one at a time, in turn, while they answer', async () => {
    await clock.advance(3 * leaseMs);
    expect(new Set(probed)).toEqual(new Set(owned));
    expect(probed.length).toBeLessThanOrEqual(9);
    expect(reach).toEqual(none);
  });

  it('are all offered when none has answered for a lease, and not before', async () => {
    await clock.advance(10_000);
    dead = new Set(owned);
    await clock.advance(leaseMs - 1000);
    expect(reach).toEqual(none);
    await clock.advance(leaseMs / 2);
    expect(reach).toEqual({ unreached: owned, reaches: [] });
  });

  it('are not offered while one of them answers', async () => {
    dead = new Set(['https://a', 'https://b']);
    await clock.advance(10 * leaseMs);
    expect(reach).toEqual(none);
  });

  it.each(['refuses', 'is silent'] as const)(
    'are not offered while the hub %s, nor for a lease afterwards',
    async (how) => {
      dead = new Set(owned);
      hub = how;
      await clock.advance(10 * leaseMs);
      expect(reach).toEqual(none);
      hub = 'answers';
      await clock.advance(leaseMs - 1000);
      expect(reach).toEqual(none);
      await clock.advance(leaseMs / 2);
      expect(reach?.unreached).toEqual(owned);
    },
  );

  it.each([
    ['between its looks', leaseMs / 3 - 100],
    ['while it probes one of them', leaseMs / 3 + 100],
    ['while it probes all of them', leaseMs / 3 + 6500],
  ])('are not offered by a replica that stood still %s', async (_when, ms) => {
    dead = new Set(owned);
    await clock.advance(ms);
    await clock.stall(4 * leaseMs);
    await clock.advance(leaseMs - 1000);
    expect(reach).toEqual(none);
    await clock.advance(leaseMs / 2);
    expect(reach?.unreached).toEqual(owned);
  });

  it('are offered soon after a lease although they are a thousand, which are asked 500 at a time', async () => {
    owned = Array.from({ length: 1000 }, (_, i) => `https://${1000 + i}`);
    known = owned;
    await clock.advance(leaseMs);
    expect([reach, mostOpen]).toEqual([none, 1]);
    dead = new Set(owned);
    await clock.advance(leaseMs * 1.5);
    expect([reach?.unreached.length, mostOpen]).toEqual([1000, 500]);
    dead = new Set();
    [probed, mostOpen] = [[], 0];
    await clock.advance(leaseMs);
    expect(reach).toEqual(none);
    expect(mostOpen).toBeLessThanOrEqual(20);
  });

  it('are asked twenty at a time once one answers, however slowly', async () => {
    owned = Array.from({ length: 1000 }, (_, i) => `https://${1000 + i}`);
    known = owned;
    dead = new Set(owned);
    await clock.advance(leaseMs * 2.5);
    expect(reach?.unreached).toHaveLength(1000);
    while (open > 0) await clock.advance(100);
    [dead, delayMs, probed] = [new Set(), 1500, []];
    while (probed.length === 0) await clock.advance(100);
    // The others began after a second; each of them asks one cluster.
    await clock.advance(1300);
    expect(open).toBe(500);
    await clock.advance(1700);
    expect(open).toBe(20);
    delayMs = 0;
    while (open > 0) await clock.advance(500);
  });

  it('are not all asked because one of them is dead', async () => {
    owned = Array.from({ length: 1000 }, (_, i) => `https://${1000 + i}`);
    known = owned;
    dead = new Set(owned.filter((_, i) => i % 10 === 5));
    await clock.advance(100 * leaseMs);
    expect(reach).toEqual(none);
    expect(mostOpen).toBeLessThanOrEqual(20);
    expect(probed.length).toBeLessThan(1000);
  });

  it('stay offered until each of them answers, also when another replica has taken them', async () => {
    dead = new Set(owned);
    await clock.advance(2 * leaseMs);
    [owned, gaining] = [[], owned];
    await clock.advance(2 * leaseMs);
    expect(reach?.unreached).toEqual(gaining);
    dead = new Set(['https://a', 'https://b']);
    await clock.advance(leaseMs);
    expect(reach?.unreached).toEqual(['https://a', 'https://b']);
    dead = new Set();
    await clock.advance(leaseMs);
    expect(reach).toEqual(none);
  });

  it('are not offered a lease after they were gained, however long the replica had none', async () => {
    owned = [];
    await clock.advance(10 * leaseMs);
    owned = ['https://a'];
    dead = new Set(owned);
    await clock.advance(leaseMs - 1000);
    expect(reach).toEqual(none);
    await clock.advance(leaseMs);
    expect(reach?.unreached).toEqual(['https://a']);
  });

  it('are reached through the network, not through the hub', async () => {
    owned = [inCluster, hubServer, 'https://a'];
    dead = new Set(['https://a']);
    await clock.advance(2 * leaseMs);
    expect(reach?.unreached).toEqual(['https://a']);
    expect(new Set(probed)).toEqual(new Set(['https://a']));
  });

  it('are not probed with the annotation skip-reconcile', async () => {
    isSkipped = true;
    await clock.advance(2 * leaseMs);
    expect([probed, reach]).toEqual([[], none]);
  });
});

describe('clusters that a replica would get', () => {
  beforeEach(() => {
    [owned, gaining] = [[], ['https://a', 'https://b']];
  });

  it('are offered at once when none of them answers, so that they stay where they are', async () => {
    dead = new Set(gaining);
    const confirming = watch.confirm(end.signal);
    await clock.advance(5000);
    await confirming;
    expect(reach).toEqual({ unreached: gaining, reaches: [] });
    dead = new Set();
    await clock.advance(leaseMs);
    expect(reach).toEqual(none);
  });

  it('are not offered when one of them answers', async () => {
    dead = new Set(['https://a']);
    const confirming = watch.confirm(end.signal);
    await clock.advance(5000);
    await confirming;
    expect(reach).toEqual(none);
  });

  it('are not offered because of one sample', async () => {
    dead = new Set(['https://a', 'https://b']);
    await clock.advance(leaseMs / 3);
    dead = new Set(['https://b']);
    await clock.advance(leaseMs);
    expect(reach).toEqual(none);
  });
});

describe('a cluster that another replica offers', () => {
  it('is reported while it answers here, and until a lease after its last answer', async () => {
    offered = ['https://other'];
    await clock.advance(10_000);
    expect(reach).toEqual({ unreached: [], reaches: ['https://other'] });
    dead = new Set(['https://other']);
    await clock.advance(leaseMs - 1000);
    expect(reach?.reaches).toEqual(['https://other']);
    await clock.advance(leaseMs);
    expect(reach?.reaches).toEqual([]);
  });

  it('is reported without a gap for as long as it answers', async () => {
    offered = ['https://other'];
    await clock.advance(10_000);
    for (let i = 0; i < 100; i += 1) {
      expect(reach?.reaches).toEqual(['https://other']);
      await clock.advance(3000);
    }
  });

  it('is reported by a replica that owns other parts of it', async () => {
    offered = ['https://a', 'https://b'];
    await clock.advance(10_000);
    expect(reach).toEqual({ unreached: [], reaches: ['https://a', 'https://b'] });
  });

  it('is asked by each replica in another order, fifty at a time, and again after half a lease', async () => {
    owned = [];
    offered = Array.from({ length: 400 }, (_, i) => `https://${1000 + i}`);
    known = offered;
    await clock.advance(10_000);
    expect(probed).toEqual(offered.slice(200, 250));
    expect(reach?.reaches).toEqual(probed);
    dead = new Set(offered);
    await clock.advance(10 * leaseMs);
    expect(new Set(probed)).toEqual(new Set(offered));
    expect(reach?.reaches).toEqual([]);
  });

  it('is not reported once it is not offered any more', async () => {
    offered = ['https://other'];
    await clock.advance(10_000);
    offered = [];
    await clock.advance(10_000);
    expect(reach).toEqual(none);
  });
});

it.each([
  [new KubeApiError({ code: 401, reason: 'Unauthorized', message: 'no' }, 'GET /version'), []],
  [new KubeConnectionError('https://a', 'refused', undefined), ['https://a']],
])('%s says whether the network leads to a cluster', async (error, unreached) => {
  end.abort();
  const life = new AbortController();
  const watch = new ClusterReachWatch({
    ownership: {
      ownsCluster: () => true,
      gaining: () => new Map(),
      reportReach: (next) => (reach = next),
      identity: () => ({ shard: 0, replicas: 1 }),
    },
    clusters: () => [cluster('https://a')],
    hubServer,
    probe: () => Promise.reject(error),
    probeHub: () => Promise.resolve('v1.36.3'),
    leaseMs,
    clock,
  });
  void watch.run(life.signal);
  await clock.advance(2 * leaseMs);
  expect(reach?.unreached).toEqual(unreached);
  life.abort();
});

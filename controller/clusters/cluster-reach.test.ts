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
  end = new AbortController();
  const one: OwnedParts = { of: 1, owned: [0] };
  watch = new ClusterReachWatch({
    ownership: {
      ownsCluster: (server) => owned.includes(server),
      gaining: () => new Map(gaining.map((server) => [server, one])),
      offered: () => new Set(offered),
      reportReach: (next) => (reach = next),
    },
    clusters: () => ['https://a', 'https://b', 'https://c', 'https://other', inCluster, hubServer].map(cluster),
    hubServer,
    probe: ({ server }, signal) => {
      probed.push(server);
      if (!dead.has(server)) return Promise.resolve('v1.36.3');
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    leaseMs,
    clock,
  });
  void watch.run(end.signal);
});

afterEach(() => end.abort());

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

  it('is reported by a replica that owns other parts of it', async () => {
    offered = ['https://a', 'https://b'];
    await clock.advance(10_000);
    expect(reach).toEqual({ unreached: [], reaches: ['https://a', 'https://b'] });
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
  const watch = new ClusterReachWatch({
    ownership: {
      ownsCluster: () => true,
      gaining: () => new Map(),
      reportReach: (next) => (reach = next),
    },
    clusters: () => [cluster('https://a')],
    hubServer,
    probe: () => Promise.reject(error),
    leaseMs,
    clock,
  });
  owned = [];
  void watch.run(end.signal);
  await clock.advance(2 * leaseMs);
  expect(reach?.unreached ?? []).toEqual(unreached);
});

import { describe, expect, it } from '@jest/globals';
import type { ClusterOwner, ClusterResponse, Queue, ReplicaInfo, Repository } from '#api';
import { explainCluster } from './cluster.ts';
import { explainReplica } from './replica.ts';
import { explainRepository } from './repository.ts';
import { before, noon } from '../../api/testing/index.ts';

const head = { apiVersion: 'driftless.io/v1', time: noon, replica: 'driftless-0', incomplete: [] } as const;

const owner: ClusterOwner = {
  server: 'https://dest',
  name: 'prod',
  replica: 'driftless-1',
  state: 'synced',
  serverVersion: 'v1.36.3',
  lastSyncAt: before(60),
  objects: 1200,
  kinds: 40,
  degradedKinds: 0,
  applications: 12,
  events: 100,
  eventsPerSecond: 0.25,
  watched: [],
  noisiest: [],
  links: [],
};
const handOver = {
  at: before(90),
  server: 'https://dest',
  part: 0,
  from: 2,
  epoch: 4,
  reason: 'cluster-removed',
  message: 'its Secret is gone',
} as const;
const pods = { group: '', version: 'v1', kind: 'Pod', objects: 1, events: 0 } as const;

describe('a cluster', () => {
  const explain = (owners: readonly ClusterOwner[]): ReturnType<typeof explainCluster> => {
    const answer: ClusterResponse = {
      ...head,
      kind: 'Cluster',
      server: 'https://dest',
      names: ['prod'],
      owners,
      handOvers: [handOver],
    };
    return explainCluster(answer);
  };

  it('with one owner is healthy', () => {
    const { verdict, title, sections } = explain([owner]);
    expect([verdict, title]).toEqual(['healthy', 'Cluster prod · https://dest']);
    expect(sections.flatMap(({ lines }) => lines)).toEqual([
      'driftless-1, 12 Applications, 0.3 live events a second',
      'synced, v1.36.3, 1200 objects of 40 kinds, discovered 1m ago',
      '1m30s ago, shard 2 → none, its Secret is gone',
    ]);
  });

  it.each<[string, readonly ClusterOwner[], string, string]>([
    ['without an owner', [], 'broken', 'no replica owns it; 1m30s ago, shard 2 → none, its Secret is gone'],
    ['that is unreachable', [{ ...owner, state: 'failed', message: 'refused' }], 'broken', 'refused'],
    [
      'with a kind that cannot be listed',
      [{ ...owner, watched: [{ ...pods, state: 'forbidden', message: 'pods is forbidden', since: before(5) }] }],
      'broken',
      'Pod is forbidden, since 11:59:55 UTC (5s), pods is forbidden',
    ],
    ['that fills its cache', [{ ...owner, state: 'connecting' }], 'waiting', 'driftless-1 fills its cache'],
  ])('%s', (_what, owners, verdict, reason) => {
    expect(explain(owners)).toMatchObject({ verdict, reason });
  });
});

describe('a repository', () => {
  const repository: Repository = {
    url: 'https://git.example.com/a.git',
    replica: 'driftless-1',
    applications: 2,
    lastFetch: { at: before(10), durationMs: 120, ok: true },
    failuresInRow: 0,
    fetches: 4,
    renders: 5,
    paused: [],
  };
  const explain = (item: Repository, url = 'https://git.example.com/a'): ReturnType<typeof explainRepository> =>
    explainRepository({ ...head, kind: 'Repositories', items: [item] }, url);

  it('is found in every form of its URL', () => {
    expect(explain(repository)?.verdict).toBe('healthy');
    expect(explain(repository, 'https://git.example.com/b')).toBeUndefined();
  });

  it.each<[Partial<Repository>, string]>([
    [
      {
        failuresInRow: 3,
        failingSince: before(60),
        lastFetch: { at: noon, durationMs: 1, ok: false, message: 'denied' },
      },
      '3 fetches failed in a row, since 11:59:00 UTC (1m), denied',
    ],
    [
      { paused: [{ path: 'apps', revision: 'main', message: 'no chart', since: before(1) }] },
      'the source apps at main is paused: no chart',
    ],
  ])('is broken: %j', (changes, reason) => {
    expect(explain({ ...repository, ...changes })).toMatchObject({ verdict: 'broken', reason });
  });
});

describe('a replica', () => {
  const replica: ReplicaInfo = {
    name: 'driftless-1',
    version: '0.2.0',
    shard: 1,
    startedAt: before(3600),
    ready: true,
    applications: 12,
    clusters: ['https://dest'],
    heapBytes: 100 * 1024 * 1024,
    heapLimitBytes: 400 * 1024 * 1024,
    rssBytes: 200 * 1024 * 1024,
    cpuMs: 90_000,
    degraded: [],
  };
  const queue: Queue = {
    replica: 'driftless-1',
    name: 'app_reconciliation_queue',
    workers: 20,
    running: 20,
    depth: 31,
    depthByPriority: { user: 1, live: 10, resync: 20 },
    delayed: 4,
    oldest: { key: 'argocd/a', since: before(8), priority: 'user' },
    inProgress: [],
    takenTotal: 100,
    lastTakenAt: noon,
    rates: [],
  };
  const explain = (changes: Partial<ReplicaInfo>, queues: Partial<Queue> = {}): ReturnType<typeof explainReplica> =>
    explainReplica(
      { ...head, kind: 'Replicas', items: [{ ...replica, ...changes }] },
      {
        ...head,
        kind: 'Queues',
        items: [
          { ...queue, ...queues },
          { ...queue, replica: 'other' },
        ],
      },
      'driftless-1',
    );

  it('shows its process, what it owns, and its queues', () => {
    expect(explain({})?.sections.flatMap(({ lines }) => lines)).toEqual([
      'started 1h ago, CPU 1m30s, heap 100 MiB of 400 MiB, RSS 200 MiB',
      '12 Applications on 1 cluster',
      'https://dest',
      'app_reconciliation_queue: 20 of 20 workers busy, 31 due, 4 later, oldest argocd/a for 8s',
    ]);
  });

  it.each<[Partial<ReplicaInfo>, Partial<Queue>, string, string]>([
    [{ ready: false, reason: 'filling caches' }, {}, 'waiting', 'filling caches'],
    [{}, { stalled: 'nothing moved for 60 s' }, 'broken', 'app_reconciliation_queue: nothing moved for 60 s'],
    [
      { degraded: [{ type: 'cluster', subject: 'https://dest', message: 'unreachable', advice: 'check it' }] },
      {},
      'broken',
      'https://dest: unreachable',
    ],
  ])('%j %j', (changes, queues, verdict, reason) => {
    expect(explain(changes, queues)).toMatchObject({ verdict, reason });
  });

  it('is unknown by another name', () => {
    expect(
      explainReplica({ ...head, kind: 'Replicas', items: [] }, { ...head, kind: 'Queues', items: [] }, 'x'),
    ).toBeUndefined();
  });
});

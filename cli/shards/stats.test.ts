import { describe, expect, it } from '@jest/globals';
import type { ApiReader } from '../read-api/api-reader.ts';
import type { TableLayout } from './layout.ts';
import { distinctParts } from './source.ts';
import type { FleetSource, ListedCluster } from './source.ts';
import { missingNotes, readWatchedFleet, shardSums, statsJson, statsLines, statsRows } from './stats.ts';

function cluster(name: string, parts = 1): ListedCluster {
  return { id: name, server: `https://${name}`, name, parts };
}

function fleet(clusters: readonly ListedCluster[], over: Partial<FleetSource> = {}): FleetSource {
  return {
    clusters,
    applications: new Map(),
    namespaces: new Map(),
    weights: new Map(),
    weighting: 'applications',
    published: undefined,
    hub: 'argocd',
    defaults: { replicas: 1, algorithm: 'legacy' },
    notes: [],
    ...over,
  };
}

function layout(shards: Readonly<Record<string, number>>, replicas: number): TableLayout {
  return {
    origin: 'computed',
    algorithm: 'legacy',
    replicas,
    movedAt: new Map(),
    shards: new Map(Object.entries(shards)),
  } as never;
}

const pages: Readonly<Record<string, unknown>> = {
  '/clusters': {
    items: [
      { server: 'https://one', replica: 'ctl-0', state: 'synced', objects: 300 },
      { server: 'https://pinned', replica: 'ctl-1', state: 'failed', objects: 0 },
      { server: 'https://hot', replica: 'ctl-0', state: 'synced', objects: 40 },
      { server: 'https://hot', replica: 'ctl-1', state: 'connecting', objects: 60 },
      'nonsense',
      { server: 1 },
    ],
    incomplete: [{ replica: 'ctl-2', reason: 'no answer\nwithin 2 s\u001b[2J' }],
  },
  '/replica': { items: [{ name: 'ctl-0', shard: 0 }, { name: 'ctl-1', shard: 2 }, { name: 'standby' }] },
};

const reader = (given = pages): ApiReader => ({ get: (path) => Promise.resolve(given[path]) });

describe('the statistics of clusters and shards', () => {
  const source = fleet([cluster('one'), cluster('pinned'), cluster('hot', 2), cluster('new')], {
    applications: new Map([['https://one', 3]]),
    namespaces: new Map([['https://one', new Set(['a', 'b'])]]),
  });
  const parts = [...layoutKeys(source)];
  const table = layout({ 'https://one': 0, 'https://pinned': 2, 'https://new': 1, [parts[0]!]: 0, [parts[1]!]: 2 }, 3);

  it('counts every cluster for the shard that has it, pinned and split ones too', async () => {
    const rows = statsRows(source, table, await readWatchedFleet(reader()));
    expect(rows.map(({ server, shard, connection, resources }) => [server, shard, connection, resources])).toEqual([
      ['https://one', 0, 'Successful', 300],
      ['https://hot', 0, 'Successful', 40],
      ['https://new', 1, 'Unknown', undefined],
      ['https://pinned', 2, 'Failed', 0],
      ['https://hot', 2, 'Unknown', 60],
    ]);
    expect(statsLines({ rows, sums: shardSums(rows, 3) }).slice(-4)).toEqual([
      'SHARD   RESOURCES COUNT   % OF TOTAL   % OF AVG PER SHARD (133)',
      '0       340               85%          255%',
      '1       0                 0%           0%',
      '2       60                15%          45%',
    ]);
  });

  it('shows connections and resources as unknown while no replica answers', () => {
    const rows = statsRows(source, table, undefined);
    expect(statsLines({ rows, sums: shardSums(rows, 3) })).toEqual(
      expect.arrayContaining([
        'SERVER           SHARD   CONNECTION   NAMESPACES COUNT   APPS COUNT   RESOURCES COUNT',
        'https://one      0       Unknown      2                  3            -',
        '1       0                 -            -',
      ]),
    );
    expect(statsJson({ rows, sums: shardSums(rows, 3) })).toMatchObject({
      replicas: 3,
      clusters: expect.arrayContaining([expect.objectContaining({ resources: null })]),
    });
    expect(missingNotes(new Error('no\nroute'))).toEqual(['connections and resources are unknown: no route']);
  });

  it('names replicas whose part is missing, on one line', async () => {
    const notes = missingNotes(await readWatchedFleet(reader()));
    expect(notes).toEqual(['connections and resources are incomplete, without ctl-2: no answer within 2 s']);
  });

  it('survives pages of another form', async () => {
    for (const page of [undefined, null, [], { items: 1 }, { items: [null, 1, {}] }]) {
      const read = await readWatchedFleet(reader({ '/clusters': page, '/replica': page }));
      expect(statsRows(source, table, read)).toHaveLength(5);
    }
  });

  it('10,000 clusters take time in proportion', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => cluster(`c-${i}`));
    const shards = Object.fromEntries(many.map(({ server }, i) => [server, i % 5]));
    const watched = many.map(({ server }, i) => ({
      server,
      replica: `ctl-${i % 5}`,
      connection: 'Successful' as const,
      resources: 1,
    }));
    const rows = statsRows(fleet(many), layout(shards, 5), {
      clusters: watched,
      shards: new Map([0, 1, 2, 3, 4].map((i) => [`ctl-${i}`, i])),
      missing: [],
    });
    expect(shardSums(rows, 5).map(({ resources }) => resources)).toEqual([2000, 2000, 2000, 2000, 2000]);
  });
});

function layoutKeys({ clusters }: FleetSource): readonly string[] {
  return distinctParts(clusters.filter(({ parts }) => parts > 1)).map(({ key }) => key);
}

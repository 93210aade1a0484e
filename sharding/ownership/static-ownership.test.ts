import { describe, expect, it } from '@jest/globals';
import { OwnershipLost, UsageError } from '#base';
import { appKeyOf } from '#model';
import type { Application } from '#model';
import { FakeClock } from '#support';
import { PromMetrics, silentLogger } from '#telemetry';
import { algorithms, countApplications, distribute } from '../distribution/distribution.ts';
import { createStaticOwnership } from './static-ownership.ts';
import type { StaticOwnershipDeps } from './static-ownership.ts';
import { clusterOf } from '../testing/cluster.ts';
import type { Ownership } from './types.ts';

function app(name: string, destination: Application['spec']['destination']): Application {
  return { metadata: { namespace: 'argocd', name }, spec: { destination } } as unknown as Application;
}

const clusters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => clusterOf(id));
const apps = [
  ...clusters.flatMap(({ server, name }, i) =>
    Array.from({ length: i + 1 }, (_, n) => app(`${name}-${n}`, { server })),
  ),
  ...Array.from({ length: 10 }, (_, n) => app(`lost-${n}`, { server: 'https://nowhere' })),
];

function replica(over: Partial<StaticOwnershipDeps> = {}): Ownership {
  return createStaticOwnership({
    clock: new FakeClock(),
    logger: silentLogger,
    metrics: new PromMetrics(),
    algorithm: 'legacy',
    hostname: 'shadow-0',
    replicas: 1,
    ...over,
  });
}

function fleet(replicas: number, over: Partial<StaticOwnershipDeps> = {}): Ownership[] {
  const all = Array.from({ length: replicas }, (_, i) => replica({ hostname: `shadow-${i}`, replicas, ...over }));
  for (const each of all) each.update(clusters, apps);
  return all;
}

describe('ownership by arithmetic', () => {
  it.each(algorithms)('gives each cluster and each Application to the shard that %s assigns', (algorithm) => {
    const all = fleet(3, { algorithm });
    const wanted = distribute(algorithm, clusters, countApplications(clusters, apps), 3);
    for (const { server } of clusters) {
      const owners = all.flatMap((each, shard) => (each.ownsCluster(server) ? [shard] : []));
      expect(owners).toEqual([wanted.get(server)]);
    }
    for (const each of apps) {
      const target = clusters.find(({ server }) => server === each.spec.destination.server);
      expect(all.filter((one) => one.ownsApp(appKeyOf(each), target))).toHaveLength(1);
    }
    expect(all[0]?.table()).toHaveLength(clusters.length);
  });

  it('prefers ARGOCD_CONTROLLER_SHARD to the host name', () => {
    const [zero, one] = [replica({ replicas: 2, shard: 0, hostname: 'x-1' }), replica({ replicas: 2, shard: 1 })];
    expect([zero.identity(), one.identity()]).toEqual([
      { shard: 0, replicas: 2 },
      { shard: 1, replicas: 2 },
    ]);
  });

  it.each([
    ['a pod of a Deployment', 'shadow-7c9d8b6f5-x2x4z', 1],
    ['a single replica whatever its number', 'shadow-4', 1],
    ['no number of replicas', 'shadow-7c9d8b6f5-x2x4z', 0],
  ])('has shard 0 and everything: %s', (_name, hostname, replicas) => {
    const one = replica({ hostname, replicas });
    one.update(clusters, apps);
    expect(one.identity()).toEqual({ shard: 0, replicas: 1 });
    expect(clusters.every(({ server }) => one.ownsCluster(server))).toBe(true);
  });

  it('refuses to start without an ordinal among several replicas, and stands by beyond the last shard', () => {
    expect(() => replica({ hostname: 'shadow-7c9d8b6f5-x2x4z', replicas: 2 })).toThrow(UsageError);
    const beyond = replica({ hostname: 'shadow-2', replicas: 2 });
    beyond.update(clusters, apps);
    expect(beyond.identity().shard).toBeUndefined();
    expect(beyond.conditions().map(({ type }) => type)).toEqual(['Standby']);
    expect(clusters.some(({ server }) => beyond.ownsCluster(server))).toBe(false);
  });

  it('announces changes, splits clusters, and ignores skipped ones', () => {
    const [zero] = fleet(2, { algorithm: 'round-robin', defaultParts: 1 }) as [Ownership];
    const heard: unknown[] = [];
    zero.onChange((change) => heard.push(change));
    const skipped = clusterOf('a', { annotations: { 'argocd.argoproj.io/skip-reconcile': 'true' } });
    const split = clusterOf('b', { annotations: { 'driftless.io/split': '2' } });
    zero.update([skipped, split], []);
    expect(zero.ownsCluster('https://a')).toBe(false);
    expect(zero.ownedParts('https://b/')).toEqual({ of: 2, owned: [1] });
    expect(heard).toEqual([{ gained: ['https://b'], lost: expect.arrayContaining(['https://a']) as unknown }]);
  });

  it('never allows writes', async () => {
    const one = replica();
    one.update(clusters, apps);
    let sent = 0;
    const send = (): Promise<void> => Promise.resolve(void (sent += 1));
    await expect(one.writing('https://a', 'argocd/a-0' as never, send)).rejects.toThrow(OwnershipLost);
    expect(() => one.assertOwns('https://a')).toThrow(OwnershipLost);
    expect([sent, one.leaseLeftMs()]).toEqual([0, 0]);
  });
});

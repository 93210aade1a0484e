import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OwnershipLost, UsageError } from '#base';
import { appKey } from '#model';
import type { Cluster } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { algorithms } from './distribution.ts';
import type { ShardingAlgorithm } from './distribution.ts';
import { shardFromHostname, staticIdentity } from './identity.ts';
import { createStaticOwnership } from './ownership.ts';
import type { Ownership, OwnershipChange } from './types.ts';

function cluster(id: string, server: string, extra: Partial<Cluster> = {}): Cluster {
  return {
    ...{ id, server, name: server, namespaces: [], clusterResources: false, labels: {}, annotations: {} },
    connection: { server, insecure: false, credentials: {} },
    ...extra,
  };
}

function replica(shard: number, replicas: number, algorithm: ShardingAlgorithm = 'legacy'): Ownership {
  const identity = { shard, replicas, hostname: 'any' };
  return createStaticOwnership({ identity, algorithm, clock: new FakeClock(), logger: silentLogger });
}

const three = [cluster('1', 'https://one'), cluster('2', 'https://two'), cluster('', 'https://kubernetes.default.svc')];

describe('staticIdentity (T-SHARD-7)', () => {
  it.each([
    ['argocd-application-controller-0', 0],
    ['argocd-application-controller-12', 12],
    ['ctl-3', 3],
    ['pod', undefined],
    ['pod-7c9d-x1', undefined],
    ['pod-', undefined],
  ])('reads %s as %s', (hostname, shard) => {
    expect(shardFromHostname(hostname)).toBe(shard);
  });

  it.each([
    [
      { replicas: 0, shard: 7, hostname: 'x' },
      { shard: 0, replicas: 1 },
    ],
    [
      { replicas: 1, shard: 7, hostname: 'x-3' },
      { shard: 0, replicas: 1 },
    ],
    [
      { replicas: 3, shard: -1, hostname: 'x-2' },
      { shard: 2, replicas: 3 },
    ],
    [
      { replicas: 3, shard: 1, hostname: 'x-2' },
      { shard: 1, replicas: 3 },
    ],
    [
      { replicas: 3, hostname: 'x-3' },
      { shard: undefined, replicas: 3 },
    ],
    [
      { replicas: 3, hostname: 'ip-10-0-1-23' },
      { shard: undefined, replicas: 3 },
    ],
  ])('makes of %j %j', (inputs, identity) => {
    expect(staticIdentity(inputs).identity).toEqual(identity);
    expect(staticIdentity(inputs).warning !== undefined).toBe(identity.shard === undefined);
  });

  it('refuses a replica that cannot know which one it is', () => {
    expect(() => staticIdentity({ replicas: 2, hostname: 'pod-abc' })).toThrow(UsageError);
  });
});

describe('createStaticOwnership', () => {
  it('owns nothing before the first update, and nothing that it does not know', () => {
    const ownership = replica(0, 1);
    expect(ownership.ownsCluster('https://one')).toBe(false);
    expect(ownership.ownsApp(appKey('argocd', 'a'), undefined)).toBe(false);
    ownership.update(three, []);
    expect(ownership.ownsCluster('https://one')).toBe(true);
    expect(ownership.ownsCluster('https://one/')).toBe(true);
    expect(ownership.ownsCluster('https://new')).toBe(false);
    expect(ownership.ownsApp(appKey('argocd', 'a'), undefined)).toBe(true);
  });

  it('throws OwnershipLost for a write to a cluster of somebody else', () => {
    const [zero, one] = [replica(0, 2), replica(1, 2)];
    for (const each of [zero, one]) each.update(three, []);
    expect(() => zero.assertOwns('https://one')).not.toThrow();
    expect(() => one.assertOwns('https://one')).toThrow(OwnershipLost);
    expect(() => zero.assertOwns('https://two')).toThrow('this replica does not own cluster https://two any more');
  });

  it('tells what it gains and loses, once', () => {
    const ownership = replica(0, 2);
    const changes: OwnershipChange[] = [];
    ownership.onChange((change) => changes.push(change));
    ownership.update(three, []);
    ownership.update(three, []);
    ownership.update([cluster('2', 'https://one'), cluster('', 'https://kubernetes.default.svc')], []);
    expect(changes).toEqual([
      { gained: ['https://kubernetes.default.svc', 'https://one'], lost: [] },
      { gained: [], lost: ['https://one'] },
    ]);
  });

  it('leaves a cluster that is annotated with skip-reconcile to nobody, but on the table', () => {
    const ownership = replica(0, 1);
    const skipped = cluster('1', 'https://one', { annotations: { 'argocd.argoproj.io/skip-reconcile': 'true' } });
    ownership.update([skipped], []);
    expect(ownership.ownsCluster('https://one')).toBe(false);
    expect(ownership.table()).toEqual([{ server: 'https://one', name: 'https://one', shard: 0 }]);
  });

  it('gives a standby nothing', () => {
    const standby = replica(3, 3);
    standby.update(three, []);
    expect(three.some(({ server }) => standby.ownsCluster(server))).toBe(false);
    expect(standby.identity()).toEqual({ shard: undefined, replicas: 3 });
  });

  it('has exactly one owner for every cluster and for every application without one (T-SHARD-1, T-FENCE-3)', () => {
    const clusters = fc.array(fc.tuple(fc.uuid(), fc.nat(5)), { maxLength: 10 });
    fc.assert(
      fc.property(
        fc.constantFrom(...algorithms),
        fc.integer({ min: 1, max: 12 }),
        clusters,
        fc.string({ minLength: 1, maxLength: 20 }),
        (algorithm, replicas, list, name) => {
          const known = list.map(([id, n]) => cluster(id, `https://c${n}`));
          const fleet = Array.from({ length: replicas }, (_, shard) => replica(shard, replicas, algorithm));
          fleet.forEach((each, i) => each.update(i % 2 === 0 ? known : [...known].reverse(), []));
          for (const { server } of known) expect(fleet.filter((each) => each.ownsCluster(server))).toHaveLength(1);
          expect(fleet.filter((each) => each.ownsApp(appKey('argocd', name), undefined))).toHaveLength(1);
        },
      ),
    );
  });
});

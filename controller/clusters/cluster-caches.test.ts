import { beforeEach, describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { ClusterIgnored } from '#live';
import type { BodyFilter, LiveCluster, LiveClusters } from '#live';
import { defaultSettings } from '#model';
import type { Cluster } from '#model';
import type { OwnedParts } from '#sharding';
import { FakeClock } from '#support';
import { ClusterCaches } from './cluster-caches.ts';

const keepLostMs = 300_000;
const whole: OwnedParts = { of: 1, owned: [0] };

function cluster(id: string, annotations: Readonly<Record<string, string>> = {}): Cluster {
  const server = `https://${id}`;
  const connection = { server, insecure: false, credentials: {} };
  return { id, server, name: id, namespaces: [], clusterResources: false, labels: {}, annotations, connection };
}

/** Drives what the replica owns and will gain, and records what is watched. */
class CachesWorld {
  readonly clock = new FakeClock();
  clusters: readonly Cluster[] = [cluster('a'), cluster('b')];
  owned = new Map<string, OwnedParts>();
  gaining = new Map<string, OwnedParts>();
  prepared: readonly string[] = [];
  fillings: number[] = [];
  state: 'synced' | 'failed' = 'synced';
  confirmed: (() => void)[] = [];
  watched: readonly string[] = [];
  spare: readonly string[] = [];
  bodies: ReadonlyMap<string, BodyFilter> = new Map();
  readonly end = new AbortController();
  readonly #waiting = new Map<string, { readonly fill: () => void; readonly drop: () => void }>();
  readonly caches = new ClusterCaches({
    clock: this.clock,
    namespace: 'argocd',
    keepLostMs,
    onCacheFilled: (ms) => this.fillings.push(ms),
    confirmReach: () => new Promise((resolve) => this.confirmed.push(resolve)),
    settings: { clusters: () => this.clusters, settings: () => defaultSettings },
    ownership: {
      ownsCluster: (server) => this.owned.has(server),
      ownedParts: (server) => this.owned.get(server),
      gaining: () => this.gaining,
      prepared: (servers) => (this.prepared = [...servers]),
    },
    live: {
      setClusters: (...args: Parameters<LiveClusters['setClusters']>) => {
        const [owned, , bodies = new Map<string, BodyFilter>(), spare = []] = args;
        this.watched = owned.map(({ server }) => server);
        this.spare = spare.map(({ server }) => server);
        this.bodies = bodies;
        for (const [server, { drop }] of this.#waiting)
          if (!this.watched.includes(server) && !this.spare.includes(server)) drop();
      },
      cluster: (server) =>
        new Promise<LiveCluster>((resolve, reject) => {
          const earlier = this.#waiting.get(server);
          this.#waiting.set(server, {
            fill: () => {
              earlier?.fill();
              resolve({ info: () => ({ state: this.state }) } as LiveCluster);
            },
            drop: () => {
              earlier?.drop();
              reject(new ClusterIgnored(server));
            },
          });
          if (!this.watched.includes(server) && !this.spare.includes(server)) reject(new ClusterIgnored(server));
        }),
    },
  });

  async fill(server: string): Promise<void> {
    this.#waiting.get(server)?.fill();
    await this.clock.settle();
  }

  async update(): Promise<void> {
    this.caches.update();
    await this.clock.settle();
  }
}

describe('watched clusters', () => {
  let world: CachesWorld;

  beforeEach(() => {
    world = new CachesWorld();
    world.caches.start(world.end.signal);
  });

  it('are filled before they are owned, and ownership is notified when the cache is full', async () => {
    world.gaining.set('https://a', whole);
    await world.update();
    expect([world.watched, world.spare, world.prepared]).toEqual([[], ['https://a'], []]);
    await world.fill('https://a');
    expect(world.prepared).toEqual(['https://a']);
    world.gaining.clear();
    world.owned.set('https://a', whole);
    await world.update();
    expect([world.watched, world.spare, world.prepared]).toEqual([['https://a'], [], []]);
  });

  it('stay watched for some minutes after they are lost, then are dropped', async () => {
    world.owned.set('https://a', whole);
    await world.update();
    world.owned.clear();
    await world.update();
    expect([world.watched, world.spare]).toEqual([[], ['https://a']]);
    await world.clock.advance(keepLostMs - 1);
    await world.update();
    expect(world.spare).toEqual(['https://a']);
    await world.clock.advance(1);
    expect(world.spare).toEqual([]);
  });

  it('are not listed again after an outage of the hub beyond the lease', async () => {
    world.owned.set('https://a', whole).set('https://b', whole);
    await world.update();
    const had = new Map(world.owned);
    world.owned.clear();
    await world.update();
    expect(world.spare).toEqual(['https://a', 'https://b']);
    await world.clock.advance(120_000);
    world.owned = had;
    await world.update();
    expect([world.watched, world.spare]).toEqual([['https://a', 'https://b'], []]);
    await world.clock.advance(2 * keepLostMs);
    expect(world.watched).toEqual(['https://a', 'https://b']);
  });

  it('exclude a lost cluster that is removed or marked skip-reconcile', async () => {
    world.owned.set('https://a', whole).set('https://b', whole);
    await world.update();
    world.owned.clear();
    world.clusters = [cluster('a', { 'argocd.argoproj.io/skip-reconcile': 'true' })];
    await world.update();
    // Its Secret may be created again.
    expect([world.watched, world.spare]).toEqual([[], ['https://b']]);
    await world.clock.advance(31_000);
    expect([world.watched, world.spare]).toEqual([[], []]);
  });

  it('keep whole objects for the parts to come of a split cluster, and leave a lost one unchanged', async () => {
    world.owned.set('https://a', { of: 4, owned: [2] });
    world.gaining.set('https://a', { of: 4, owned: [0] });
    await world.update();
    expect(world.bodies.get('https://a')).toEqual({ of: 4, owned: [0, 2], namespace: 'argocd' });
    world.owned.clear();
    world.gaining.clear();
    await world.update();
    expect(world.bodies.get('https://a')).toEqual({ of: 4, owned: [0, 2], namespace: 'argocd' });
  });

  it('are prepared after a failed discovery only once it is known whether any cluster answers', async () => {
    world.state = 'failed';
    world.gaining.set('https://a', whole);
    await world.update();
    await world.fill('https://a');
    expect([world.prepared, world.confirmed.length]).toEqual([[], 1]);
    world.confirmed[0]?.();
    await world.clock.settle();
    expect(world.prepared).toEqual(['https://a']);
  });

  it('are not reported as prepared once no longer to come, and are awaited again if they return', async () => {
    world.gaining.set('https://a', whole);
    await world.update();
    world.gaining.clear();
    await world.update();
    expect(world.spare).toEqual([]);
    world.gaining.set('https://a', whole);
    await world.update();
    expect(world.prepared).toEqual([]);
    await world.fill('https://a');
    expect(world.prepared).toEqual(['https://a']);
  });

  it('report the time from owning a cluster to its filled cache', async () => {
    world.owned.set('https://a', whole);
    await world.update();
    await world.clock.advance(700);
    await world.fill('https://a');
    expect(world.fillings).toEqual([700]);
    world.end.abort(new Shutdown());
  });

  it('keeps the cache of a cluster whose Secret is created again within 30 s', async () => {
    const w = new CachesWorld();
    const both = w.clusters;
    for (const { server } of both) w.owned.set(server, whole);
    w.caches.update();
    w.clusters = both.slice(0, 1);
    w.owned.delete('https://b');
    w.caches.update();
    expect([w.watched, w.spare]).toEqual([['https://a'], ['https://b']]);
    await w.clock.advance(1500);
    w.clusters = [cluster('a'), { ...cluster('b'), id: 'another UID' }];
    w.owned.set('https://b', whole);
    w.caches.update();
    expect([w.watched, w.spare]).toEqual([['https://a', 'https://b'], []]);
    w.clusters = both.slice(0, 1);
    w.owned.delete('https://b');
    w.caches.update();
    await w.clock.advance(31_000);
    expect([w.watched, w.spare]).toEqual([['https://a'], []]);
    w.caches.stop();
  });
});

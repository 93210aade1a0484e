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

/** What the replica owns and will get, and what is watched for that. */
class World {
  readonly clock = new FakeClock();
  clusters: readonly Cluster[] = [cluster('a'), cluster('b')];
  owned = new Map<string, OwnedParts>();
  gaining = new Map<string, OwnedParts>();
  prepared: readonly string[] = [];
  fillings: number[] = [];
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
              resolve(undefined as never);
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

describe('which clusters are watched', () => {
  let world: World;

  beforeEach(() => {
    world = new World();
    world.caches.start(world.end.signal);
  });

  it('13.1: one that is to come is watched before it is owned, and the owner is told when its cache is filled', async () => {
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

  it('13.1: one that was lost stays watched for some minutes, and is forgotten then', async () => {
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

  it('13.1: an outage of the hub beyond the lease makes nobody list anything again', async () => {
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

  it('13.1: one that is no cluster any more, or is to be left alone, is not kept', async () => {
    world.owned.set('https://a', whole).set('https://b', whole);
    await world.update();
    world.owned.clear();
    world.clusters = [cluster('a', { 'argocd.argoproj.io/skip-reconcile': 'true' })];
    await world.update();
    expect([world.watched, world.spare]).toEqual([[], []]);
  });

  it('13.1: parts to come of a split cluster are read whole before they are owned, and a lost one stays as it was', async () => {
    world.owned.set('https://a', { of: 4, owned: [2] });
    world.gaining.set('https://a', { of: 4, owned: [0] });
    await world.update();
    expect(world.bodies.get('https://a')).toEqual({ of: 4, owned: [0, 2], namespace: 'argocd' });
    world.owned.clear();
    world.gaining.clear();
    await world.update();
    expect(world.bodies.get('https://a')).toEqual({ of: 4, owned: [0, 2], namespace: 'argocd' });
  });

  it('13.1: one that is not to come any more is not told as prepared, and is waited for anew when it is again', async () => {
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

  it('13.1: the time from owning a cluster to its filled cache is measured', async () => {
    world.owned.set('https://a', whole);
    await world.update();
    await world.clock.advance(700);
    await world.fill('https://a');
    expect(world.fillings).toEqual([700]);
    world.end.abort(new Shutdown());
  });
});

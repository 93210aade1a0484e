import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConcurrencyLimiter, seededRandom, Shutdown } from '#base';
import type { KubeClient, ReflectorSink } from '#kube';
import { apiResource, WatchListSupport } from '#kube';
import { annotations, defaultSettings, keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { ObjectBody } from '../objects/object-body.ts';
import { ChangeBatch } from './change-batch.ts';
import { KindWatch } from '../watch/kind-watch.ts';
import { NodeStore } from './node-store.ts';
import { createNodeReader } from '../objects/stored-node.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import { ClusterCache } from './cluster-cache.ts';

interface Step {
  readonly act: 'put' | 'delete';
  readonly name: string;
}
interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

/** The events and final contents of a server after some writes. */
function history(steps: readonly Step[]): {
  readonly events: readonly Event[];
  readonly state: ReadonlyMap<ResourceKey, KubeObject>;
} {
  const events: Event[] = [];
  const state = new Map<ResourceKey, KubeObject>();
  steps.forEach(({ act, name }, i) => {
    const resourceVersion = String(9 + i);
    const bare = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns' } };
    const old = state.get(keyOf(bare));
    if (act === 'delete' && old === undefined) return;
    const uid = old?.metadata.uid ?? `uid-${i}`;
    const object = { ...bare, metadata: { ...bare.metadata, uid, resourceVersion } };
    if (act === 'delete') state.delete(keyOf(bare));
    else state.set(keyOf(bare), object);
    events.push({ type: act === 'delete' ? 'DELETED' : old === undefined ? 'ADDED' : 'MODIFIED', object });
  });
  return { events, state };
}

async function withSink(
  body: (sink: ReflectorSink, cache: ClusterCache, watch: KindWatch) => Promise<void> | void,
): Promise<void> {
  const clock = new FakeClock();
  const store = new NodeStore();
  const changes = new ChangeBatch({ server: 'https://a', store, clock, batchMs: 50, emit: () => undefined });
  const cache = new ClusterCache({ store, changes, readNode: createNodeReader(defaultSettings, () => true) });
  let sink: ReflectorSink | undefined;
  const watch = new KindWatch(apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'), undefined, {
    client: {} as KubeClient,
    cache,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    lists: new ConcurrencyLimiter(1),
    watchList: new WatchListSupport({ clock, logger: silentLogger, serverVersion: () => undefined }),
    pageSize: 2,
    pageAttempts: 1,
    relistMs: 0,
    auditMs: 0,
    onAudit: () => undefined,
    onProcessed: () => undefined,
    onState: () => undefined,
    onPermitted: () => undefined,
    crowdRetryMs: () => 0,
    onChange: () => undefined,
    onEvent: () => undefined,
    onWentBack: () => undefined,
    respectRBAC: () => 'off' as const,
    reflect: (options) => {
      sink = options.sink;
      const run = (signal: AbortSignal): Promise<void> =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      return { name: 'scripted', run };
    },
  });
  const controller = new AbortController();
  const running = watch.run(controller.signal);
  if (sink === undefined) throw new Error('not started');
  await body(sink, cache, watch);
  controller.abort(new Shutdown());
  await running;
}

function versions(cache: ClusterCache): Record<string, string> {
  const found = [...cache.store.ofKind('', 'ConfigMap')].map((node) => [
    node.name,
    `${node.uid} ${node.resourceVersion}`,
  ]);
  return Object.fromEntries(found.sort()) as Record<string, string>;
}

function expected(state: ReadonlyMap<ResourceKey, KubeObject>): Record<string, string> {
  const found = [...state.values()].map(({ metadata: m }) => [m.name, `${m.uid ?? ''} ${m.resourceVersion ?? ''}`]);
  return Object.fromEntries(found.sort()) as Record<string, string>;
}

function listed(sink: ReflectorSink, state: ReadonlyMap<ResourceKey, KubeObject>, version: number): void {
  const list = sink.startList();
  const items = [...state.values()];
  for (let i = 0; i < items.length; i += 2) list.add(items.slice(i, i + 2), String(version));
  list.commit(String(version));
}

const step = fc.record({
  act: fc.constantFrom('put' as const, 'put' as const, 'delete' as const),
  name: fc.constantFrom('a', 'b', 'c'),
});
const steps = fc.array(step, { maxLength: 30 });

describe('the cache of a kind', () => {
  // T-CACHE-4
  it('is what the server has after a list, however events were lost, repeated and reordered before', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), fc.nat(3), async (all, picks, abandoned) => {
        const { events, state } = history(all);
        await withSink((sink, cache) => {
          listed(sink, new Map(), 1);
          for (let i = 0; i < events.length && events.length > 0; i += 1) {
            const event = events[picks.next().value % events.length];
            if (event !== undefined) sink.event(event.type, event.object);
          }
          for (let i = 0; i < abandoned; i += 1) {
            const list = sink.startList();
            list.add([...state.values()].slice(0, i), String(9 + all.length));
            list.abandon(false);
          }
          listed(sink, state, 9 + all.length);
          expect(versions(cache)).toEqual(expected(state));
        });
      }),
    );
  });

  it('is what the server has after all events in order, whenever responses of our own writes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), async (all, picks) => {
        const { events, state } = history(all);
        await withSink((sink, cache) => {
          listed(sink, new Map(), 1);
          events.forEach((event, i) => {
            // A response may arrive before its event or long after it, even after the deletion.
            const written = events[picks.next().value % Math.min(events.length, i + 2)];
            if (written !== undefined && written.type !== 'DELETED') cache.observe(written.object);
            sink.event(event.type, event.object);
          });
          expect(versions(cache)).toEqual(expected(state));
        });
      }),
    );
  });

  it('does not lose an object if the response of our write arrives during a list', async () => {
    const { state } = history([{ act: 'put', name: 'a' }]);
    const [object] = [...state.values()];
    for (const version of ['9', '8'])
      await withSink((sink, cache) => {
        listed(sink, state, 9);
        const list = sink.startList();
        list.add([...state.values()], '20');
        cache.observe({ ...object!, metadata: { ...object!.metadata, resourceVersion: version } });
        list.commit('20');
        expect(versions(cache)).toEqual(expected(state));
      });
  });

  it('does not restore an object that a list has shown to be deleted', async () => {
    const { state } = history([{ act: 'put', name: 'a' }]);
    await withSink((sink, cache) => {
      listed(sink, state, 9);
      listed(sink, new Map(), 20);
      for (const object of state.values()) cache.observe(object);
      expect(versions(cache)).toEqual({});
    });
  });
});

/**
 * A server whose data store can be restored: versions are reused, and deleted objects return with
 * their old UID.
 */
class Store {
  version = 10;
  uids = 0;
  objects = new Map<string, KubeObject>();
  events: Event[] = [];
  saved: { readonly version: number; readonly objects: ReadonlyMap<string, KubeObject> } = {
    version: 10,
    objects: new Map(),
  };

  put(name: string, x: number): KubeObject {
    this.version += 1;
    const old = this.objects.get(name);
    const uid = old?.metadata.uid ?? `uid-${(this.uids += 1)}`;
    const tracking = { [annotations.trackingId]: `shop:/ConfigMap:ns/${name}` };
    const metadata = { name, namespace: 'ns', uid, resourceVersion: String(this.version), annotations: tracking };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x } };
    this.objects.set(name, object);
    this.events.push({ type: old === undefined ? 'ADDED' : 'MODIFIED', object });
    return object;
  }

  delete(name: string): void {
    const old = this.objects.get(name);
    if (old === undefined) return;
    this.version += 1;
    this.objects.delete(name);
    const object = { ...old, metadata: { ...old.metadata, resourceVersion: String(this.version) } };
    this.events.push({ type: 'DELETED', object });
  }

  save(): void {
    this.saved = { version: this.version, objects: new Map(this.objects) };
  }

  restore(): void {
    this.version = this.saved.version;
    this.objects = new Map(this.saved.objects);
    this.events = [];
  }

  text(): Record<string, string> {
    return texts(this.objects.values());
  }
}

function texts(objects: Iterable<KubeObject | undefined>): Record<string, string> {
  const found = [...objects].map((object) => {
    const { name = '', uid = '', resourceVersion = '' } = object?.metadata ?? {};
    return [name, `${uid} ${resourceVersion} ${JSON.stringify(object?.['data'])}`];
  });
  return Object.fromEntries(found.sort()) as Record<string, string>;
}

const weighted = (act: string, weight: number) => ({ arbitrary: fc.constant(act), weight });
const deed = fc.record({
  act: fc.oneof(
    ...[weighted('put', 4), weighted('own', 4), weighted('answers', 2), weighted('delete', 2)],
    ...[weighted('save', 2), weighted('restore', 2), weighted('list', 3), weighted('events', 2)],
  ),
  name: fc.constantFrom('a', 'b'),
  x: fc.nat(2),
});
type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never;

/**
 * Applies actions to a server, and delivers the events and responses to the cache in an order that
 * an API server allows.
 */
class Play {
  readonly server = new Store();
  readonly #sink: ReflectorSink;
  readonly #cache: ClusterCache;
  #answers: KubeObject[] = [];
  /** Position of the watch; a restored server sends no events up to this version. */
  #position = 0;

  constructor(sink: ReflectorSink, cache: ClusterCache) {
    this.#sink = sink;
    this.#cache = cache;
  }

  do({ act, name, x }: Deed): void {
    if (act === 'put') this.server.put(name, x);
    else if (act === 'own') this.#answers.push(this.server.put(name, x));
    else if (act === 'answers') this.answers();
    else if (act === 'delete') this.server.delete(name);
    else if (act === 'save') this.server.save();
    else if (act === 'restore') this.server.restore();
    else if (act === 'list') this.list(() => undefined);
    else this.events();
  }

  answers(): void {
    for (const object of this.#answers.splice(0)) this.#cache.observe(object);
  }

  events(): void {
    for (const { type, object } of this.server.events.splice(0)) {
      const version = Number(object.metadata.resourceVersion);
      if (version <= this.#position) continue;
      this.#sink.event(type, object);
      this.#position = version;
    }
  }

  list(meanwhile: () => void): void {
    const { version } = this.server;
    this.server.events = [];
    this.#position = version;
    const state = new Map([...this.server.objects.values()].map((object) => [keyOf(object), object]));
    const list = this.#sink.startList();
    const items = [...state.values()];
    list.add(items.slice(0, 2), String(version));
    meanwhile();
    list.add(items.slice(2), String(version));
    list.commit(String(version));
  }
}

function bodies(cache: ClusterCache): Record<string, string> {
  return texts([...cache.store.ofKind('', 'ConfigMap')].map((node) => node.body?.parse()));
}

describe('a server that is restored to an earlier state', () => {
  it('is in the cache after the next complete list, whatever its versions and our writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 40 }), async (deeds) => {
        await withSink((sink, cache) => {
          const play = new Play(sink, cache);
          play.list(() => undefined);
          for (const one of deeds) play.do(one);
          play.answers();
          play.list(() => undefined);
          expect(bodies(cache)).toEqual(play.server.text());
        });
      }),
      { numRuns: 500 },
    );
  });

  it('stays in the cache, with our own writes during and after the list', async () => {
    const write = fc.record({
      act: fc.constantFrom('put', 'own', 'delete'),
      x: fc.nat(2),
      name: fc.constantFrom('a', 'b'),
    });
    const writes = fc.array(write, { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 25 }), writes, writes, async (deeds, during, after) => {
        await withSink((sink, cache) => {
          const play = new Play(sink, cache);
          play.list(() => undefined);
          for (const one of deeds) play.do(one);
          play.answers();
          play.list(() => {
            for (const one of during) play.do(one);
            play.answers();
          });
          // Our writes are visible before their events. After a restore, this holds only for writes
          // after the complete list.
          const last = deeds.some(({ act }) => act === 'restore') ? [] : during;
          for (const { name, act } of new Map(last.map((one) => [one.name, one])).values())
            if (act === 'own') expect(bodies(cache)[name]).toBe(play.server.text()[name]);
          for (const one of after) {
            play.do(one);
            play.answers();
            if (one.act === 'own') expect(bodies(cache)[one.name]).toBe(play.server.text()[one.name]);
          }
          play.events();
          expect(bodies(cache)).toEqual(play.server.text());
        });
      }),
      { numRuns: 500 },
    );
  });

  it('replaces an object by one with another UID and an older version, from a list and from a watch', async () => {
    const named = (uid: string, resourceVersion: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'ns', uid, resourceVersion },
    });
    await withSink((sink, cache) => {
      const shown = (object: KubeObject, version: string): void => {
        const list = sink.startList();
        list.add([object], version);
        list.commit(version);
      };
      shown(named('first', '900'), '900');
      shown(named('second', '50'), '60');
      expect(versions(cache)).toEqual({ a: 'second 50' });
      sink.event('ADDED', named('third', '41'));
      expect(versions(cache)).toEqual({ a: 'third 41' });
    });
  });
  it('reads an object again if its version was reused', async () => {
    const made = (creationTimestamp: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '40', creationTimestamp },
    });
    await withSink((sink, cache) => {
      for (const [at, version] of [
        ['then', '50'],
        ['now', '45'],
      ] as const) {
        const list = sink.startList();
        list.add([made(at)], version);
        list.commit(version);
      }
      expect([...cache.store.ofKind('', 'ConfigMap')].map((node) => node.createdAt)).toEqual(['now']);
    });
  });
  it('compares whole objects, even if its versions have passed ours', async () => {
    const server = new Store();
    const object = (x: number): KubeObject => ({ ...server.put('a', 0), data: { x } });
    const [then, now] = [object(1), object(2)];
    await withSink((sink, cache) => {
      for (const [item, version] of [
        [then, '50'],
        [{ ...now, metadata: then.metadata }, '70'],
      ] as const) {
        const list = sink.startList();
        list.add([item], version);
        list.commit(version);
      }
      expect(Object.values(bodies(cache))).toEqual([expect.stringContaining('{"x":2}')]);
    });
  });

  it('accepts our write of a restored object that was deleted before', async () => {
    const server = new Store();
    const [then, now] = [server.put('a', 0), server.put('a', 1)];
    await withSink((sink, cache) => {
      listed(sink, new Map([[keyOf(then), then]]), 20);
      sink.event('DELETED', then);
      listed(sink, new Map([[keyOf(then), then]]), 11);
      cache.observe(now);
      expect(bodies(cache)).toEqual(texts([now]));
    });
  });
});

describe('a watch event with the response of our own write', () => {
  const written = (data: string, resourceVersion = '50'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'target',
      namespace: 'ns',
      uid: 'uid-target',
      resourceVersion,
      annotations: { [annotations.trackingId]: 'app:/ConfigMap:ns/target' },
    },
    data: { key: data },
  });
  const nodeOf = (cache: ClusterCache): StoredNode | undefined => cache.store.get(keyOf(written('ours')));

  it('keeps the row, and what was derived from its content', async () => {
    await withSink((sink, cache) => {
      cache.observe(written('ours'));
      const before = nodeOf(cache);
      expect(before?.body).toBeDefined();
      sink.event('MODIFIED', written('ours'));
      expect(nodeOf(cache)).toBe(before);
    });
  });

  it('keeps the row if it comes first, and the response is equal but written differently', async () => {
    await withSink((sink, cache) => {
      const { data, ...rest } = written('ours');
      sink.event('MODIFIED', { data, ...rest });
      const before = nodeOf(cache);
      expect(before?.body).toBeDefined();
      cache.observe(written('ours'));
      expect(nodeOf(cache)).toBe(before);
    });
  });

  it('replaces the row if the response that follows has another content', async () => {
    await withSink((sink, cache) => {
      sink.event('MODIFIED', written('before the restore'));
      cache.observe(written('ours'));
      expect(nodeOf(cache)?.body?.isSameAs(written('ours'))).toBe(true);
    });
  });

  it('replaces the row if the object is another one under the same version', async () => {
    await withSink((sink, cache) => {
      cache.observe(written('ours'));
      sink.event('MODIFIED', written('of a restored server'));
      expect(nodeOf(cache)?.body?.isSameAs(written('of a restored server'))).toBe(true);
    });
  });

  it('confirms the write: an older event after it counts, as of a restored server', async () => {
    await withSink((sink, cache) => {
      cache.observe(written('ours'));
      sink.event('MODIFIED', written('older', '49'));
      expect(nodeOf(cache)?.resourceVersion).toBe('50');
      sink.event('MODIFIED', written('ours'));
      sink.event('MODIFIED', written('older', '49'));
      expect(nodeOf(cache)?.resourceVersion).toBe('49');
    });
  });

  it('ends the fault of an object that our write made readable', async () => {
    await withSink((sink, cache, watch) => {
      const broken = written('broken', '49');
      sink.event('MODIFIED', { ...broken, metadata: { ...broken.metadata, ownerReferences: 7 } } as never);
      expect(watch.fault()).toBeDefined();
      cache.observe(written('ours'));
      sink.event('MODIFIED', written('ours'));
      expect(watch.fault()).toBeUndefined();
    });
  });
});

/** An object of a ReplicaSet, always with the same version. */
const childOf = (owner: string, more: Partial<KubeObject['metadata']>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'child',
    namespace: 'ns',
    uid: 'uid-child',
    resourceVersion: '50',
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: `uid-${owner}` }],
    ...more,
  },
});

describe('a watch event of a restored server with a known version', () => {
  const child = (owner: string, labels: Record<string, string> = {}): KubeObject => childOf(owner, { labels });
  const shown = (cache: ClusterCache): StoredNode | undefined => cache.store.get(keyOf(child('a')));

  it('updates the row of an object without body, and its stamp, if it shows', async () => {
    await withSink((sink, cache) => {
      sink.event('ADDED', child('a'));
      const before = shown(cache);
      sink.event('MODIFIED', child('a', { not: 'shown' }));
      expect(shown(cache)).toBe(before);
      sink.event('MODIFIED', child('b'));
      expect(shown(cache)?.ownerRefs.map(({ uid }) => uid)).toEqual(['uid-b']);
      expect(shown(cache)?.stamp).toBeGreaterThan(before?.stamp ?? Number.NaN);
    });
  });

  it('does not outlast the response of our own write, if that differs', async () => {
    await withSink((sink, cache) => {
      sink.event('ADDED', child('a'));
      cache.observe(child('b'));
      expect(shown(cache)?.ownerRefs.map(({ uid }) => uid)).toEqual(['uid-b']);
    });
  });

  it('drops what was read of the object in another API version', async () => {
    await withSink((sink, cache) => {
      const [then, now] = [child('a'), { ...child('a'), data: { x: 'now' } }];
      sink.event('ADDED', then);
      const node = shown(cache);
      if (node === undefined) throw new Error('no row');
      cache.store.keepFetched(node, 'v1beta1', new ObjectBody({ ...then, apiVersion: 'v1beta1' }));
      sink.event('MODIFIED', now);
      expect(shown(cache)?.fetched).toBeUndefined();
    });
  });

  it('leaves no bytes of whole objects that were read on demand and dropped', async () => {
    await withSink((sink, cache) => {
      sink.event('ADDED', child('a'));
      const before = cache.store.sizes.bytes;
      const node = shown(cache);
      if (node === undefined) throw new Error('no row');
      cache.store.keepFetched(node, 'v1beta1', new ObjectBody({ ...child('a'), apiVersion: 'v1beta1' }));
      expect(cache.store.sizes.bytes).toBeGreaterThan(before);
      sink.event('MODIFIED', child('a'));
      expect([shown(cache)?.fetched, cache.store.sizes.bytes]).toEqual([undefined, before]);
    });
  });
});

describe('our own write in the cache', () => {
  const version = (resourceVersion: string, uid = 'u'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'ns', uid, resourceVersion },
  });
  const shown = (cache: ClusterCache): readonly string[] =>
    [...cache.store.ofKind('', 'ConfigMap')].map((node) => `${node.resourceVersion} ${node.uid}`);

  it('is not undone by an older event or list page', async () => {
    await withSink((sink, cache) => {
      cache.observe(version('12'));
      sink.event('MODIFIED', version('11'));
      expect(shown(cache)).toEqual(['12 u']);
      const list = sink.startList();
      cache.observe(version('15'));
      list.add([version('13')], '14');
      list.commit('14');
      expect(shown(cache)).toEqual(['15 u']);
    });
  });

  it("is the only exception: otherwise the server's state counts, whatever its version", async () => {
    await withSink((sink, cache) => {
      const list = sink.startList();
      list.add([version('900')], '901');
      list.commit('901');
      sink.event('DELETED', version('12', 'other'));
      expect(shown(cache)).toEqual([]);
    });
  });
});

describe('a response that contradicts the cache', () => {
  const at = (resourceVersion: string, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion, ...more },
  });

  it('is that of a deleted object that exists', () =>
    withSink((sink, cache) => {
      sink.event('ADDED', at('90'));
      sink.event('DELETED', at('91'));
      expect(cache.observe(at('92', { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toBe(true);
      expect(cache.observe(at('50'))).toBe(false);
    }));

  it('is the second one older than the cache: the first may be late, the second means a restored server', () =>
    withSink((sink, cache) => {
      sink.event('ADDED', at('90'));
      expect(cache.observe(at('50'))).toBe(true);
      expect(cache.observe(at('51'))).toBe(false);
      sink.event('MODIFIED', at('92'));
      expect(cache.observe(at('52'))).toBe(true);
      expect(cache.observe(at('93'))).toBe(true);
    }));
});

describe('a list after a restored etcd whose versions have passed ours', () => {
  const pod = (owner: string, ready: boolean): KubeObject =>
    childOf(owner, ready ? {} : { deletionTimestamp: '2026-01-01T00:00:00Z' });

  it('updates owners and state of an object without body', async () => {
    await withSink((sink, cache) => {
      const say = (object: KubeObject, version: string): void => {
        const list = sink.startList();
        list.add([object], version);
        list.commit(version);
      };
      say(pod('old', true), '60');
      // Versions from 40 to 60 are reused, so this version 50 is another object.
      say(pod('new', false), '90');
      const node = cache.store.get(keyOf(pod('new', false)));
      expect(node?.ownerRefs.map(({ uid }) => uid)).toEqual(['uid-new']);
      expect(node?.deleting).toBe(true);
    });
  });

  it('drops fetched bodies of an object whose version was reused', async () => {
    await withSink((sink, cache) => {
      const object = (data: string): KubeObject => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'target', namespace: 'ns', uid: 'uid-target', resourceVersion: '50' },
        data: { key: data },
      });
      const say = (data: string): void => {
        const list = sink.startList();
        list.add([object(data)], '60');
        list.commit('60');
      };
      say('old');
      const before = cache.store.get(keyOf(object('old')));
      if (before !== undefined) before.fetched = new Map([['v1', new ObjectBody(object('old'))]]);
      say('old');
      expect(cache.store.get(keyOf(object('old')))?.fetched?.size).toBe(1);
      say('new');
      expect(cache.store.get(keyOf(object('new')))?.fetched).toBeUndefined();
    });
  });

  it('keeps the row of an object that cannot be read, and those of the same list', async () => {
    await withSink((sink, cache) => {
      const object = (name: string, resourceVersion: string, labels?: unknown): KubeObject => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name,
          namespace: 'ns',
          uid: `uid-${name}`,
          resourceVersion,
          ...(labels === undefined ? {} : { labels }),
        } as KubeObject['metadata'],
      });
      const list = (items: readonly KubeObject[], version: string): void => {
        const next = sink.startList();
        next.add(items, version);
        next.commit(version);
      };
      list([object('a', '1'), object('b', '2'), object('c', '3')], '10');
      const poison = object('b', '11');
      Object.defineProperty(poison.metadata, 'ownerReferences', { value: 7, enumerable: true });
      list([object('a', '1'), poison, object('c', '12'), object('d', '13')], '20');
      expect(versions(cache)).toEqual({ a: 'uid-a 1', b: 'uid-b 2', c: 'uid-c 12', d: 'uid-d 13' });
      sink.event('MODIFIED', poison);
      sink.event('MODIFIED', object('d', '21'));
      expect(versions(cache)).toMatchObject({ b: 'uid-b 2', d: 'uid-d 21' });
    });
  });

  it('is degraded while its latest list has an object without a row that cannot be read', async () => {
    await withSink((sink, _cache, watch) => {
      const broken = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'broken', namespace: 'ns', uid: 'uid', resourceVersion: '1', ownerReferences: 7 },
      } as unknown as KubeObject;
      const list = (items: readonly KubeObject[], version: string): void => {
        const next = sink.startList();
        next.add(items, version);
        next.commit(version);
        sink.state({ state: 'synced' });
      };
      list([broken], '10');
      expect(watch.state()).toMatchObject({
        state: 'degraded',
        message: expect.stringContaining('ConfigMap ns/broken cannot be read'),
      });
      list([], '20');
      expect(watch.state()).toEqual({ state: 'synced' });
    });
  });
});

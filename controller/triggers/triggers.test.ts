import { beforeEach, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { createWorkQueue } from '#queues';
import type { WorkQueue } from '#queues';
import type { Informer, InformerEvent } from '#kube';
import type { BodyFilter, LiveChange, LiveCluster, LiveClusters } from '#live';
import { appKeyOf, asApplication, resourceKey } from '#model';
import type { AppKey, Cluster, KubeObject, ResourceKey } from '#model';
import type { SettingsStore } from '#settings';
import type { OwnedParts, Ownership } from '#sharding';
import { FakeClock } from '#support';
import { mergeRequests } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import { EventTriggers } from './triggers.ts';

let clock: FakeClock;
let objects: Map<string, KubeObject>;
let appEvent: (event: InformerEvent) => void;
let ownershipChange: () => void;
let projectEvent: (event: InformerEvent) => void;
let liveChange: (change: LiveChange) => void;
let refreshQueue: WorkQueue<AppKey, RefreshRequest>;
let operationQueue: WorkQueue<AppKey, undefined>;
let projectQueue: WorkQueue<string, undefined>;
let mine: boolean;
let orphans: boolean;
let forgotten: string[];
let measured: object[];
let foreignWrites: AppKey[];
let writing: Promise<string | undefined> | undefined;
let filled: Promise<LiveCluster>;
let edits: ReadonlyMap<ResourceKey, number>;
let clusters: readonly Pick<Cluster, 'server'>[];
let parts: Readonly<Record<string, OwnedParts>>;
let bodies: ReadonlyMap<string, BodyFilter>;
const life = new AbortController().signal;

beforeEach(async () => {
  clock = new FakeClock();
  objects = new Map();
  mine = true;
  orphans = false;
  forgotten = [];
  measured = [];
  foreignWrites = [];
  writing = undefined;
  edits = new Map();
  filled = Promise.resolve(cache());
  clusters = [];
  parts = {};
  refreshQueue = createWorkQueue<AppKey, RefreshRequest>({ clock, name: '', merge: mergeRequests });
  operationQueue = createWorkQueue<AppKey>({ clock, name: '' });
  projectQueue = createWorkQueue<string>({ clock, name: '' });
  const informer = (listen: (listener: (event: InformerEvent) => void) => void): Informer =>
    ({
      get: (key: string) => objects.get(key),
      list: () => [...objects.values()],
      onEvent: (listener: (event: InformerEvent) => void) => {
        listen(listener);
        return () => undefined;
      },
    }) as unknown as Informer;
  const triggers = new EventTriggers({
    apps: informer((listener) => (appEvent = listener)),
    projects: informer((listener) => (projectEvent = listener)),
    settings: {
      clusters: () => clusters,
      settings: () => ({}),
      onChange: () => () => undefined,
    } as unknown as SettingsStore,
    ownership: {
      update: () => undefined,
      measure: (events: ReadonlyMap<string, number>) => measured.push(Object.fromEntries(events)),
      noteForeignWrite: (write: { app: AppKey }) => foreignWrites.push(write.app),
      ownsCluster: () => mine,
      ownedParts: (server: string) => parts[server],
      gaining: () => new Map(),
      prepared: () => undefined,
      onChange: (listener: () => void) => {
        ownershipChange = listener;
        return () => undefined;
      },
    } as unknown as Ownership,
    live: {
      setClusters: (_clusters: unknown, _settings: unknown, of: typeof bodies) => (bodies = of),
      eventCounts: () => new Map([['https://c', 1000 + measured.length]]),
      cluster: () => filled,
      onChange: (listener: (change: LiveChange) => void) => {
        liveChange = listener;
        return () => undefined;
      },
    } as unknown as LiveClusters,
    refreshQueue,
    operationQueue,
    projectQueue,
    isMine: () => mine,
    isWatched: (namespace) => namespace === 'argocd',
    watchesOrphans: () => orphans,
    serverOf: (application) => application.spec.destination.server,
    seen: () => undefined,
    written: () => writing,
    forget: (key, deleted) => forgotten.push(`${key} ${deleted === undefined ? 'lost' : 'deleted'}`),
    namespace: 'argocd',
    clock,
  });
  void triggers.run(life);
  await clock.settle();
});

/** A filled cache that holds the objects in `edits`. */
function cache(): LiveCluster {
  return { foreignEditSeconds: (key: ResourceKey) => edits.get(key) } as LiveCluster;
}

function app(version: string, over: object = {}, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'demo', namespace: 'argocd', resourceVersion: version, ...metadata },
    spec: { destination: { server: 'https://c', namespace: 'apps' } },
    status: { history: [{ id: 0, revision: 'abc' }] },
    ...over,
  };
}

function key(object: KubeObject): AppKey {
  return appKeyOf(asApplication(object));
}

function appears(object: KubeObject): void {
  objects.set(key(object), object);
  appEvent({ type: 'added', object });
}

function changes(old: KubeObject, object: KubeObject): void {
  objects.set(key(object), object);
  appEvent({ type: 'updated', old, object });
}

/** Takes the keys due within a second, with payload and priority. */
async function due<K extends string, P>(queue: WorkQueue<K, P>, withinMs = 1000): Promise<unknown[]> {
  await clock.advance(withinMs);
  const taken: unknown[] = [];
  while (queue.depth > 0) {
    const item = await queue.take(life);
    const payload = item?.payload as Partial<RefreshRequest> | undefined;
    taken.push([item?.key, payload === undefined ? undefined : omit(payload, 'cause'), item?.priority]);
    queue.done(item!.key);
  }
  return taken;
}

describe('an Application', () => {
  it('that was never synced leaves the workers to those that are in use', async () => {
    const automated = { sync: {}, initiatedBy: { automated: true } };
    appears(app('1', { operation: automated, status: {} }));
    expect(await due(refreshQueue)).toEqual([['argocd/demo', { reason: 'the application appeared' }, 'resync']]);
    expect(await due(operationQueue)).toEqual([['argocd/demo', undefined, 'resync']]);
    const requested = { operation: { sync: {} }, status: {} };
    changes(app('1'), app('2', requested, { annotations: { 'argocd.argoproj.io/refresh': 'normal' } }));
    expect(await due(refreshQueue)).toEqual([['argocd/demo', expect.anything(), 'user']]);
    expect(await due(operationQueue)).toEqual([['argocd/demo', undefined, 'user']]);
  });

  it('that appears is refreshed, and its operation is resumed', async () => {
    appears(app('1', { operation: { sync: {} } }));
    expect(await due(refreshQueue)).toEqual([['argocd/demo', { reason: 'the application appeared' }, 'live']]);
    expect(await due(operationQueue)).toEqual([['argocd/demo', undefined, 'user']]);
  });

  it('with a refresh request goes first', async () => {
    appears(app('1', {}, { annotations: { 'argocd.argoproj.io/refresh': 'normal' } }));
    expect(await due(refreshQueue)).toEqual([['argocd/demo', { reason: 'the application appeared' }, 'user']]);
    expect(await due(operationQueue)).toEqual([]);
  });

  it.each([
    ['automation is switched on', undefined, { automated: {} }],
    ['self-heal is switched on', { automated: {} }, { automated: { selfHeal: true } }],
    ['pruning is switched on', { automated: {} }, { automated: { prune: true } }],
    ['empty sources are allowed', { automated: { prune: true } }, { automated: { prune: true, allowEmpty: true } }],
    ['a sync option is dropped', { syncOptions: ['Prune=false'] }, {}],
    ['automation is switched off', { automated: {} }, undefined],
  ])('is compared with the latest revision when %s', async (_, before, after) => {
    const spec = { destination: { server: 'https://c' } };
    const old = app('1', { spec: { ...spec, ...(before && { syncPolicy: before }) } });
    appears(old);
    await due(refreshQueue);
    changes(old, app('2', { spec: { ...spec, ...(after && { syncPolicy: after }) } }));
    expect(await due(refreshQueue)).toEqual([['argocd/demo', { level: 2, reason: 'its sync policy changed' }, 'live']]);
  });

  it.each([
    ['a sync', app('300', { operation: { sync: {} } })],
    ['a deletion', app('300', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('that changes all the time waits for its turn, but not %s that somebody requests', async (_, requested) => {
    appears(app('1'));
    for (let i = 1; i < 120; i += 1) changes(app(String(i)), app(String(i + 1)));
    await due(refreshQueue);
    changes(app('120'), app('121'));
    expect(await due(refreshQueue)).toEqual([]);
    changes(app('121'), requested);
    expect(await due(refreshQueue)).toHaveLength(1);
    expect(await due(operationQueue)).toHaveLength(1);
  });

  it('is not woken by the echo of our own write', async () => {
    appears(app('1'));
    await due(refreshQueue);
    changes(app('1'), app('1'));
    expect(await due(refreshQueue)).toEqual([]);
  });

  it('elsewhere, or of another replica, is ignored', async () => {
    appears(app('1', {}, { namespace: 'other' }));
    mine = false;
    appears(app('1'));
    expect(await due(refreshQueue)).toEqual([]);
  });

  it('that is deleted or handed over is dropped from the queues', async () => {
    const object = app('1', { operation: { sync: {} } });
    appears(object);
    mine = false;
    changes(object, app('2', { operation: { sync: {} } }));
    expect([await due(refreshQueue), await due(operationQueue)]).toEqual([[], []]);
    mine = true;
    appears(object);
    objects.clear();
    appEvent({ type: 'deleted', object });
    expect([await due(refreshQueue), await due(operationQueue)]).toEqual([[], []]);
    expect(forgotten).toEqual(['argocd/demo lost', 'argocd/demo deleted']);
    expect(await due(projectQueue)).toEqual([['argocd/default', undefined, 'live']]);
  });
});

describe('a live object', () => {
  const change = (managed: boolean, over: Partial<LiveChange> = {}): LiveChange => ({
    server: 'https://c',
    key: resourceKey('', 'ConfigMap', 'apps', 'x'),
    apps: new Map([['demo', { managed }]]),
    ...over,
  });

  beforeEach(async () => {
    appears(app('1', { operation: { sync: {} } }));
    await due(refreshQueue);
    await due(operationQueue);
  });

  it('that is managed triggers a refresh and the operation at once', async () => {
    liveChange(change(true));
    expect(await due(refreshQueue, 0)).toEqual([
      [
        'argocd/demo',
        { level: 1, reason: 'ConfigMap apps/x changed', resources: new Set(['/ConfigMap/apps/x']) },
        'live',
      ],
    ]);
    expect(await due(operationQueue)).toEqual([['argocd/demo', undefined, 'user']]);
  });

  it('is named by the refresh, with the others that changed before it began', async () => {
    liveChange(change(true));
    liveChange(change(true, { key: resourceKey('', 'Secret', 'apps', 'y') }));
    const resources = new Set(['/ConfigMap/apps/x', '/Secret/apps/y']);
    expect(await due(refreshQueue, 0)).toEqual([
      ['argocd/demo', { level: 1, reason: 'ConfigMap apps/x changed', resources }, 'live'],
    ]);
  });

  it('that is a child triggers a tree update, a little later', async () => {
    liveChange(change(false));
    expect(await due(refreshQueue, 0)).toEqual([]);
    expect(await due(refreshQueue)).toEqual([
      [
        'argocd/demo',
        { level: 0, reason: 'ConfigMap apps/x changed', resources: new Set(['/ConfigMap/apps/x']) },
        'live',
      ],
    ]);
    expect(await due(operationQueue)).toEqual([]);
  });

  it('that is the application itself changes nothing', async () => {
    liveChange(change(true, { key: resourceKey('argoproj.io', 'Application', 'argocd', 'demo') }));
    expect(await due(refreshQueue)).toEqual([]);
  });

  it('without tracking matters where orphans are watched', async () => {
    const orphan = change(true, { apps: new Map(), orphanNamespace: 'apps' });
    liveChange(orphan);
    expect(await due(refreshQueue)).toEqual([]);
    orphans = true;
    projectEvent({
      type: 'added',
      object: { ...app('1'), kind: 'AppProject', metadata: { name: 'other', namespace: 'argocd' } },
    });
    liveChange(orphan);
    expect(await due(refreshQueue)).toEqual([
      [
        'argocd/demo',
        { level: 0, reason: 'an orphaned resource changed', resources: new Set(['/ConfigMap/apps/x']) },
        'live',
      ],
    ]);
  });
});

it('a project that changes reaches its applications and no others', async () => {
  appears(app('1'));
  appears(app('1', { spec: { project: 'other', destination: {} } }, { name: 'second' }));
  await due(refreshQueue);
  const project = (warn: boolean): KubeObject => ({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'other', namespace: 'argocd' },
    spec: { orphanedResources: { warn } },
  });
  projectEvent({ type: 'updated', old: project(true), object: project(true) });
  expect(await due(refreshQueue)).toEqual([]);
  projectEvent({ type: 'updated', old: project(true), object: project(false) });
  const changed = [['argocd/second', { level: 1, reason: 'project other changed' }, 'resync']];
  expect(await due(refreshQueue)).toEqual(changed);
  // All kinds are allowed, then none.
  const none = { ...project(true), spec: { ...(project(true)['spec'] as object), namespaceResourceWhitelist: [] } };
  projectEvent({ type: 'updated', old: project(true), object: none });
  expect(await due(refreshQueue)).toEqual(changed);
});

describe('a status written by another controller', () => {
  const compared = (version: string): KubeObject =>
    app(version, { status: { reconciledAt: new Date(clock.now() + Number(version)).toISOString() } });

  it('is reported, but not one of a moment before our own write, which the store has already', async () => {
    appears(app('1'));
    await clock.advance(60_000);
    changes(app('1'), compared('2'));
    await clock.settle();
    expect(foreignWrites).toEqual(['argocd/demo']);
    objects.set(key(app('4')), compared('4'));
    appEvent({ type: 'updated', old: compared('2'), object: compared('3') });
    await clock.settle();
    expect(foreignWrites).toEqual(['argocd/demo']);
  });

  it('is not reported while it may be that of the former owner', async () => {
    mine = false;
    appears(app('1'));
    mine = true;
    ownershipChange();
    changes(app('1'), compared('2'));
    await clock.settle();
    expect(foreignWrites).toEqual([]);
    await clock.advance(60_001);
    changes(compared('2'), compared('3'));
    await clock.settle();
    expect(foreignWrites).toEqual(['argocd/demo']);
  });
});

describe('a status written by the former owner', () => {
  const history = [{ id: 0, revision: 'abc' }];
  const running = { history, sync: { status: 'OutOfSync' }, operationState: { phase: 'Running' } };
  const ended = { history, sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } };

  async function takenUp(object: KubeObject): Promise<void> {
    mine = false;
    appears(object);
    mine = true;
    ownershipChange();
    await due(refreshQueue);
  }

  it('that arrives late triggers another comparison, since the earlier decision may be wrong', async () => {
    const [before, after] = [app('1', { status: running }), app('2', { status: ended })];
    await takenUp(before);
    changes(before, after);
    expect(await due(refreshQueue, 500)).toEqual([[key(after), expect.objectContaining({ level: 1 }), 'live']]);
    changes(after, app('3', { status: running }));
    expect(await due(refreshQueue, 500)).toEqual([[key(after), expect.objectContaining({ level: 1 }), 'live']]);
    await clock.advance(1000);
    changes(app('3', { status: running }), app('4', { status: ended }));
    expect(await due(refreshQueue)).toEqual([[key(after), { reason: 'the application changed' }, 'live']]);
  });

  it('is compared once with the last of several, as a watch that catches up shows them', async () => {
    const [before, between, after] = [running, { ...ended, sync: { status: 'OutOfSync' } }, ended].map((status, i) =>
      app(String(i + 1), { status }),
    ) as [KubeObject, KubeObject, KubeObject];
    await takenUp(before);
    changes(before, between);
    await clock.advance(20);
    expect(refreshQueue.contents().oldest).toBeUndefined();
    changes(between, after);
    expect(await due(refreshQueue, 500)).toEqual([[key(after), expect.objectContaining({ level: 1 }), 'live']]);
  });

  it('is not mistaken for our own write, even if its watch event precedes the response', async () => {
    const [before, after] = [app('1', { status: running }), app('2', { status: ended })];
    await takenUp(before);
    let answer: (version: string | undefined) => void = () => undefined;
    writing = new Promise((resolve) => (answer = resolve));
    changes(before, after);
    answer('2');
    expect(await due(refreshQueue, 500)).toEqual([[key(after), { reason: 'the application changed' }, 'live']]);
    // Another client's write still counts, even if our own write fails.
    writing = Promise.resolve(undefined);
    changes(after, app('3', { status: running }));
    expect(await due(refreshQueue, 500)).toEqual([[key(after), expect.objectContaining({ level: 1 }), 'live']]);
  });

  it('is no longer expected long after the handover', async () => {
    const [before, after] = [app('1', { status: running }), app('2', { status: ended })];
    await takenUp(before);
    await clock.advance(61_000);
    changes(before, after);
    expect(await due(refreshQueue, 2000)).toEqual([[key(after), { reason: 'the application changed' }, 'live']]);
  });
});

describe('the Applications that are taken over', () => {
  const object = (name: string): ResourceKey => resourceKey('', 'ConfigMap', 'apps', name);
  const synced = (name: string): KubeObject => {
    const resources = [{ version: 'v1', kind: 'ConfigMap', namespace: 'apps', name, status: 'Synced' }];
    const status = { sync: { status: 'Synced' }, reconciledAt: '2026-01-01T00:01:40Z', resources };
    return app('1', { status }, { name });
  };
  const comparedSeconds = Date.parse('2026-01-01T00:01:40Z') / 1000;
  const takenOver = (names: readonly string[]): void => {
    mine = false;
    for (const name of names) appears(synced(name));
    mine = true;
    ownershipChange();
  };
  const request = { level: 1, reason: 'this replica became the owner' };

  it('are compared when the cache of their cluster is filled, those that have probably drifted first', async () => {
    let fill: (cluster: LiveCluster) => void = () => undefined;
    filled = new Promise((resolve) => (fill = resolve));
    takenOver(['same', 'edited', 'gone']);
    expect(await due(refreshQueue)).toEqual([]);
    edits = new Map([
      [object('same'), comparedSeconds - 1],
      [object('edited'), comparedSeconds + 1],
    ]);
    fill(cache());
    expect(await due(refreshQueue)).toEqual([
      ['argocd/gone', request, 'live'],
      ['argocd/edited', request, 'live'],
      ['argocd/same', request, 'resync'],
    ]);
  });

  it('start after half a minute, if the cache is not filled by then', async () => {
    filled = new Promise(() => undefined);
    takenOver(['demo']);
    expect(await due(refreshQueue, 29_000)).toEqual([]);
    expect(await due(refreshQueue, 2000)).toEqual([['argocd/demo', request, 'resync']]);
  });

  it('start at once if the cluster is not watched', async () => {
    filled = Promise.reject(new Error('not watched'));
    takenOver(['demo']);
    expect(await due(refreshQueue, 0)).toEqual([['argocd/demo', request, 'resync']]);
  });

  it('start at once if a user asked for it, or if their destination is unknown', async () => {
    filled = new Promise(() => undefined);
    mine = false;
    appears(app('1', {}, { name: 'asked', annotations: { 'argocd.argoproj.io/refresh': 'normal' } }));
    appears(app('1', { spec: { destination: { name: 'nowhere' } } }, { name: 'lost' }));
    mine = true;
    ownershipChange();
    expect(await due(refreshQueue, 0)).toEqual([
      ['argocd/asked', request, 'user'],
      ['argocd/lost', request, 'resync'],
    ]);
  });

  it('are not compared if this replica loses them first', async () => {
    let fill: (cluster: LiveCluster) => void = () => undefined;
    filled = new Promise((resolve) => (fill = resolve));
    takenOver(['demo']);
    mine = false;
    ownershipChange();
    fill(cache());
    expect(await due(refreshQueue)).toEqual([]);
  });
});

describe('the parts of split clusters', () => {
  it('are passed to live as plain values, for clusters of which we own only some parts', () => {
    clusters = [{ server: 'https://c' }, { server: 'https://whole' }];
    parts = { 'https://c': { of: 4, owned: [1, 2] }, 'https://whole': { of: 2, owned: [0, 1] } };
    ownershipChange();
    expect(structuredClone(bodies)).toStrictEqual(
      new Map([['https://c', { of: 4, owned: [1, 2], namespace: 'argocd' }]]),
    );
  });
});

describe('the cost of clusters', () => {
  it('is reported to ownership every five minutes', async () => {
    await clock.advance(900_000);
    expect(measured).toEqual([1000, 1001, 1002].map((count) => ({ 'https://c': count })));
  });
});

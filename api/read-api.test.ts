import { request as httpsRequest } from 'node:https';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Shutdown, systemClock, valueAt } from '#base';
import type { Controller } from '#controller';
import { automated, configMap, stage } from '../controller/testing/index.ts';
import { annotations, jsonOf } from '#model';
import type { NextTableFacts, SlotRecord } from '#sharding';
import { eventually, FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { fullViewer } from './access/viewer.ts';
import type { Viewer } from './access/viewer.ts';
import type { ReplicaFacts } from './facts.ts';
import { ApiFault } from './fault.ts';
import { createCertificate } from './http/certificate.ts';
import type { ApiCertificate } from './http/certificate.ts';
import { ApiServer, tokenOf } from './http/tls-server.ts';
import { parseLinkTemplate } from './links.ts';
import { PeerDirectory } from './peers/directory.ts';
import type { Peers } from './peers/types.ts';
import { ReadApi } from './read-api.ts';
import { parseApiRequest } from './request.ts';
import { factsOf as idleFactsOf, ownershipOf } from './testing/replica-facts.ts';
import type { ReplicaResponse } from './types.ts';

const at = stage();
const signal = new AbortController().signal;
const first = 'a'.repeat(40);
const demoPath = '/api/v1/applications/argocd/demo';
const canary = 'c4nary';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function factsOf(
  controller: Controller,
  name = 'replica-0',
  holders: ReadonlyMap<number, SlotRecord> = new Map(),
): ReplicaFacts {
  const ownership = {
    ...ownershipOf(() => ({ shards: 2, holders })),
    identity: () => ({ shard: 0, replicas: 2 }),
    placeOf: () => ({ slot: at.world.owner, part: 0, parts: 1 }),
  };
  return idleFactsOf(controller, at.clock, { name, ownership });
}

function apiOf(facts: ReplicaFacts, peers: Peers = () => []): ReadApi {
  return new ReadApi({ facts, clock: systemClock, peers });
}

async function page(
  api: ReadApi,
  target: string,
  viewer: Viewer = fullViewer,
  isPeer = false,
): Promise<Record<string, never>> {
  return (await api.answer(parseApiRequest(target), { viewer, isPeer }, signal)) as Record<string, never>;
}

/** A page, after the time that a peer has to answer. */
async function latePage(facts: ReplicaFacts, peers: Peers, target: string): Promise<Record<string, never>> {
  const clock = new FakeClock();
  const answer = page(new ReadApi({ facts, clock, peers }), target);
  await clock.advance(2000);
  return answer;
}

const onlyIn = (...namespaces: readonly string[]): Viewer => ({
  may: ({ resource, namespace }) => Promise.resolve(resource === 'applications' && namespaces.includes(namespace)),
});

/** Has every right, each of them asked. */
const permitted: Viewer = { may: () => Promise.resolve(true) };

/** An Application whose ConfigMap and Secret differ from Git. */
async function drifted(): Promise<Controller> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'key' },
    data: { password: btoa(`${canary}-git`) },
  };
  at.world.git.push(first, [configMap('one'), secret]);
  at.world.application({ ...automated, syncPolicy: {}, source: { repoURL: `https://me:${canary}@git/x`, path: 'p' } });
  at.world.edit(() => ({ operation: { sync: {} } }));
  const { controller } = at.world.replica();
  await at.clock.advance(5000);
  const change = (kind: string, name: string, data: Record<string, string>): void => {
    const live = at.world.dest.get(kind, name)!;
    const managedFields = [
      {
        manager: 'kubectl-edit',
        operation: 'Update',
        time: '2026-01-02T03:04:05Z',
        fieldsV1: { 'f:data': { 'f:key': {} } },
      },
    ];
    at.world.dest.put({ ...live, metadata: { ...live.metadata, managedFields }, data });
  };
  change('ConfigMap', 'one', { key: `https://u:${canary}@h/p`, db_password: canary });
  change('Secret', 'key', { password: btoa(`${canary}-live`) });
  await at.clock.advance(5000);
  return controller;
}

describe('the page of an Application', () => {
  it('links the configured pages, as does its cluster', async () => {
    const link = parseLinkTemplate('--flag', 'Grafana', 'https://grafana.example/?app={application}&cluster={cluster}');
    const api = apiOf({ ...factsOf(await drifted()), links: [link] });
    const { application } = await page(api, '/api/v1/applications/argocd/demo');
    expect(application).toMatchObject({
      links: [{ name: 'Grafana', url: expect.stringMatching(/^https:\/\/grafana\.example\/\?app=demo&cluster=/) }],
    });
  });

  it('says which fields differ, who changed them and when, and shows no secret', async () => {
    const body = await page(apiOf(factsOf(await drifted())), '/api/v1/applications/argocd/demo');
    const { application } = body as unknown as { readonly application: Record<string, never> };
    expect(application).toMatchObject({
      namespace: 'argocd',
      name: 'demo',
      owner: 'replica-0',
      sync: 'OutOfSync',
      ownership: { reason: 'this replica became the owner', epoch: 7 },
      differencesTotal: 2,
      lastPass: { cause: { type: 'object' }, result: 'completed' },
      lastOperation: { type: 'sync', phase: 'Succeeded' },
      automatedSync: { decision: 'skip', reason: 'automated sync is off' },
      sources: [{ repository: 'https://git/x', path: 'p' }],
      links: [],
    });
    const [changed] = application['differences'] as unknown as readonly Record<string, unknown>[];
    expect(changed).toMatchObject({
      kind: 'ConfigMap',
      state: 'modified',
      fields: [
        {
          path: '/data/key',
          desired: '"1"',
          changedBy: { manager: 'kubectl-edit', operation: 'Update', time: '2026-01-02T03:04:05Z', isOurs: false },
        },
      ],
    });
    expect(JSON.stringify(body)).not.toContain(canary);
    expect(JSON.stringify(body)).not.toContain(btoa(`${canary}-live`));
  });

  it('has the whole manifest of a missing and of an extra object, without secrets', async () => {
    const controller = await drifted();
    at.world.dest.delete('ConfigMap', 'one');
    const wanted = { ...configMap('one'), data: { key: '1', token: canary } };
    at.world.git.push('b'.repeat(40), [wanted]);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.clock.advance(5000);
    const body = await page(apiOf(factsOf(controller)), '/api/v1/applications/argocd/demo');
    const { application } = body as unknown as { readonly application: { readonly differences: readonly object[] } };
    expect(application.differences).toMatchObject([
      {
        kind: 'ConfigMap',
        name: 'one',
        state: 'missing',
        manifest: expect.stringMatching(/key: '1'\n {2}token: \+{8}\n/),
      },
      { kind: 'Secret', name: 'key', state: 'extra', manifest: expect.stringMatching(/password: \+{8}/) },
    ]);
    expect(JSON.stringify(body)).not.toContain(canary);
    expect(JSON.stringify(body)).not.toContain(btoa(`${canary}-live`));
  });

  // T-SEC-1
  it.each([
    'replica',
    'ownership',
    'clusters',
    'queues',
    'applications',
    'repositories',
    'events',
    'costs/apps',
    'costs/projects',
  ])('%s shows no secret either', async (name) => {
    const body = JSON.stringify(await page(apiOf(factsOf(await drifted())), `/api/v1/${name}`));
    expect(body).toContain('"apiVersion":"driftless.io/v1"');
    expect(body).not.toContain(canary);
  });
});

describe('a viewer', () => {
  it('sees the Applications of the namespaces that it may read, on no page any others', async () => {
    const api = apiOf(factsOf(await drifted()));
    const other = onlyIn('elsewhere');
    expect(await page(api, '/api/v1/applications', other)).toMatchObject({ items: [], total: 0 });
    expect(await page(api, '/api/v1/events', other)).toMatchObject({ items: [] });
    expect(await page(api, '/api/v1/costs/apps', other)).toMatchObject({ items: [] });
    for (const target of [
      'applications/argocd/demo',
      'applications/argocd/unknown',
      'replica',
      'queues',
      'costs/projects',
    ])
      await expect(page(api, `/api/v1/${target}`, other)).rejects.toMatchObject({ status: 403 });
    expect(await page(api, '/api/v1/applications', onlyIn('argocd'))).toMatchObject({ total: 1 });
    await expect(page(api, '/api/v1/applications/argocd/unknown', onlyIn('argocd'))).rejects.toMatchObject({
      status: 404,
    });
  });
});

describe('a hostile tenant', () => {
  const idle = { failuresInRow: 1, failingSince: 0, lastSuccessAt: undefined, fetches: 1, renders: 1 };
  const lastFetch = { at: 0, durationMs: 1, ok: false, message: 'away' };
  const server = `https://me:${canary}@cluster`;
  const info = { server, state: 'failed', message: 'away', resourcesCount: 1, apisCount: 1, eventsCount: 1, kinds: [] };
  const kind = { group: '', version: 'v1', kind: 'Secret', state: 'degraded', objects: 1, events: 2, bytes: 3 };
  const never = { since: 1, lastEventAt: 1, lastHeardAt: 1, lagMs: 1, lastError: { at: 1, message: 'away' } };
  const sets = [{ paths: [['status', 'x']], changes: 3, changesHealth: false }];
  const changed = [{ key: '/Secret/dest/app', sets, unrecorded: 1 }];
  const watched = {
    name: 'dest',
    info,
    kinds: [{ ...kind, ...never }],
    noisiest: [],
    changed,
    bytes: 1,
    eventsPerSecond: 1,
  };

  // T-SEC-1
  it.each([
    'replica',
    'clusters',
    'clusters/dest',
    'repositories',
    'costs/clusters',
    'costs/kinds',
    'costs/repositories',
    'costs/projects',
    'applications',
  ])('finds no credential on the page %s, with all its parts filled', async (name) => {
    const facts = {
      ...factsOf(await drifted()),
      watched: () => [watched],
      clusters: () => [{ name: 'dest', server }],
      repositories: () => [{ url: 'https://git/x', lastFetch, ...idle, paused: [] }],
    } as unknown as ReplicaFacts;
    const own = await createCertificate('a', systemClock.now());
    const alone = new PeerDirectory({ name: 'replica-0', ownership: facts.ownership, certificate: own });
    const { port } = await serving(facts, own, alone);
    const { status, body } = await get(port, { path: `/api/v1/${name}`, token: 'good' });
    expect(status).toBe(200);
    expect(body).toMatch(/"https:\/\/(?:cluster|git\/x)"|"apps?\/|"items":\[\{|dest/);
    expect(body).not.toContain(canary);
  });

  it('who disconnects fails no other reader of the page', async () => {
    let answer: () => void = () => undefined;
    const ask = (_target: string, inner: AbortSignal): Promise<unknown> =>
      new Promise((resolve, reject) => {
        answer = () => resolve({ apiVersion: 'driftless.io/v1', kind: 'Events', items: [] });
        inner.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const api = apiOf(factsOf(await drifted()), () => [{ name: 'other', ask }]);
    const gone = new AbortController();
    const events = parseApiRequest('/api/v1/events');
    const hostile = api.answer(events, { viewer: onlyIn('argocd'), isPeer: false }, gone.signal).catch(() => 'gone');
    const honest = api.answer(events, { viewer: fullViewer, isPeer: false }, signal);
    await new Promise((resolve) => setImmediate(resolve));
    gone.abort(new Shutdown('the caller is gone'));
    await new Promise((resolve) => setImmediate(resolve));
    answer();
    expect(await honest).toMatchObject({ kind: 'Events', incomplete: [] });
    expect(await hostile).toBe('gone');
  });

  it('does not name the Application that occupies a worker to callers who may not read it', async () => {
    const controller = await drifted();
    const { report } = controller;
    const queue = {
      name: 'q',
      workers: 1,
      depth: 1,
      longest: { key: 'team-b/slow', since: '2026-01-01T00:00:00.000Z' },
    };
    const details: typeof report.details = async (key, inner) => {
      const known = await report.details(key, inner);
      return known === undefined ? undefined : { ...known, waiting: { what: 'a worker', since: '', queue } };
    };
    const api = apiOf({ ...factsOf(controller), controller: { ...report, details } });
    const shownTo = async (viewer: Viewer): Promise<unknown> => {
      const { application } = await page(api, '/api/v1/applications/argocd/demo', viewer);
      return (application as unknown as { readonly waiting: { readonly queue: unknown } }).waiting.queue;
    };
    expect(await shownTo(onlyIn('argocd'))).toEqual({ ...queue, longest: { ...queue.longest, key: '' } });
    expect(await shownTo(onlyIn('argocd', 'team-b'))).toEqual(queue);
  });

  it('learns nothing about others by filters: not by time, errors, counts or reviews', async () => {
    const api = apiOf(factsOf(await drifted()));
    const asked: string[] = [];
    const viewer: Viewer = {
      may: ({ resource, namespace }) => {
        asked.push(`${resource} ${namespace}`);
        return Promise.resolve(false);
      },
    };
    const reviewsOf = async (query: string): Promise<readonly string[]> => {
      asked.length = 0;
      expect(await page(api, `/api/v1/applications?${query}`, viewer)).toMatchObject({ items: [], total: 0 });
      return [...asked];
    };
    expect(await reviewsOf('text=demo')).toEqual(await reviewsOf('text=nothing-like-it'));
  });

  it('without any right costs no work of other replicas, and sees neither times nor addresses', async () => {
    let count = 0;
    const ask = (): Promise<unknown> => {
      count += 1;
      return Promise.reject(new ApiFault(502, 'no connection: connect ECONNREFUSED 10.1.2.3:8085'));
    };
    const api = apiOf(factsOf(at.world.replica().controller), () => [{ name: 'other', ask }]);
    for (const name of ['events', 'costs/apps'])
      expect(await page(api, `/api/v1/${name}`, onlyIn('elsewhere'))).toMatchObject({ items: [] });
    expect(count).toBe(0);
    const facts = factsOf(await drifted());
    const peers: Peers = () => [{ name: 'other', ask }];
    expect(JSON.stringify(await page(apiOf(facts, peers), '/api/v1/events', onlyIn('argocd')))).toContain('10.1.2.3');
    const elsewhere = { ...facts, namespace: 'controllers' };
    expect(await page(apiOf(elsewhere, peers), '/api/v1/events', onlyIn('argocd'))).toMatchObject({
      incomplete: [{ replica: 'other', reason: 'its part is missing' }],
      oldest: {},
    });
  });

  it('cannot fill a list with one huge Application', async () => {
    const names = Array.from({ length: 5000 }, (_, i) => [`label-${i}`, 'x'.repeat(63)] as const);
    const sources = Array.from({ length: 500 }, (_, i) => ({
      repoURL: `https://git/${i}/${'x'.repeat(4000)}`,
      path: 'p',
    }));
    at.world.application(
      { sources },
      { metadata: { name: 'huge', namespace: 'argocd', labels: Object.fromEntries(names) } },
    );
    const { controller } = at.world.replica();
    await at.clock.advance(100);
    const api = apiOf(factsOf(controller));
    const body = await page(api, '/api/v1/applications?label=label-4999');
    expect(body).toMatchObject({ total: 1 });
    expect(JSON.stringify(body).length).toBeLessThan(64 * 1024);
  });

  it('whose two tokens differ is refused: a proxy may have checked only one', async () => {
    expect(() => tokenOf({ headers: { authorization: 'Bearer a', 'x-driftless-token': 'b' } })).toThrow(
      'different tokens',
    );
    expect(tokenOf({ headers: { authorization: 'Bearer a', 'x-driftless-token': 'a' } })).toBe('a');
    return Promise.resolve();
  });
});

describe('a page of a list', () => {
  it('copies the ownership once, whatever its length', async () => {
    for (let i = 0; i < 50; i += 1) at.world.application({}, { metadata: { name: `app-${i}`, namespace: 'argocd' } });
    const { controller } = at.world.replica();
    await at.clock.advance(100);
    const facts = factsOf(controller);
    let copies = 0;
    const counted = {
      ...facts.ownership,
      facts: () => {
        copies += 1;
        return facts.ownership.facts();
      },
    };
    await page(apiOf({ ...facts, ownership: counted }), '/api/v1/applications');
    expect(copies).toBe(1);
  });

  it('judges each Application once a second, however many read it, and again when it changes', async () => {
    for (let i = 0; i < 50; i += 1) at.world.application({}, { metadata: { name: `app-${i}`, namespace: 'argocd' } });
    const { controller } = at.world.replica();
    const { report } = controller;
    await at.clock.advance(100);
    let judged = 0;
    const state: typeof report.state = (...given) => {
      judged += 1;
      return report.state(...given);
    };
    const api = apiOf({ ...factsOf(controller), controller: { ...report, state } });
    const first = await page(api, '/api/v1/applications');
    for (let i = 0; i < 9; i += 1) expect((await page(api, '/api/v1/applications'))['items']).toEqual(first['items']);
    expect(judged).toBe(50);
    await at.clock.advance(1001);
    await page(api, '/api/v1/applications');
    expect(judged).toBe(100);
  });
});

describe('an Application', () => {
  it('in a namespace that is not watched is answered with what to set', async () => {
    const api = apiOf(factsOf(await drifted()));
    await expect(page(api, '/api/v1/applications/elsewhere/demo')).rejects.toMatchObject({
      status: 404,
      reason: 'NamespaceNotWatched',
      message:
        'namespace elsewhere is not watched: add it to application.namespaces of argocd-cmd-params-cm, or to --application-namespaces',
    });
    await expect(page(api, '/api/v1/applications/argocd/demmo')).rejects.toMatchObject({
      status: 404,
      reason: undefined,
      message: 'there is no Application argocd/demmo in the watched namespaces',
    });
  });

  it.each<[string, Peers, string]>([
    ['hangs', () => [{ name: 'owner', ask: () => new Promise(() => undefined) }], 'it did not answer within 2 s'],
    [
      'fails',
      () => [{ name: 'owner', ask: () => Promise.reject(new ApiFault(502, 'no connection')) }],
      'no connection',
    ],
    [
      'is of a release that answers otherwise',
      () => [{ name: 'owner', ask: () => Promise.resolve({ apiVersion: 'driftless.io/v9', kind: 'Application' }) }],
      'its answer is not understood',
    ],
    ['is gone', () => [], 'it holds no shard now'],
  ])(
    'whose owner %s is shown as far as this replica knows it, and the owner is named',
    async (_what, peers, reason) => {
      const own: SlotRecord = { slot: 0, holder: 'owner', incarnation: 'owner/0', renewals: 1, acked: 1, heartbeat: 0 };
      const facts = factsOf(await drifted(), 'replica-1', new Map([[0, own]]));
      const others = { ...facts, controller: { ...facts.controller, isMine: () => false } };
      const body = await latePage(others, peers, demoPath);
      expect(body).toMatchObject({
        application: { name: 'demo', owner: 'owner', sync: 'OutOfSync' },
        incomplete: [{ replica: 'owner', reason }],
      });
    },
  );
});

describe('an assembled page', () => {
  it('is used again for a second, except by readers that want a fresh one', async () => {
    let rssBytes = 0;
    const facts = factsOf(await drifted());
    const process: ReplicaFacts['process'] = () => ({ ...facts.process(), rssBytes: (rssBytes += 1) });
    const api = apiOf({ ...facts, process });
    const read = async (wantsFresh: boolean): Promise<number> => {
      const caller = { viewer: fullViewer, isPeer: false, wantsFresh };
      const { items } = (await api.answer(parseApiRequest('/api/v1/replica'), caller, signal)) as ReplicaResponse;
      return items[0]?.rssBytes ?? 0;
    };
    const shown = await read(false);
    expect(await read(false)).toBe(shown);
    expect(await read(true)).toBe(shown + 1);
    expect(await read(false)).toBe(shown + 1);
  });
});

describe('the page of an Application', () => {
  it('is assembled again at once after a change, and gone after a deletion', async () => {
    const api = apiOf(factsOf(await drifted()));
    const shown = async (): Promise<unknown> => valueAt(jsonOf(await page(api, demoPath)), 'application', 'health');
    const before = await shown();
    at.world.edit((object) => ({ status: { ...(object['status'] as object), health: { status: 'Suspended' } } }));
    expect([before, await shown()]).toEqual([expect.not.stringMatching('Suspended'), 'Suspended']);
    at.world.hub.delete('Application', 'demo');
    await expect(page(api, demoPath)).rejects.toMatchObject({ status: 404 });
  });
});

describe('a peer of another release', () => {
  it.each([
    ['queues', 'Queues', [{ name: 'refresh' }]],
    ['events', 'Events', [{ at: 1 }]],
    ['costs/apps', 'Costs', [{ name: 'argocd/demo', cpuMs: '1' }]],
  ])('that answers %s in another form is named, and the rest is shown', async (name, kind, items) => {
    const ask = (): Promise<unknown> => Promise.resolve({ apiVersion: 'driftless.io/v1', kind, items });
    const api = apiOf(factsOf(await drifted()), () => [{ name: 'other', ask }]);
    expect(await page(api, `/api/v1/${name}`)).toMatchObject({
      incomplete: [{ replica: 'other', reason: 'its answer is not understood' }],
    });
  });
});

describe('a list', () => {
  it('comes in pages that together have each Application once, whatever the size of a page', async () => {
    at.world.git.push(first, [configMap('one')]);
    for (let i = 0; i < 25; i += 1)
      at.world.application(
        {},
        { metadata: { name: `app-${i}`, namespace: 'argocd', labels: { tier: i % 2 === 0 ? 'a' : 'b' } } },
      );
    const { controller } = at.world.replica();
    await at.clock.advance(5000);
    const api = apiOf(factsOf(controller));
    const seen: string[] = [];
    let target = '/api/v1/applications?limit=7&label=tier%3Da';
    for (let turn = 0; turn < 10 && target !== ''; turn += 1) {
      const body = (await page(api, target)) as unknown as {
        items: { name: string }[];
        total: number;
        continue?: string;
      };
      expect(body.total).toBe(13);
      seen.push(...body.items.map(({ name }) => name));
      target =
        body.continue === undefined ? '' : `/api/v1/applications?limit=7&label=tier%3Da&continue=${body.continue}`;
    }
    expect(new Set(seen).size).toBe(13);
    expect(seen).toHaveLength(13);
    expect(await page(api, '/api/v1/applications?text=PP-2')).toMatchObject({ total: 6 });
  });
});

describe('peers', () => {
  it('that hang, fail, lie about their name or answer nonsense are named, and the rest is shown', async () => {
    const facts = factsOf(await drifted());
    const lie = { apiVersion: 'driftless.io/v1', kind: 'Replicas', items: [{ name: 'replica-0' }, { name: 'x' }] };
    const peers: Peers = () => [
      { name: 'silent', ask: () => new Promise(() => undefined) },
      { name: 'broken', ask: () => Promise.reject(new ApiFault(502, 'no connection')) },
      { name: 'nonsense', ask: () => Promise.resolve({ items: 'all' }) },
      { name: 'old' },
      { name: 'liar', ask: () => Promise.resolve(lie) },
    ];
    const body = await latePage(facts, peers, '/api/v1/replica');
    expect(body).toMatchObject({
      items: [{ name: 'replica-0' }, { name: 'liar' }],
      incomplete: [
        { replica: 'silent', reason: 'it did not answer within 2 s' },
        { replica: 'broken', reason: 'no connection' },
        { replica: 'nonsense', reason: 'its answer is not understood' },
        { replica: 'old', reason: 'it publishes no address: an older release, or its API is off' },
      ],
    });
  });

  it('are not asked by a request of a peer', async () => {
    let asked = 0;
    const ask = (): Promise<unknown> => Promise.resolve((asked += 1));
    const api = apiOf(factsOf(await drifted()), () => [{ name: 'other', ask }]);
    await page(api, '/api/v1/replica', fullViewer, true);
    expect(asked).toBe(0);
    await page(api, '/api/v1/replica');
    expect(asked).toBe(1);
  });
});

/** A replica's API on a port of loopback. */
async function serving(
  facts: ReplicaFacts,
  certificate: ApiCertificate,
  directory: PeerDirectory,
): Promise<{ readonly port: number; readonly api: ReadApi }> {
  const api = apiOf(facts, directory.peers);
  const viewer = (token: string | undefined): Promise<Viewer> =>
    token === 'good' ? Promise.resolve(permitted) : Promise.reject(new ApiFault(401, 'no'));
  const server = new ApiServer(
    { api, access: { viewer }, certificate, logger: silentLogger, peerFingerprints: () => directory.fingerprints() },
    { host: '127.0.0.1', port: 0 },
  );
  const stop = new AbortController();
  const running = server.run(stop.signal);
  stops.push(async () => {
    stop.abort(new Shutdown());
    await running;
  });
  await eventually(() => expect(server.port).toBeDefined());
  return { port: server.port ?? 0, api };
}

async function get(
  port: number,
  options: {
    readonly path?: string;
    readonly method?: string;
    readonly token?: string;
    readonly headers?: Record<string, string>;
    readonly client?: ApiCertificate;
  },
): Promise<{ readonly status: number; readonly body: string }> {
  const { path = '/api/v1/replica', method = 'GET', token, headers = {}, client } = options;
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(
      {
        port,
        path,
        method,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        agent: false,
        headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
        ...(client === undefined ? {} : { cert: client.certificate, key: client.key }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      },
    );
    outgoing.on('error', reject).end();
  });
}

describe('over the network', () => {
  async function fleet(): Promise<{
    readonly ports: readonly number[];
    readonly certificates: readonly ApiCertificate[];
  }> {
    const controller = await drifted();
    const certificates = [
      await createCertificate('replica-0', systemClock.now()),
      await createCertificate('replica-1', systemClock.now()),
    ];
    const holders = new Map<number, SlotRecord>();
    const ports: number[] = [];
    for (const [slot, certificate] of certificates.entries()) {
      const facts = factsOf(controller, `replica-${slot}`, holders);
      const { ownership } = facts;
      const directory = new PeerDirectory({ name: `replica-${slot}`, ownership, certificate });
      const { port } = await serving(facts, certificate, directory);
      ports.push(port);
      const api = { address: `127.0.0.1:${port}`, fingerprint: certificate.fingerprint };
      const common = { renewals: 1, acked: 1, heartbeat: 0, incarnation: `p/${slot}` };
      holders.set(slot, { slot, holder: `replica-${slot}`, ...common, api });
    }
    return { ports, certificates };
  }

  it('one replica answers for all, each recognised by its certificate', async () => {
    const { ports } = await fleet();
    const { status, body } = await get(ports[0] ?? 0, { token: 'good' });
    expect(status).toBe(200);
    const answer = JSON.parse(body) as {
      readonly items: readonly { readonly name: string }[];
      readonly incomplete: unknown;
    };
    expect(answer.items.map(({ name }) => name)).toEqual(['replica-0', 'replica-1']);
    expect(answer.incomplete).toEqual([]);
  });

  it('one replica passes on what the owner says about an object that it does not have', async () => {
    const { ports } = await fleet();
    at.world.owner = 1;
    const path = '/api/v1/applications/argocd/demo/object?kind=Pod&namespace=apps&name=gone';
    const { status, body } = await get(ports[0] ?? 0, { token: 'good', path });
    expect([status, JSON.parse(body)]).toEqual([
      404,
      expect.objectContaining({ message: 'Pod gone is not in the tree of argocd/demo' }),
    ]);
  });

  it('nobody gets in without a token, or with the certificate of a stranger', async () => {
    const { ports, certificates } = await fleet();
    const [port = 0] = ports;
    expect((await get(port, {})).status).toBe(401);
    expect((await get(port, { token: 'bad' })).status).toBe(401);
    expect((await get(port, { headers: { 'x-driftless-token': 'good' } })).status).toBe(200);
    const stranger = await createCertificate('replica-1', systemClock.now());
    expect((await get(port, { client: stranger })).status).toBe(401);
    expect((await get(port, { client: certificates[1]! })).status).toBe(200);
  });

  it('a peer with another certificate than the published one gets no request, and is named', async () => {
    const controller = await drifted();
    const [own, real, fake] = [
      await createCertificate('a', systemClock.now()),
      await createCertificate('b', systemClock.now()),
      await createCertificate('b', systemClock.now()),
    ];
    const nobody = new PeerDirectory({
      name: 'b',
      ownership: { facts: () => factsOf(controller).ownership.facts() },
      certificate: fake,
    });
    const { port } = await serving(factsOf(controller, 'b'), fake, nobody);
    const record = { slot: 1, holder: 'b', incarnation: 'p/1', renewals: 1, acked: 1, heartbeat: 0 };
    const holders = new Map([[1, { ...record, api: { address: `127.0.0.1:${port}`, fingerprint: real.fingerprint } }]]);
    const facts = factsOf(controller, 'a', holders);
    const api = apiOf(facts, new PeerDirectory({ name: 'a', ownership: facts.ownership, certificate: own }).peers);
    expect(await page(api, '/api/v1/replica')).toMatchObject({
      items: [{ name: 'a' }],
      incomplete: [{ replica: 'b', reason: 'another certificate than the published one answers at its address' }],
    });
  });

  it('only GET and HEAD without a body are answered, and headers have a limit', async () => {
    const { ports } = await fleet();
    const [port = 0] = ports;
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect([method, (await get(port, { method, token: 'good' })).status]).toEqual([method, 405]);
    expect(await get(port, { method: 'HEAD', token: 'good' })).toEqual({ status: 200, body: '' });
    expect((await get(port, { token: 'good', headers: { 'x-long': 'x'.repeat(20_000) } })).status).toBe(431);
    expect((await get(port, { token: 'good', path: '/api/v1/applications?colour=red' })).status).toBe(400);
  });

  it('a request that hides another one in its body is refused with its connection', async () => {
    const { ports } = await fleet();
    const hidden = 'GET /api/v1/queues HTTP/1.1\r\nhost: x\r\n\r\n';
    const text = `GET /api/v1/replica HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`;
    const answer = await new Promise<string>((resolve) => {
      let received = '';
      const socket = connect({ host: '127.0.0.1', port: ports[0] ?? 0, rejectUnauthorized: false }, () =>
        socket.write(text),
      );
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
      socket.on('close', () => resolve(received));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe('the pages of the dashboard', () => {
  const tree = '/api/v1/applications/argocd/demo/tree';

  it('draw the tree of an Application, without contents, for those who may read it', async () => {
    const api = apiOf(factsOf(await drifted()));
    const body = await page(api, tree, onlyIn('argocd'));
    expect(body).toMatchObject({ kind: 'Tree', total: 2 });
    expect(body['nodes']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'ConfigMap', name: 'one', parents: [], sync: 'OutOfSync', isMissing: false }),
        expect.objectContaining({ kind: 'Secret', name: 'key', parents: [] }),
      ]),
    );
    expect(JSON.stringify(body)).not.toContain(canary);
    await expect(page(api, tree, onlyIn('elsewhere'))).rejects.toMatchObject({ status: 403 });
    await expect(page(api, '/api/v1/applications/argocd/none/tree')).rejects.toMatchObject({ status: 404 });
  });

  it('show an object of the tree by its manifests, without secrets, and nothing beside the tree', async () => {
    const controller = await drifted();
    at.world.dest.put({ ...configMap('foreign'), data: { key: canary } });
    await at.clock.advance(1000);
    const api = apiOf(factsOf(controller));
    const at1 = '/api/v1/applications/argocd/demo/object';
    const one = await page(api, `${at1}?kind=ConfigMap&namespace=apps&name=one`);
    expect(one).toMatchObject({
      kind: 'Object',
      object: {
        name: 'one',
        version: 'v1',
        desired: expect.stringMatching(/^data:\n {2}key: '1'\n/m),
        live: expect.stringMatching(/db_password: \+{8}\n/),
      },
    });
    const secret = await page(api, `${at1}?kind=Secret&namespace=apps&name=key`);
    expect(secret).toMatchObject({ object: { live: expect.stringMatching(/^data:\n {2}password: \+{8}\n/m) } });
    const bodies = JSON.stringify([one, secret]);
    for (const hidden of [canary, btoa(`${canary}-live`), btoa(`${canary}-git`)]) expect(bodies).not.toContain(hidden);
    await expect(page(api, `${at1}?kind=ConfigMap&namespace=apps&name=foreign`)).rejects.toMatchObject({
      status: 404,
      message: 'ConfigMap foreign is not in the tree of argocd/demo',
    });
    await expect(page(api, `${at1}?kind=ConfigMap`)).rejects.toMatchObject({ status: 400 });
    await expect(page(api, `${at1}?kind=Secret&namespace=apps&name=key`, onlyIn('argocd'))).resolves.toMatchObject({
      object: { group: '', kind: 'Secret', namespace: 'apps', name: 'key', version: '' },
    });
  });

  it('show the events and the log of an object of the tree, or why they cannot be read', async () => {
    const controller = await drifted();
    const happened = { type: 'Warning', reason: 'Failed', message: 'm', reporter: 'r', count: 2, lastAt: '' };
    const log = { container: 'web', containers: ['web'], text: 'ready\n' };
    const chosen: object[] = [];
    Object.assign(at.world.activity, {
      events: () => Promise.resolve([happened]),
      log: (...given: readonly object[]) => {
        chosen.push(...given);
        return Promise.resolve(log);
      },
    });
    at.world.dest.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'apps', name: 'p', annotations: { [annotations.trackingId]: 'demo:/Pod:apps/p' } },
    });
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.clock.advance(5000);
    const api = apiOf(factsOf(controller));
    const at1 = '/api/v1/applications/argocd/demo/object';
    const [one, pod] = ['kind=ConfigMap&namespace=apps&name=one', 'kind=Pod&namespace=apps&name=p'];
    expect(await page(api, `${at1}/events?${one}`)).toMatchObject({ events: { items: [happened] } });
    expect(await page(api, `${at1}/log?${pod}&container=web&previous=true`)).toMatchObject({ kind: 'Log', log });
    expect(chosen.slice(0, 2)).toMatchObject([{ name: 'p' }, { container: 'web', isPrevious: true }]);
    for (const part of ['events', 'log'])
      await expect(page(api, `${at1}/${part}?kind=Pod&namespace=apps&name=foreign`)).rejects.toMatchObject({
        status: 404,
        message: 'Pod foreign is not in the tree of argocd/demo',
      });
    await expect(page(api, `${at1}/log?${one}`)).rejects.toMatchObject({
      message: 'only Pods have a log, ConfigMap one is none',
    });
    const away = (): Promise<never> => Promise.reject(new Error('pods is forbidden'));
    Object.assign(at.world.activity, { events: away, log: away });
    const later = apiOf(factsOf(controller));
    const message = 'pods is forbidden';
    expect(await page(later, `${at1}/events?${one}`)).toMatchObject({ events: { items: [], message } });
    expect(await page(later, `${at1}/log?${pod}`)).toMatchObject({ log: { containers: [], text: '', message } });
  });

  it('take an object from the owner only, and say who does not answer', async () => {
    const target = '/api/v1/applications/argocd/demo/object?group=&kind=ConfigMap&namespace=apps&name=one';
    const facts = factsOf(await drifted(), 'replica-0', new Map([[1, { holder: 'other' } as SlotRecord]]));
    at.world.owner = 1;
    const away = { ...facts, controller: { ...facts.controller, isMine: (): boolean => false } };
    const object = { group: '', kind: 'ConfigMap', namespace: 'apps', name: 'one', version: 'v1', live: 'a: b\n' };
    const asked: string[] = [];
    const ask = (wanted: string): Promise<unknown> => {
      asked.push(wanted);
      return Promise.resolve({ apiVersion: 'driftless.io/v1', kind: 'Object', object });
    };
    expect(
      await page(
        apiOf(away, () => [{ name: 'other', ask }]),
        target,
      ),
    ).toMatchObject({ object });
    expect(asked).toEqual([target]);
    const fail = (): Promise<unknown> => Promise.reject(new ApiFault(502, 'no connection'));
    await expect(
      page(
        apiOf(away, () => [{ name: 'other', ask: fail }]),
        target,
      ),
    ).rejects.toMatchObject({
      status: 503,
      message: 'replica other owns argocd/demo: no connection',
    });
  });

  it('say what the owner says of an object that it does not have', async () => {
    const facts = factsOf(await drifted(), 'replica-0', new Map([[1, { holder: 'other' } as SlotRecord]]));
    at.world.owner = 1;
    const away = { ...facts, controller: { ...facts.controller, isMine: (): boolean => false } };
    const absent = new ApiFault(404, 'Pod gone is not in the tree of argocd/demo');
    const api = apiOf(away, () => [{ name: 'other', ask: () => Promise.reject(absent) }]);
    const target = '/api/v1/applications/argocd/demo/object/log?kind=Pod&namespace=apps&name=gone';
    await expect(page(api, target)).rejects.toMatchObject({ status: 404, message: absent.message });
  });

  it('take the tree from the owner, and without an answer say what is missing', async () => {
    const controller = await drifted();
    at.world.owner = 1;
    const holders = new Map<number, SlotRecord>([[1, { holder: 'other' } as SlotRecord]]);
    const facts = factsOf(controller, 'replica-0', holders);
    const node = { group: '', version: 'v1', kind: 'Pod', namespace: 'apps', name: 'p', parents: [] };
    const full = { ...node, isHook: false, isMissing: false, images: [], details: [] };
    const asked: string[] = [];
    const ask = (target: string): Promise<unknown> => {
      asked.push(target);
      return Promise.resolve({ apiVersion: 'driftless.io/v1', kind: 'Tree', nodes: [full], total: 1 });
    };
    const isMine = (): boolean => false;
    const away = { ...facts, controller: { ...facts.controller, isMine } };
    expect(
      await page(
        apiOf(away, () => [{ name: 'other', ask }]),
        tree,
      ),
    ).toMatchObject({
      nodes: [{ name: 'p' }],
      incomplete: [],
    });
    expect(asked).toEqual([tree]);
    const fail = (): Promise<unknown> => Promise.reject(new ApiFault(502, 'no connection'));
    expect(
      await page(
        apiOf(away, () => [{ name: 'other', ask: fail }]),
        tree,
      ),
    ).toMatchObject({
      incomplete: [{ replica: 'other', reason: 'no connection' }],
    });
  });

  it('plan a change without asking other replicas, and refuse one that is no number', async () => {
    const ask = (): Promise<unknown> => Promise.reject(new Error('asked'));
    const facts = factsOf(await drifted());
    const current = { replicas: 2, algorithm: 'legacy' as const, shards: new Map(), movedAt: new Map() };
    const next = (): NextTableFacts => ({ current, clusters: [], weights: new Map() });
    const ownership = { ...facts.ownership, facts: () => ({ ...facts.ownership.facts(), next }) };
    const api = apiOf({ ...facts, ownership }, () => [{ name: 'other', ask }]);
    expect(await page(api, '/api/v1/plan?replicas=5&algorithm=round-robin')).toMatchObject({
      kind: 'Plan',
      from: { algorithm: 'legacy', replicas: 2 },
      to: { algorithm: 'round-robin', replicas: 5 },
      incomplete: [],
    });
    for (const query of ['replicas=0', 'replicas=many', 'replicas=1e9', 'algorithm=dice', 'clusters=1'])
      expect(() => parseApiRequest(`/api/v1/plan?${query}`)).toThrow(ApiFault);
    await expect(page(api, '/api/v1/plan', onlyIn('elsewhere'))).rejects.toMatchObject({ status: 403 });
  });

  it('have the last hour of each replica under its own name', async () => {
    const sample = { at: '2026-01-02T03:04:05.000Z', queueDepth: 3 };
    const own = { intervalMs: 10_000, samples: [sample] } as unknown as ReturnType<
      NonNullable<ReplicaFacts['history']>
    >;
    const facts = { ...factsOf(await drifted()), history: () => own };
    const items = [{ replica: 'replica-0', intervalMs: 10_000, samples: [sample] }];
    const answer = { apiVersion: 'driftless.io/v1', kind: 'History', items };
    const peers: Peers = () => [
      { name: 'liar', ask: () => Promise.resolve(answer) },
      { name: 'odd', ask: () => Promise.resolve({ ...answer, items: [{ samples: 'all' }] }) },
    ];
    const body = await page(apiOf(facts, peers), '/api/v1/history');
    expect(body).toMatchObject({ kind: 'History', incomplete: [{ replica: 'odd' }] });
    expect((body['items'] as unknown as readonly { replica: string }[]).map(({ replica }) => replica).sort()).toEqual([
      'liar',
      'replica-0',
    ]);
    await expect(page(apiOf(facts), '/api/v1/history', onlyIn('elsewhere'))).rejects.toMatchObject({ status: 403 });
  });
});

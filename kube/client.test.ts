import { describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, parseJson, SecretValue, Shutdown, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { eventually, FakeClock } from '#support';
import { apiResource, isConflict, isNotFound, KubeConnectionError } from './index.ts';
import type { KubeClient, RequestRecord, KubeApiError } from './index.ts';
import { configMaps, deployments, noSignal, object, scriptedConnections } from './testing/index.ts';
import type { Turn } from './testing/index.ts';

const { serve, connect } = scriptedConnections();

describe('mayList', () => {
  const asked = async (
    reply: Json,
    namespace?: string,
  ): Promise<{ readonly turns: readonly Turn[]; readonly may: Promise<boolean> }> => {
    const server = await serve((turn) => turn.reply(201, reply));
    const may = connect(server).mayList(deployments, namespace, { signal: noSignal });
    await may.catch(() => undefined);
    return { turns: server.turns, may };
  };

  it.each([
    [true, 'a'],
    [false, undefined],
  ])('asks for the kind with its group, and gives the answer %s', async (allowed, namespace) => {
    const { turns, may } = await asked({ status: { allowed, reason: 'r' } }, namespace);
    expect(await may).toBe(allowed);
    expect(turns.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    ]);
    expect(parseJson(turns[0]?.body ?? '')).toMatchObject({
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          verb: 'list',
          group: 'apps',
          version: 'v1',
          resource: 'deployments',
          namespace: namespace ?? '',
        },
      },
    });
  });

  it('rejects a review without an answer', async () => {
    const { may } = await asked({ status: {} });
    await expect(may).rejects.toThrow('the answer does not say whether it is allowed');
  });
});

/** Values that a typed client loses: unknown fields, order, big integers, unusual names. */
const odd = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","zFuture":{"b":[1,null,{}],"a":9223372036854775807},"resourceVersion":"7"},"futureTop":{"nested":[{"deep":-9007199254740993}],"empty":""},"data":{"Key":"ü\\u2028€"},"x.y/z":[[],{}]}`;
const oddObject = parseJson(odd) as KubeObject;
const sent = stringifyJson(oddObject as unknown as Json);
const at = { namespace: 'default', name: 'a' };

describe('podLog', () => {
  const options = { signal: noSignal, container: 'web', isPrevious: false, tailLines: 10, limitBytes: 20 };

  it('reads the end of one log as text, in any encoding that it has', async () => {
    const server = await serve((turn) => turn.reply(200, 'ü\nnot {json'));
    const log = await connect(server).podLog(at, { ...options, isPrevious: true });
    expect(log).toBe('ü\nnot {json');
    const [turn] = server.turns;
    expect(`${turn?.method ?? ''} ${turn?.path ?? ''}?${String(turn?.query)}`).toBe(
      'GET /api/v1/namespaces/default/pods/a/log?container=web&previous=true&tailLines=10&limitBytes=20',
    );
  });

  it('stops reading a server that sends more than it was asked for', async () => {
    const server = await serve((turn) => turn.reply(200, 'x'.repeat(21)));
    await expect(connect(server).podLog(at, options)).rejects.toThrow(/limit 20/);
  });
});

describe('bodies', () => {
  const verbs: Record<string, (client: KubeClient) => Promise<KubeObject>> = {
    create: (client) => client.create(configMaps, oddObject, { signal: noSignal }),
    replace: (client) => client.replace(configMaps, oddObject, { signal: noSignal }),
    'merge patch': (client) =>
      client.patch(configMaps, at, { type: 'merge', body: oddObject as unknown as Json }, { signal: noSignal }),
    'json patch': (client) =>
      client.patch(configMaps, at, { type: 'json', body: [oddObject as unknown as Json] }, { signal: noSignal }),
    'strategic patch': (client) =>
      client.patch(configMaps, at, { type: 'strategic', body: oddObject as unknown as Json }, { signal: noSignal }),
    apply: (client) =>
      client.patch(
        configMaps,
        at,
        { type: 'apply', body: oddObject },
        { signal: noSignal, fieldManager: 'm', force: true },
      ),
  };
  const types: Record<string, string> = {
    'merge patch': 'application/merge-patch+json',
    'json patch': 'application/json-patch+json',
    'strategic patch': 'application/strategic-merge-patch+json',
    apply: 'application/apply-patch+yaml',
  };
  // T-JS-2, T-NUM-1
  it.each(Object.keys(verbs))('%s sends and returns every byte of unknown fields', async (verb) => {
    const server = await serve((turn) => turn.reply(200, odd));
    const answer = await verbs[verb]!(connect(server));
    const turn = server.turns[0]!;
    expect(turn.body).toBe(verb === 'json patch' ? `[${sent}]` : sent);
    expect(turn.body).toContain('"a":9223372036854775807');
    expect(turn.body).toContain('-9007199254740993');
    expect(turn.headers['content-type']).toBe(types[verb] ?? 'application/json');
    expect(stringifyJson(answer as unknown as Json)).toBe(sent);
  });

  it('sends dry run, validation, field manager and force as query parameters', async () => {
    const server = await serve((turn) => turn.reply(200, odd));
    const options = {
      signal: noSignal,
      dryRun: true,
      fieldManager: 'argocd-controller',
      fieldValidation: 'Strict',
    } as const;
    const client = connect(server);
    await client.create(configMaps, oddObject, options);
    await client.patch(
      configMaps,
      at,
      { type: 'apply', body: oddObject },
      { ...options, force: true, subresource: 'status' },
    );
    const [create, apply] = server.turns;
    expect(create?.query.toString()).toBe('fieldManager=argocd-controller&dryRun=All&fieldValidation=Strict');
    expect(apply?.path).toBe('/api/v1/namespaces/default/configmaps/a/status');
    expect(apply?.query.get('force')).toBe('true');
    await expect(
      client.patch(configMaps, at, { type: 'apply', body: oddObject }, { signal: noSignal }),
    ).rejects.toThrow('cannot apply ConfigMap "a" without a field manager');
  });

  it('deletes with preconditions, propagation and grace', async () => {
    const server = await serve((turn) => turn.status(409, 'Conflict', 'Precondition failed: UID'));
    const deletion = connect(server).delete(deployments, at, {
      signal: noSignal,
      propagationPolicy: 'Foreground',
      preconditions: { uid: 'u', resourceVersion: '9' },
      gracePeriodSeconds: 0,
      dryRun: true,
    });
    expect(isConflict(await deletion.catch((error: unknown) => error))).toBe(true);
    expect(server.turns[0]?.method).toBe('DELETE');
    expect(parseJson(server.turns[0]?.body ?? '')).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Foreground',
      preconditions: { uid: 'u', resourceVersion: '9' },
      gracePeriodSeconds: 0,
      dryRun: ['All'],
    });
  });
});

describe('paths', () => {
  // T-JS-3
  it('keep capitals and colons, encode the rest, and include a base path', async () => {
    const server = await serve((turn) => turn.reply(404, { kind: 'Status', code: 404, reason: 'NotFound' }));
    const roles = apiResource('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', 'cluster');
    const client = connect({ url: `${server.url}/k8s/clusters/c-1` });
    for (const name of ['System:MyRole', 'a/b%c d'])
      await expect(client.get(roles, { namespace: '', name }, { signal: noSignal })).rejects.toMatchObject({
        status: 404,
      });
    expect(server.turns.map((turn) => turn.path)).toEqual([
      '/k8s/clusters/c-1/apis/rbac.authorization.k8s.io/v1/clusterroles/System:MyRole',
      '/k8s/clusters/c-1/apis/rbac.authorization.k8s.io/v1/clusterroles/a%2Fb%25c%20d',
    ]);
  });

  it('are rejected before sending if no server could understand them', async () => {
    const server = await serve((turn) => turn.reply(200, odd));
    const client = connect(server);
    await expect(client.get(configMaps, { namespace: '', name: 'a' }, { signal: noSignal })).rejects.toThrow(
      'ConfigMap "a" needs a namespace',
    );
    await expect(client.get(configMaps, { namespace: 'n', name: '..' }, { signal: noSignal })).rejects.toThrow('".."');
    expect(server.turns).toHaveLength(0);
  });
});

describe('connections', () => {
  // T-JS-1
  it('are few for hundreds of requests', async () => {
    const server = await serve((turn) => turn.reply(200, odd));
    const client = connect(server, { limits: { connections: 4, qps: 0 } });
    const get = (): Promise<KubeObject> => client.get(configMaps, at, { signal: noSignal });
    await Promise.all(Array.from({ length: 300 }, get));
    for (let i = 0; i < 100; i += 1) await get();
    expect(server.turns).toHaveLength(400);
    expect(server.connections).toBeLessThanOrEqual(4);
  });

  it('all end on close, running watches too; close is idempotent', async () => {
    const server = await serve((turn) => (turn.query.has('watch') ? turn.begin() : turn.reply(200, odd)));
    const client = connect(server);
    await client.get(configMaps, at, { signal: noSignal });
    let opened = false;
    const watch = client.watch(configMaps, { signal: noSignal, resourceVersion: '1', onOpen: () => (opened = true) });
    const next = watch[Symbol.asyncIterator]().next();
    next.catch(() => undefined);
    await eventually(() => expect(opened).toBe(true));
    await client.close();
    await client.close();
    await expect(next).rejects.toBeInstanceOf(KubeConnectionError);
    await eventually(() => expect(server.open).toBe(0));
    await expect(client.get(configMaps, at, { signal: noSignal })).rejects.toThrow('this client is closed');
  });
});

describe('errors', () => {
  it("carry the server's own message, code and reason", async () => {
    const server = await serve((turn) => turn.status(404, 'NotFound', 'configmaps "a" not found'));
    const error = await connect(server)
      .get(configMaps, at, { signal: noSignal })
      .catch((e: unknown) => e);
    expect(isNotFound(error)).toBe(true);
    expect(error).toMatchObject({ message: 'configmaps "a" not found', reason: 'NotFound', code: 'KUBE_NOT_FOUND' });
  });

  it('of proxies are truncated and sanitized', async () => {
    const page = `<html>\n  moved to https://user:hunter2@proxy.example/x ${'y'.repeat(500)}</html>`;
    const server = await serve((turn) => turn.reply(403, page));
    const error = (await connect(server)
      .get(configMaps, at, { signal: noSignal })
      .catch((e: unknown) => e)) as KubeApiError;
    expect(error.status).toBe(403);
    expect(error.reason).toBe('Forbidden');
    expect(error.message).toMatch(/^the server answered 403: <html> moved to /);
    expect(error.message).not.toContain('hunter2');
    expect(error.message.length).toBeLessThan(240);
  });

  it('are thrown for a successful response that is not JSON', async () => {
    const server = await serve((turn) => turn.reply(200, '<html>login</html>'));
    const clock = new FakeClock();
    const answer = connect(server, { clock, limits: { attempts: 1 } }).get(configMaps, at, { signal: noSignal });
    await expect(answer).rejects.toMatchObject({ code: 'KUBE_PROTOCOL' });
  });

  it('name the unreachable server, and the reason', async () => {
    const server = await serve((turn) => turn.reply(200, odd));
    const { url } = server;
    await server.close();
    const get = connect({ url }, { limits: { attempts: 1 } }).get(configMaps, at, { signal: noSignal });
    await expect(get).rejects.toThrow(`cannot reach ${url}: connection refused`);
  });

  it('explain an unsupported type of proxy', async () => {
    const client = connect({ url: 'https://127.0.0.1:1' }, { connection: { proxyUrl: 'socks4://u:pw@proxy:1080' } });
    await expect(client.version({ signal: noSignal })).rejects.toThrow(
      'cannot reach https://127.0.0.1:1: its proxy socks4://***@proxy:1080 is not supported: only http, https and socks5 proxies are',
    );
  });
});

describe('retries', () => {
  interface Case {
    readonly name: string;
    readonly fail: (turn: Turn) => void;
    readonly read: number;
    readonly write: number;
  }
  const cases: readonly Case[] = [
    { name: '500', fail: (turn) => turn.status(500, 'InternalError', 'boom'), read: 2, write: 1 },
    { name: '503', fail: (turn) => turn.status(503, 'ServiceUnavailable', 'wait'), read: 2, write: 1 },
    {
      name: '503 with Retry-After',
      fail: (turn) => turn.status(503, 'ServiceUnavailable', 'wait', { 'retry-after': '2' }),
      read: 2,
      write: 2,
    },
    {
      name: '429 with Retry-After',
      fail: (turn) => turn.status(429, 'TooManyRequests', 'slow down', { 'retry-after': '2' }),
      read: 2,
      write: 2,
    },
    { name: 'reset', fail: (turn) => turn.reset(), read: 2, write: 1 },
    {
      name: 'an answer that breaks off',
      fail: (turn) => {
        turn.begin();
        turn.write(odd.slice(0, 40));
        setImmediate(() => turn.reset());
      },
      read: 2,
      write: 1,
    },
    { name: '409', fail: (turn) => turn.status(409, 'Conflict', 'changed'), read: 1, write: 1 },
    { name: '422', fail: (turn) => turn.status(422, 'Invalid', 'no'), read: 1, write: 1 },
  ];
  it.each(cases)('$name: sends a read $read times, a write $write times', async ({ fail, read, write }) => {
    const clock = new FakeClock();
    let failed = new Set<string>();
    const server = await serve((turn) => {
      if (failed.has(turn.method)) turn.reply(200, odd);
      else {
        failed = failed.add(turn.method);
        fail(turn);
      }
    });
    const client = connect(server, { clock });
    const settle = async (call: Promise<unknown>): Promise<string> => {
      const result = call.then(
        () => 'ok',
        () => 'failed',
      );
      let done: string | undefined;
      void result.then((value) => (done = value));
      await eventually(async () => {
        await clock.advance(1_000);
        expect(done).toBeDefined();
      });
      return result;
    };
    expect(await settle(client.get(configMaps, at, { signal: noSignal }))).toBe(read > 1 ? 'ok' : 'failed');
    expect(await settle(client.replace(configMaps, oddObject, { signal: noSignal }))).toBe(write > 1 ? 'ok' : 'failed');
    expect(server.turns.filter((turn) => turn.method === 'GET')).toHaveLength(read);
    expect(server.turns.filter((turn) => turn.method === 'PUT')).toHaveLength(write);
    expect(clock.pending).toBe(0);
  });

  it('wait no shorter than Retry-After', async () => {
    const clock = new FakeClock();
    const server = await serve((turn) =>
      server.turns.length === 1
        ? turn.status(429, 'TooManyRequests', 'slow down', { 'retry-after': '7' })
        : turn.reply(200, odd),
    );
    const get = connect(server, { clock }).get(configMaps, at, { signal: noSignal });
    await eventually(() => expect(clock.pending).toBe(2));
    await clock.advance(6_900);
    expect(server.turns).toHaveLength(1);
    await clock.advance(1_000);
    await get;
    expect(server.turns).toHaveLength(2);
  });

  it('fail at once if Retry-After exceeds the deadline', async () => {
    const server = await serve((turn) => turn.status(429, 'TooManyRequests', 'slow down', { 'retry-after': '60' }));
    const get = connect(server, { clock: new FakeClock() }).get(configMaps, at, { signal: noSignal });
    await expect(get).rejects.toMatchObject({ code: 'KUBE_TOO_MANY_REQUESTS', retry: { afterMs: 60_000 } });
  });

  it('send a write when an unreachable server comes up', async () => {
    const clock = new FakeClock();
    const gone = await serve((turn) => turn.reply(200, odd));
    const { url } = gone;
    await gone.close();
    const records: RequestRecord[] = [];
    const client = connect({ url }, { clock, onRequest: (record) => records.push(record) });
    const create = client.create(configMaps, oddObject, { signal: noSignal });
    create.catch(() => undefined);
    await eventually(async () => {
      await clock.advance(1_000);
      expect(records).toHaveLength(5);
    });
    await expect(create).rejects.toBeInstanceOf(KubeConnectionError);
    expect(records[0]).toMatchObject({ verb: 'create', kind: 'ConfigMap', code: 0 });
    expect(records[0]).not.toHaveProperty('dateMs');
  });

  it('report the request that was forbidden, with the message of the server', async () => {
    const server = await serve((turn) => turn.status(403, 'Forbidden', 'configmaps is forbidden'));
    const found: unknown[] = [];
    const client = connect(server, {
      onForbidden: ({ verb, kind, path }, message) => found.push({ verb, kind, path, message }),
    });
    await expect(client.get(configMaps, at, { signal: noSignal })).rejects.toThrow('configmaps is forbidden');
    const path = '/api/v1/namespaces/default/configmaps/a';
    expect(found).toEqual([{ verb: 'get', kind: 'ConfigMap', path, message: 'configmaps is forbidden' }]);
  });

  it("report the server's time with each response, errors too", async () => {
    const date = 'Sun, 22 Nov 2026 10:00:00 GMT';
    const server = await serve((turn) => {
      if (turn.method === 'GET') turn.status(404, 'NotFound', 'not there', { date });
      else turn.reply(200, odd);
    });
    const records: RequestRecord[] = [];
    const client = connect(server, { onRequest: (record) => records.push(record) });
    await expect(client.get(configMaps, at, { signal: noSignal })).rejects.toThrow('not there');
    await client.create(configMaps, oddObject, { signal: noSignal });
    expect(records).toMatchObject([{ code: 404, dateMs: Date.parse(date) }, { code: 200 }]);
    // The second response has the Date header of the test server, which uses the local clock.
    expect(records[1]?.dateMs).toBeGreaterThan(Date.parse('2020-01-01'));
  });
});

describe('time', () => {
  it('limits a call to a server that never answers', async () => {
    const clock = new FakeClock();
    const server = await serve(() => undefined);
    const get = connect(server, { clock }).get(configMaps, at, { signal: noSignal });
    get.catch(() => undefined);
    await eventually(() => expect(server.turns).toHaveLength(1));
    await clock.advance(30_000);
    await expect(get).rejects.toBeInstanceOf(DeadlineExceeded);
    await expect(get).rejects.toThrow('GET http://127.0.0.1');
    expect(clock.pending).toBe(0);
    await eventually(() => expect(server.open).toBe(0));
  });

  it('rejects an aborted call with the reason and frees its connection', async () => {
    const server = await serve(() => undefined);
    const stop = new AbortController();
    const get = connect(server).get(configMaps, at, { signal: stop.signal });
    get.catch(() => undefined);
    await eventually(() => expect(server.turns).toHaveLength(1));
    stop.abort(new Shutdown());
    await expect(get).rejects.toBeInstanceOf(Shutdown);
    await eventually(() => expect(server.open).toBe(0));
  });

  it('throttles to the burst, then to so many requests a second', async () => {
    const clock = new FakeClock();
    const server = await serve((turn) => turn.reply(200, odd));
    const client = connect(server, { clock, limits: { qps: 10, burst: 5, connections: 50 } });
    const calls = Array.from({ length: 25 }, () => client.get(configMaps, at, { signal: noSignal }));
    await eventually(() => expect(server.turns).toHaveLength(5));
    await clock.advance(1_000);
    await eventually(() => expect(server.turns).toHaveLength(15));
    await clock.advance(1_000);
    await Promise.all(calls);
    expect(server.turns).toHaveLength(25);
  });
});

describe('get', () => {
  it.each([
    ['another kind', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'default' } }],
    ['another name', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b', namespace: 'default' } }],
    ['another namespace', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'other' } }],
  ])('refuses an object of %s', async (_what, answer) => {
    const server = await serve((turn) => turn.reply(200, answer));
    await expect(connect(server).get(configMaps, at, { signal: noSignal, attempts: 1 })).rejects.toMatchObject({
      code: 'KUBE_PROTOCOL',
      message: expect.stringContaining('the answer is about ConfigMap "default/a" but is'),
    });
  });
});

describe('list', () => {
  const page = (items: Json[], more = ''): JsonObject => ({
    kind: 'ConfigMapList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '99', ...(more === '' ? {} : { continue: more, remainingItemCount: 1 }) },
    items,
  });

  it('fills in apiVersion and kind of items, and returns the continue token', async () => {
    const server = await serve((turn) =>
      turn.reply(200, page([{ metadata: { name: 'a' }, big: 9007199254740993n }], 'tok+/=')),
    );
    const answer = await connect(server).list(configMaps, { signal: noSignal, limit: 1, labelSelector: 'a in (b,c)' });
    expect(answer).toEqual({
      items: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, big: 9007199254740993n }],
      resourceVersion: '99',
      continue: 'tok+/=',
      remaining: 1,
    });
    await connect(server).list(configMaps, { signal: noSignal, namespace: 'n', continue: 'tok+/=' });
    expect(server.turns[0]?.path).toBe('/api/v1/configmaps');
    expect(server.turns[0]?.query.get('labelSelector')).toBe('a in (b,c)');
    expect(server.turns[1]?.path).toBe('/api/v1/namespaces/n/configmaps');
    expect(server.turns[1]?.query.get('continue')).toBe('tok+/=');
  });

  it.each([
    ['kind', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }],
    ['group', { apiVersion: 'example.com/v1', kind: 'ConfigMap', metadata: { name: 'a' } }],
  ])('is refused if it has an object of another %s', async (_name, item) => {
    const server = await serve((turn) => turn.reply(200, page([item])));
    await expect(connect(server).list(configMaps, { signal: noSignal, attempts: 1 })).rejects.toMatchObject({
      code: 'KUBE_PROTOCOL',
      message: expect.stringContaining('the answer is about ConfigMap but holds an object of kind'),
    });
  });

  // Without items it would look as if all objects were gone.
  it.each([
    ['a list of another kind', { ...page([]), kind: 'SecretList' }],
    ['a list of another group', { ...page([]), apiVersion: 'example.com/v1' }],
    ['an object', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '99' } }],
    ['a refusal', { apiVersion: 'v1', kind: 'Status', metadata: { resourceVersion: '99' }, status: 'Failure' }],
  ])('is refused if it is %s', async (_what, answer) => {
    const server = await serve((turn) => turn.reply(200, answer));
    await expect(connect(server).list(configMaps, { signal: noSignal, attempts: 1 })).rejects.toMatchObject({
      code: 'KUBE_PROTOCOL',
      message: expect.stringContaining('the answer is about ConfigMap but is an object of kind'),
    });
  });

  it('of a custom kind may have any name for its lists', async () => {
    const crontabs = apiResource('example.com/v1', 'CronTab', 'crontabs', 'namespaced');
    const answer = { apiVersion: 'example.com/v1', kind: 'TabsList', metadata: { resourceVersion: '9' }, items: [] };
    const server = await serve((turn) => turn.reply(200, answer));
    expect(await connect(server).list(crontabs, { signal: noSignal })).toEqual({ items: [], resourceVersion: '9' });
  });

  it('of metadata has objects of kind PartialObjectMetadata', async () => {
    const item = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'a' } };
    const server = await serve((turn) => turn.reply(200, page([item])));
    const answer = await connect(server).list(configMaps, { signal: noSignal, metadataOnly: true });
    expect(answer.items).toEqual([item]);
  });

  it('arrives complete however it is cut, without blocking the event loop', async () => {
    const items = Array.from({ length: 2_000 }, (_, i) => ({
      metadata: { name: `cm-${i}`, annotations: { text: `"{[\\ü€${'x'.repeat(700)}` } },
    }));
    const bytes = Buffer.from(stringifyJson(page(items)));
    const server = await serve((turn) => {
      turn.begin();
      for (let from = 0, step = 1; from < bytes.length; from += step, step = (step * 7 + 13) % 50_000)
        turn.write(bytes.subarray(from, from + step));
      turn.end();
    });
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const answer = await connect(server).list(configMaps, { signal: noSignal });
    counting = false;
    expect(answer.items.map((item) => item.metadata.name)).toEqual(items.map((item) => item.metadata.name));
    expect(answer.items[7]?.metadata.annotations).toEqual(items[7]?.metadata.annotations);
    expect(turns).toBeGreaterThan(4);
  });

  it.each([
    ['not JSON', '{"metadata":{"resourceVersion":"1"},"items":[{"metadata":}]}'],
    ['cut off', '{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{}}'],
    ['no list', '{"kind":"ConfigMap","metadata":{"name":"x"}}'],
    ['items that are no objects', '{"metadata":{"resourceVersion":"1"},"items":[1,"a"]}'],
  ])('%s: an error, never a shorter list', async (_name, body) => {
    const server = await serve((turn) => turn.reply(200, body));
    const list = connect(server, { limits: { attempts: 1 } }).list(configMaps, { signal: noSignal });
    await expect(list).rejects.toMatchObject({ code: 'KUBE_PROTOCOL' });
  });
});

describe('identity', () => {
  it('impersonates over the same connections as the plain client', async () => {
    const server = await serve((turn) => turn.reply(200, odd));
    const client = connect(server, { connection: { credentials: { bearerToken: new SecretValue('t0ken') } } });
    const other = client.impersonate('system:serviceaccount:ns:sa');
    await other.get(configMaps, at, { signal: noSignal });
    await client.get(configMaps, at, { signal: noSignal });
    await other.close();
    await client.get(configMaps, at, { signal: noSignal });
    expect(server.turns.map((turn) => turn.headers['impersonate-user'])).toEqual([
      'system:serviceaccount:ns:sa',
      undefined,
      undefined,
    ]);
    expect(new Set(server.turns.map((turn) => turn.headers['authorization']))).toEqual(new Set(['Bearer t0ken']));
    expect(server.turns[0]?.headers['user-agent']).toBe('driftless/test');
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it('swaps credentials in place: the next call uses them, a running watch continues', async () => {
    const server = await serve((turn) => (turn.query.has('watch') ? turn.begin() : turn.reply(200, odd)));
    const credentials = { username: 'u', password: new SecretValue('old') };
    const client = connect(server, { connection: { credentials } });
    const events = client.watch(configMaps, { signal: noSignal, resourceVersion: '1' })[Symbol.asyncIterator]();
    const first = events.next();
    await eventually(() => expect(server.turns).toHaveLength(1));
    client.updateCredentials({
      server: server.url,
      insecure: false,
      credentials: { username: 'u', password: new SecretValue('new') },
    });
    await client.get(configMaps, at, { signal: noSignal });
    server.turns[0]?.event('ADDED', object('late', '5') as unknown as Json);
    expect((await first).value).toMatchObject({ type: 'ADDED' });
    await events.return?.(undefined);
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    expect(server.turns.map((turn) => turn.headers['authorization'])).toEqual([basic('u:old'), basic('u:new')]);
  });

  it('reads the version', async () => {
    const server = await serve((turn) => turn.reply(200, { gitVersion: 'v1.34.1', major: '1' }));
    expect(await connect(server).version({ signal: noSignal })).toBe('v1.34.1');
    expect(server.turns[0]?.path).toBe('/version');
  });
});

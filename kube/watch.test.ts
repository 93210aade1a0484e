import { constants } from 'node:http2';
import { describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown } from '#base';
import type { Json } from '#base';
import { eventually, FakeClock } from '#support';
import { isExpired } from './index.ts';
import type { KubeClient, WatchEvent } from './index.ts';
import { collect, configMaps, noSignal, object, Relay, scriptedConnections, selfSigned } from './testing/index.ts';
import type { ScriptedServerOptions, Turn } from './testing/index.ts';

const identity = selfSigned();
const { open, serve, connect } = scriptedConnections({ connection: { caData: identity.cert } });

const json = (name: string, version: string): Json => object(name, version) as unknown as Json;
const names = (events: readonly WatchEvent[]): string[] =>
  events.map((event) =>
    event.type === 'BOOKMARK'
      ? `bookmark ${event.resourceVersion}`
      : `${event.type} ${event.object.metadata.name ?? ''}`,
  );

describe.each([
  ['HTTP/1.1', {}],
  ['HTTP/1.1 over TLS', { tls: identity }],
  ['HTTP/2', { tls: identity, http2: true }],
] as [string, ScriptedServerOptions][])('a watch over %s', (kind, options) => {
  const start = (client: KubeClient, signal = noSignal): AsyncIterator<WatchEvent> =>
    client.watch(configMaps, { signal, resourceVersion: '5', namespace: 'default' })[Symbol.asyncIterator]();

  it('yields the events in order until the server ends it', async () => {
    const server = await serve((turn) => {
      turn.begin();
      turn.event('ADDED', json('a', '6'));
      const late = Buffer.from(`${JSON.stringify({ type: 'MODIFIED', object: object('ü€', '7') })}\n`);
      for (const byte of late) turn.write(Uint8Array.of(byte));
      turn.event('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: '8' } });
      turn.event('DELETED', { ...object('a', '9'), big: 9223372036854775807n } as unknown as Json);
      turn.end();
    }, options);
    const events = await collect(connect(server).watch(configMaps, { signal: noSignal, resourceVersion: '5' }));
    expect(names(events)).toEqual(['ADDED a', 'MODIFIED ü€', 'bookmark 8', 'DELETED a']);
    expect(events[3]).toMatchObject({ object: { big: 9223372036854775807n } });
    const { query, httpVersion, path } = server.turns[0]!;
    expect(path).toBe('/api/v1/configmaps');
    expect(query.get('watch')).toBe('true');
    expect(query.get('allowWatchBookmarks')).toBe('true');
    expect(query.get('resourceVersion')).toBe('5');
    expect(Number(query.get('timeoutSeconds'))).toBeGreaterThanOrEqual(240);
    expect(Number(query.get('timeoutSeconds'))).toBeLessThanOrEqual(480);
    expect(httpVersion).toBe(kind === 'HTTP/2' ? '2.0' : '1.1');
  });

  it('starts with the current objects on request, and marks the bookmark after them', async () => {
    const mark = (value: string): Json => ({ 'k8s.io/initial-events-end': value });
    const server = await serve((turn) => {
      turn.begin();
      turn.event('ADDED', json('a', '6'));
      for (const [resourceVersion, annotations] of [
        ['7', mark('false')],
        ['8', mark('true')],
        ['9', {}],
      ] as const)
        turn.event('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion, annotations } });
      turn.end();
    }, options);
    const asked = { signal: noSignal, resourceVersion: '', namespace: 'default', sendInitialEvents: true };
    const [, ...bookmarks] = await collect(connect(server).watch(configMaps, asked));
    expect(bookmarks).toEqual([
      { type: 'BOOKMARK', resourceVersion: '7' },
      { type: 'BOOKMARK', resourceVersion: '8', endsInitialEvents: true },
      { type: 'BOOKMARK', resourceVersion: '9' },
    ]);
    const { timeoutSeconds, ...query } = Object.fromEntries(server.turns[0]!.query);
    expect(Number(timeoutSeconds)).toBeGreaterThanOrEqual(240);
    expect(query).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
  });

  it.each([
    ['another kind', { kind: 'Secret', apiVersion: 'v1' }],
    ['another group', { kind: 'ConfigMap', apiVersion: 'example.com/v1' }],
    ['no kind', {}],
  ])('refuses the bookmark after the current objects if it has %s', async (_name, kind) => {
    const server = await serve((turn) => {
      turn.begin();
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      turn.event('BOOKMARK', { ...kind, metadata: { resourceVersion: '8', annotations } });
      turn.end();
    });
    const asked = { signal: noSignal, resourceVersion: '', namespace: 'default', sendInitialEvents: true };
    await expect(collect(connect(server).watch(configMaps, asked))).rejects.toThrow('holds an object of kind');
  });

  it('throws 410, in the stream and as a response', async () => {
    const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 5 (900)' };
    const server = await serve((turn) => {
      if (server.turns.length > 1) {
        turn.reply(410, gone);
        return;
      }
      turn.begin();
      turn.event('ADDED', json('a', '6'));
      turn.event('ERROR', gone);
    }, options);
    const client = connect(server);
    const events = start(client);
    expect(names([(await events.next()).value as WatchEvent])).toEqual(['ADDED a']);
    expect(isExpired(await events.next().catch((e: unknown) => e))).toBe(true);
    const refused = await start(client)
      .next()
      .catch((e: unknown) => e);
    expect(refused).toMatchObject({ code: 'KUBE_EXPIRED', message: 'too old resource version: 5 (900)' });
  });

  it.each([
    ['a line that is not JSON', '{"type":"ADDED","object":{"metadata\n'],
    ['a line that is not an event', '{"kind":"Pod"}\n'],
    ['an event of nothing', '{"type":"ADDED","object":{}}\n'],
    [
      'an object of another kind',
      `${JSON.stringify({ type: 'ADDED', object: { ...object('a', '6'), kind: 'Pod' } })}\n`,
    ],
    [
      'an object of another group',
      `${JSON.stringify({ type: 'ADDED', object: { ...object('a', '6'), apiVersion: 'a.io/v1' } })}\n`,
    ],
    // T-JS-8
  ])('throws on %s instead of going on', async (_name, line) => {
    const server = await serve((turn) => {
      turn.begin();
      turn.write(line);
      turn.event('ADDED', json('later', '9'));
    }, options);
    await expect(start(connect(server)).next()).rejects.toMatchObject({ code: 'KUBE_PROTOCOL' });
    await eventually(() => expect(server.turns[0]?.closed).toBe(true));
  });

  it('throws if it is truncated inside an event, and if it is reset', async () => {
    const server = await serve((turn) => {
      turn.begin();
      turn.event('ADDED', json('a', '6'));
      if (server.turns.length > 1) return void setImmediate(() => turn.reset());
      turn.write('{"type":"ADDED"');
      turn.end();
    }, options);
    const client = connect(server);
    const cut = start(client);
    await cut.next();
    await expect(cut.next()).rejects.toMatchObject({ code: 'KUBE_PROTOCOL' });
    const reset = start(client);
    await reset.next();
    await expect(reset.next()).rejects.toMatchObject({ code: 'KUBE_CONNECTION' });
  });

  // T-JS-4
  it('ends after silence beyond the limit; bytes keep it alive', async () => {
    const clock = new FakeClock();
    const server = await serve((turn) => turn.begin(), options);
    let opened = 0;
    const events = connect(server, { clock, limits: { watchIdleMs: 60_000 } }).watch(configMaps, {
      signal: noSignal,
      resourceVersion: '5',
      onOpen: () => (opened += 1),
    });
    const iterator = events[Symbol.asyncIterator]();
    const first = iterator.next();
    await eventually(() => expect(opened).toBe(1));
    await clock.advance(50_000);
    server.turns[0]?.event('ADDED', json('a', '6'));
    expect(names([(await first).value as WatchEvent])).toEqual(['ADDED a']);
    const second = iterator.next();
    second.catch(() => undefined);
    await clock.advance(59_000);
    expect(server.turns[0]?.closed).toBe(false);
    await clock.advance(2_000);
    await expect(second).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await eventually(() => expect(server.turns[0]?.closed).toBe(true));
  });

  it('ends at the deadline if the server does not answer the request', async () => {
    const clock = new FakeClock();
    const server = await serve(() => undefined, options);
    const next = start(connect(server, { clock }));
    const first = next.next();
    first.catch(() => undefined);
    await eventually(() => expect(server.turns).toHaveLength(1));
    await clock.advance(30_000);
    await expect(first).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  it('ends with the reason when aborted, and closes the request when left', async () => {
    const server = await serve((turn) => {
      turn.begin();
      turn.event('ADDED', json('a', '6'));
    }, options);
    const client = connect(server);
    const stop = new AbortController();
    const events = start(client, stop.signal);
    await events.next();
    const next = events.next();
    next.catch(() => undefined);
    stop.abort(new Shutdown());
    await expect(next).rejects.toBeInstanceOf(Shutdown);
    expect(await collect(client.watch(configMaps, { signal: noSignal, resourceVersion: '5' }), 1)).toHaveLength(1);
    await eventually(() => expect(server.turns.map((turn) => turn.closed)).toEqual([true, true]));
  });
});

describe('many watches over HTTP/2', () => {
  const options = { tls: identity, http2: true };
  const play = (turn: Turn): void => {
    turn.begin();
    turn.event('ADDED', json(`w${turn.query.get('resourceVersion') ?? ''}`, '6'));
  };

  async function openMany(client: KubeClient, count: number): Promise<AsyncIterator<WatchEvent>[]> {
    const stop = new AbortController();
    open.push({ close: async () => stop.abort(new Shutdown()) });
    const watches = Array.from({ length: count }, (_, i) =>
      client.watch(configMaps, { signal: stop.signal, resourceVersion: String(i) })[Symbol.asyncIterator](),
    );
    await Promise.all(watches.map((watch) => watch.next()));
    return watches;
  }

  // T-JS-1
  it('need few connections for 250 watches and their calls', async () => {
    const server = await serve(
      (turn) => (turn.query.has('watch') ? play(turn) : turn.reply(200, { gitVersion: 'v1' })),
      options,
    );
    const client = connect(server, { limits: { qps: 0, connections: 2 } });
    await openMany(client, 250);
    await Promise.all(Array.from({ length: 50 }, () => client.version({ signal: noSignal })));
    expect(server.connections).toBeLessThanOrEqual(3 + 2);
  });

  // T-JS-5
  it('continue after a graceful GOAWAY, and new ones use a new session', async () => {
    const server = await serve(play, options);
    const client = connect(server);
    const [old] = await openMany(client, 1);
    server.goaway();
    await eventually(async () => {
      await openMany(client, 1);
      expect(server.connections).toBe(2);
    });
    server.turns[0]?.event('MODIFIED', json('still here', '7'));
    expect(names([(await old!.next()).value as WatchEvent])).toEqual(['MODIFIED still here']);
  });

  it('fail after a GOAWAY with an error, and the next one opens a new connection', async () => {
    const server = await serve(play, options);
    const client = connect(server);
    const [old] = await openMany(client, 1);
    const next = old!.next();
    next.catch(() => undefined);
    server.goaway(constants.NGHTTP2_INTERNAL_ERROR);
    await expect(next).rejects.toMatchObject({ code: 'KUBE_CONNECTION' });
    await openMany(client, 1);
    expect(server.connections).toBe(2);
  });
});

describe('a network that dies silently', () => {
  // T-JS-4
  it('is detected within 45 s by HTTP/2 pings, and watches use a new session', async () => {
    const clock = new FakeClock();
    const server = await serve(
      (turn) => {
        turn.begin();
        turn.event('ADDED', json('a', '6'));
      },
      { tls: identity, http2: true },
    );
    const relay = await Relay.start(new URL(server.url));
    open.push(relay);
    const client = connect({ url: `https://127.0.0.1:${relay.port}` }, { clock });
    const watches = Array.from({ length: 3 }, () =>
      client.watch(configMaps, { signal: noSignal, resourceVersion: '5' })[Symbol.asyncIterator](),
    );
    await Promise.all(watches.map((watch) => watch.next()));
    await clock.advance(31_000);
    const ends = watches.map((watch) => watch.next().catch((error: unknown) => error));
    // The relay answered this ping, so the session stays open.
    await eventually(() => expect(clock.pending).toBe(3 + 1));
    relay.freeze();
    await clock.advance(45_000);
    for (const end of ends) expect(await end).toMatchObject({ code: 'KUBE_CONNECTION' });
    expect(clock.pending).toBe(0);
  });
});

describe('a proxy', () => {
  it.each([
    ['http', {}],
    ['https', { tls: identity }],
  ] as [string, ScriptedServerOptions][])(
    'gets a CONNECT request for an %s server, with its own credentials',
    async (_name, options) => {
      const proxy = await Relay.start();
      open.push(proxy);
      const server = await serve((turn) => {
        if (!turn.query.has('watch')) {
          turn.reply(200, { gitVersion: 'v1' });
          return;
        }
        turn.begin();
        turn.event('ADDED', json('a', '6'));
      }, options);
      const proxyUrl = `http://me:pw@127.0.0.1:${proxy.port}`;
      const client = connect(server, { connection: { proxyUrl } });
      expect(await client.version({ signal: noSignal })).toBe('v1');
      const events = await collect(client.watch(configMaps, { signal: noSignal, resourceVersion: '5' }), 1);
      expect(names(events)).toEqual(['ADDED a']);
      const by = `Basic ${Buffer.from('me:pw').toString('base64')}`;
      expect(new Set(proxy.connectRequests)).toEqual(new Set([`${new URL(server.url).host} by ${by}`]));
    },
  );
});

describe('TLS', () => {
  it('rejects a server that its CA did not sign, with an explanation and without retry', async () => {
    const server = await serve((turn) => turn.reply(200, { gitVersion: 'v1' }), { tls: identity });
    const client = connect(server, { connection: { caData: selfSigned().cert } });
    await expect(client.version({ signal: noSignal })).rejects.toMatchObject({
      code: 'KUBE_CONNECTION',
      permanent: true,
    });
    expect(server.turns).toHaveLength(0);
    const trusting = connect(server, { connection: { caData: '', insecure: true } });
    expect(await trusting.version({ signal: noSignal })).toBe('v1');
  });

  it('verifies the configured server name', async () => {
    const other = selfSigned('other');
    const server = await serve((turn) => turn.reply(200, { gitVersion: 'v1' }), { tls: other });
    const wrong = connect(server, { connection: { caData: other.cert, tlsServerName: 'api.example' } });
    await expect(wrong.version({ signal: noSignal })).rejects.toMatchObject({ permanent: true });
    const right = connect(server, { connection: { caData: other.cert, tlsServerName: 'localhost' } });
    expect(await right.version({ signal: noSignal })).toBe('v1');
  });

  it('verifies the server again with a new CA, on a new connection', async () => {
    const server = await serve((turn) => turn.reply(200, { gitVersion: 'v1' }), { tls: identity });
    const client = connect(server);
    const trust = (caData: string): void =>
      client.updateCredentials({ server: server.url, insecure: false, caData, credentials: {} });
    expect(await client.version({ signal: noSignal })).toBe('v1');
    trust(selfSigned().cert);
    await expect(client.version({ signal: noSignal })).rejects.toMatchObject({ permanent: true });
    trust(identity.cert);
    expect(await client.version({ signal: noSignal })).toBe('v1');
    expect(server.turns).toHaveLength(2);
  });

  it('opens new connections for a new client certificate; calls continue', async () => {
    const server = await serve((turn) => turn.reply(200, { gitVersion: 'v1' }), { tls: identity });
    const client = connect(server);
    await client.version({ signal: noSignal });
    const mine = selfSigned('me');
    const credentials = { certData: new SecretValue(mine.cert), keyData: new SecretValue(mine.key) };
    client.updateCredentials({ server: server.url, insecure: false, caData: identity.cert, credentials });
    await client.version({ signal: noSignal });
    expect(server.connections).toBe(2);
    await eventually(() => expect(server.open).toBe(1));
  });
});

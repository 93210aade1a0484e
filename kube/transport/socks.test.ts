import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { SecretValue, Shutdown } from '#base';
import { eventually, FakeClock, SocksProxy } from '#support';
import type { SocksProxyOptions } from '#support';
import { KubeConnectionError } from '../index.ts';
import type { KubeClient } from '../index.ts';
import {
  clientFor,
  closedAfterEach,
  collect,
  configMaps,
  noSignal,
  object,
  ScriptedServer,
  selfSigned,
} from '../testing/index.ts';
import type { ScriptedServerOptions, Turn } from '../testing/index.ts';

const open = closedAfterEach();
const identity = selfSigned();
const canary = 'hunter2';
const login = `me:${canary} @1`;
const shown = `me:${encodeURIComponent(`${canary} @1`)}`;

async function serve(options: ScriptedServerOptions = {}): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(answer, options);
  open.push(server);
  return server;
}

function answer(turn: Turn): void {
  if (!turn.query.has('watch')) {
    turn.reply(200, { gitVersion: 'v1' });
    return;
  }
  turn.begin();
  const { metadata, ...rest } = object('a', '6');
  turn.event('ADDED', { ...rest, metadata: { name: metadata.name ?? '', resourceVersion: '6' } });
}

async function proxyWith(options: SocksProxyOptions = {}): Promise<SocksProxy> {
  const proxy = await SocksProxy.start(options);
  open.push(proxy);
  return proxy;
}

type Setup = Parameters<typeof clientFor>[1];

function connect(url: string, proxyUrl: string, setup: Setup = {}): KubeClient {
  const connection = { caData: identity.cert, ...setup.connection, proxyUrl };
  const client = clientFor({ url }, { limits: { attempts: 1 }, ...setup, connection });
  open.push(client);
  return client;
}

async function failureOf(client: KubeClient): Promise<KubeConnectionError> {
  const error = await client.version({ signal: noSignal }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubeConnectionError)) throw new Error(`no connection error: ${inspect(error)}`);
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(canary);
  return error;
}

describe('a SOCKS 5 proxy', () => {
  it.each([
    ['http', 'socks5', {}, '1.1'],
    ['https', 'socks5', { tls: identity }, '1.1'],
    ['https and HTTP/2', 'socks5', { tls: identity, http2: true }, '2.0'],
    ['https', 'socks5h', { tls: identity }, '1.1'],
  ] as [string, string, ScriptedServerOptions, string][])(
    'connects to an %s server by %s, by its host name: calls and watches',
    async (_name, scheme, options, watchedBy) => {
      const proxy = await proxyWith({ login });
      const server = await serve(options);
      const { protocol, port } = new URL(server.url);
      const client = connect(`${protocol}//localhost:${port}`, `${scheme}://${shown}@127.0.0.1:${proxy.port}`);
      expect(await client.version({ signal: noSignal })).toBe('v1');
      const events = await collect(client.watch(configMaps, { signal: noSignal, resourceVersion: '5' }), 1);
      expect(events).toMatchObject([{ type: 'ADDED', object: { metadata: { name: 'a' } } }]);
      expect(server.turns.map(({ httpVersion }) => httpVersion)).toEqual(['1.1', watchedBy]);
      expect(new Set(proxy.asked)).toEqual(new Set([`name localhost:${port}`]));
    },
  );

  it('gets no credentials unless it asks, and IP addresses as addresses', async () => {
    const proxy = await proxyWith();
    const server = await serve({ tls: identity });
    const client = connect(server.url, `socks5://${shown}@127.0.0.1:${proxy.port}`);
    expect(await client.version({ signal: noSignal })).toBe('v1');
    expect(proxy.asked).toEqual([`address 127.0.0.1:${new URL(server.url).port}`]);
  });

  it('serves many calls on one connection, and all end with the client', async () => {
    const proxy = await proxyWith();
    const server = await serve();
    const client = connect(server.url, `socks5://127.0.0.1:${proxy.port}`);
    for (let call = 0; call < 5; call += 1) await client.version({ signal: noSignal });
    const direct = await serve();
    const straight = clientFor(direct);
    open.push(straight);
    for (let call = 0; call < 5; call += 1) await straight.version({ signal: noSignal });
    expect(proxy.asked).toHaveLength(direct.connections);
    expect(direct.connections).toBeLessThan(5);
    await client.close();
    await eventually(() => expect([proxy.open, server.open]).toEqual([0, 0]));
  });

  it('does not replace TLS verification: certificate and name of the server count', async () => {
    const proxy = await proxyWith();
    const { port } = new URL((await serve({ tls: identity })).url);
    const by = `socks5://127.0.0.1:${proxy.port}`;
    const other = connect(`https://localhost:${port}`, by, { connection: { caData: selfSigned().cert } });
    expect(await failureOf(other)).toMatchObject({ permanent: true, neverSent: true });
    const elsewhere = connect(`https://elsewhere.example:${port}`, by);
    expect((await failureOf(elsewhere)).message).toContain('elsewhere.example');
  });

  it.each([
    ['refuses user and password', { login: 'me:other' }, 'it refuses user and password', true],
    ['does not allow it', { refuse: 2 }, 'its rules do not allow it', true],
    ['knows no such host', { refuse: 4 }, 'the server cannot be reached, or its name is not known there', false],
    ['was refused itself', { refuse: 5 }, 'the server refuses the connection', false],
    ['failed', { refuse: 1 }, 'it failed', false],
  ] as [string, SocksProxyOptions, string, boolean][])(
    'that %s is reported without credentials',
    async (_name, options, words, permanent) => {
      const proxy = await proxyWith(options);
      const error = await failureOf(connect('https://k8s.example', `socks5://${shown}@127.0.0.1:${proxy.port}`));
      expect(error.message).toBe(
        `cannot reach https://k8s.example: its proxy socks5://***@127.0.0.1:${proxy.port}: ${words}`,
      );
      expect(error).toMatchObject({ permanent, neverSent: true, unreachable: !permanent });
    },
  );

  it('is reported if it wants credentials and its URL has none', async () => {
    const proxy = await proxyWith({ login });
    const error = await failureOf(connect('https://k8s.example', `socks5://127.0.0.1:${proxy.port}`));
    expect(error.message).toContain('it wants other credentials than its URL has');
  });

  it('is reported if it is not a SOCKS proxy, or unreachable', async () => {
    const { port } = new URL((await serve()).url);
    const none = await failureOf(connect('https://k8s.example', `socks5://${shown}@127.0.0.1:${port}`));
    expect(none.message).toContain('it does not speak SOCKS 5');
    const gone = await SocksProxy.start();
    await gone.close();
    const error = await failureOf(connect('https://k8s.example', `socks5://${shown}@127.0.0.1:${gone.port}`));
    expect(error.message).toContain(': connection refused');
  });

  it.each([
    ['a user that is not escaped well', `socks5://%zz:${canary}@p`, 'this is no URL of a proxy'],
    ['a user that is too long', `socks5://${'u'.repeat(256)}:${canary}@p`, 'this is no URL of a proxy'],
    ['no host', 'socks5://', 'this is no URL of a proxy'],
    ['another kind', `socks4://me:${canary}@p`, 'is not supported: only http, https and socks5 proxies are'],
  ])('whose URL has %s', async (_name, proxyUrl, words) => {
    const error = await failureOf(connect('https://k8s.example', proxyUrl));
    expect(error.message).toContain(words);
    expect(error.permanent).toBe(true);
  });

  it.each([
    ['calls', false],
    ['watches', true],
  ])('is abandoned after ten silent seconds: %s', async (_name, watches) => {
    const clock = new FakeClock();
    const proxy = await proxyWith({ silent: true });
    const client = connect('https://k8s.example', `socks5://${shown}@127.0.0.1:${proxy.port}`, { clock });
    const asked = watches
      ? collect(client.watch(configMaps, { signal: noSignal, resourceVersion: '5' }), 1)
      : client.version({ signal: noSignal });
    const ended = expect(asked).rejects.toThrow('connecting took too long');
    await eventually(() => expect(proxy.open).toBe(1));
    await clock.advance(10_000);
    await ended;
    await eventually(() => expect(proxy.open).toBe(0));
  });

  it.each([
    ['calls', false],
    ['watches', true],
  ])('leaves no tunnel open for an unreadable client certificate: %s', async (_name, watches) => {
    const proxy = await proxyWith();
    const server = await serve({ tls: identity, http2: true });
    const credentials = { certData: new SecretValue('none'), keyData: new SecretValue('none') };
    const client = connect(server.url, `socks5://127.0.0.1:${proxy.port}`, { connection: { credentials } });
    const asked = watches
      ? collect(client.watch(configMaps, { signal: noSignal, resourceVersion: '5' }), 1)
      : client.version({ signal: noSignal });
    await expect(asked).rejects.toBeInstanceOf(KubeConnectionError);
    expect(proxy.asked).toHaveLength(1);
    await eventually(() => expect(proxy.open).toBe(0));
  });

  it('is disconnected at once if a watch is aborted while it is silent', async () => {
    const proxy = await proxyWith({ silent: true });
    const client = connect('https://k8s.example', `socks5://127.0.0.1:${proxy.port}`);
    const leave = new AbortController();
    const asked = collect(client.watch(configMaps, { signal: leave.signal, resourceVersion: '5' }), 1);
    const ended = expect(asked).rejects.toBeInstanceOf(Shutdown);
    await eventually(() => expect(proxy.open).toBe(1));
    leave.abort(new Shutdown());
    await ended;
    await eventually(() => expect(proxy.open).toBe(0));
  });

  it('does not delay closing a client', async () => {
    const proxy = await proxyWith({ silent: true });
    const client = connect('https://k8s.example', `socks5://127.0.0.1:${proxy.port}`);
    const ended = failureOf(client);
    await eventually(() => expect(proxy.open).toBe(1));
    await client.close();
    expect((await ended).message).toContain('https://k8s.example');
    await eventually(() => expect(proxy.open).toBe(0));
  });
});

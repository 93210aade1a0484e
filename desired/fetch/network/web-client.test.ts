import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { RepositoryError } from '../../errors.ts';
import { eventually, SocksProxy } from '#support';
import { failureOf } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { checkUrl, checkWebUrl } from '../shared/input-checks.ts';
import { DeniedNetworks } from './denied-networks.ts';
import type { SourceReach } from './denied-networks.ts';
import { HostGate } from './host-gate.ts';
import { isPastProxy } from './socks-agent.ts';
import { WebClient } from './web-client.ts';
import type { RepositoryAccess, WebResponse } from './web-client.ts';

const signal = new AbortController().signal;
const basic = `Basic ${Buffer.from('me:hunter2').toString('base64')}`;
let own: WebServer;
let stranger: WebServer;
beforeEach(async () => {
  [own, stranger] = [await startWebServer(), await startWebServer()];
});
afterEach(() => Promise.all([own.close(), stranger.close()]));

const accessTo = (url: string, over: Partial<Repository> = {}): RepositoryAccess => ({
  repository: { ...bareRepository(url), username: 'me', password: new SecretValue('hunter2'), ...over },
  at: checkUrl(url, '/cache'),
});
const client = (denied: readonly string[] = [], reach: SourceReach = { allowLocal: true }): WebClient =>
  new WebClient({
    clock: systemClock,
    tlsCertificates: '/none',
    proxies: {},
    hosts: new HostGate(8, new DeniedNetworks(denied, reach)),
  });
const get = (url: string, access = accessTo(own.url), web = client()): Promise<WebResponse> =>
  web.get({ url: checkWebUrl(url), maxBytes: 1000, signal }, access);
const sentTo = (server: WebServer): (string | undefined)[] => server.asked.map(({ headers }) => headers.authorization);

describe('redirects', () => {
  it.each([301, 302, 303, 307, 308])('of status %d do not lead to a denied address', async (status) => {
    own.pages.set('/a', { status, headers: { location: stranger.url.replace('127.0.0.1', '127.0.0.2') } });
    const failure = await failureOf(get(`${own.url}/a`, undefined, client(['127.0.0.2'])));
    expect(failure.message).toContain('127.0.0.2 lies in a network');
    expect(stranger.asked).toEqual([]);
  });

  it.each(['http://[', 'http://a:b:c/'])('to %s, which is no URL, are errors of the repository', async (location) => {
    own.pages.set('/a', { status: 302, headers: { location } });
    const failure = await failureOf(get(`${own.url}/a`));
    expect(failure).toBeInstanceOf(RepositoryError);
    expect(failure.message).toContain('cannot be parsed');
  });

  it('to a name of a denied address are refused at each hop', async () => {
    const find = (host: string): Promise<readonly string[]> =>
      Promise.resolve([host === 'inside.example' ? '169.254.169.254' : '127.0.0.1']);
    own.pages.set('/a', { status: 302, headers: { location: '/b' } });
    own.pages.set('/b', { status: 302, headers: { location: 'http://inside.example/latest/meta-data' } });
    const failure = await failureOf(get(`${own.url}/a`, undefined, client([], { allowLocal: true, find })));
    expect(failure.message).toContain('inside.example (169.254.169.254) is a link-local or metadata address');
  });

  it('to the API server of the hub and to the controller itself are refused', async () => {
    const find = (host: string): Promise<readonly string[]> =>
      Promise.resolve([host === 'hub.example' ? '198.51.100.6' : '203.0.113.7']);
    const reach = { hubHosts: ['hub.example'], interfaceAddresses: () => ['203.0.113.9'], find };
    const proxied = accessTo('http://charts.example', { proxy: own.url });
    own.pages.set('http://charts.example/hub', { status: 302, headers: { location: 'http://198.51.100.6:6443/api' } });
    own.pages.set('http://charts.example/pod', { status: 302, headers: { location: 'http://203.0.113.9:8082/' } });
    const message = async (path: string): Promise<string> =>
      (await failureOf(get(`http://charts.example${path}`, proxied, client([], reach)))).message;
    expect(await message('/hub')).toContain("198.51.100.6 is the hub's API server");
    expect(await message('/pod')).toContain('203.0.113.9 is an address of the controller itself');
    expect(own.asked).toHaveLength(2);
  });

  it('do not carry credentials to another host, nor those in their own URL', async () => {
    own.pages.set('/a', { status: 302, headers: { location: `http://you:pass@${new URL(stranger.url).host}/b` } });
    stranger.pages.set('/b', { body: 'b' });
    const answer = await get(`${own.url}/a`);
    expect([answer.body.toString(), answer.finalUrl]).toEqual(['b', `${stranger.url}/b`]);
    expect([sentTo(own), sentTo(stranger)]).toEqual([[basic], [undefined]]);
  });

  it('do not carry headers that were meant for the first host', async () => {
    const { host } = new URL(stranger.url);
    own.pages.set('/a', { status: 302, headers: { location: `http://${host}/b` } });
    stranger.pages.set('/b', { body: 'b' });
    const originHeaders = { authorization: 'RemoteAuth once', 'private-token': 'secret' };
    const bare = { repository: bareRepository(own.url), at: checkUrl(own.url, '/cache') };
    await client().get(
      { url: checkWebUrl(`${own.url}/a`), originHeaders, headers: { accept: 'x' }, maxBytes: 1000, signal },
      bare,
    );
    expect(own.asked[0]?.headers).toMatchObject({ ...originHeaders, accept: 'x' });
    expect(stranger.asked[0]?.headers.accept).toBe('x');
    expect(Object.keys(stranger.asked[0]?.headers ?? {})).not.toEqual(
      expect.arrayContaining(['authorization', 'private-token']),
    );
    expect(stranger.asked[0]?.headers['private-token']).toBeUndefined();
  });

  it('to another scheme than http and https are refused', async () => {
    for (const location of ['file:///etc/passwd', 'ftp://h/x', 'gopher://h/x']) {
      own.pages.set('/a', { status: 302, headers: { location } });
      expect((await failureOf(get(`${own.url}/a`))).message).toMatch(/the scheme \w+:\/\/ is not allowed$/);
    }
  });

  it('of a POST are not followed', async () => {
    own.pages.set('/a', { status: 307, headers: { location: `${stranger.url}/b` } });
    const wanted = {
      url: checkWebUrl(`${own.url}/a`),
      method: 'POST',
      body: 'secret',
      maxBytes: 1000,
      signal,
    } as const;
    expect((await client().get(wanted, accessTo(own.url))).status).toBe(307);
    expect(stranger.asked).toEqual([]);
  });
});

describe('the proxy of a repository', () => {
  const find = (host: string): Promise<readonly string[]> =>
    host === 'proxy.example' ? Promise.resolve(['169.254.169.254']) : Promise.reject(new Error('ENOTFOUND'));

  it.each([
    'http://169.254.169.254',
    'http://169.254.169.254:3128',
    'http://2852039166',
    'http://[fe80::1]:3128',
    'http://[::ffff:169.254.169.254]',
    'https://[fd00:ec2::254]',
    'http://proxy.example',
  ])('is refused at %s, with the flag for labs too', async (proxy) => {
    for (const reach of [{ find }, { allowLocal: true, find }]) {
      const failure = await failureOf(
        get('http://charts.example/index.yaml', accessTo('http://charts.example', { proxy }), client([], reach)),
      );
      expect(failure.message).toContain('is a link-local or metadata address: sources may not reach it');
    }
  });

  it('does not receive what its name resolved to a moment later', async () => {
    const answers = [['203.0.113.1'], ['169.254.169.254']];
    const flips = (host: string): Promise<readonly string[]> =>
      host === 'proxy.example' ? Promise.resolve(answers.shift() ?? []) : Promise.reject(new Error('ENOTFOUND'));
    const access = accessTo('http://charts.example', { proxy: 'http://proxy.example' });
    const failure = await failureOf(get('http://charts.example/index.yaml', access, client([], { find: flips })));
    expect(failure.message).toContain('is a link-local or metadata address');
  });

  it('holds a request no longer than its signal when its name does not resolve', async () => {
    const silent = (host: string): Promise<readonly string[]> =>
      host === 'proxy.example' ? new Promise(() => undefined) : Promise.reject(new Error('ENOTFOUND'));
    const stop = new AbortController();
    const url = checkWebUrl('http://charts.example/index.yaml');
    const access = accessTo('http://charts.example', { proxy: 'http://proxy.example' });
    const pending = client([], { find: silent }).get({ url, maxBytes: 1000, signal: stop.signal }, access);
    stop.abort(new Error('enough'));
    await expect(pending).rejects.toThrow('enough');
  });

  it('on loopback is permitted: administrators configured it', async () => {
    own.pages.set('http://charts.example/index.yaml', { body: 'a' });
    const access = accessTo('http://charts.example', { proxy: own.url });
    expect((await get('http://charts.example/index.yaml', access, client([], { find }))).status).toBe(200);
  });

  it('gets its own login, and the target never sees it', async () => {
    const proxy = `http://p:pass@${new URL(own.url).host}`;
    own.pages.set('http://charts.example/a', { status: 302, headers: { location: `${stranger.url}/b` } });
    stranger.pages.set('/b', { body: 'b' });
    const noProxy = '127.0.0.1';
    await get('http://charts.example/a', accessTo('http://charts.example', { proxy, noProxy }));
    const login = `Basic ${Buffer.from('p:pass').toString('base64')}`;
    expect(own.asked.map(({ headers }) => headers['proxy-authorization'])).toEqual([login]);
    expect(stranger.asked.map(({ headers }) => [headers['proxy-authorization'], headers.authorization])).toEqual([
      [undefined, undefined],
    ]);
  });

  it('is no way around the rules for the target', async () => {
    const access = accessTo('http://10.1.2.3', { proxy: own.url });
    const failure = await failureOf(get('http://10.1.2.3/x', access, client(['10.0.0.0/8'])));
    expect(failure.message).toContain('10.1.2.3 lies in a network');
    expect(own.asked).toEqual([]);
  });
});

describe('a client certificate', () => {
  it('and `insecure` are for the origin of the repository only', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = new SecretValue(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    // An unusable pair: a connection that uses it fails.
    const over = { insecure: true, tlsClientCertData: new SecretValue('nonsense'), tlsClientCertKey: key };
    own.pages.set('/a', { status: 302, headers: { location: `${stranger.url}/b` } });
    stranger.pages.set('/b', { body: 'b' });
    expect((await get(`${own.url}/a`, accessTo(own.url, over))).body.toString()).toBe('b');
  });
});

describe('a SOCKS proxy', () => {
  const through = (port: number, over: Partial<Repository> = {}): RepositoryAccess =>
    accessTo('http://only-the-proxy-knows.example', { proxy: `socks5://u:c4nary@127.0.0.1:${port}`, ...over });
  const portOf = (server: WebServer): string => new URL(server.url).port;
  const refusal = async (proxy: SocksProxy, path = '/x'): Promise<string> =>
    (await failureOf(get(`http://only-the-proxy-knows.example:${portOf(own)}${path}`, through(proxy.port)))).message;

  it('gets the name of the host, and the host gets the request with the login of the repository', async () => {
    const proxy = await SocksProxy.start({ login: 'u:c4nary' });
    own.pages.set('/x', { body: 'served' });
    const port = portOf(own);
    const access = accessTo(`http://only-the-proxy-knows.example:${port}`, {
      proxy: `socks5h://u:c4nary@127.0.0.1:${proxy.port}`,
    });
    const answer = await get(`http://only-the-proxy-knows.example:${port}/x`, access);
    expect(answer.body.toString()).toBe('served');
    expect(proxy.asked).toEqual([`name only-the-proxy-knows.example:${port}`]);
    expect(sentTo(own)).toEqual([basic]);
    await eventually(() => expect(proxy.open).toBe(0));
    await proxy.close();
  });

  it('of the process is used for repositories without their own, except for hosts in no_proxy', async () => {
    const proxy = await SocksProxy.start();
    own.pages.set('/x', { body: 'served' });
    for (const [none, asked] of [
      ['', 1],
      ['127.0.0.1', 1],
      ['*', 1],
    ] as const) {
      const proxies = { http: `socks5://127.0.0.1:${proxy.port}`, none };
      const web = new WebClient({ clock: systemClock, tlsCertificates: '/none', proxies });
      expect((await get(`${own.url}/x`, accessTo(own.url), web)).status).toBe(200);
      expect(proxy.asked).toHaveLength(asked);
    }
    await proxy.close();
  });

  it('is no way to a denied host', async () => {
    const proxy = await SocksProxy.start();
    const web = client([], { allowLocal: false });
    const error = await failureOf(get(`${own.url}/x`, through(proxy.port), web));
    expect(error.message).toMatch(/is a loopback address/);
    const metadata = accessTo('http://x.example', { proxy: 'socks5://169.254.169.254' });
    expect((await failureOf(get('http://x.example/', metadata))).message).toMatch(/metadata address/);
    expect(proxy.asked).toEqual([]);
    await proxy.close();
  });

  it.each([
    ['refuses the login', { login: 'u:other' }, /it refuses user and password/],
    ['refuses the host', { refuse: 5 }, /the server refuses the connection/],
  ])('that %s is an error without its password', async (_title, options, expected) => {
    const proxy = await SocksProxy.start(options);
    const message = await refusal(proxy);
    expect(message).toMatch(/^cannot reach http:\/\/only-the-proxy-knows\.example:\d+\/x: its proxy socks5:/);
    expect(message).toMatch(expected);
    expect(message).not.toContain('c4nary');
    await proxy.close();
  });

  it('that never answers is given up when the request is aborted', async () => {
    const proxy = await SocksProxy.start({ silent: true });
    const stop = new AbortController();
    const web = client();
    const asked = web.get(
      { url: checkWebUrl('http://only-the-proxy-knows.example/x'), maxBytes: 1000, signal: stop.signal },
      through(proxy.port),
    );
    await eventually(() => expect(proxy.open).toBe(1));
    stop.abort(new Error('given up'));
    await expect(asked).rejects.toThrow('given up');
    await eventually(() => expect(proxy.open).toBe(0));
    await proxy.close();
  });
});

it.each([
  ['https://example.com/x', 'example.com', true],
  ['https://a.example.com/x', 'example.com', true],
  ['https://a.example.com/x', '.example.com', true],
  ['https://a.example.com/x', '*.example.com', true],
  ['https://example.com/x', 'other.org, EXAMPLE.com:443', true],
  ['http://example.com/x', 'example.com:443', false],
  ['https://notexample.com/x', 'example.com', false],
  ['https://example.com/x', '', false],
  ['https://example.com/x', '*', true],
  ['https://[::1]:8443/x', '[::1]', true],
])('a request to %s goes past the proxy with no_proxy %j: %s', (url, noProxy, expected) => {
  expect(isPastProxy(new URL(url), noProxy)).toBe(expected);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { seededRandom, systemClock, UsageError } from '#base';
import { apiResource, createKubeClient } from '#kube';
import { TestServers } from '#support';
import { silentLogger } from '#telemetry';
import { readArgs } from '../options/args.ts';
import { hubConnection, withoutSecrets } from './hub-connection.ts';
import { runOptions } from '../options/run-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'driftless-flags-'));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const ca = file('ca.crt', 'CA');
const clientCert = file('client.crt', 'CERT');
const clientKey = file('client.key', 'KEY');

const servers = new TestServers();
afterEach(() => servers.closeAll());
afterAll(() => rmSync(folder, { recursive: true }));

interface Seen {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: readonly string[];
}

/** An API server with a version and an empty list that records its requests. */
async function api(): Promise<{ readonly url: string; readonly port: number; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createHttpServer((request, response) => {
    const { url = '', headers, rawHeaders } = request;
    seen.push({ url, headers, raw: rawHeaders });
    response.writeHead(200, { 'content-type': 'application/json' });
    // A watch ends without an event.
    const body = { gitVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: '1' }, items: [] };
    response.end(url.includes('watch=true') ? '' : JSON.stringify(body));
  });
  const port = await servers.listen(server);
  return { url: `http://127.0.0.1:${port}`, port, seen };
}

let made = 0;
function kubeconfig(server: string, user = 'token: from-file'): string {
  made += 1;
  return file(
    `config-${made}`,
    `current-context: main
contexts:
- {name: main, context: {cluster: main, user: main, namespace: team}}
clusters:
- {name: main, cluster: {server: "${server}"}}
- {name: second, cluster: {server: "${server}/second"}}
users:
- {name: main, user: {${user}}}
- {name: second, user: {token: of-second}}
`,
  );
}

async function load(argv: readonly string[], env: Readonly<Record<string, string>> = {}, root = '') {
  return hubConnection(readArgs(runOptions, argv, env).config, env, root);
}

/**
 * Sends one request over the connection that the flags configure, optionally impersonating a user.
 */
async function send(argv: readonly string[], as?: string): Promise<void> {
  const { connection } = await load(argv);
  const client = createKubeClient(connection, {
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    userAgent: 'test',
    limits: { attempts: 1 },
  });
  try {
    const signal = new AbortController().signal;
    await (as === undefined ? client : client.impersonate(as)).version({ signal });
  } finally {
    await client.close();
  }
}

const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;

describe('flags of kubectl, by what is sent', () => {
  it.each<[string, readonly string[], Readonly<Record<string, unknown>>]>([
    ['none', [], { authorization: 'Bearer from-file', 'impersonate-user': undefined }],
    ['--token', ['--token=mine'], { authorization: 'Bearer mine' }],
    ['--user', ['--user', 'second'], { authorization: 'Bearer of-second' }],
    [
      '--as',
      ['--as=jane'],
      { authorization: 'Bearer from-file', 'impersonate-user': 'jane', 'impersonate-group': undefined },
    ],
    ['--as-uid', ['--as=jane', '--as-uid=u-1'], { 'impersonate-user': 'jane', 'impersonate-uid': 'u-1' }],
    ['--as-group', ['--as=jane', '--as-group=a,b', '--as-group', 'c'], { 'impersonate-user': 'jane' }],
    ['--disable-compression', ['--disable-compression'], { 'accept-encoding': undefined }],
    ['not --disable-compression', ['--disable-compression=false'], { 'accept-encoding': undefined }],
  ])('%s', async (_what, argv, headers) => {
    const { url, seen } = await api();
    await send([`--kubeconfig=${kubeconfig(url)}`, ...argv]);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.headers).toMatchObject(
      Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
    );
    for (const [name, value] of Object.entries(headers)) expect(seen[0]?.headers[name]).toBe(value);
    const raw = seen[0]?.raw ?? [];
    const groups = raw.filter((_text, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'impersonate-group');
    // Each group has its own header: a comma does not split it.
    expect(groups).toEqual(argv.includes('--as-group') ? ['a,b', 'c'] : []);
  });

  it('--as gives way to whom an operation acts as, with groups and UID', async () => {
    const { url, seen } = await api();
    await send(
      [`--kubeconfig=${kubeconfig(url)}`, '--as=jane', '--as-group=a', '--as-uid=u'],
      'system:serviceaccount:n:sa',
    );
    const headers: IncomingHttpHeaders = seen[0]?.headers ?? {};
    expect([headers['impersonate-user'], headers['impersonate-group'], headers['impersonate-uid']]).toEqual([
      'system:serviceaccount:n:sa',
      undefined,
      undefined,
    ]);
  });

  it('--username and --password', async () => {
    const { url, seen } = await api();
    await send([`--kubeconfig=${kubeconfig(url, '')}`, '--username=u', '--password=p']);
    expect(seen[0]?.headers.authorization).toBe(basic);
  });

  it.each([
    ['an exec plugin', 'exec: {apiVersion: client.authentication.k8s.io/v1, command: /no/such/plugin}'],
    ['a token file', 'tokenFile: /no/such/token'],
    ['a client certificate', `client-certificate: ${clientCert}, client-key: ${clientKey}`],
  ])('--token goes in place of %s', async (_what, user) => {
    const { url, seen } = await api();
    await send([`--kubeconfig=${kubeconfig(url, user)}`, '--token=mine']);
    expect(seen[0]?.headers.authorization).toBe('Bearer mine');
  });

  it('--cluster and --server', async () => {
    const { url, seen } = await api();
    await send([`--kubeconfig=${kubeconfig(url)}`, '--cluster=second']);
    await send([`--kubeconfig=${kubeconfig('http://127.0.0.1:1')}`, `--server=${url}/base/`]);
    await send([`--server=${url.replace('http://', '')}`, '--token=mine']);
    expect(seen.map((one) => one.url)).toEqual(['/second/version', '/base/version', '/version']);
    expect(seen.map((one) => one.headers.authorization)).toEqual([
      'Bearer from-file',
      'Bearer from-file',
      'Bearer mine',
    ]);
  });

  it('--request-timeout goes to the server, and ends what takes longer', async () => {
    const { url, seen } = await api();
    const argv = [`--kubeconfig=${kubeconfig(url)}`, '--request-timeout=90s'];
    await send(argv);
    const { connection } = await load(argv);
    const client = createKubeClient(connection, {
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
      userAgent: 'test',
    });
    const signal = new AbortController().signal;
    const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
    await client.list(configMaps, { signal, limit: 5 });
    for await (const event of client.watch(configMaps, { signal, resourceVersion: '1' })) expect(event).toBeUndefined();
    await client.close();
    expect(seen.map((one) => one.url.replace(/resourceVersion=1&/, ''))).toEqual([
      '/version?timeout=1m30s',
      '/api/v1/configmaps?limit=5&timeout=1m30s',
      '/api/v1/configmaps?watch=true&allowWatchBookmarks=true&timeoutSeconds=90',
    ]);
  });

  it('a request that takes longer than --request-timeout ends', async () => {
    const port = await servers.listen(createHttpServer(() => undefined));
    await expect(send([`--server=127.0.0.1:${port}`, '--request-timeout=50ms'])).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
  });

  it.each<[readonly string[], object]>([
    [[`--certificate-authority=${ca}`], { insecure: false, caData: 'CA' }],
    [['--insecure-skip-tls-verify'], { insecure: true }],
    [['--tls-server-name=api'], { insecure: false, tlsServerName: 'api' }],
    [[`--client-certificate=${clientCert}`, `--client-key=${clientKey}`], { insecure: false }],
  ])('%j, as kube/config/overrides.test.ts shows on the wire', async (argv, expected) => {
    const { connection } = await load(['--server=https://h', ...argv]);
    const { credentials, ...rest } = connection;
    expect(rest).toEqual({ server: 'https://h', ...expected });
    const pair = [credentials.certData?.reveal(), credentials.keyData?.reveal()];
    expect(pair).toEqual(argv.length === 2 ? ['CERT', 'KEY'] : [undefined, undefined]);
  });

  it('--proxy-url', async () => {
    const { url, port } = await api();
    const asked: string[] = [];
    const proxy = createHttpServer();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      const upstream = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.destroy());
    });
    const proxyPort = await servers.listen(proxy);
    await send([`--kubeconfig=${kubeconfig(url)}`, `--proxy-url=http://127.0.0.1:${proxyPort}`]);
    expect(asked).toEqual([`127.0.0.1:${port}`]);
  });
});

describe('flags of kubectl that cannot be', () => {
  const config = kubeconfig('http://127.0.0.1:1');
  const withBasic = kubeconfig('http://127.0.0.1:1', 'username: u, password: p');
  it.each<[readonly string[], RegExp]>([
    [[], /no cluster configured: set --kubeconfig FILE/],
    [
      ['--kubeconfig', config, '--cluster=x'],
      /the? ?context "main" names cluster "x", which does not exist|cluster "x", which does not exist/,
    ],
    [['--kubeconfig', config, '--user=x'], /names user "x", which does not exist/],
    [['--cluster=x'], /--cluster "x" does not exist: set --kubeconfig FILE/],
    [['--server=http://h', '--user=x'], /--user "x" does not exist: set --kubeconfig FILE/],
    [['--server=h h'], /--server: "h h" is not the address of a server/],
    [['--server=ftp://h'], /is not the address of a server/],
    [['--kubeconfig', config, '--as-group=g'], /a user must be named to act as/],
    [['--kubeconfig', config, '--as-uid=u'], /a user must be named to act as/],
    [['--kubeconfig', config, '--as=a\r\nx: y'], /characters that a header can hold/],
    [['--kubeconfig', config, '--as=a', '--as-group=g\n'], /characters that a header can hold/],
    [['--kubeconfig', config, '--username=u'], /more than one way to authenticate/],
    [['--kubeconfig', withBasic, '--token=t'], /more than one way to authenticate/],
    [
      ['--kubeconfig', config, '--request-timeout=soon'],
      /--request-timeout must be whole seconds, or a duration .* not "soon"/,
    ],
    [['--kubeconfig', config, '--request-timeout=-1s'], /--request-timeout must be/],
    [['--kubeconfig', config, `--certificate-authority=${ca}`, '--insecure-skip-tls-verify'], /exclude each other/],
    [['--kubeconfig', config, '--certificate-authority=/no/such'], /certificate authority \/no\/such does not exist/],
    [['--kubeconfig', config, '--client-key=/no/such'], /client key \/no\/such does not exist/],
    [['--kubeconfig', config, `--client-certificate=${clientCert}`], /needs its key/],
  ])('%j: one clear line', async (argv, message) => {
    const error = (await load(argv).catch((e: unknown) => e)) as Error;
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('\n');
  });

  it('secrets are in no text that is made of them', async () => {
    const { config: parsed } = readArgs(runOptions, ['--server=http://h', '--token=s3cr3t'], {});
    expect(JSON.stringify(await hubConnection(parsed, {}))).not.toContain('s3cr3t');
    expect(JSON.stringify(withoutSecrets(parsed))).not.toContain('s3cr3t');
    const basicConfig = readArgs(runOptions, ['--password=s3cr3t'], {}).config;
    expect(JSON.stringify(withoutSecrets(basicConfig))).not.toContain('s3cr3t');
  });
});

describe('flags of kubectl in a pod', () => {
  const account = join(folder, 'pod/var/run/secrets/kubernetes.io/serviceaccount');
  mkdirSync(account, { recursive: true });
  writeFileSync(join(account, 'ca.crt'), 'POD CA');
  writeFileSync(join(account, 'token'), 'pod-token');
  writeFileSync(join(account, 'namespace'), 'argocd');
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  async function inPod(argv: readonly string[]) {
    // The library reads these variables itself.

    const { env } = process;
    Object.assign(env, pod);
    try {
      return await load(argv, pod, join(folder, 'pod'));
    } finally {
      delete env['KUBERNETES_SERVICE_HOST'];
      delete env['KUBERNETES_SERVICE_PORT'];
    }
  }

  it('override what the pod has', async () => {
    const { connection, namespace } = await inPod([
      '--as=jane',
      '--as-group=g',
      '--request-timeout=5',
      `--certificate-authority=${ca}`,
    ]);
    expect(namespace).toBe('argocd');
    expect(connection).toEqual({
      server: 'https://10.0.0.1:443',
      insecure: false,
      caData: 'CA',
      credentials: { bearerTokenFile: join(account, 'token') },
      impersonate: { user: 'jane', groups: ['g'], extra: {} },
      requestTimeoutMs: 5000,
    });
    const { credentials } = (await inPod(['--token=mine'])).connection;
    expect([credentials.bearerToken?.reveal(), credentials.bearerTokenFile]).toEqual(['mine', undefined]);
  });

  it('the token of the pod goes to no other server', async () => {
    const { connection, namespace } = await inPod(['--server=https://elsewhere']);
    expect(namespace).toBe('argocd');
    expect(connection).toEqual({ server: 'https://elsewhere', insecure: false, credentials: {} });
  });
});

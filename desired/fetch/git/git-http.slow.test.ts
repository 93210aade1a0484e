import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { SocksProxy } from '#support';
import { silentLogger } from '#telemetry';
import { createDesiredSource, createInProcessRunner } from '../../index.ts';
import type { SourceManifests } from '../../index.ts';
import { renderOne, requestOf } from '../../testing/request.ts';
import { serveGit } from '../../testing/git-server.ts';
import { startWebServer } from '../../testing/web-server.ts';

// Real git over HTTP through git-http-backend, behind a handler that refuses or redirects.

interface Seen {
  readonly url: string;
  readonly host: string;
  readonly authorization: string | undefined;
}

let root = '';
let seen: Seen[] = [];
let allow: (request: IncomingMessage) => 'ok' | 401 | 403 | 404 | { readonly redirect: string } = () => 'ok';
const servers: Server[] = [];

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  return execFileSync('git', ['-C', join(root, 'repo.git'), ...identity, ...args], {
    encoding: 'utf8',
    env: { PATH: env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
  }).trim();
}

function commit(value: string): string {
  writeFileSync(
    join(root, 'repo.git', 'cm.yaml'),
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: "${value}"}\n`,
  );
  git('add', '.');
  git('commit', '-q', '-m', value);
  return git('rev-parse', 'HEAD');
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const { host = '', authorization } = request.headers;
  seen.push({ url: request.url ?? '', host: `http://${host}`, authorization });
  const verdict = allow(request);
  if (typeof verdict === 'object') {
    response.writeHead(302, { location: `${verdict.redirect}${request.url ?? ''}` }).end();
    return;
  }
  if (verdict !== 'ok') {
    response.writeHead(verdict, verdict === 401 ? { 'www-authenticate': 'Basic realm="git"' } : {}).end();
    return;
  }
  serveGit(root, request, response);
}

async function listen(): Promise<string> {
  const server = createServer(serve);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'http-'));
  seen = [];
  allow = () => 'ok';
  execFileSync('git', ['init', '-q', '--initial-branch=main', join(root, 'repo.git')]);
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(root, { recursive: true, force: true });
});

function render(repository: Repository, revision = 'main', fetchDepth = 1): Promise<SourceManifests> {
  const source = createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    cacheDir: join(root, `cache-${String(seen.length)}`),
    commands: createInProcessRunner({ clock: systemClock, env }),
    limits: { fetchDepth },
    reach: { allowLocal: true },
  });
  return renderOne(
    source,
    requestOf({ repoURL: repository.url, path: '.' }, repository, { revision }),
    new AbortController().signal,
  );
}
const failure = (repository: Repository): Promise<string> =>
  render(repository).then(
    () => 'no error',
    (error: unknown) => (error as Error).message,
  );

describe('git over HTTP', () => {
  it('renders branches and commits without a ref, shallow and with full history', async () => {
    const first = commit('1');
    const second = commit('2');
    const url = `${await listen()}/repo.git`;
    for (const depth of [1, 0]) {
      expect((await render(bareRepository(url), 'main', depth)).revision).toBe(second);
      const old = await render(bareRepository(url), first, depth);
      expect([old.revision, old.objects[0]?.['data']]).toEqual([first, { v: '1' }]);
      expect((await render(bareRepository(url), first.slice(0, 10), depth)).revision).toBe(first);
    }
    expect(seen.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it.each(['socks5', 'socks5h'])('goes through a %s proxy, with its login', async (scheme) => {
    const revision = commit('1');
    const url = `${(await listen()).replace('127.0.0.1', 'localhost')}/repo.git`;
    const proxy = await SocksProxy.start({ login: 'u:pw' });
    const made = await render({ ...bareRepository(url), proxy: `${scheme}://u:pw@127.0.0.1:${proxy.port}` });
    expect(made.revision).toBe(revision);
    expect(proxy.asked.length).toBeGreaterThan(0);
    await proxy.close();
  });

  it.each([
    [
      'user and password',
      { username: 'me', password: new SecretValue('p@ss:w/ö') },
      `Basic ${Buffer.from('me:p@ss:w/ö').toString('base64')}`,
    ],
    [
      'password alone',
      { password: new SecretValue('token') },
      `Basic ${Buffer.from('x-access-token:token').toString('base64')}`,
    ],
    ['bearer token', { bearerToken: new SecretValue('abc') }, 'Bearer abc'],
  ])('sends %s, from the first request on', async (_name, credentials, header) => {
    commit('1');
    allow = (request) => (request.headers.authorization === header ? 'ok' : 401);
    const url = `${await listen()}/repo.git`;
    expect((await render({ ...bareRepository(url), ...credentials })).objects).toHaveLength(1);
    expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(new Set([header]));
  });

  it("gets a GitHub App token once and looks up the owner's installation", async () => {
    commit('1');
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const api = await startWebServer();
    const isSigned = (authorization = ''): boolean => {
      const [head = '', body = '', signature = ''] = authorization.replace('Bearer ', '').split('.');
      const { iss, exp, iat } = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<
        string,
        number | string
      >;
      expect([iss, Number(exp) - Number(iat)]).toEqual(['7', 600]);
      return createVerify('RSA-SHA256').update(`${head}.${body}`).verify(publicKey, signature, 'base64url');
    };
    const answer =
      (status: number, body: object) =>
      ({ headers }: IncomingMessage): { status: number; body: string } =>
        isSigned(headers.authorization) ? { status, body: JSON.stringify(body) } : { status: 401, body: '' };
    const others = [
      { id: 1, account: { login: 'else' } },
      { id: 42, account: { login: 'Repo.Git' } },
    ];
    api.pages.set('/app/installations?per_page=100&page=1', answer(200, others));
    api.pages.set('/app/installations/42/access_tokens', answer(201, { token: 't0ken' }));
    const header = `Basic ${Buffer.from('x-access-token:t0ken').toString('base64')}`;
    allow = (request) => (request.headers.authorization === header ? 'ok' : 401);
    const key = new SecretValue(privateKey.export({ type: 'pkcs1', format: 'pem' }) as string);
    const githubApp = { id: '7', installationId: '', baseUrl: api.url, privateKey: key };
    const url = `${await listen()}/repo.git`;
    expect((await render({ ...bareRepository(url), githubApp })).objects).toHaveLength(1);
    expect(api.asked.map(({ path }) => path)).toEqual([
      '/app/installations?per_page=100&page=1',
      '/app/installations/42/access_tokens',
    ]);
    api.pages.clear();
    expect(await failure({ ...bareRepository(url), githubApp })).toMatch(/GitHub App 7: .* answers with status 404$/);
    const bad = { ...githubApp, privateKey: new SecretValue('no key') };
    expect(await failure({ ...bareRepository(url), githubApp: bad })).toBe(
      'failed to authenticate as the GitHub App 7: its private key cannot be read',
    );
    await api.close();
  });

  it('removes credentials from the URL', async () => {
    commit('1');
    const header = `Basic ${Buffer.from('u:p w').toString('base64')}`;
    allow = (request) => (request.headers.authorization === header ? 'ok' : 401);
    const url = `${await listen()}/repo.git`.replace('http://', 'http://u:p%20w@');
    expect((await render(bareRepository(url))).objects).toHaveLength(1);
  });

  it('does not send credentials to another server', async () => {
    commit('1');
    const other = await listen();
    const first = await listen();
    allow = (request) => (`http://${request.headers.host ?? ''}` === first ? { redirect: other } : 'ok');
    const repository = { ...bareRepository(`${first}/repo.git`), password: new SecretValue('token') };
    expect((await render(repository)).objects).toHaveLength(1);
    const [there, away] = [seen.filter(({ host }) => host === first), seen.filter(({ host }) => host === other)];
    expect(there.every(({ authorization }) => authorization !== undefined)).toBe(true);
    // Including the requests after the redirected one.
    expect(away.length).toBeGreaterThan(2);
    expect(away.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it('reports refusals without credentials', async () => {
    commit('1');
    const base = await listen();
    const repository = { ...bareRepository(`${base}/repo.git`), username: 'me', password: new SecretValue('hunter2') };
    const refused = `failed to list refs: failed to authenticate to git repository "${base}/repo.git": no credentials matched this URL, or they were refused`;
    allow = () => 401;
    expect(await failure(repository)).toBe(refused);
    expect(await failure(bareRepository(`${base}/repo.git`))).toBe(refused);
    expect(await failure(bareRepository(`${base}/repo.git`.replace('//', '//me:hunter2@')))).not.toContain('hunter2');
    allow = () => 403;
    expect(await failure(repository)).toBe(refused);
    allow = () => 404;
    expect(await failure(repository)).toBe('failed to list refs: repository not found');
    allow = () => 'ok';
    expect(await failure(bareRepository(`${base}/other.git`))).toBe('failed to list refs: repository not found');
  });
});

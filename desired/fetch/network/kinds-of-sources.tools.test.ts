import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { silentLogger } from '#telemetry';
import { createDesiredSource, createInProcessRunner } from '../../index.ts';
import type { CommandRunner, DesiredSourceDeps } from '../../index.ts';
import { serveGit } from '../../testing/git-server.ts';
import { chartArchive, startWebServer } from '../../testing/index.ts';
import type { WebServer } from '../../testing/index.ts';
import { TestRepository, testRenderer } from '../../testing/repository.ts';
import { renderOne, requestOf } from '../../testing/request.ts';
import { describeWithTool } from '../../testing/with-tool.ts';

// Every kind of source and every address that it can name: none of them leads to the controller.

let root = '';
let inside: WebServer;
let outside: WebServer;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'kinds-'));
  [inside, outside] = [await startWebServer(), await startWebServer()];
});
afterEach(async () => {
  await Promise.all([inside.close(), outside.close()]);
  rmSync(root, { recursive: true, force: true });
});

/** Renders one source and returns the error message. */
async function failure(
  source: Partial<ApplicationSource> & { readonly repoURL: string },
  over: Partial<DesiredSourceDeps> = {},
  repository: Repository = bareRepository(source.repoURL),
): Promise<string> {
  const commands = createInProcessRunner({ clock: systemClock, env: { PATH: env['PATH'] } });
  const desired = createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    cacheDir: mkdtempSync(join(root, 'cache-')),
    commands,
    renderer: testRenderer(join(root, 'staging'), commands),
    ...over,
  });
  return renderOne(desired, requestOf({ path: '.', ...source }, repository), new AbortController().signal).then(
    () => 'no error',
    (error: unknown) => (error as Error).message,
  );
}

const portOf = (server: WebServer): string => new URL(server.url).port;
/** The inside server by an address that is denied in the second group. */
const denied = (path: string): string => `http://127.0.0.2:${portOf(inside)}${path}`;
const hostile: Partial<DesiredSourceDeps> = { reach: { allowLocal: true }, limits: { deniedNetworks: ['127.0.0.2'] } };
const chart = { chart: 'web', targetRevision: '1.0.0' };

describe('by default, a source on loopback is refused without a request', () => {
  it.each<[string, (port: string) => Partial<ApplicationSource> & { readonly repoURL: string }]>([
    ['git over http', (port) => ({ repoURL: `http://127.0.0.1:${port}/x.git` })],
    ['git at the whole of loopback', (port) => ({ repoURL: `http://127.9.9.9:${port}/x.git` })],
    ['git at no address', (port) => ({ repoURL: `http://0.0.0.0:${port}/x.git` })],
    ['git at no address of IPv6', (port) => ({ repoURL: `http://[::]:${port}/x.git` })],
    ['git by IPv6', (port) => ({ repoURL: `http://[::1]:${port}/x.git` })],
    ['git by an address of IPv4 in IPv6', (port) => ({ repoURL: `http://[::ffff:7f00:1]:${port}/x.git` })],
    ['git behind NAT64', (port) => ({ repoURL: `http://[64:ff9b::127.0.0.1]:${port}/x.git` })],
    ['git by name', (port) => ({ repoURL: `http://localhost:${port}/x.git` })],
    ['git by a name below localhost', (port) => ({ repoURL: `http://git.localhost.:${port}/x.git` })],
    ['git with user and password', (port) => ({ repoURL: `https://a:b@127.0.0.1:${port}/x.git` })],
    ['ssh', () => ({ repoURL: 'git@127.0.0.1:x.git' })],
    ['ssh by name', () => ({ repoURL: 'git@localhost:x.git' })],
    ['ssh by IPv6', (port) => ({ repoURL: `ssh://git@[::1]:${port}/x.git` })],
    ["git's own protocol", (port) => ({ repoURL: `git://127.0.0.1:${port}/x.git` })],
    ['a chart repository', (port) => ({ repoURL: `http://127.0.0.1:${port}`, ...chart })],
    ['a chart of a registry', (port) => ({ repoURL: `127.0.0.1:${port}/charts`, ...chart })],
    ['an artifact of a registry', (port) => ({ repoURL: `oci://localhost:${port}/app`, targetRevision: '1' })],
    ['an archive', (port) => ({ repoURL: `http://127.0.0.1:${port}/app.tar.gz` })],
  ])('%s', async (_what, source) => {
    const text = await failure(source(portOf(inside)));
    expect(text).toContain('is a loopback address');
    expect(inside.asked).toEqual([]);
  });
});

describe('an IP address in a spelling that programs read differently is refused without a request', () => {
  it.each([
    ['git in decimal', 'http://2130706433:PORT/x.git'],
    ['git in hexadecimal', 'http://0x7f.1:PORT/x.git'],
    ['git in octal', 'http://0177.0.0.1:PORT/x.git'],
    ['git with a dot at its end', 'http://127.0.0.1.:PORT/x.git'],
    ['ssh in decimal', 'ssh://git@2130706433:PORT/x.git'],
    ['ssh in hexadecimal', 'ssh://git@0x7F000001:PORT/x.git'],
    ['an archive in decimal', 'http://2130706433:PORT/x.tgz'],
  ])('%s', async (_what, url) => {
    const text = await failure({ repoURL: url.replace('PORT', portOf(inside)) });
    expect(text).toContain('its host is an IP address in an unusual spelling');
    expect(inside.asked).toEqual([]);
  });
});

describe('a denied address is refused without a request', () => {
  const rule = '127.0.0.2 lies in a network that the configuration keeps sources out of: sources may not reach it';

  it('as the URL of a chart in an index', async () => {
    const index = `apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: ["${denied('/web.tgz')}"]}]}`;
    outside.pages.set('/index.yaml', { body: index });
    expect(await failure({ repoURL: outside.url, ...chart }, hostile)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it.each(['/index.yaml', '/web.tgz'])('as a redirect of %s of a chart repository', async (path) => {
    const entry = 'apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: [web.tgz]}]}';
    outside.pages.set('/index.yaml', { body: entry });
    outside.pages.set(path, { status: 302, headers: { location: denied(path) } });
    inside.pages.set('/web.tgz', { body: chartArchive('web', '1.0.0') });
    expect(await failure({ repoURL: outside.url, ...chart }, hostile)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it('as the token service of a registry', async () => {
    const challenge = { 'www-authenticate': `Bearer realm="${denied('/token')}",service="s"` };
    outside.pages.set('/v2/app/tags/list?n=1000', { status: 401, headers: challenge });
    outside.pages.set('/v2/app/manifests/1.0.0', { status: 401, headers: challenge });
    const repoURL = `oci://${new URL(outside.url).host}/app`;
    const repository = { ...bareRepository(repoURL), ociForceHttp: true };
    expect(await failure({ repoURL, targetRevision: '1.0.0' }, hostile, repository)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it('as a redirect of the token service of a registry', async () => {
    const challenge = { 'www-authenticate': `Bearer realm="${outside.url}/token",service="s"` };
    outside.pages.set('/v2/app/manifests/1.0.0', { status: 401, headers: challenge });
    const tokenPath = '/token?service=s&scope=repository%3Aapp%3Apull';
    outside.pages.set(tokenPath, { status: 307, headers: { location: denied('/token') } });
    const repoURL = `oci://${new URL(outside.url).host}/app`;
    const repository = { ...bareRepository(repoURL), ociForceHttp: true };
    expect(await failure({ repoURL, targetRevision: '1.0.0' }, hostile, repository)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it.each(['/v2/app/tags/list?n=1000', '/v2/app/manifests/1.0.0'])(
    'as a redirect of %s of a registry',
    async (path) => {
      outside.pages.set('/v2/app/tags/list?n=1000', { body: '{"tags":["1.0.0"]}' });
      outside.pages.set(path, { status: 307, headers: { location: denied(path) } });
      const repoURL = `oci://${new URL(outside.url).host}/app`;
      const repository = { ...bareRepository(repoURL), ociForceHttp: true };
      const targetRevision = path.includes('tags') ? '>=1' : '1.0.0';
      expect(await failure({ repoURL, targetRevision }, hostile, repository)).toContain(rule);
      expect(inside.asked).toEqual([]);
    },
  );

  it("as a redirect of a registry's layer", async () => {
    const layer = Buffer.from('x');
    const digest = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
    const mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip';
    const manifest = JSON.stringify({ config: { mediaType: 'a/b' }, layers: [{ mediaType, digest }] });
    outside.pages.set('/v2/app/manifests/1.0.0', { body: manifest });
    const of = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
    outside.pages.set(`/v2/app/manifests/${of}`, { body: manifest });
    outside.pages.set(`/v2/app/blobs/${digest}`, { status: 307, headers: { location: denied('/blob') } });
    const repoURL = `oci://${new URL(outside.url).host}/app`;
    const repository = { ...bareRepository(repoURL), ociForceHttp: true };
    expect(await failure({ repoURL, targetRevision: '1.0.0' }, hostile, repository)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it('as a redirect of an archive', async () => {
    outside.pages.set('/app.tgz', { status: 301, headers: { location: denied('/app.tgz') } });
    expect(await failure({ repoURL: `${outside.url}/app.tgz` }, hostile)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it('as a submodule', async () => {
    const repository = new TestRepository(root, { 'a.yaml': 'a: 1' });
    repository.commit({ '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ${denied('/s.git')}\n` });
    repository.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},s`);
    repository.git('commit', '--quiet', '-m', 'submodule');
    const found = await failure({ repoURL: repository.path, directory: { recurse: true } }, hostile);
    expect(found).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it('as the download of an LFS server', async () => {
    const repository = new TestRepository(root, {
      'a.yaml': `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 4\n`,
    });
    const download = { href: denied('/object') };
    const body = JSON.stringify({ objects: [{ oid: 'a'.repeat(64), size: 4, actions: { download } }] });
    const server = createServer((request, response) => {
      if (request.url?.includes('/info/lfs/') === true) response.end(body);
      else serveGit(root, request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${repository.path.slice(root.length)}`;
    try {
      // The server accepts the repository with and without the suffix.
      expect(await failure({ repoURL: url }, hostile, { ...bareRepository(url), lfs: true })).toContain(rule);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    expect(inside.asked).toEqual([]);
  });

  it.each<[string, (key: string) => Partial<Repository>]>([
    [
      'the API of a GitHub App',
      (key) => ({
        githubApp: { id: '1', installationId: '2', baseUrl: denied('/api'), privateKey: new SecretValue(key) },
      }),
    ],
    [
      'the token service of a Google account',
      (key) => ({
        googleKey: new SecretValue(
          JSON.stringify({ client_email: 'a@b', private_key: key, token_uri: denied('/token') }),
        ),
      }),
    ],
    [
      'the authority of an Azure principal',
      () => ({ azure: { tenantId: 't', clientId: 'c', secret: new SecretValue('s'), authority: denied('/azure') } }),
    ],
  ])('%s', async (_what, login) => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const repoURL = `${outside.url}/x.git`;
    const repository = { ...bareRepository(repoURL), ...login(key.toString()) };
    expect(await failure({ repoURL }, hostile, repository)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });
});

describeWithTool('kustomize', 'a denied address in an overlay is refused without a request', () => {
  const rule = '127.0.0.2 lies in a network that the configuration keeps sources out of';

  it('as a remote base', async () => {
    const repository = new TestRepository(root, {
      'kustomization.yaml': `resources: ["${denied('/base.git')}//app?ref=main"]\n`,
    });
    expect(await failure({ repoURL: repository.path }, hostile)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });
});

describeWithTool('helm', 'a denied address in a chart is refused without a request', () => {
  const rule = '127.0.0.2 lies in a network that the configuration keeps sources out of';
  const files = {
    'app/Chart.yaml': 'apiVersion: v2\nname: app\nversion: 1.0.0\n',
    'app/templates/cm.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
  };
  const redirecting = (): string => {
    outside.pages.set('/values.yaml', { status: 302, headers: { location: denied('/values.yaml') } });
    return `${outside.url}/values.yaml`;
  };

  it.each<[string, () => Partial<ApplicationSource>]>([
    ['values by URL', () => ({ helm: { valueFiles: [denied('/values.yaml')] } })],
    ['values by a URL that redirects', () => ({ helm: { valueFiles: [redirecting()] } })],
    ['a file parameter by URL', () => ({ helm: { fileParameters: [{ name: 'a', path: denied('/file') }] } })],
  ])('%s', async (_what, source) => {
    const repository = new TestRepository(root, files);
    const text = await failure({ repoURL: repository.path, path: 'app', ...source() }, hostile);
    expect(text).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it.each(['the index', 'a chart in the index', 'a redirect of a chart'])('as %s of a dependency', async (what) => {
    const url = what === 'a chart in the index' ? denied('/web.tgz') : 'web.tgz';
    const index = `apiVersion: v1\nentries: {web: [{name: web, version: 1.0.0, urls: ["${url}"]}]}`;
    const redirect = (path: string) => ({ status: 302, headers: { location: denied(path) } });
    outside.pages.set('/index.yaml', what === 'the index' ? redirect('/index.yaml') : { body: index });
    outside.pages.set('/web.tgz', redirect('/web.tgz'));
    const dependencies = `dependencies: [{name: web, version: 1.0.0, repository: "${outside.url}"}]\n`;
    const repository = new TestRepository(root, {
      ...files,
      'app/Chart.yaml': `${files['app/Chart.yaml']}${dependencies}`,
    });
    expect(await failure({ repoURL: repository.path, path: 'app' }, hostile)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });

  it('as a dependency', async () => {
    const dependencies = `dependencies: [{name: web, version: 1.0.0, repository: "${denied('')}"}]\n`;
    const repository = new TestRepository(root, {
      ...files,
      'app/Chart.yaml': `${files['app/Chart.yaml']}${dependencies}`,
    });
    expect(await failure({ repoURL: repository.path, path: 'app' }, hostile)).toContain(rule);
    expect(inside.asked).toEqual([]);
  });
});

describe('a proxy on loopback is permitted, as administrators configure it', () => {
  const find = (): Promise<readonly string[]> => Promise.reject(new Error('ENOTFOUND'));

  async function proxy(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
    const server = createServer((request, response) => {
      // A request to a proxy contains the full URL.
      const { pathname, search } = new URL(request.url ?? '');
      request.url = `${pathname}${search}`;
      serveGit(root, request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  it.each(['of the repository', 'of the process'])(
    'for git: that %s, also for names that only the proxy resolves',
    async (whose) => {
      const { url, close } = await proxy();
      const content = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
      const path = new TestRepository(root, { 'a.yaml': content }).path.slice(root.length);
      const repoURL = `http://only-the-proxy-knows.example${path}`;
      const isOwn = whose === 'of the repository';
      const surroundings = { PATH: env['PATH'], ...(isOwn ? {} : { http_proxy: url }) };
      const commands = createInProcessRunner({ clock: systemClock, env: surroundings });
      const repository = { ...bareRepository(repoURL), ...(isOwn ? { proxy: url } : {}) };
      try {
        expect(await failure({ repoURL }, { commands, reach: { find } }, repository)).toBe('no error');
        // A proxy is no way to a denied address, as far as it is known here.
        const local = { ...repository, url: `http://127.0.0.1${path}` };
        expect(await failure({ repoURL: local.url }, { commands, reach: { find } }, local)).toContain('is a loopback');
      } finally {
        await close();
      }
    },
  );

  it('for an archive', async () => {
    outside.pages.set('http://only-the-proxy-knows.example/app.tgz', { status: 410 });
    const repoURL = 'http://only-the-proxy-knows.example/app.tgz';
    const proxies = { http: outside.url };
    expect(await failure({ repoURL }, { proxies, reach: { find } })).toContain('410 Gone');
  });

  it.each([
    ['git over http', 'http://git.example/x.git', 'http://169.254.169.254'],
    ['git over http by SOCKS', 'http://git.example/x.git', 'socks5://169.254.169.254'],
    ['git over ssh', 'ssh://git@git.example/x.git', 'socks5://169.254.169.254:1080'],
    ['an archive', 'http://files.example/app.tgz', 'http://169.254.169.254'],
  ])('but not a metadata address for %s', async (_what, repoURL, proxy) => {
    const ran: (readonly string[])[] = [];
    const commands: CommandRunner = {
      runCommand: (argv) => {
        ran.push(argv);
        return Promise.resolve({ exitCode: 0, stdout: new Uint8Array(), stderr: '' });
      },
    };
    const text = await failure({ repoURL }, { commands, reach: { find } }, { ...bareRepository(repoURL), proxy });
    expect(text).toContain('169.254.169.254 is a link-local or metadata address');
    expect(ran.filter((argv) => argv.includes('ls-remote'))).toEqual([]);
  });

  it('for ssh, which sends it the host name instead of an address', async () => {
    const seen: string[] = [];
    const commands: CommandRunner = {
      runCommand: (_argv, options) => {
        seen.push(options.env?.['GIT_SSH_COMMAND'] ?? '');
        return Promise.resolve({ exitCode: 0, stdout: new Uint8Array(), stderr: '' });
      },
    };
    const bare = bareRepository('ssh://git@git.example/x.git');
    const reach = { find: () => Promise.resolve(['203.0.113.7']) };
    for (const proxy of ['', 'socks5://127.0.0.1:1080'])
      await failure({ repoURL: bare.url }, { commands, reach }, { ...bare, proxy });
    const [direct, proxied] = seen.filter((command) => command !== '');
    expect(direct).toContain("'HostName=203.0.113.7' '-o' 'HostKeyAlias=git.example'");
    expect(proxied).toContain('ssh-proxy-main.js');
    expect(proxied).not.toContain('HostName=');
  });
});

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { createInProcessRunner } from '../../command/in-process.ts';
import type { CommandRunner } from '../../command/types.ts';
import { defaultLimits } from '../../limits.ts';
import { programsFrom } from '../../render/environment.ts';
import { createInProcessRenderer } from '../../render/in-process.ts';
import { parserCommand } from '../../render/parser.ts';
import { chartArchive, tgz } from '../../testing/archive.ts';
import { failureOf } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { ArchiveCache, digestOf } from '../files/archive-cache.ts';
import { Unpacker } from '../files/unpacker.ts';
import { ParseProcess } from '../../command/parse-process.ts';
import { ChartIndexReader, versionsIn } from './chart-index.ts';
import { ChartRepositories } from './chart-repositories.ts';
import type { ChartLocation } from './chart-repositories.ts';
import { WebClient } from '../network/web-client.ts';

const servers: WebServer[] = [];
let root = '';
let server: WebServer;
const clock = new FakeClock();
const none = new AbortController().signal;
const charts = (
  over: Partial<typeof defaultLimits> = {},
  parser?: ParseProcess,
  userAgent?: string,
): ChartRepositories => {
  const limits = { ...defaultLimits, ...over };
  return new ChartRepositories({
    clock,
    limits,
    cacheDir: root,
    userAgent,
    indexes: new ChartIndexReader(parser),
    web: new WebClient({ clock: systemClock, tlsCertificates: join(root, 'tls'), proxies: {} }),
    archives: new ArchiveCache({
      clock,
      cacheDir: root,
      random: systemRandom,
      limits,
      unpacker: new Unpacker({ clock, limits }),
    }),
  });
};
const at = (over: Partial<Repository> = {}, passCredentials = false): ChartLocation => ({
  repository: { ...bareRepository(server.url), type: 'helm', ...over },
  chart: 'web',
  passCredentials,
});

async function start(): Promise<WebServer> {
  const started = await startWebServer();
  servers.push(started);
  return started;
}

/** An index of charts, each with its own URL. */
function publish(
  on: WebServer,
  versions: readonly string[],
  urlOf = (version: string): string => `web-${version}.tgz`,
): void {
  const lines = versions.map((version) => {
    const packed = chartArchive('web', version);
    on.pages.set(`/web-${version}.tgz`, { body: packed });
    return `  - version: ${version}\n    urls: ["${urlOf(version)}"]\n    digest: ${digestOf(packed)}\n`;
  });
  const other = '  other:\n  - version: 9.9.9\n    description: |\n      web:\n      - version: 7.7.7\n    urls: [x]\n';
  on.pages.set('/index.yaml', {
    headers: { etag: '"1"' },
    body: `apiVersion: v1\nentries:\n${other}  web:\n${lines.join('')}  zoo: []\n`,
  });
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'charts-'));
  server = await start();
  publish(server, ['1.2.0', '1.10.1', '1.3.0-rc.1', '2.0.0']);
});
afterEach(async () => {
  for (const one of servers.splice(0)) await one.close();
  rmSync(root, { recursive: true, force: true });
});

describe('the index of a chart repository', () => {
  const entry = '- {version: 1.0.0, urls: [a.tgz], digest: "sha256:ABC"}';
  it.each([
    ['a list under the name', `entries:\n  web:\n  ${entry}\n`],
    ['a list that is indented', `apiVersion: v1\nentries: # all\n\n    web:\n      ${entry}\n    zoo: []\n`],
    ['a quoted name', `entries:\n  "web":\n  ${entry}\ngenerated: x\n`],
    ['Windows line ends', `entries:\r\n  web:\r\n  ${entry}\r\n`],
    ['JSON', '{"entries":{"web":[{"version":"1.0.0","urls":["a.tgz"],"digest":"abc"}]}}'],
    ['an alias of elsewhere', `x: &u [a.tgz]\nentries:\n  web:\n  - {version: 1.0.0, urls: *u, digest: abc}\n`],
    ['a flow map', `entries: {web: [{version: 1.0.0, urls: [a.tgz], digest: abc}]}`],
    ['a blank line and a comment in the list', `entries:\n  web:\n\n  # c\n  ${entry}\n  zoo: []\n`],
  ])('is understood with %s', (_name, text) => {
    expect(versionsIn(text, 'web')).toEqual([{ version: '1.0.0', urls: ['a.tgz'], digest: 'abc' }]);
  });

  it("parses only the chart's own part of a big index", () => {
    const broken = `entries:\n  aaa:\n  - {version: [\n  web:\n  ${entry}\n`;
    expect(versionsIn(broken, 'web')).toHaveLength(1);
    expect(() => versionsIn(broken, 'aaa')).toThrow(/cannot be read/);
    expect(() => versionsIn('entries:\n  web: []\n', 'gone')).toThrow("chart 'gone' not found in index");
    expect(() => versionsIn('<html>', 'web')).toThrow(/it has no entries/);
  });
});

describe('Helm chart repositories', () => {
  it.each([
    ['1.2.0', '1.2.0'],
    ['v9.9.9', 'v9.9.9'],
    ['1.2', '1.2'],
    ['1.x', '1.10.1'],
    ['*', '2.0.0'],
    ['~1.2', '1.2.0'],
    ['>=1.3.0-0 <1.4', '1.3.0-rc.1'],
    ['^1.0 || ^3.0', '1.10.1'],
  ])('resolves %s to %s', async (revision, version) => {
    expect(await charts().resolve(at(), revision, false, none)).toBe(version);
  });

  it('resolves a version without a request; a constraint without a match is an error', async () => {
    await charts().resolve(at(), '7.7.7', false, none);
    expect(server.asked).toEqual([]);
    const fault = async (revision: string): Promise<string> =>
      (await failureOf(charts().resolve(at(), revision, false, none))).message;
    expect(await fault('>=3')).toBe('invalid revision: version matching constraint not found in 4 tags');
    expect(await fault('latest!')).toMatch(/^invalid revision: failed to determine semver constraint: /);
    server.pages.clear();
    expect(await fault('*')).toBe('failed to get index: 404 Not Found');
  });

  it('fetches the index once per TTL and revalidates it with its ETag', async () => {
    const source = charts();
    await Promise.all([source.resolve(at(), '*', false, none), source.resolve(at(), '1.x', false, none)]);
    await source.resolve(at(), '*', false, none);
    expect(server.asked).toHaveLength(1);
    await clock.advance(defaultLimits.refsTtlMs);
    const page = server.pages.get('/index.yaml');
    server.pages.set('/index.yaml', ({ headers }) =>
      headers['if-none-match'] === '"1"' ? { status: 304 } : (page as object),
    );
    expect(await source.resolve(at(), '*', false, none)).toBe('2.0.0');
    await source.resolve(at(), '*', false, none);
    expect(server.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"']);
    await source.resolve(at(), '*', true, none);
    expect(server.asked).toHaveLength(3);
  });

  it('does not answer a request for the current index with a listing that began before', async () => {
    const source = charts();
    const old = server.pages.get('/index.yaml') as object;
    let current: Promise<string> | undefined;
    server.pages.set('/index.yaml', () => {
      if (current !== undefined) return server.pages.get('/new') as object;
      current = source.resolve(at(), '*', true, none);
      return old;
    });
    const fresh = await start();
    publish(fresh, ['3.0.0']);
    server.pages.set('/new', { ...(fresh.pages.get('/index.yaml') as object), headers: { etag: '"2"' } });
    expect(await source.resolve(at(), '*', false, none)).toBe('2.0.0');
    expect(await current).toBe('3.0.0');
  });

  it('downloads a chart once, also across restarts, and again on a hard refresh', async () => {
    const source = charts();
    const first = await source.snapshot(at(), '1.2.0', false, none);
    expect(first.revision).toBe('1.2.0');
    expect(first.tree.lookup(['templates', 'cm.yaml']).kind).toBe('found');
    await source.snapshot(at(), '1.2.0', false, none);
    const downloads = (): number => server.asked.filter(({ path }) => path.endsWith('.tgz')).length;
    expect(downloads()).toBe(1);
    const restarted = await charts().snapshot(at(), '1.2.0', false, none);
    expect([downloads(), restarted.key]).toEqual([1, first.key]);
    await source.snapshot(at(), '1.2.0', true, none);
    expect(downloads()).toBe(2);
    // With other credentials, neither the cached index nor the chart is used.
    await source.snapshot(at({ username: 'other', password: new SecretValue('x') }), '1.2.0', false, none);
    expect(downloads()).toBe(3);
  });

  // T-REV-3
  it('does not use a cached chart that was modified, and bounds the disk', async () => {
    await charts().snapshot(at(), '1.2.0', false, none);
    const folder = join(root, 'archives');
    const [owner = ''] = readdirSync(folder);
    const [file = ''] = readdirSync(join(folder, owner));
    writeFileSync(join(folder, owner, file), chartArchive('web', '6.6.6'));
    const again = await charts().snapshot(at(), '1.2.0', false, none);
    const found = again.tree.lookup(['Chart.yaml']);
    const node = found.kind === 'found' && found.node.kind === 'file' ? [found.node] : [];
    expect(Buffer.concat([...(await again.read(node, none)).values()]).toString()).toContain('version: 1.2.0');
    const small = charts({ archiveDiskBytes: readFileSync(join(folder, owner, file)).length + 10 });
    await small.snapshot(at(), '2.0.0', false, none);
    expect(readdirSync(join(folder, owner))).toHaveLength(1);
  });

  it("refuses a chart with a wrong digest and an archive without the chart's folder", async () => {
    server.pages.set('/web-1.2.0.tgz', { body: chartArchive('web', '6.6.6') });
    expect((await failureOf(charts().snapshot(at(), '1.2.0', false, none))).message).toMatch(
      /does not have the digest/,
    );
    server.pages.set('/index.yaml', { body: 'entries:\n  web:\n  - {version: 1.0.0, urls: [a.tgz]}\n' });
    server.pages.set('/a.tgz', { body: tgz({ 'README.md': 'x' }) });
    expect((await failureOf(charts().snapshot(at(), '1.0.0', false, none))).message).toMatch(/has no folder "web"/);
    server.pages.set('/a.tgz', { status: 403 });
    expect((await failureOf(charts().snapshot(at(), '1.0.0', false, none))).message).toBe(
      'failed to download version 1.0.0 of the chart web: 403 Forbidden',
    );
  });

  it('resolves "1.2" to the highest 1.2.x as helm does, and names a missing version', async () => {
    publish(server, ['1.2.0', '1.2.9', '1.3.0']);
    const made = await charts().snapshot(at(), '1.2', false, none);
    expect(server.asked.at(-1)?.path).toBe('/web-1.2.9.tgz');
    expect(made.revision).toBe('1.2');
    expect((await failureOf(charts().snapshot(at(), '5.0.0', false, none))).message).toBe(
      'chart "web" version "5.0.0" not found in the index of the repository',
    );
  });

  it('requests the index as the configured user agent', async () => {
    await charts().resolve(at(), '*', false, none);
    await charts({}, undefined, 'company/1').resolve(at(), '*', false, none);
    expect(server.asked.map(({ headers }) => headers['user-agent'])).toEqual(['driftless', 'company/1']);
  });

  it('bounds the unpacked size of a chart on its own', async () => {
    const { message } = await failureOf(charts({ maxChartBytes: 700 }).snapshot(at(), '1.2.0', false, none));
    expect(message).toBe('the archive unpacks to more than 700 bytes');
    const small = charts({ maxArtifactBytes: 700, maxCheckoutBytes: 700 });
    expect((await small.snapshot(at(), '1.2.0', false, none)).revision).toBe('1.2.0');
    const again = charts({ maxChartBytes: 700 });
    expect((await failureOf(again.snapshot(at(), '1.2.0', false, none))).message).toContain('more than 700 bytes');
  });

  it('refuses indexes and archives beyond their limits', async () => {
    expect((await failureOf(charts({ maxIndexBytes: 50 }).resolve(at(), '*', false, none))).message).toMatch(
      /index\.yaml has more than 50 bytes/,
    );
    expect((await failureOf(charts({ maxArchiveBytes: 50 }).snapshot(at(), '1.2.0', false, none))).message).toMatch(
      /web-1\.2\.0\.tgz has more than 50 bytes/,
    );
  });

  it('reads a big index in another process, once for concurrent callers, with a deadline', async () => {
    const commands = createInProcessRunner({ clock: systemClock, env: {} });
    const ran: string[] = [];
    const counting: CommandRunner = {
      runCommand: (argv, options) => {
        ran.push(argv.at(-1) ?? '');
        return commands.runCommand(argv, options);
      },
    };
    const program = resolve('dist/desired/parse-main.js');
    const programs = programsFrom(() => undefined, parserCommand(program));
    const staging = join(root, 'staging');
    const renderer = createInProcessRenderer({ commands: counting, programs, folder: staging, random: systemRandom });
    const readerOf = (over: Partial<typeof defaultLimits>): ParseProcess =>
      new ParseProcess({ renderer, clock: systemClock, limits: { ...defaultLimits, ...over } });
    const many = Array.from({ length: 5000 }, (_, i) => `  - {version: 3.${i}.0, urls: [web.tgz]}\n`).join('');
    const publishBig = (etag: string, more = ''): void => {
      const body = `apiVersion: v1\nentries:\n  web:\n${many}${more}  zoo: []\n`;
      server.pages.set('/index.yaml', { headers: { etag }, body });
    };
    publishBig('"2"');
    const repository = charts({}, readerOf({}));
    const asked = ['3.x', '*', '>3.10'].map((revision) => repository.resolve(at(), revision, false, none));
    expect(await Promise.all(asked)).toEqual(['3.4999.0', '3.4999.0', '3.4999.0']);
    expect(await repository.resolve(at(), '3.1.x', false, none)).toBe('3.1.0');
    expect(ran).toEqual([program]);
    publishBig('"3"', '  - {version: 4.0.0, urls: [web.tgz]}\n');
    expect(await repository.resolve(at(), '*', true, none)).toBe('4.0.0');
    expect(ran).toHaveLength(2);
    const gone = await failureOf(repository.resolve({ ...at(), chart: 'gone' }, '*', false, none));
    expect(gone.message).toBe("chart 'gone' not found in index");
    const hurried = await failureOf(charts({}, readerOf({ parseTimeoutMs: 1 })).resolve(at(), '*', false, none));
    expect(hurried.message).toBe(
      'the index of the chart repository cannot be read: reading it takes longer than 0.001 s',
    );
  });

  it.each(['../x', 'a/../b', '-x', 'a b', '', 'a?b', 'a/-b'])('refuses the chart name %j', async (chart) => {
    expect((await failureOf(charts().resolve({ ...at(), chart }, '1.0.0', false, none))).message).toMatch(/refused/);
  });
});

describe('credentials of a chart repository', () => {
  const login = { username: 'me', password: new SecretValue('hunter2') };
  const header = `Basic ${Buffer.from('me:hunter2').toString('base64')}`;
  const authorizationsAt = (on: WebServer): (string | undefined)[] =>
    on.asked.map(({ headers }) => headers.authorization);

  it('are sent to the repository and to no other server, neither through its index nor a redirect', async () => {
    const other = await start();
    publish(other, ['1.2.0']);
    publish(server, ['1.2.0'], (version) => `${other.url}/web-${version}.tgz`);
    await charts().snapshot(at(login), '1.2.0', false, none);
    expect([authorizationsAt(server), authorizationsAt(other)]).toEqual([[header], [undefined]]);
    publish(server, ['2.0.0']);
    other.pages.set('/moved.tgz', { body: chartArchive('web', '2.0.0') });
    server.pages.set('/web-2.0.0.tgz', { status: 302, headers: { location: `${other.url}/moved.tgz` } });
    await charts().snapshot(at(login), '2.0.0', true, none);
    expect(authorizationsAt(other)).toEqual([undefined, undefined]);
    expect(authorizationsAt(server)).toEqual([header, header, header]);
  });

  it('are not sent again after a redirect leads back to the repository', async () => {
    const other = await start();
    server.pages.set('/web-2.0.0.tgz', { status: 302, headers: { location: `${other.url}/back` } });
    other.pages.set('/back', { status: 302, headers: { location: `${server.url}/web-1.2.0.tgz` } });
    await failureOf(charts().snapshot(at(login), '2.0.0', false, none));
    expect(authorizationsAt(server)).toEqual([header, header, undefined]);
  });

  it('are sent to servers in the index with passCredentials, but not after a redirect', async () => {
    const [second, third] = [await start(), await start()];
    publish(server, ['1.2.0'], (version) => `${second.url}/web-${version}.tgz`);
    second.pages.set('/web-1.2.0.tgz', { status: 307, headers: { location: `${third.url}/c.tgz` } });
    third.pages.set('/c.tgz', { body: chartArchive('web', '1.2.0') });
    await charts().snapshot(at(login, true), '1.2.0', false, none);
    expect([authorizationsAt(server), authorizationsAt(second), authorizationsAt(third)]).toEqual([
      [header],
      [header],
      [undefined],
    ]);
  });

  it.each(['//HOST/web.tgz', 'http://HOST/web.tgz'])(
    'in the query of its URL do not go to another host that the index names as %s',
    async (path) => {
      const other = await start();
      other.pages.set('/web.tgz', { body: chartArchive('web', '1.2.0') });
      const url = JSON.stringify(path.replace('HOST', new URL(other.url).host));
      const index = `apiVersion: v1\nentries:\n  web:\n  - version: 1.2.0\n    urls: [${url}]\n`;
      server.pages.set('/index.yaml?signature=hunter2', { body: index });
      const repository = at({ ...login, url: `${server.url}?signature=hunter2` });
      await charts().snapshot(repository, '1.2.0', false, none);
      expect(other.asked.map(({ path: asked, headers }) => [asked, headers.authorization])).toEqual([
        ['/web.tgz', undefined],
      ]);
    },
  );

  it.each(['\\\\HOST/web.tgz', '/\\HOST/web.tgz', 'http:\\\\HOST/web.tgz', 'http://HOST/\tweb.tgz'])(
    'is refused for an archive that the index names as %j',
    async (path) => {
      const other = await start();
      const url = JSON.stringify(path.replace('HOST', new URL(other.url).host));
      server.pages.set('/index.yaml', {
        body: `apiVersion: v1\nentries:\n  web:\n  - version: 1.2.0\n    urls: [${url}]\n`,
      });
      const refused = await failureOf(charts().snapshot(at({ url: server.url }), '1.2.0', false, none));
      expect(refused.message).toContain('has an address with a backslash or control characters');
      expect(other.asked).toEqual([]);
    },
  );

  it('may be part of the URL and appear in no message', async () => {
    const url = server.url.replace('http://', 'http://me:hunter2@');
    expect(await charts().resolve(at({ url }), '*', false, none)).toBe('2.0.0');
    expect(authorizationsAt(server)).toEqual([header]);
    server.pages.clear();
    const refused = await failureOf(charts().resolve(at({ url }), '*', false, none));
    expect(refused.message).not.toContain('hunter2');
    await server.close();
    const gone = await failureOf(charts().resolve(at({ url }), '*', false, none));
    expect(gone.message).toMatch(/^cannot reach http:\/\/127\.0\.0\.1:\d+\/index\.yaml: /);
  });

  it("uses the repository's proxy except for hosts in noProxy", async () => {
    const proxy = await start();
    publish(proxy, ['4.0.0']);
    const index = proxy.pages.get('/index.yaml') ?? {};
    proxy.pages.set('http://charts.invalid/index.yaml', index);
    const behind = at({ url: 'http://charts.invalid', proxy: proxy.url });
    const answer = await charts()
      .resolve(behind, '*', false, none)
      .catch((error: unknown) => (error as Error).message);
    expect([answer, proxy.asked.length]).toEqual(['4.0.0', 1]);
    expect(await charts().resolve(at({ proxy: proxy.url, noProxy: '127.0.0.1' }), '*', false, none)).toBe('2.0.0');
    expect(proxy.asked).toHaveLength(1);
    expect((await failureOf(charts().resolve(at({ proxy: 'ftp://x' }), '*', false, none))).message).toMatch(/proxy/);
  });

  it('refuses schemes other than http and https', async () => {
    mkdirSync(join(root, 'files'));
    const fault = async (url: string): Promise<string> =>
      (await failureOf(charts().resolve(at({ url }), '*', false, none))).message;
    expect(await fault(`file://${root}/files`)).toMatch(/refused/);
    expect(await fault('ssh://git@x.example.com/y')).toMatch(/refused/);
    server.pages.set('/index.yaml', { status: 302, headers: { location: 'file:///etc/passwd' } });
    expect(await fault(server.url)).toMatch(/the scheme file:\/\/ is not allowed/);
  });
});

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Repository } from '#model';
import { SocksProxy } from '#support';
import { chartArchive } from '../../testing/archive.ts';
import { serveChart } from '../../testing/chart-repository.ts';
import { selfSigned } from '../../testing/identity.ts';
import { chartArtifact, startRegistry } from '../../testing/registry.ts';
import { failureOf, machineTools, renderBench } from '../../testing/repository.ts';
import type { RenderBench, TestRepository } from '../../testing/repository.ts';
import { currentRevision } from '../../testing/request.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { describeWithTool } from '../../testing/with-tool.ts';
import type { ManifestsRequest } from '../../types.ts';

const library = (name: string): Readonly<Record<string, string>> => ({
  [`${name}/Chart.yaml`]: `apiVersion: v2\nname: ${name}\nversion: 1.2.3\n`,
  [`${name}/templates/cm.yaml`]: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "${name}"}\n`,
});

let bench: RenderBench;
let server: WebServer;
beforeEach(async () => {
  bench = renderBench();
  server = await startWebServer();
});
afterEach(async () => {
  bench.close();
  await server.close();
});

const serve = (...versions: readonly string[]): void => serveChart(server, versions);

async function rendered(repository: TestRepository, more: Partial<ManifestsRequest> = {}): Promise<readonly unknown[]> {
  const { objects } = await bench.render(repository, { path: 'app' }, { cache: currentRevision, ...more });
  return objects.map((object) => object['data'] ?? object.metadata.name);
}

describeWithTool('helm', 'chart dependencies', () => {
  it('follow the lock file that helm wrote; a stale lock is refused with helm’s message', async () => {
    serve('1.0.0', '1.4.0');
    const chart = `apiVersion: v2
name: app
version: 1.0.0
dependencies:
  - {name: lib, version: 1.x, repository: "file://../lib", condition: lib.on, tags: [a, b], alias: one}
  - {name: lib, version: ~1.2, repository: "file://../lib", import-values: [data, {parent: p<q, child: c}]}
`;
    const repository = bench.repository({ ...library('lib'), 'app/Chart.yaml': chart });
    const env = { HOME: bench.root };
    execFileSync(machineTools('helm') ?? '', ['dependency', 'update', join(repository.path, 'app')], {
      env,
      stdio: 'pipe',
    });
    repository.git('rm', '-r', '--quiet', '--cached', '--ignore-unmatch', 'app/charts');
    const lock = readFileSync(join(repository.path, 'app', 'Chart.lock'), 'utf8');
    const clean = bench.repository({ ...library('lib'), 'app/Chart.yaml': chart, 'app/Chart.lock': lock });
    expect(await rendered(clean)).toEqual(['lib', 'lib']);
    clean.commit({ 'app/Chart.yaml': chart.replace('~1.2', '~1.1') });
    expect((await failureOf(rendered(clean))).message).toBe(
      "the dependencies of the chart cannot be built: the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update the dependencies with 'helm dependency update'",
    );
  });

  it('are the highest versions that the constraints allow, without a lock', async () => {
    serve('1.0.0', '1.4.0', '2.0.0', '1.9.0-rc.1');
    const dependency = (version: string): string =>
      `apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: web, version: "${version}", repository: "${server.url}"}]\n`;
    const repository = bench.repository({ 'app/Chart.yaml': dependency('^1.0') });
    expect(await rendered(repository)).toMatchObject([{ version: '1.4.0' }]);
    repository.commit({ 'app/Chart.yaml': dependency('>=1.5 <2 || 3') });
    expect((await failureOf(rendered(repository))).message).toMatch(/^the dependencies of the chart cannot be built: /);
    repository.commit({ 'app/Chart.yaml': dependency('') });
    expect((await failureOf(rendered(repository))).message).toContain(
      'dependency "web" has an invalid version/constraint format: improper constraint: ',
    );
  });

  it('come from requirements.yaml, by repository name, and replace outdated archives', async () => {
    serve('1.0.0');
    const repository = bench.repository({
      'app/Chart.yaml': 'name: app\nversion: 1.0.0\n',
      'app/requirements.yaml': 'Dependencies: [{Name: web, version: 1.0.0, repository: "@ours"}]\n',
      'app/charts/_notes': 'x',
    });
    writeFileSync(join(repository.path, 'app', 'charts', 'old-0.9.0.tgz'), chartArchive('old', '0.9.0'));
    repository.save();
    const ours: Repository = { url: server.url, type: 'helm', name: 'ours', insecure: false, inheritedCreds: false };
    const repositories = { repositories: [ours], credentials: [] };
    expect(await rendered(repository, { repositories })).toMatchObject([{ version: '1.0.0' }]);
  });

  it('respect their .helmignore, and follow links inside the repository', async () => {
    const repository = bench.repository({
      ...library('lib'),
      'lib/.helmignore': 'templates/no.yaml\n',
      'lib/templates/no.yaml': '{{ fail "not ignored" }}',
      'shared/cm.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: linked}\n',
      'app/Chart.yaml':
        'apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: lib, version: 1.x, repository: "file://../lib"}]\n',
    });
    repository.link('lib/templates/linked.yaml', '../../shared/cm.yaml');
    expect(await rendered(repository)).toEqual(['lib', 'linked']);
  });

  it('come from a registry', async () => {
    const registry = await startRegistry();
    try {
      registry.push('charts/web', ['1.0.0', '1.3.0'], chartArtifact(chartArchive('web', '1.3.0')));
      const repository = bench.repository({
        'app/Chart.yaml': `apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: web, version: 1.x, repository: "oci://${registry.host}/charts"}]\n`,
      });
      const ours: Repository = {
        url: `${registry.host}/charts`,
        type: 'helm',
        enableOci: true,
        ociForceHttp: true,
        insecure: false,
        inheritedCreds: false,
      };
      const repositories = { repositories: [ours], credentials: [] };
      expect(await rendered(repository, { repositories })).toMatchObject([{ version: '1.3.0' }]);
    } finally {
      await registry.server.close();
    }
  });

  it('are refused if a redirect leads into a denied network', async () => {
    bench.close();
    bench = renderBench({ limits: { deniedNetworks: ['127.0.0.2'] } });
    const location = server.url.replace('127.0.0.1', '127.0.0.2');
    server.pages.set('/index.yaml', { status: 302, headers: { location: `${location}/index.yaml` } });
    const repository = bench.repository({
      'app/Chart.yaml': `apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: web, version: 1.x, repository: "${server.url}"}]\n`,
    });
    expect((await failureOf(rendered(repository))).message).toMatch(/127\.0\.0\.2 .*keeps sources out of/);
  });
});

/** A chart with one dependency in the repository at `url`. */
const dependentOn = (url: string): Readonly<Record<string, string>> => ({
  'app/Chart.yaml': `apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: web, version: 1.x, repository: "${url}"}]\n`,
});

const chartsAt = (url: string, over: Partial<Repository> = {}): ManifestsRequest['repositories'] => ({
  repositories: [{ url, type: 'helm', insecure: false, inheritedCreds: false, ...over }],
  credentials: [],
});

describeWithTool('helm', 'chart dependencies behind a proxy', () => {
  it('come through the http proxy of their repository, with its login and for no other repository', async () => {
    for (const version of ['1.0.0', '1.4.0'])
      server.pages.set(`http://charts.invalid/web-${version}.tgz`, { body: chartArchive('web', version) });
    serve('1.0.0', '1.4.0');
    server.pages.set('http://charts.invalid/index.yaml', server.pages.get('/index.yaml') ?? {});
    const repository = bench.repository(dependentOn('http://charts.invalid'));
    const proxy = server.url.replace('//', '//me:secret@');
    const found = await rendered(repository, { repositories: chartsAt('http://charts.invalid', { proxy }) });
    expect(found).toMatchObject([{ version: '1.4.0' }]);
    const login = `Basic ${Buffer.from('me:secret').toString('base64')}`;
    expect(server.asked.map(({ path, headers }) => [path, headers['proxy-authorization']])).toEqual([
      ['http://charts.invalid/index.yaml', login],
      ['http://charts.invalid/web-1.4.0.tgz', login],
    ]);
    repository.commit(dependentOn('http://other.invalid'));
    const failure = await failureOf(
      rendered(repository, { repositories: chartsAt('http://charts.invalid', { proxy }) }),
    );
    expect(failure.message).toMatch(/^the dependencies of the chart cannot be built: .*other\.invalid/);
    expect(failure.message).not.toContain('secret');
    expect(server.asked).toHaveLength(2);
  });

  it('come through a SOCKS proxy, which gets the name of their host', async () => {
    serve('1.0.0');
    const proxy = await SocksProxy.start();
    try {
      const url = `http://charts.invalid:${new URL(server.url).port}`;
      const repositories = chartsAt(url, { proxy: `socks5h://127.0.0.1:${proxy.port}` });
      const found = await rendered(bench.repository(dependentOn(url)), { repositories });
      expect(found).toMatchObject([{ version: '1.0.0' }]);
      expect(proxy.asked.every((target) => target.includes('charts.invalid'))).toBe(true);
      expect(proxy.asked).toHaveLength(2);
    } finally {
      await proxy.close();
    }
  });
});

describeWithTool('helm', 'chart dependencies of a server with a certificate of its own authority', () => {
  it('come with its bundle of argocd-tls-certs-cm, and not without it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'authority-'));
    const identity = selfSigned(folder, '127.0.0.1');
    if (identity === undefined) throw new Error('this test needs openssl');
    const secure = await startWebServer({ key: identity.key, cert: identity.cert });
    try {
      serveChart(secure, ['1.0.0']);
      const unknown = await failureOf(rendered(bench.repository(dependentOn(secure.url))));
      expect(unknown.message).toMatch(/^the dependencies of the chart cannot be built: .*self-signed certificate/);
      expect(secure.asked).toEqual([]);
      bench.close();
      bench = renderBench({ trust: { tlsCertificates: folder } });
      writeFileSync(join(folder, '127.0.0.1'), identity.cert);
      expect(await rendered(bench.repository(dependentOn(secure.url)))).toMatchObject([{ version: '1.0.0' }]);
    } finally {
      await secure.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

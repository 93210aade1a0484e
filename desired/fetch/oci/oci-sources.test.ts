import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemRandom } from '#base';
import { bareRepository } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { eventually, FakeClock } from '#support';
import { defaultLimits } from '../../limits.ts';
import type { DesiredLimits } from '../../limits.ts';
import { chartArchive, tgz } from '../../testing/archive.ts';
import { chartArtifact, startRegistry, tarLayer } from '../../testing/registry.ts';
import type { TestRegistry } from '../../testing/registry.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { renderOne, requestOf } from '../../testing/request.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { CachePolicy, SourceManifests } from '../../types.ts';
import { ArchiveCache } from '../files/archive-cache.ts';
import { Unpacker } from '../files/unpacker.ts';
import { ociRepositoryOf } from './oci-client.ts';
import type { OciClient } from './oci-client.ts';
import { OciSources } from './oci-sources.ts';
import { describeWithTool } from '../../testing/with-tool.ts';

const none = new AbortController().signal;
const map = (value: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: "${value}"}\n`;
let bench: RenderBench;
let registry: TestRegistry;

beforeEach(async () => {
  bench = renderBench();
  registry = await startRegistry();
});
afterEach(async () => {
  bench.close();
  await registry.server.close();
});

const at = (name: string, over: Partial<Repository> = {}): Repository => ({
  ...bareRepository(`oci://${registry.host}/${name}`),
  ociForceHttp: true,
  insecure: true,
  ...over,
});
const plain = (value: string, files: Readonly<Record<string, string>> = {}): ReturnType<typeof chartArtifact> => ({
  layers: [{ mediaType: tarLayer, content: tgz({ 'app/cm.yaml': map(value), ...files }) }],
});

function render(
  source: Partial<ApplicationSource>,
  repository: Repository,
  manifests: CachePolicy['manifests'] = 'cached',
): Promise<SourceManifests> {
  const whole = { repoURL: repository.url, path: 'app', ...source };
  return renderOne(bench.desired, requestOf(whole, repository, { cache: { revision: 'current', manifests } }), none);
}
const fault = async (source: Partial<ApplicationSource>, repository: Repository): Promise<string> =>
  (await failureOf(render(source, repository))).message;

describe('registry URLs', () => {
  it.each([
    ['oci://r.example.com/a/b', '', 'https://r.example.com', 'a/b'],
    ['r.example.com:5000/charts', 'web', 'https://r.example.com:5000', 'charts/web'],
    ['oci://docker.io/library/x/', '', 'https://registry-1.docker.io', 'library/x'],
    ['r.example.com', 'web', 'https://r.example.com', 'web'],
  ])('%s with chart %j', (url, chart, origin, name) => {
    expect(ociRepositoryOf(bareRepository(url), chart)).toMatchObject({ origin, name });
  });

  it.each([
    'oci://',
    'oci://host',
    'oci://h/../x',
    'oci://h/a?b',
    'oci://u:p@h/x',
    'oci://-h/x',
    'oci://h/a//b',
    'oci://h/a/%2e%2e',
  ])('refuses %s', (url) => {
    expect(() => ociRepositoryOf(bareRepository(url))).toThrow(/refused/);
  });
});

describe('OCI artifacts', () => {
  it('resolve a tag, a digest and a constraint to a digest, which is the revision', async () => {
    const first = registry.push('team/config', ['1.0.0', 'stable'], plain('1'));
    const second = registry.push('team/config', ['1.2.0', '1.2.1_build'], plain('2'));
    registry.push('team/config', ['2.0.0'], plain('3'));
    const made = await render({ targetRevision: 'stable' }, at('team/config'));
    expect(made).toMatchObject({ revision: first, sourceType: 'Directory', objects: [{ data: { v: '1' } }] });
    expect((await render({ targetRevision: '1.x' }, at('team/config'))).revision).toBe(second);
    expect((await render({ targetRevision: second }, at('team/config'))).objects[0]).toMatchObject({
      data: { v: '2' },
    });
    expect(await fault({ targetRevision: 'gone' }, at('team/config'))).toMatch(
      /^cannot get digest for revision gone: .*team\/config:gone: not found$/,
    );
    expect(await fault({ targetRevision: '>=9' }, at('team/config'))).toMatch(
      /version matching constraint not found in 5 tags/,
    );
  });

  it('are not resolved by a listing of tags that began before the request', async () => {
    const lists: ((tags: readonly string[]) => void)[] = [];
    const tags = (): Promise<readonly string[]> => new Promise((resolve) => lists.push(resolve));
    const clock = new FakeClock();
    const archives = new ArchiveCache({
      clock,
      cacheDir: bench.root,
      random: systemRandom,
      limits: defaultLimits,
      unpacker: new Unpacker({ clock, limits: defaultLimits }),
    });
    const client = { tags } as unknown as OciClient;
    const sources = new OciSources({ clock, client, archives, limits: defaultLimits });
    const chart = { repository: at('charts'), chart: 'web' };
    const first = sources.resolveChart(chart, '1.x', true, none);
    await eventually(() => expect(lists).toHaveLength(1));
    const later = sources.resolveChart(chart, '1.x', true, none);
    const joined = sources.resolveChart(chart, '1.x', false, none);
    lists[0]?.(['1.0.0']);
    expect(await Promise.all([first, joined])).toEqual(['1.0.0', '1.0.0']);
    await eventually(() => expect(lists).toHaveLength(2));
    lists[1]?.(['1.0.0', '1.2.0']);
    expect(await later).toBe('1.2.0');
  });

  it('have layers of the allowed media types only, and a limit of their own', async () => {
    const custom = { layers: [{ mediaType: 'application/x.company.tar', content: tgz({ 'app/cm.yaml': map('1') }) }] };
    registry.push('team/custom', ['1.0.0'], custom);
    const from = at('team/custom');
    expect(await fault({ targetRevision: '1.0.0' }, from)).toContain(
      'oci layer media type application/x.company.tar is not in the list of allowed media types',
    );
    const rendered = async (limits: Partial<DesiredLimits>): Promise<string> => {
      const other = renderBench({ limits });
      const whole = { repoURL: from.url, path: 'app', targetRevision: '1.0.0' };
      const made = await renderOne(other.desired, requestOf(whole, from, {}), none).then(
        ({ objects }) => `${objects.length} objects`,
        (error: unknown) => (error as Error).message,
      );
      other.close();
      return made;
    };
    const ociMediaTypes = ['application/x.company.tar'];
    expect(await rendered({ ociMediaTypes })).toBe('1 objects');
    expect(await rendered({ ociMediaTypes, maxArtifactBytes: 700 })).toContain('unpacks to more than 700 bytes');
    expect(await rendered({ ociMediaTypes, maxChartBytes: 700 })).toBe('1 objects');
  });

  it('list tags as the configured user agent', async () => {
    registry.push('team/config', ['1.0.0'], plain('1'));
    const other = renderBench({ helmUserAgent: 'company/1' });
    const whole = { repoURL: at('team/config').url, path: 'app', targetRevision: '1.x' };
    await renderOne(other.desired, requestOf(whole, at('team/config'), {}), none);
    other.close();
    const agents = registry.server.asked.map(({ path, headers }) => [path.includes('/tags/'), headers['user-agent']]);
    expect(agents).toContainEqual([true, 'company/1']);
    expect(agents).toContainEqual([false, 'driftless']);
    expect(agents).not.toContainEqual([false, 'company/1']);
  });

  it('are downloaded once, and again on a hard refresh', async () => {
    registry.push('c', ['1'], plain('1'));
    const blobs = (): number => registry.server.asked.filter(({ path }) => path.includes('/blobs/')).length;
    await render({ targetRevision: '1' }, at('c'));
    await render({ targetRevision: '1' }, at('c'));
    expect(blobs()).toBe(1);
    await render({ targetRevision: '1' }, at('c'), 'rerender');
    expect(blobs()).toBe(2);
    registry.push('c', ['1'], plain('moved'));
    expect((await render({ targetRevision: '1' }, at('c'))).objects[0]).toMatchObject({ data: { v: 'moved' } });
  });

  it("are fetched with a token of the registry's token service, requested once", async () => {
    registry.push('team/config', ['1.0.0', '1.1.0', '1.2.0'], plain('1'));
    registry.demandToken('me', 'hunter2');
    const login = { username: 'me', password: new SecretValue('hunter2') };
    expect((await render({ targetRevision: '1.x' }, at('team/config', login))).objects).toHaveLength(1);
    const tokens = registry.server.asked.filter(({ path }) => path.startsWith('/token'));
    expect(tokens.map(({ headers }) => headers.authorization)).toEqual([
      `Basic ${Buffer.from('me:hunter2').toString('base64')}`,
    ]);
    // Only the token service gets the password.
    const others = registry.server.asked.filter(({ path }) => !path.startsWith('/token'));
    expect(new Set(others.map(({ headers }) => headers.authorization))).toEqual(new Set([undefined, 'Bearer good']));
    expect(await fault({ targetRevision: '1.x' }, at('team/config'))).toMatch(
      /the token service refuses: 401 Unauthorized$/,
    );
  });

  it('are fetched with user and password if the registry asks for Basic', async () => {
    registry.push('c', ['1'], plain('1'));
    const header = `Basic ${Buffer.from('me:pw').toString('base64')}`;
    for (const [path, page] of registry.server.pages)
      registry.server.pages.set(path, (request) =>
        request.headers.authorization !== header
          ? { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } }
          : typeof page === 'function'
            ? page(request)
            : page,
      );
    expect(
      (await render({ targetRevision: '1' }, at('c', { username: 'me', password: new SecretValue('pw') }))).objects,
    ).toHaveLength(1);
    expect(await fault({ targetRevision: '1' }, at('c'))).toMatch(/401 Unauthorized/);
  });

  it('are fetched without the token after a redirect to another server', async () => {
    const digest = registry.push('c', ['1'], plain('1'));
    registry.demandToken('me', 'pw');
    const storage = await startWebServer();
    for (const [path, page] of [...registry.server.pages].filter(([name]) => name.includes('/blobs/'))) {
      storage.pages.set(path, { body: tgz({ 'app/cm.yaml': map('1') }) });
      registry.server.pages.set(path, (request) =>
        typeof page === 'function' && page(request).status === 401
          ? page(request)
          : { status: 307, headers: { location: `${storage.url}${path}` } },
      );
    }
    const made = await render({ targetRevision: digest }, at('c', { username: 'me', password: new SecretValue('pw') }));
    expect(made.objects).toHaveLength(1);
    expect(storage.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    await storage.close();
  });

  it.each<[string, ReturnType<typeof chartArtifact>, RegExp]>([
    [
      'two content layers',
      { layers: [...plain('1').layers, ...plain('2').layers] },
      /^expected only a single oci content layer, got 2$/,
    ],
    [
      'none',
      { layers: [{ mediaType: 'text/plain', content: Buffer.from('x') }] },
      /^expected only a single oci content layer, got 0$/,
    ],
    [
      'eleven layers',
      { layers: Array.from({ length: 11 }, () => ({ mediaType: 'a/b', content: Buffer.from('x') })) },
      /^expected no more than 10 oci layers, got 11$/,
    ],
    [
      'a type that is not allowed',
      { layers: [{ mediaType: 'application/x.tar', content: tgz({ a: 'b' }) }] },
      /^oci layer media type application\/x\.tar is not in the list of allowed media types$/,
    ],
    [
      'an archive that climbs out',
      { layers: [{ mediaType: tarLayer, content: tgz([{ name: '../x', content: 'y' }]) }] },
      /^illegal filepath in archive/,
    ],
  ])('refuses %s', async (_name, artifact, expected) => {
    registry.push('c', ['1'], artifact);
    expect(await fault({ targetRevision: '1' }, at('c'))).toMatch(expected);
  });

  it('are refused if a manifest or layer has a wrong digest', async () => {
    const digest = registry.push('c', ['1'], plain('1'));
    for (const path of registry.server.pages.keys())
      if (path.includes('/blobs/')) registry.server.pages.set(path, { body: tgz({ 'app/cm.yaml': map('evil') }) });
    expect(await fault({ targetRevision: '1' }, at('c'))).toMatch(
      /returned content that does not have the digest sha256:/,
    );
    registry.server.pages.set(`/v2/c/manifests/${digest}`, { body: '{"layers":[]}' });
    expect(await fault({ targetRevision: digest }, at('c'))).toMatch(
      /returned content that does not have the digest sha256:/,
    );
    registry.server.pages.set('/v2/c/manifests/2', { body: '<html>' });
    expect(await fault({ targetRevision: '2' }, at('c'))).toMatch(/is it a registry\?$/);
  });
});

describeWithTool('helm', 'Helm charts in a registry', () => {
  it('are artifacts with oci://, whatever the chart name', async () => {
    const digest = registry.push('charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.0')));
    const made = await render({ path: '.', chart: 'ignored', targetRevision: '1.*' }, at('charts/web'));
    expect(made).toMatchObject({ revision: digest, sourceType: 'Helm', objects: [{ data: { version: '1.0.0' } }] });
  });

  it('have versions as revisions without a scheme or with enableOCI', async () => {
    registry.push('charts/web', ['1.0.0', '1.1.0_b2'], chartArtifact(chartArchive('web', '1.1.0+b2')));
    for (const [url, enableOci] of [
      [`${registry.host}/charts`, false],
      [`https://${registry.host}/charts`, true],
    ] as const) {
      const repository = at('', { url, type: 'helm', enableOci });
      const source = { repoURL: url, chart: 'web', targetRevision: '^1.0' };
      const made = await render(source, repository);
      expect(made).toMatchObject({
        revision: '1.1.0+b2',
        sourceType: 'Helm',
        objects: [{ data: { version: '1.1.0+b2' } }],
      });
    }
    expect(
      await fault(
        { repoURL: `${registry.host}/charts`, chart: 'web', targetRevision: '7.0.0' },
        at('', { url: `${registry.host}/charts` }),
      ),
    ).toBe(`cannot get digest for revision 7.0.0: ${registry.host}/charts/web:7.0.0: not found`);
  });

  it('are pinned by a digest as well as by a version (argo-cd 24970, 25078)', async () => {
    const first = registry.push('charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.0')));
    const second = registry.push('charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.1')));
    expect(first).not.toBe(second);
    const url = `${registry.host}/charts`;
    const repository = at('', { url, type: 'helm' });
    for (const [digest, version] of [
      [first, '1.0.0'],
      [second, '1.0.1'],
    ] as const)
      expect(await render({ repoURL: url, chart: 'web', targetRevision: digest }, repository)).toMatchObject({
        revision: digest,
        sourceType: 'Helm',
        objects: [{ data: { version } }],
      });
    const missing = `sha256:${'0'.repeat(64)}`;
    const pinned = (targetRevision: string): Promise<string> =>
      fault({ repoURL: url, chart: 'web', targetRevision }, repository);
    expect(await pinned(missing)).toBe(`${registry.host}/charts/web does not have ${missing}`);
    registry.server.pages.set(`/v2/charts/web/manifests/${missing}`, { body: '{"layers":[]}' });
    expect(await pinned(missing)).toBe(
      `${registry.host}/charts/web returned content that does not have the digest ${missing}`,
    );
  });

  it('without a tag `latest` say so in the words of a registry', async () => {
    registry.push('charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.0')));
    expect(await fault({ path: '.', targetRevision: 'latest' }, at('charts/web'))).toBe(
      `cannot get digest for revision latest: ${registry.host}/charts/web:latest: not found`,
    );
  });
});

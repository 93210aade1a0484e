import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import type { KubeObject, Repository } from '#model';
import { chartArchive } from '../../testing/archive.ts';
import { serveChart } from '../../testing/chart-repository.ts';
import { chartArtifact, startRegistry } from '../../testing/registry.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { currentRevision, requestOf } from '../../testing/request.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { describeWithTool } from '../../testing/with-tool.ts';
import type { ManifestsRequest } from '../../types.ts';

const { options } = requestOf({ repoURL: '' }, { url: '', type: 'git', insecure: false, inheritedCreds: false });
const withHelm = { options: { ...options, kustomizeBuildOptions: '--enable-helm' } };

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

const serve = (...versions: readonly string[]): void => serveChart(server, versions, { 'more.yaml': 'b: more\n' });

const overlay = (charts: string, more = ''): Readonly<Record<string, string>> => ({
  'app/kustomization.yaml': `helmCharts: [${charts}]\n${more}`,
});

async function render(
  files: Readonly<Record<string, string>>,
  more: Partial<ManifestsRequest> = {},
): Promise<readonly KubeObject[]> {
  const request = { ...withHelm, cache: currentRevision, ...more };
  return (await bench.render(bench.repository(files), { path: 'app' }, request)).objects;
}

const data = (objects: readonly KubeObject[]): readonly unknown[] => objects.map((object) => object['data']);

describeWithTool('helm', 'a chart that kustomize would pull', () => {
  it('is downloaded and inflated, with values of the overlay, in each form of a chart', async () => {
    serve('1.0.0', '1.4.0');
    const chart = `name: web, repo: "${server.url}", version: 1.0.0, releaseName: r`;
    const files = { 'app/values.yaml': 'b: overlay\n' };
    expect(data(await render({ ...overlay(`{${chart}, additionalValuesFiles: [values.yaml]}`), ...files }))).toEqual([
      { version: '1.0.0', a: 'chart', b: 'overlay' },
    ]);
    const generator = `{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: x}, ${chart}}`;
    expect(data(await render({ 'app/kustomization.yaml': `generators: ['${generator}']\n` }))).toMatchObject([
      { version: '1.0.0' },
    ]);
    const old = `{chartName: web, chartRepoUrl: "${server.url}", chartVersion: 1.4.0, releaseName: r}`;
    expect(data(await render({ 'app/kustomization.yaml': `helmChartInflationGenerator: [${old}]\n` }))).toMatchObject([
      { version: '1.4.0' },
    ]);
  });

  it('has the highest version that its constraint allows, and is rendered again for a higher one', async () => {
    serve('1.0.0');
    const repository = bench.repository(overlay(`{name: web, repo: "${server.url}", version: 1.x, releaseName: r}`));
    const made = async (): Promise<unknown> =>
      data((await bench.render(repository, { path: 'app' }, { ...withHelm, cache: currentRevision })).objects)[0];
    expect(await made()).toMatchObject({ version: '1.0.0' });
    serve('1.0.0', '1.4.0', '2.0.0');
    expect(await made()).toMatchObject({ version: '1.4.0' });
    expect(data(await render(overlay(`{name: web, repo: "${server.url}", releaseName: r}`)))).toMatchObject([
      { version: '2.0.0' },
    ]);
  });

  it('is inflated beside charts of the repository, which come first', async () => {
    serve('1.0.0', '1.4.0');
    const local = (version: string): Readonly<Record<string, string>> => ({
      [`app/charts/web-${version}/web/Chart.yaml`]: `apiVersion: v2\nname: web\nversion: ${version}\n`,
      [`app/charts/web-${version}/web/values.yaml`]: '{}\n',
      [`app/charts/web-${version}/web/templates/cm.yaml`]:
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: local}\ndata: {version: "local {{ .Chart.Version }}"}\n',
    });
    const chart = (version: string): string =>
      `{name: web, repo: "${server.url}", version: ${version}, releaseName: r}`;
    const objects = await render({ ...overlay(`${chart('1.0.0')}, ${chart('1.4.0')}`), ...local('1.0.0') });
    expect(data(objects)).toMatchObject([{ version: 'local 1.0.0' }, { version: '1.4.0' }]);
  });

  it('is downloaded only from a repository that the project permits', async () => {
    serve('1.0.0');
    const chart = `{name: web, repo: "${server.url}", version: 1.0.0, releaseName: r}`;
    const repository = bench.repository(overlay(chart));
    const permitting = (sourceRepos: readonly string[]): Partial<ManifestsRequest> => ({
      ...withHelm,
      repositories: { repositories: [], credentials: [], sourceRepos },
    });
    const refused = await failureOf(bench.render(repository, { path: 'app' }, permitting([repository.path])));
    expect(refused.message).toMatch(/^helm repos .* are not permitted in project/);
    expect(server.asked).toEqual([]);
    const { objects } = await bench.render(repository, { path: 'app' }, permitting([repository.path, server.url]));
    expect(data(objects)).toMatchObject([{ version: '1.0.0' }]);
    expect((await failureOf(bench.render(repository, { path: 'app' }, permitting([repository.path])))).message).toMatch(
      /are not permitted/,
    );
  });

  it('of a registry is downloaded with the credentials of its repository, which kustomize never gets', async () => {
    const registry = await startRegistry();
    registry.push('charts/web', ['1.0.0'], chartArtifact(chartArchive('web', '1.0.0')));
    registry.demandToken('u', 'c4nary');
    const access: Repository = {
      url: `${registry.host}/charts`,
      type: 'helm',
      insecure: false,
      inheritedCreds: false,
      enableOci: true,
      ociForceHttp: true,
      username: 'u',
      password: new SecretValue('c4nary'),
    };
    const chart = `{name: web, repo: "oci://${registry.host}/charts", version: 1.0.0, releaseName: r}`;
    const repositories = { repositories: [access], credentials: [] };
    expect(data(await render(overlay(chart), { repositories }))).toMatchObject([{ version: '1.0.0' }]);
    const wrong = { ...access, password: new SecretValue('wrong') };
    const other = { repositories: [wrong], credentials: [] };
    expect((await failureOf(render(overlay(chart), { repositories: other }))).message).toMatch(/401 Unauthorized/);
    await registry.server.close();
  });

  it.each([
    ['has no such version', 'name: web, version: 9.0.0', /9\.0\.0.* not found/],
    ['has a name that is a path', 'version: 1.0.0, name: "a/../web"', /"a\/..\/web" is refused/],
    ['has a name with an option', 'version: 1.0.0, name: "-x"', /"-x" is refused/],
    [
      'has a name that is a template',
      'name: web, version: 1.0.0, nameTemplate: \'{{ env "HOME" }}\'',
      /^the kustomization of .*: the nameTemplate of a Helm chart is refused: it is a template/,
    ],
    [
      'has a name that is a template, in other letters',
      'name: web, version: 1.0.0, NameTemplate: "{{ now }}"',
      /the nameTemplate of a Helm chart is refused: it is a template/,
    ],
    ['is too big', 'name: web, version: 1.0.0', /more than 10 bytes|too big|limit/],
  ])('that %s is refused with a reason', async (title, entry, expected) => {
    serve('1.0.0');
    if (title === 'is too big') {
      bench.close();
      bench = renderBench({ limits: { maxChartBytes: 10 } });
    }
    const error = await failureOf(render(overlay(`{repo: "${server.url}", releaseName: r, ${entry}}`)));
    expect(error.message).toMatch(expected);
    expect(bench.count('kustomize', 'build')).toBe(0);
  });

  it('whose name is a template is refused in a configuration of a generator', async () => {
    serve('1.0.0');
    const generator = `{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: x}, name: web, repo: "${server.url}", version: 1.0.0, nameTemplate: '{{ env "HOME" }}'}`;
    const error = await failureOf(
      render({ 'app/kustomization.yaml': 'generators: [g.yaml]\n', 'app/g.yaml': `${generator}\n` }),
    );
    expect(error.message).toContain('the nameTemplate of a Helm chart is refused: it is a template');
  });

  it('needs --enable-helm', async () => {
    serve('1.0.0');
    const error = await failureOf(
      render(overlay(`{name: web, repo: "${server.url}", version: 1.0.0, releaseName: r}`), { options }),
    );
    expect(error.message).toMatch(/must specify --enable-helm/);
    expect(server.asked).toEqual([]);
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { requestOf } from '../../testing/request.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { describeWithTool, itWithTool } from '../../testing/with-tool.ts';

const { options } = requestOf({ repoURL: '' }, { url: '', type: 'git', insecure: false, inheritedCreds: false });
const withOptions = (kustomizeBuildOptions: string): object => ({ options: { ...options, kustomizeBuildOptions } });
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n';
const chart = {
  'a/charts/x/Chart.yaml': 'apiVersion: v2\nname: x\nversion: 1.0.0\n',
  'a/charts/x/values.yaml': 'a: chart\n',
  'a/charts/x/templates/cm.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {values: {{ .Values | toJson | quote }}}\n',
};

let bench: RenderBench;
let server: WebServer;
let stolen: string;
beforeEach(async () => {
  bench = renderBench();
  server = await startWebServer();
  server.pages.set('/state', { body: 'c4nary: "1"\n' });
  server.pages.set('/index.yaml', { body: 'apiVersion: v1\nentries: {}\n' });
  stolen = join(bench.root, 'token.yaml');
  writeFileSync(stolen, 'stolen: c4nary\n');
});
afterEach(async () => {
  bench.close();
  await server.close();
});

async function outcome(files: Readonly<Record<string, string>>, more: object, path = 'a'): Promise<string> {
  const filled = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      name.replaceAll('FILE', stolen).replaceAll('WEB', server.url),
      text.replaceAll('FILE', stolen).replaceAll('WEB', server.url),
    ]),
  );
  try {
    return JSON.stringify((await bench.render(bench.repository(filled), { path }, more)).objects);
  } catch (error) {
    return `refused: ${(error as Error).message}`;
  }
}

const data = ([object]: readonly KubeObject[]): unknown => object?.['data'];

describeWithTool('kustomize', 'a hostile author of an overlay', () => {
  const generator = (field: string): string =>
    `{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, ${field}}`;

  it.each<[string, Readonly<Record<string, string>>]>([
    ['files of a generator', { 'a/kustomization.yaml': 'configMapGenerator: [{name: x, files: [FILE]}]\n' }],
    ['another letter case', { 'a/kustomization.yaml': 'ConfigMapGenerator: [{name: x, Files: [k=FILE]}]\n' }],
    ['another alphabet', { 'a/kustomization.yaml': '"\u017fecretGenerator": [{name: x, envs: [FILE]}]\n' }],
    [
      'one field twice',
      { 'a/kustomization.yaml': `configMapGenerator: []\nConfigMapGenerator: [{name: x, files: [FILE]}]\n` },
    ],
    ['an inline generator', { 'a/kustomization.yaml': `generators: ["${generator('files: [FILE]')}"]\n` }],
    [
      'an inline generator in another letter case',
      { 'a/kustomization.yaml': `Generators: ["${generator('Files: [FILE]')}"]\n` },
    ],
    [
      'a list of generators',
      {
        'a/kustomization.yaml': `generators: ["{apiVersion: v1, kind: List, items: [${generator('envs: [FILE]')}]}"]\n`,
      },
    ],
    [
      'a generator in a file',
      { 'a/kustomization.yaml': 'generators: [g.yaml]\n', 'a/g.yaml': `${generator('files: [FILE]')}\n` },
    ],
    [
      'a generator that is built',
      {
        'a/kustomization.yaml': 'generators: [./g]\n',
        'a/g/kustomization.yaml':
          'resources: [g.yaml]\npatches: [{target: {kind: ConfigMapGenerator}, patch: "[{op: replace, path: /files, value: [FILE]}]"}]\n',
        'a/g/g.yaml': `${generator('files: [x]')}\n`,
      },
    ],
    [
      'a transformer',
      {
        'a/kustomization.yaml':
          'resources: [c.yaml]\ntransformers: ["{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: FILE, target: {kind: ConfigMap}}"]\n',
        'a/c.yaml': configMap,
      },
    ],
    ['a patch', { 'a/kustomization.yaml': 'resources: [c.yaml]\nPatches: [{Path: FILE}]\n', 'a/c.yaml': configMap }],
    [
      'a path with ".."',
      { 'a/kustomization.yaml': `configMapGenerator: [{name: x, files: [k=${'../'.repeat(20)}FILE]}]\n` },
    ],
    [
      'an inline generator with ".."',
      { 'a/kustomization.yaml': `generators: ["${generator(`files: [k=${'../'.repeat(20)}FILE]`)}"]\n` },
    ],
  ])('reads no file of the machine by %s, whatever the build options are', async (_name, files) => {
    for (const more of [
      {},
      withOptions('--load-restrictor LoadRestrictionsNone'),
      withOptions('--load-restrictor=none --enable-alpha-plugins'),
    ]) {
      const made = await outcome(files, more);
      expect(made).toMatch(/^refused: /);
      expect(made).not.toContain('c4nary');
      expect(made).not.toContain(Buffer.from('stolen: c4nary').toString('base64').slice(0, 12));
    }
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['a resource', { 'a/kustomization.yaml': 'resources: ["WEB/state.yaml"]\n' }],
    [
      'a resource in another letter case',
      { 'a/kustomization.yaml': 'Resources: ["HTTPWEB/state.yaml"]\n'.replace('HTTPWEB', 'WEB') },
    ],
    [
      'a resource with the name of a file in the repository',
      { 'a/kustomization.yaml': 'resources: ["WEB/state.yaml"]\n', 'a/WEB/state.yaml': configMap },
    ],
    [
      'a file of a generator',
      { 'a/kustomization.yaml': 'configMapGenerator: [{name: x, Files: ["k=WEB/state"]}]\n', 'a/WEB/state': 'x' },
    ],
    ['an inline generator', { 'a/kustomization.yaml': `generators: ['${generator('files: ["k=WEB/state"]')}']\n` }],
    [
      'a generator in a file',
      { 'a/kustomization.yaml': 'generators: [g.yaml]\n', 'a/g.yaml': `${generator('Files: ["k=WEB/state"]')}\n` },
    ],
    [
      'an inline patch of the older form',
      { 'a/kustomization.yaml': 'patches: ["WEB/state"]\nresources: [c.yaml]\n', 'a/c.yaml': configMap },
    ],
    [
      'a schema',
      { 'a/kustomization.yaml': 'openapi: {path: "WEB/state"}\nresources: [c.yaml]\n', 'a/c.yaml': configMap },
    ],
    ['a component', { 'a/kustomization.yaml': 'Components: ["WEB/state.yaml"]\n' }],
  ])('reaches no server of the machine by %s', async (_name, files) => {
    const limits = { deniedNetworks: ['127.0.0.0/8'] };
    bench.close();
    bench = renderBench({ limits });
    expect(await outcome(files, {})).toMatch(/^refused: /);
    expect(server.asked).toEqual([]);
  });

  it('gets files from elsewhere in the repository if administrators allow it, under their names', async () => {
    const repository = bench.repository({
      'a/kustomization.yaml':
        'Resources: [../shared.yaml]\nconfigMapGenerator: [{name: made, files: [../app.conf, k=../app.conf], options: {disableNameSuffixHash: true}}]\n',
      'shared.yaml': configMap,
      'app.conf': 'v',
    });
    const none = withOptions('--load-restrictor LoadRestrictionsNone');
    const { objects } = await bench.render(repository, { path: 'a' }, none);
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['made', 'x']);
    expect(objects[0]?.['data']).toEqual({ 'app.conf': 'v', k: 'v' });
    expect((await failureOf(bench.render(repository, { path: 'a' }))).message).toMatch(/is not in or below/);
  });

  it('can use inline generators and transformers, and those in files and directories', async () => {
    const repository = bench.repository({
      'a/kustomization.yaml': `generators: ["${generator('files: [k=v.txt], options: {disableNameSuffixHash: true}')}", g.yaml]\ntransformers: [./t]\n`,
      'a/v.txt': 'v',
      'a/g.yaml':
        '# made by hand\napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: y}\nliterals: [on=yes]\nbehavior: create\noptions: {disableNameSuffixHash: true}\n',
      'a/t/kustomization.yaml': 'resources: [p.yaml]\n',
      'a/t/p.yaml':
        'apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: p-\nfieldSpecs: [{path: metadata/name}]\n',
    });
    const { objects } = await bench.render(repository, { path: 'a' });
    expect(objects.map((object) => [object.metadata.name, data([object])])).toEqual([
      ['p-x', { k: 'v' }],
      ['p-y', { on: 'yes' }],
    ]);
  });

  it.each([
    { components: ['/etc'] },
    { components: ['https://example.com/x'] },
    { components: ['*/../../../*/repo/a'] },
    { components: ['gone/../../../x'] },
    { patches: [{ Path: 'https://example.com/?x' }] },
    { patches: [{ path: '/etc/passwd' }] },
  ])('adds nothing from outside through the options of the source: %j', async (kustomize) => {
    const repository = bench.repository({ 'a/kustomization.yaml': 'resources: [c.yaml]\n', 'a/c.yaml': configMap });
    const error = await failureOf(bench.render(repository, { path: 'a', kustomize }));
    expect(error.message).toMatch(/is absolute|remote component|after a wildcard|leads out|without a plain name/);
  });

  it.each(['gone/../../../etc', 'gone\\n/../../../etc'])('reaches no base %j outside the repository', async (path) => {
    const text = await outcome({ 'a/kustomization.yaml': `resources: ["${path}"]\n` }, {});
    expect(text).toMatch(/^refused: .*leads out of the repository/s);
  });

  const inflating = (entry: string): Readonly<Record<string, string>> => ({
    ...chart,
    'a/kustomization.yaml': `helmCharts: [{name: x, ${entry}}]\n`,
    'a/x,/keep': '',
    'a/more.yaml': 'a: more\n',
  });

  itWithTool('helm', 'gives charts no values file, folder, name or repository from outside the source', async () => {
    const helm = withOptions('--enable-helm --load-restrictor LoadRestrictionsNone');
    for (const entry of [
      'additionalValuesFiles: ["x,FILE"]',
      'AdditionalValuesFiles: ["x,FILE"]',
      'additionalValuesFiles: ["FILE"]',
      'valuesFile: "FILE"',
      'valuesFile: "WEB/state"',
      'releaseName: "--post-renderer=x"',
      'releaseName: rel, configHome: ../home',
      'nameTemplate: \'{{ env "HOME" }}\'',
      'version: "../../x"',
      'version: 1.0.0, repo: "file:///etc"',
      'version: 1.0.0, repo: "git+WEB"',
      'NAME: "../x"',
    ]) {
      const made = await outcome(inflating(entry), helm);
      expect(made).toMatch(/^refused: /);
      expect(made).not.toContain('c4nary');
    }
    const builtin = `{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: x}, name: gone, repo: "x://WEB"}`;
    for (const files of [
      { 'a/kustomization.yaml': `generators: ['${builtin}']\n` },
      { 'a/kustomization.yaml': 'generators: [g.yaml]\n', 'a/g.yaml': `${builtin}\n` },
      { 'a/kustomization.yaml': 'helmChartInflationGenerator: [{chartName: gone, chartRepoUrl: "@WEB"}]\n' },
      {
        ...chart,
        'a,b/kustomization.yaml':
          'helmGlobals: {chartHome: ../a/charts}\nhelmCharts: [{name: x, additionalValuesFiles: [v.yaml]}]\n',
        'a,b/v.yaml': 'a: 1\n',
      },
    ])
      expect(await outcome(files, helm, 'a,b/kustomization.yaml' in files ? 'a,b' : 'a')).toMatch(/^refused: /);
    expect(server.asked).toEqual([]);
    expect(await outcome(inflating('additionalValuesFiles: [more.yaml]'), helm)).toContain('more');
  });

  itWithTool('helm', 'inflates a chart from elsewhere in the repository if administrators allow it', async () => {
    const helm = withOptions('--enable-helm --load-restrictor LoadRestrictionsNone');
    const files = {
      ...chart,
      'b/kustomization.yaml': 'helmGlobals: {chartHome: ../a/charts}\nhelmCharts: [{name: x, valuesInline: {b: 1}}]\n',
    };
    const { objects } = await bench.render(bench.repository(files), { path: 'b' }, helm);
    expect(data(objects)).toEqual({ values: '{"a":"chart","b":1}' });
  });
});

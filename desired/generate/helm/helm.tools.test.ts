import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import type { KubeObject } from '#model';
import { bareRepository } from '#model';
import { SourceFailed, SourcePathError, ToolMissing } from '../../errors.ts';
import { failureOf, machineTools, renderBench } from '../../testing/repository.ts';
import type { RenderBench, TestRepository } from '../../testing/repository.ts';
import { currentRevision, renderedAgain, requestOf } from '../../testing/request.ts';
import type { Manifests, ManifestsRequest } from '../../types.ts';
import { describeWithTool } from '../../testing/with-tool.ts';

const chart = {
  'chart/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
  'chart/values.yaml': 'a: chart\nb: chart\nlist: []\n',
  'chart/templates/cm.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}
data:
  a: {{ .Values.a | toJson | quote }}
  b: {{ .Values.b | toJson | quote }}
  list: {{ .Values.list | toJson | quote }}
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
  extra: {{ .Capabilities.APIVersions.Has "example.com/v1/Extra" | quote }}
`,
  'chart/crds/crd.yaml':
    'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\n',
  'chart/templates/test.yaml':
    'apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\nspec: {containers: []}\n',
  'chart/env/one.yaml': 'a: one\n',
  'chart/env/two.yaml': 'b: two\n',
  'chart/env/deep/three.yaml': 'a: three\n',
  'values/root.yaml': 'a: root\n',
  'text.txt': 'x,y',
};

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const kinds = (objects: readonly KubeObject[]): string[] => objects.map(({ kind }) => kind).sort();

async function data(repository: TestRepository, helm: object, more: Partial<ManifestsRequest> = {}): Promise<object> {
  const { objects } = await bench.render(repository, { path: 'chart', helm: helm as never }, more);
  return (objects.find(({ kind }) => kind === 'ConfigMap')?.['data'] ?? {}) as object;
}

describe('a missing helm', () => {
  it('is named in the condition with how to install it', async () => {
    bench.close();
    bench = renderBench({ tools: () => undefined });
    const error = await failureOf(bench.render(bench.repository(chart), { path: 'chart' }));
    expect(error).toBeInstanceOf(ToolMissing);
    expect(error.message).toMatch(/^helm is not installed .* install helm 3\.14 or newer/);
  });
});

describeWithTool('helm', 'rendering Helm charts', () => {
  it('renders a chart for its destination, with its CRDs and tests, and leaves nothing behind', async () => {
    const repository = bench.repository(chart);
    const sha = repository.save();
    const made = await bench.render(repository, { path: 'chart' }, { appName: 'team_web', namespace: 'shop' });
    expect([made.sourceType, made.revision]).toEqual(['Helm', sha]);
    expect(kinds(made.objects)).toEqual(['ConfigMap', 'CustomResourceDefinition', 'Pod']);
    const map = made.objects.find(({ kind }) => kind === 'ConfigMap');
    expect(map?.metadata).toMatchObject({ name: 'web', namespace: 'shop' });
    expect(map?.['data']).toMatchObject({ a: '"chart"', kube: 'v1.33.1', extra: 'false' });
    expect(readdirSync(join(bench.root, 'staging'))).toEqual([]);
  });

  it('skips CRDs, tests and schema validation on request, and takes names and versions from the source', async () => {
    const helm = {
      skipCrds: true,
      skipTests: true,
      skipSchemaValidation: true,
      releaseName: 'rel',
      namespace: 'own',
      kubeVersion: 'v1.29.3-gke.100',
      apiVersions: ['example.com/v1/Extra'],
      version: 'v3',
    };
    const made = await bench.render(bench.repository({ ...chart, 'chart/values.schema.json': '{"required":["no"]}' }), {
      path: 'chart',
      helm,
    });
    expect(kinds(made.objects)).toEqual(['ConfigMap']);
    expect(made.objects[0]?.metadata).toMatchObject({ name: 'rel', namespace: 'own' });
    expect(made.objects[0]?.['data']).toMatchObject({ kube: 'v1.29.3', extra: 'true' });
  });

  it('prefers parameters over values over values files over the chart; the last of each kind wins', async () => {
    const repository = bench.repository(chart);
    expect(await data(repository, { valueFiles: ['env/one.yaml', '/values/root.yaml'] })).toMatchObject({
      a: '"root"',
    });
    expect(await data(repository, { valueFiles: ['env/one.yaml'], values: 'a: text\n' })).toMatchObject({
      a: '"text"',
    });
    expect(await data(repository, { values: 'a: text', valuesObject: { a: 1 } })).toMatchObject({ a: '1' });
    const parameters = [
      { name: 'a', value: '1' },
      { name: 'a', value: '2', forceString: true },
      { name: 'b', value: 'x,y,,$ARGOCD_APP_NAME' },
      { name: 'list', value: '{p,q}' },
    ];
    expect(await data(repository, { valuesObject: { a: 3 }, parameters })).toMatchObject({
      a: '"2"',
      b: '"x,y,,app"',
      list: '["p","q"]',
    });
    const fileParameters = [{ name: 'b', path: '../text.txt' }];
    expect(await data(repository, { fileParameters })).toMatchObject({ b: '"x,y"' });
  });

  it('follows links of values files and of other files of a chart (argo-cd 8379, DefectDojo 11893)', async () => {
    const repository = bench.repository({ ...chart, 'docs/README.md': '# Docs\n' });
    repository.link('chart/values.dev.yaml', 'env/one.yaml');
    repository.link('chart/README.md', '../docs/README.md');
    expect(await data(repository, { valueFiles: ['values.dev.yaml'] })).toMatchObject({ a: '"one"' });
  });

  it('finds values files by pattern, and ignores missing ones only on request', async () => {
    const repository = bench.repository(chart);
    // The files of a directory come before those of its subdirectories, so that the deeper one
    // wins.
    expect(await data(repository, { valueFiles: ['env/**/*.yaml'] })).toMatchObject({ a: '"three"', b: '"two"' });
    expect(await data(repository, { valueFiles: ['env/**/*.yaml', 'env/one.yaml'] })).toMatchObject({ a: '"one"' });
    // `**` also matches directories; only files count.
    expect(await data(repository, { valueFiles: ['env/**'] })).toMatchObject({ a: '"three"', b: '"two"' });
    const none = await failureOf(data(repository, { valueFiles: ['none/*.yaml'] }));
    expect(none.message).toBe('values file glob "none/*.yaml" matched no files');
    const missing = await failureOf(data(repository, { valueFiles: ['gone.yaml'] }));
    expect(missing.message).toMatch(/chart\/gone\.yaml: no such file/);
    const ignoreMissingValueFiles = true;
    expect(await data(repository, { valueFiles: ['gone.yaml', 'no/*.yaml'], ignoreMissingValueFiles })).toMatchObject({
      a: '"chart"',
    });
  });

  it('builds a missing dependency by path', async () => {
    const repository = bench.repository({
      'apps/web/Chart.yaml':
        'apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: lib, version: 1.x, repository: "file://../../lib"}]\n',
      'lib/Chart.yaml': 'apiVersion: v2\nname: lib\nversion: 1.2.3\n',
      'lib/templates/cm.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lib}\n',
    });
    expect(kinds((await bench.render(repository, { path: 'apps/web' })).objects)).toEqual(['ConfigMap']);
    // The dependency's objects are part of the result.
    repository.commit({ 'lib/templates/cm.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: lib}\n' });
    const after = await bench.render(repository, { path: 'apps/web' }, { cache: currentRevision });
    expect(kinds(after.objects)).toEqual(['Secret']);
  });

  it('renders again only if one of its inputs changed', async () => {
    const repository = bench.repository(chart);
    const first = repository.save();
    await data(repository, { valueFiles: ['/values/root.yaml'] });
    const second = repository.commit({ 'chart/README.txt': 'x', 'other.yaml': 'x' });
    const third = repository.commit({ 'values/root.yaml': 'a: new\n' });
    const at = (revision: string, more: object = {}): Promise<object> =>
      bench
        .render(repository, { path: 'chart', helm: { valueFiles: ['/values/root.yaml'] } }, { revision, ...more })
        .then(({ objects }) => objects.find(({ kind }) => kind === 'ConfigMap')?.['data'] as object);
    await at(first);
    expect(bench.count('helm', 'template')).toBe(1);
    // README.txt is in the chart, and templates may read it.
    await at(second);
    expect(bench.count('helm', 'template')).toBe(2);
    expect(await at(third)).toMatchObject({ a: '"new"' });
    await at(third, { cluster: { kubeVersion: 'v1.34.0', apiVersions: [] } });
    expect(bench.count('helm', 'template')).toBe(4);
  });

  const several = (sources: readonly (readonly [TestRepository, object])[]): Promise<Manifests> => {
    const [first, ...rest] = sources.map(([{ path }, more]) => ({
      source: { repoURL: path, ...more },
      repository: bareRepository(path),
      revision: '',
    }));
    if (first === undefined) throw new Error('no source');
    const request = { ...requestOf(first.source, first.repository), sources: [first, ...rest] };
    return bench.desired.manifests(request, new AbortController().signal);
  };

  it('reads values of another source at the revision that the answer reports', async () => {
    const values = bench.repository({ 'prod/web.yaml': 'a: elsewhere\n', 'prod/more.yaml': 'b: more\n' });
    const head = values.save();
    const answer = await several([
      [bench.repository(chart), { path: 'chart', helm: { valueFiles: ['$values/prod/*.yaml'] } }],
      [values, { ref: 'values' }],
    ]);
    expect(answer.sources.map(({ sourceType }) => sourceType)).toEqual(['Helm', '']);
    expect(answer.sources[1]?.revision).toBe(head);
    expect(answer.sources[0]?.objects.find(({ kind }) => kind === 'ConfigMap')?.['data']).toMatchObject({
      a: '"elsewhere"',
      b: '"more"',
    });
  });

  it.each([
    [
      '$other/x.yaml',
      [{ ref: 'values' }],
      'source referenced "$other", which is not one of the available sources ($values)',
    ],
    ['$x/x.yaml', [{ path: 'prod' }], 'source referenced "$x", but no source has a \'ref\' field defined'],
    [
      '$values/x.yaml',
      [{ ref: 'values' }, { ref: 'values' }],
      'invalid sources: multiple sources had the same `ref` key',
    ],
    ['$a.b/x.yaml', [{ ref: 'a.b' }], "sources.ref a.b cannot contain any special characters except '_' and '-'"],
    [
      '$values/../../etc/passwd',
      [{ ref: 'values' }],
      "file '$values/../../etc/passwd' resolved to outside repository root",
    ],
  ])('refuses the wrong reference %s with Argo CD’s message', async (file, others, message) => {
    const values = bench.repository({ 'prod/web.yaml': 'a: elsewhere\n' });
    const error = await failureOf(
      several([
        [bench.repository(chart), { path: 'chart', helm: { valueFiles: [file] } }],
        ...others.map((more) => [values, more] as const),
      ]),
    );
    expect(error).toBeInstanceOf(SourceFailed);
    expect(error.message).toBe(message);
  });

  it.each([
    ['no Chart.yaml', { 'chart/values.yaml': 'a: 1\n' }, { path: 'chart', helm: {} }, /^chart: Chart\.yaml is missing/],
    [
      'an invalid Chart.yaml',
      { ...chart, 'chart/Chart.yaml': '- x\n' },
      { path: 'chart' },
      /^chart\/Chart\.yaml cannot be read: it is not a map/,
    ],
    [
      'values that are not a map',
      chart,
      { path: 'chart', helm: { values: '- a\n' } },
      /^helm\.values must be a map of values/,
    ],
    [
      'a values file that is not a map',
      { ...chart, 'chart/bad.yaml': '- a\n' },
      { path: 'chart', helm: { valueFiles: ['bad.yaml'] } },
      /bad\.yaml/,
    ],
    [
      'a template that fails',
      { ...chart, 'chart/templates/x.yaml': '{{ fail "no colour" }}' },
      { path: 'chart' },
      /no colour/,
    ],
    ['what is no YAML', { ...chart, 'chart/templates/x.yaml': 'a: [' }, { path: 'chart' }, /x\.yaml/],
    [
      'an object without a kind',
      { ...chart, 'chart/templates/x.yaml': 'a: 1' },
      { path: 'chart' },
      /Failed to unmarshal "web\/templates\/x\.yaml".*Kind/,
    ],
    [
      'a missing dependency',
      { ...chart, 'chart/Chart.yaml': `${chart['chart/Chart.yaml']}dependencies: [{name: gone, version: 1.0.0}]\n` },
      { path: 'chart' },
      /^the dependencies of the chart cannot be built: .*gone/s,
    ],
    [
      'a dependency by an unknown repository name',
      {
        ...chart,
        'chart/Chart.yaml': `${chart['chart/Chart.yaml']}dependencies: [{name: gone, version: 1.0.0, repository: "@corp"}]\n`,
      },
      { path: 'chart' },
      /there is no repository Secret of this name/,
    ],
    [
      'a dependency outside the repository',
      {
        ...chart,
        'chart/Chart.yaml': `${chart['chart/Chart.yaml']}dependencies: [{name: gone, version: 1.0.0, repository: "file://../../x"}]\n`,
      },
      { path: 'chart' },
      /leads out of the repository/,
    ],
    [
      'an unknown version of helm',
      chart,
      { path: 'chart', helm: { version: '3' } },
      /^helm version '3' is not supported$/,
    ],
    [
      'values with a forbidden URL scheme',
      chart,
      { path: 'chart', helm: { valueFiles: ['file:///etc/passwd'] } },
      /^the URL scheme 'file' is not allowed$/,
    ],
    [
      'a values file outside the repository',
      chart,
      { path: 'chart', helm: { valueFiles: ['../../../etc/passwd'] } },
      /resolved to outside repository root$/,
    ],
  ])('reports %s', async (_name, files, source, message) => {
    const error = await failureOf(bench.render(bench.repository(files), source));
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(bench.root);
  });

  it.each(['secrets://enc.yaml', 'secrets+age-import:///k/key.txt?enc.yaml', 'S3://bucket/v.yaml'])(
    'refuses values of a helm plugin by name, with the way out: %s',
    async (path) => {
      const scheme = path.slice(0, path.indexOf(':')).toLowerCase();
      const { options } = requestOf({ repoURL: '' }, bareRepository(''));
      const more = { options: { ...options, valuesFileSchemes: ['https', scheme] } };
      for (const helm of [{ valueFiles: [path] }, { fileParameters: [{ name: 'a', path }] }]) {
        const failure = await failureOf(bench.render(bench.repository(chart), { path: 'chart', helm }, more));
        expect(failure).toMatchObject({ code: 'DESIRED_HELM_PLUGIN' });
        const { message } = failure;
        expect(message).toContain(`the values file "${scheme}://…" needs a plugin of helm`);
        expect(message.includes('(helm-secrets)')).toBe(scheme.startsWith('secrets'));
        expect(message).toContain('a config management plugin, or with the repo-server of Argo CD');
        expect(message).not.toContain('key.txt');
      }
    },
  );

  // T-SEC-30
  it('follows no link of a values file out of its repository, nor through a reference', async () => {
    const values = bench.repository({ 'chart/Chart.yaml': chart['chart/Chart.yaml'], 'a/b/c/keep': '', 'r/keep': '' });
    values.link('a/b/c/x', '../../../r');
    values.link('web.yaml', 'a/b/c/x/../../etc/passwd');
    const repository = bench.repository(chart);
    const error = await failureOf(
      several([
        [repository, { path: 'chart', helm: { valueFiles: ['$values/web.yaml'] } }],
        [values, { ref: 'values' }],
      ]),
    );
    expect(error.cause).toBeInstanceOf(SourcePathError);
    const own = await failureOf(bench.render(values, { path: 'chart', helm: { valueFiles: ['/web.yaml'] } }));
    expect(own.message).toBe("file 'web.yaml' resolved to outside repository root");
    expect(bench.count('helm', 'template')).toBe(0);
  });

  // T-SEC-31
  it('passes names and values that start with a dash as values', async () => {
    const made = await data(bench.repository(chart), {
      parameters: [{ name: 'a', value: '--debug' }],
      valueFiles: ['env/one.yaml'],
    });
    expect(made).toMatchObject({ a: '"--debug"' });
    const error = await failureOf(data(bench.repository(chart), { releaseName: '--help' }));
    expect(error.message).toMatch(/name/);
  });

  it('fetches dependencies with a password, which is in no argument and no message', async () => {
    const library = join(bench.root, 'library');
    mkdirSync(join(library, 'templates'), { recursive: true });
    writeFileSync(join(library, 'Chart.yaml'), 'apiVersion: v2\nname: lib\nversion: 1.2.3\n');
    writeFileSync(
      join(library, 'templates', 'cm.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-afar}\n',
    );
    const served = join(bench.root, 'served');
    execFileSync(machineTools('helm') ?? '', ['package', library, '--destination', served], {
      env: { HOME: bench.root },
      stdio: 'pipe',
    });
    const wanted = `Basic ${Buffer.from('me:s3cret').toString('base64')}`;
    const server = createServer((request, response) => {
      if (request.headers.authorization !== wanted) return void response.writeHead(401).end('no');
      const name = (request.url ?? '').slice(1);
      if (name === 'index.yaml')
        return void response.end(
          'apiVersion: v1\nentries: {lib: [{name: lib, version: 1.2.3, urls: [lib-1.2.3.tgz]}]}\n',
        );
      return void response.end(readFileSync(join(served, 'lib-1.2.3.tgz')));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const repository = bench.repository({
        'app/Chart.yaml': `apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: lib, version: ^1.2, repository: "${url}"}]\n`,
      });
      const refused = await failureOf(bench.render(repository, { path: 'app' }));
      expect(refused.message).toMatch(/^the dependencies of the chart cannot be built: .*401/s);
      const one = { url, type: 'helm', name: 'ours', username: 'me', insecure: false, inheritedCreds: false } as const;
      const repositories = { repositories: [{ ...one, password: new SecretValue('s3cret') }], credentials: [] };
      const made = await bench.render(repository, { path: 'app' }, { repositories });
      expect(made.objects.map(({ metadata }) => metadata.name)).toEqual(['from-afar']);
      // Manifests rendered with these credentials are not returned to projects without them.
      expect((await failureOf(bench.render(repository, { path: 'app' }))).message).toMatch(/401/);
      const wrong = { repositories: [{ ...one, password: new SecretValue('wr0ng') }], credentials: [] };
      const denied = await failureOf(
        bench.render(repository, { path: 'app' }, { repositories: wrong, cache: renderedAgain }),
      );
      expect(denied.message).not.toContain('wr0ng');
      expect(bench.ran.flat().some((word) => word.includes('s3cret') || word.includes('wr0ng'))).toBe(false);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }, 30_000);
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { chartArchive } from '../../testing/archive.ts';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { describeWithTool } from '../../testing/with-tool.ts';
import type { ManifestsRequest } from '../../types.ts';

const chart = {
  'chart/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
  'chart/templates/cm.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  values: {{ .Values | toJson | quote }}
  kinds: "{{ range $k, $v := .Values }}{{ $k }}={{ kindOf $v }} {{ end }}"
`,
};

let bench: RenderBench;
let server: WebServer;
let stolen: string;
beforeEach(async () => {
  bench = renderBench();
  server = await startWebServer();
  server.pages.set('/debug/state', { body: 'fleet: state-of-the-fleet\n' });
  stolen = join(bench.root, 'token.yaml');
  writeFileSync(stolen, 'stolen: c4nary\n', { mode: 0o600 });
});
afterEach(async () => {
  bench.close();
  await server.close();
});

async function values(
  files: Readonly<Record<string, string>>,
  helm: object,
  more: Partial<ManifestsRequest> = {},
): Promise<Record<string, unknown>> {
  const repository = bench.repository({ ...chart, ...files });
  const { objects } = await bench.render(repository, { path: 'chart', helm: helm as never }, more);
  const data = objects.find(({ kind }) => kind === 'ConfigMap')?.['data'] as { values: string; kinds: string };
  return { ...(JSON.parse(data.values) as object), kinds: data.kinds };
}

describeWithTool('helm', 'a hostile author of a Helm source', () => {
  it.each(['stolen=%,y', 'a={x},stolen=%,y', 'y\\', 'a[0', 'stolen=%'])(
    'reads no file by the name %j of a file parameter',
    async (name) => {
      const fileParameters = [{ name: name.replace('%', stolen), path: 'Chart.yaml' }];
      const { message } = await failureOf(values({}, { fileParameters }));
      expect(message).toMatch(/^(?:helm\.fileParameters: the name .* is refused|failed parsing --set-file data)/);
      expect(message).not.toContain('c4nary');
      expect(bench.count('helm', 'template')).toBe(0);
    },
  );

  it('reads no file by a values file whose name has a comma', async () => {
    const made = await values(
      { [`chart/x,${stolen}`]: 'a: mine\n', 'chart/"q,r"': 'b: mine\n' },
      { valueFiles: [`x,${stolen}`, '"q,r"'] },
    );
    expect(made).toEqual({ a: 'mine', b: 'mine', kinds: 'a=string b=string ' });
    const none = await failureOf(values({ 'chart/x,': 'a: 1\n' }, { valueFiles: [`x,${stolen}`] }));
    expect(none.message).toMatch(/no such file or directory$/);
  });

  it('gets no file name into an argument of helm', async () => {
    await values({ 'chart/odd, name.yaml': 'a: 1\n' }, { valueFiles: ['odd, name.yaml'] });
    expect(bench.ran.flat().filter((word) => word.includes('odd'))).toEqual([]);
  });

  it('sees the names that the files have in the repository', async () => {
    const bad = await failureOf(values({ 'chart/env/bad.yaml': '- a\n' }, { valueFiles: ['env/bad.yaml'] }));
    expect(bad.message).toContain('--values=chart/env/bad.yaml');
    expect(bad.message).toContain('failed to parse chart/env/bad.yaml');
    expect(bad.message).not.toContain('../');
  });

  it('gets values files only through Driftless, with its limits, and with denied networks checked after each redirect', async () => {
    const url = `${server.url}/debug/state`;
    expect(await values({}, { valueFiles: [url] })).toMatchObject({ fleet: 'state-of-the-fleet' });
    const fileParameters = [{ name: 'text', path: url }];
    expect(await values({}, { fileParameters })).toMatchObject({ text: 'fleet: state-of-the-fleet\n' });
    expect(server.asked.map(({ headers }) => headers['user-agent'])).toEqual(['driftless', 'driftless']);
    server.asked.length = 0;
    bench.close();
    bench = renderBench({ limits: { deniedNetworks: ['127.0.0.0/8'] } });
    for (const helm of [{ valueFiles: [url] }, { fileParameters }])
      expect((await failureOf(values({}, helm))).message).toMatch(/keeps sources out of/);
    expect(server.asked).toEqual([]);
  });

  it('gets values files only from URLs that sourceRepos of the project permits', async () => {
    const repositories = { repositories: [], credentials: [], sourceRepos: ['https://git.example.com/*'] };
    const { message } = await failureOf(values({}, { valueFiles: [`${server.url}/debug/state`] }, { repositories }));
    expect(message).toBe(
      `the file ${server.url}/debug/state is not permitted in project 'default': its sourceRepos must name it`,
    );
    expect(server.asked).toEqual([]);
  });

  it('gets nothing from the cache that another project downloaded', async () => {
    const dependency = `dependencies: [{name: lib, version: 1.x, repository: "${server.url}"}]\n`;
    server.pages.set('/index.yaml', {
      body: 'entries:\n  lib:\n  - {name: lib, version: 1.0.0, urls: [lib-1.0.0.tgz]}\n',
    });
    server.pages.set('/lib-1.0.0.tgz', { body: chartArchive('lib', '1.0.0') });
    const withDependency = bench.repository({ ...chart, 'chart/Chart.yaml': chart['chart/Chart.yaml'] + dependency });
    const plain = bench.repository(chart);
    const url = `${server.url}/debug/state`;
    const cases = [
      [plain, { valueFiles: [url] }],
      [plain, { fileParameters: [{ name: 'text', path: url }] }],
      [withDependency, {}],
    ] as const;
    const other = { repositories: [], credentials: [], sourceRepos: ['https://git.example.com/*'] };
    for (const [repository, helm] of cases) {
      const source = { path: 'chart', helm: { ...helm, releaseName: 'same' } as never };
      const all = { repositories: [], credentials: [], sourceRepos: ['*'] };
      await bench.render(repository, source, { project: 'one', repositories: all });
      const { message } = await failureOf(bench.render(repository, source, { project: 'two', repositories: other }));
      expect(message).toContain("permitted in project 'two'");
    }
  });

  it('gets dependencies under the same rules, and only through Driftless', async () => {
    const dependency = `dependencies: [{name: lib, version: 1.x, repository: "${server.url}"}]\n`;
    const files = { 'chart/Chart.yaml': chart['chart/Chart.yaml'] + dependency };
    const repositories = { repositories: [], credentials: [], sourceRepos: ['https://git.example.com/*'] };
    expect((await failureOf(values(files, {}, { repositories }))).message).toBe(
      `the dependencies of the chart cannot be built: helm repos ${server.url} are not permitted in project 'default'`,
    );
    bench.close();
    bench = renderBench({ limits: { deniedNetworks: ['127.0.0.0/8'] } });
    expect((await failureOf(values(files, {}))).message).toMatch(/keeps sources out of/);
    expect(server.asked).toEqual([]);
    expect(bench.count('helm', 'build')).toBe(0);
  });

  it('cannot make a values schema refer to a file or server of the machine, packed or not', async () => {
    const schemas = [
      stolen,
      `file://${stolen}`,
      stolen.slice(1),
      `${server.url}/debug/state`,
      'http://localhost/x',
    ].map((ref) => JSON.stringify({ properties: { a: { $ref: ref } } }));
    for (const schema of [...schemas, `{"$schema": "${server.url}/debug/state"}`]) {
      const plain = await failureOf(values({ 'chart/values.schema.json': schema }, {}));
      expect(plain.message).toMatch(/values\.schema\.json is refused: it refers to/);
      const repository = bench.repository(chart);
      mkdirSync(join(repository.path, 'chart', 'charts'));
      const packed = chartArchive('sub', '1.0.0', { 'values.schema.json': schema });
      writeFileSync(join(repository.path, 'chart', 'charts', 'sub-1.0.0.tgz'), packed);
      repository.save();
      expect((await failureOf(bench.render(repository, { path: 'chart' }))).message).toMatch(
        /is refused: it refers to/,
      );
    }
    const linked = bench.repository({ ...chart, 'shared/s.json': schemas[3] ?? '' });
    linked.link('chart/values.schema.json', '../shared/s.json');
    expect((await failureOf(bench.render(linked, { path: 'chart' }))).message).toMatch(/is refused: it refers to/);
    expect(server.asked).toEqual([]);
    const good =
      '{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/d", "definitions": {"d": {}}}';
    expect(await values({ 'chart/values.schema.json': good }, { values: 'a: 1' })).toMatchObject({ a: 1 });
  });

  it.each([
    [{ apiVersions: ['"a'] }, /^the API version .* is refused/],
    [{ apiVersions: ['--kubeconfig=x'] }, /^the API version .* is refused/],
    [{ releaseName: '{{ env "HOME" }}' }, /^the release name .* is refused/],
    [{ parameters: [{ name: 'a\0b', value: 'x' }] }, /^failed parsing --set data: it has a NUL character/],
  ])('cannot pass a text that helm would parse as something else: %j', async (helm, message) => {
    expect((await failureOf(values({}, helm))).message).toMatch(message);
  });

  it('sets parameters with helm’s types, also long ones, in values of any size', async () => {
    const long = 'x,'.repeat(150_000);
    const parameters = [
      { name: 'int', value: '9007199254740993' },
      { name: 'text', value: '9007199254740993', forceString: true },
      { name: 'long', value: long },
      { name: 'list[1].b', value: '2' },
      { name: 'gone', value: 'null' },
      { name: 'x=1,y', value: 'true' },
    ];
    const made = await values({}, { valuesObject: { list: [{ a: 1 }, { c: 3 }], gone: 1 }, parameters });
    expect(made).toMatchObject({ text: '9007199254740993', long, list: [{ a: 1 }, { b: 2, c: 3 }], x: 1, y: true });
    expect(made['kinds']).toContain('int=int64 ');
    expect(made['gone']).toBeNull();
  });

  it('can use a values file of 64 MB', async () => {
    const line = `# ${'x'.repeat(1021)}\n`;
    const big = `${line.repeat(64 * 1024)}a: big\n`;
    expect(
      await values({ 'chart/big.yaml': big }, { valueFiles: ['big.yaml'], parameters: [{ name: 'b', value: '1' }] }),
    ).toEqual({
      a: 'big',
      b: 1,
      kinds: 'a=string b=int64 ',
    });
  }, 60_000);
});

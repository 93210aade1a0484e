import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { bareRepository } from '#model';
import type { KubeObject } from '#model';
import { failureOf, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { renderedAgain } from '../../testing/request.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { describeWithTool } from '../../testing/with-tool.ts';
import type { ManifestsRequest } from '../../types.ts';
import { isWebFile } from './overlay-scope.ts';

const map = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: "${value}"}\n`;

let bench: RenderBench;
let server: WebServer;
beforeEach(async () => {
  bench = renderBench();
  server = await startWebServer();
  server.pages.set('/far/cm.yaml', { body: map('far', 'served') });
});
afterEach(async () => {
  bench.close();
  await server.close();
});

const overlay = (text: string): Readonly<Record<string, string>> => ({
  'app/kustomization.yaml': text.replaceAll('WEB', server.url),
  'app/cm.yaml': map('near', 'own'),
});

async function render(
  text: string,
  more: Partial<ManifestsRequest> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<readonly KubeObject[]> {
  return (await bench.render(bench.repository({ ...overlay(text), ...files }), { path: 'app' }, more)).objects;
}

const data = (objects: readonly KubeObject[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(objects.map((object) => [object.metadata.name, object['data']])) as Record<string, unknown>;

describeWithTool('kustomize', 'a single file of another server', () => {
  it('is a resource, a patch or a file of a generator, whose key is its name', async () => {
    server.pages.set('/far/patch.yaml', { body: map('near', 'patched') });
    server.pages.set('/far/app.conf', { body: 'a=1' });
    const generator =
      'name: made, options: {disableNameSuffixHash: true}, files: [WEB/far/app.conf, k=WEB/far/app.conf]';
    const text = `resources: [cm.yaml, WEB/far/cm.yaml]\npatches: [{path: WEB/far/patch.yaml}]\nconfigMapGenerator: [{${generator}}]\n`;
    expect(data(await render(text))).toEqual({
      near: { value: 'patched' },
      far: { value: 'served' },
      made: { 'app.conf': 'a=1', k: 'a=1' },
    });
  });

  it('is requested again by a hard refresh only, like the manifests of a commit', async () => {
    const repository = bench.repository(overlay('resources: [WEB/far/cm.yaml]\n'));
    const made = async (more = {}): Promise<unknown> =>
      data((await bench.render(repository, { path: 'app' }, more)).objects)['far'];
    expect(await made()).toEqual({ value: 'served' });
    server.pages.set('/far/cm.yaml', { body: map('far', 'changed') });
    expect(await made()).toEqual({ value: 'served' });
    expect(await made({ cache: renderedAgain })).toEqual({ value: 'changed' });
  });

  it('may be named by a base of the repository and twice', async () => {
    const base = { 'base/kustomization.yaml': `resources: [${server.url}/far/cm.yaml]\n` };
    const text =
      'resources: [../base]\nconfigMapGenerator: [{name: made, files: [a=WEB/far/cm.yaml, b=WEB/far/cm.yaml]}]\n';
    expect(await render(text, {}, base)).toHaveLength(2);
    expect(server.asked.filter(({ path }) => path === '/far/cm.yaml')).toHaveLength(2);
  });

  it('is requested only if the project permits its address, also for cached manifests', async () => {
    const repository = bench.repository(overlay('resources: [WEB/far/cm.yaml]\n'));
    const permitting = (sourceRepos: readonly string[]): Partial<ManifestsRequest> => ({
      repositories: { repositories: [], credentials: [], sourceRepos },
    });
    const all = await bench.render(repository, { path: 'app' }, permitting(['*']));
    expect(data(all.objects)).toEqual({ far: { value: 'served' } });
    const before = server.asked.length;
    const error = await failureOf(bench.render(repository, { path: 'app' }, permitting([repository.path])));
    expect(error.message).toMatch(/^the file http\S+far\/cm\.yaml is not permitted in project/);
    expect(server.asked).toHaveLength(before);
  });

  it.each([
    ['that is missing', 'resources: [WEB/far/gone.yaml]\n', /failed to fetch http\S+gone\.yaml: 404 Not Found/],
    [
      'that is too big',
      'resources: [WEB/far/big.yaml]\n',
      /^the files of other servers by URL have more than 512 bytes/,
    ],
    ['that is a page', 'resources: [WEB/far/page.yaml]\n', /kustomize/],
    ['of a configuration', 'transformers: [t]\n', /names a file on another server/],
    ['that leads elsewhere', 'resources: [WEB/far/moved.yaml]\n', /the scheme file:\/\/ is not allowed/],
  ])('%s is refused with a reason', async (title, text, expected) => {
    if (title === 'that is too big') {
      bench.close();
      bench = renderBench({ limits: { inputBytes: 4096 } });
    }
    server.pages.set('/far/big.yaml', { body: map('big', 'x'.repeat(600)) });
    server.pages.set('/far/page.yaml', { body: '<html><body>log in: please</body></html>' });
    server.pages.set('/far/moved.yaml', { status: 302, headers: { location: 'file:///etc/passwd' } });
    const configs = { 'app/t/kustomization.yaml': `resources: [${server.url}/far/cm.yaml]\n` };
    expect((await failureOf(render(text, {}, configs))).message).toMatch(expected);
  });

  it('is requested without the credentials of a repository Secret of its server', async () => {
    const access = { ...bareRepository(server.url), username: 'u', password: new SecretValue('c4nary') };
    const repositories = { repositories: [access], credentials: [access] };
    expect(data(await render('resources: [WEB/far/cm.yaml]\n', { repositories }))).toEqual({
      far: { value: 'served' },
    });
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

it.each([
  ['https://example.com/a/b.yaml', true],
  ['https://raw.githubusercontent.com/o/r/main/x.yml', true],
  ['https://github.com/o/r/releases/download/v1/install.yaml', true],
  ['https://example.com/o/r.git/x.yaml', false],
  ['https://example.com/o/r//x.yaml?ref=v1', false],
  ['https://example.com/o/r/x.yaml?ref=v1', false],
  ['https://github.com/o/r', false],
  ['ssh://git@example.com/o/r.yaml', false],
  ['cm.yaml', false],
])('the resource %s is a single file of another server: %s', (text, expected) => {
  expect(isWebFile(text)).toBe(expected);
});

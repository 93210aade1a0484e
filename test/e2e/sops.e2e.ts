/** @seconds 20 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { isObject, parseYamlDocuments, Shutdown, systemClock, systemRandom, valueAt } from '#base';
import type { Json } from '#base';
import { createDesiredSource, createInProcessRunner, withPlugins } from '#desired';
import { bareRepository } from '#model';
import type { KubeObject } from '#model';
import { silentLogger } from '#telemetry';
import { keysOf, renderOne, requestOf, TestRepository, testRenderer } from '../../desired/testing/index.ts';
import { startPluginServer } from './support/commit-server.ts';
import { temporaryFolder, toolPath, toolsPath } from './support/index.ts';

// The plugins of docs/decryption.md, in Argo CD's plugin server and with the real sops, beside the
// controller's own decryption of the same files.

const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: "p4ss: word", port: "1"}\n';
const chart = {
  'Chart.yaml': 'apiVersion: v2\nname: app\nversion: 1.0.0\n',
  'templates/a.yaml':
    'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: {{ .Values.password | quote }}}\n',
};

let folder: ReturnType<typeof temporaryFolder>;
let identity: string;
const stop = new AbortController();
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  folder = temporaryFolder('sops');
  identity = await generateX25519Identity();
});
afterAll(async () => {
  stop.abort(new Shutdown());
  for (const close of closing) await close();
  folder.remove();
});

/** The plugin.yaml of the page. */
function documented(name: string): string {
  const blocks = readFileSync('docs/decryption.md', 'utf8').matchAll(/^```yaml\n([^]*?)^```$/gm);
  const found = [...blocks].find(([, text = '']) => isNamed(parseYamlDocuments(text)[0], name));
  if (found?.[1] === undefined) throw new Error(`docs/decryption.md has no plugin ${name}`);
  return found[1];
}

function isNamed(value: Json | undefined, name: string): boolean {
  return value !== undefined && isObject(value) && valueAt(value, 'metadata', 'name') === name;
}

async function repositoryWith(
  plain: Readonly<Record<string, string>>,
  toEncrypt: Readonly<Record<string, string>>,
): Promise<TestRepository> {
  const recipient = await identityToRecipient(identity);
  const work = mkdtempSync(join(folder.path, 'plain-'));
  const encrypted = Object.entries(toEncrypt).map(([name, text]) => {
    const path = join(work, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    const args = ['encrypt', '--age', recipient, path];
    return [`app/${name}`, execFileSync(toolPath('sops'), args, { encoding: 'utf8' })] as const;
  });
  const files = Object.entries(plain).map(([name, text]) => [`app/${name}`, text] as const);
  return new TestRepository(folder.path, Object.fromEntries([...files, ...encrypted]));
}

/** Rendered by the plugin of the page, and by the controller itself. */
async function renderedBoth(
  repository: TestRepository,
  plugin: string,
  { env = {}, helm }: { readonly env?: Readonly<Record<string, string>>; readonly helm?: object },
): Promise<readonly (readonly KubeObject[])[]> {
  const own = mkdtempSync(join(folder.path, 'cmp-'));
  const environment = { SOPS_AGE_KEY: identity };
  const server = await startPluginServer(own, { name: plugin, config: documented(plugin), environment });
  closing.push(() => server.close());
  const commands = createInProcessRunner({ clock: systemClock, env: { PATH: toolsPath() } });
  const desired = createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    cacheDir: join(own, 'cache'),
    commands,
    reach: { allowLocal: true },
    renderer: testRenderer(join(own, 'staging'), commands),
    plugins: withPlugins({ sockets: server.address, exclusions: [] }),
  });
  void desired.run(stop.signal);
  const at = { repoURL: repository.path, path: 'app' };
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
  const sources = [
    { ...at, plugin: { name: plugin, env: variables } },
    { ...at, ...(helm === undefined ? {} : { helm: { ...helm } }) },
  ];
  const rendered: (readonly KubeObject[])[] = [];
  for (const [i, source] of sources.entries()) {
    const decryption = i === 0 ? {} : { decryption: keysOf({ 'a.agekey': identity }) };
    const request = requestOf(source, bareRepository(repository.path), decryption);
    rendered.push((await renderOne(desired, request, stop.signal)).objects);
  }
  return rendered;
}

it('an overlay is decrypted by the plugin of the page, and equally by the controller', async () => {
  const kustomization = 'resources: [secret.yaml]\nnamePrefix: x-\n';
  const repository = await repositoryWith({ 'kustomization.yaml': kustomization }, { 'secret.yaml': secret });
  const [byPlugin, byUs] = await renderedBoth(repository, 'sops-kustomize', {});
  expect(byPlugin).toEqual(byUs);
  expect(byPlugin?.[0]).toMatchObject({ metadata: { name: 'x-db' }, stringData: { password: 'p4ss: word' } });
});

it('values of a chart are decrypted by the plugin of the page, and equally by the controller', async () => {
  const repository = await repositoryWith(chart, { 'secrets.yaml': 'password: hidden\n' });
  const [byPlugin, byUs] = await renderedBoth(repository, 'sops-helm', {
    env: { SECRET_VALUES: 'secrets.yaml' },
    helm: { valueFiles: ['secrets.yaml'] },
  });
  expect(byPlugin).toEqual(byUs);
  expect(byPlugin?.[0]).toMatchObject({ stringData: { a: 'hidden' } });
});

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { itWithTool, machineTools } from '../desired/testing/index.ts';
import { openRenderer } from './desired.ts';
import type { RendererOptions, RenderInputs, RenderSource, SourceRenderer } from './desired.ts';

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
/** The PATH of this machine, and the tools that `npm run e2e:setup` has built. */
const tools = ['helm', 'kustomize'] as const;
const withTools = [env['PATH'] ?? '', ...tools.flatMap((name) => pathOfTool(name))].join(delimiter);

function pathOfTool(name: 'helm' | 'kustomize'): readonly string[] {
  const found = machineTools(name);
  return found === undefined ? [] : [dirname(found)];
}

describe('@driftless/engine/desired', () => {
  let root: string;
  let folder: string;
  const renderers: SourceRenderer[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'driftless-door-'));
    folder = join(root, 'folder');
    mkdirSync(folder);
  });

  afterEach(async () => {
    for (const renderer of renderers.splice(0)) await renderer.close();
    rmSync(root, { recursive: true });
  });

  async function open(options: Partial<RendererOptions> = {}): Promise<SourceRenderer> {
    const renderer = await openRenderer({ env: { PATH: withTools }, cacheDir: join(root, 'cache'), ...options });
    renderers.push(renderer);
    return renderer;
  }

  function write(files: Readonly<Record<string, string>>, into = folder): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(into, name)), { recursive: true });
      writeFileSync(join(into, name), text);
    }
  }

  const render = async (source: RenderSource, inputs: Partial<RenderInputs> = {}): Promise<readonly string[]> => {
    const renderer = renderers[0] ?? (await open());
    const { objects } = await renderer.render({ source, ...inputs });
    return objects.map(({ kind, metadata }) => `${kind} ${metadata.name ?? ''}`);
  };

  it('renders a folder as it is now, with a revision that is equal for equal content', async () => {
    write({ 'a.yaml': configMap('one'), 'sub/b.yaml': configMap('two') });
    const renderer = await open();
    const first = await renderer.render({ source: { folder } });
    expect(first.objects).toHaveLength(1);
    expect((await renderer.render({ source: { folder } })).revision).toBe(first.revision);
    expect(await render({ folder, directory: { recurse: true } })).toEqual(['ConfigMap one', 'ConfigMap two']);
    expect(await render({ folder, path: 'sub' })).toEqual(['ConfigMap two']);
    write({ 'a.yaml': configMap('three') });
    const next = await renderer.render({ source: { folder } });
    expect(next.objects).toMatchObject([{ metadata: { name: 'three' } }]);
    expect(next.revision).not.toBe(first.revision);
  });

  it('keeps concurrent renders of one changing folder apart', async () => {
    const renderer = await open();
    write({ 'a.yaml': configMap('old') });
    const pending = Array.from({ length: 5 }, () => renderer.render({ source: { folder } }));
    const found = await Promise.all(pending);
    expect(new Set(found.map(({ revision }) => revision)).size).toBe(1);
    for (const { objects } of found) expect(objects).toMatchObject([{ metadata: { name: 'old' } }]);
  });

  it('renders a revision of a repository, and refuses one on this machine unless that is allowed', async () => {
    write({ 'app/a.yaml': configMap('one') });
    const git = (...args: readonly string[]): string =>
      execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
    git('init', '--quiet', '--initial-branch=main');
    git('add', '.');
    git('-c', 'user.name=a', '-c', 'user.email=a@b.invalid', 'commit', '--quiet', '-m', 'one');
    const source = { repoURL: folder, path: 'app', targetRevision: 'main' };
    const strict = await open();
    for (const [repoURL, why] of [
      [folder, 'it points to the local disk (options.allowLocal allows that)'],
      [`file://${folder}`, 'it points to the local disk (options.allowLocal allows that)'],
      ['http://127.0.0.1:1/app.git', 'is a loopback address (options.allowLocal permits it, for labs)'],
    ] as const)
      await expect(strict.render({ source: { ...source, repoURL } })).rejects.toMatchObject({
        code: expect.stringMatching(/^DESIRED_/),
        message: expect.stringContaining(why),
      });
    const local = await open({ allowLocal: true, cacheDir: join(root, 'local') });
    const { objects, revision } = await local.render({ source });
    expect(objects).toMatchObject([{ metadata: { name: 'one' } }]);
    expect(revision).toBe(git('rev-parse', 'main').trim());
    await expect(local.render({ source: { ...source, targetRevision: 'gone' } })).rejects.toMatchObject({
      code: 'DESIRED_REVISION',
    });
  });

  it.each<[string, RenderSource, string, RegExp]>([
    ['a path that is not there', { folder: '', path: 'gone' }, 'DESIRED_PATH', /gone/],
    ['a path that leads out', { folder: '', path: '../..' }, 'DESIRED_', /./],
    ['a folder that is not there', { folder: '/gone/nowhere' }, 'DESIRED_PATH', /cannot read the directory/],
    ['no origin', {}, 'USAGE', /either a folder or a repoURL/],
    ['two origins', { folder: '', repoURL: 'https://a.invalid' }, 'USAGE', /either a folder or a repoURL/],
    ['a revision of a folder', { folder: '', targetRevision: 'main' }, 'USAGE', /a folder has no revisions/],
    ['a plugin', { folder: '', plugin: {} } as RenderSource, 'USAGE', /plugin is not supported/],
  ])('refuses %s', async (_what, source, code, message) => {
    write({ 'a.yaml': configMap('one') });
    const given = source.folder === '' ? { ...source, folder } : source;
    const refused = expect(render(given)).rejects;
    await refused.toMatchObject({
      code: expect.stringContaining(code),
      message: expect.stringMatching(message),
    });
  });

  it('refuses a file that is no manifest, a link that leads out, and what exceeds its limits', async () => {
    write({ 'bad.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: [\n' });
    await expect(render({ folder })).rejects.toMatchObject({ code: 'DESIRED_MANIFEST' });
    rmSync(join(folder, 'bad.yaml'));
    symlinkSync('/etc/hostname', join(folder, 'link.yaml'));
    await expect(render({ folder })).rejects.toMatchObject({ code: expect.stringMatching(/^DESIRED_/) });
    rmSync(join(folder, 'link.yaml'));
    write({ 'a.yaml': configMap('one'), 'b.yaml': configMap('two') });
    for (const limits of [{ maxObjects: 1 }, { maxManifestBytes: 60 }, { maxCheckoutFiles: 1 }]) {
      const small = await open({ limits, cacheDir: join(root, Object.keys(limits).join()) });
      await expect(small.render({ source: { folder } })).rejects.toThrow(/more than|exceed/);
    }
  });

  it('fails again with the cause, however often a source has failed', async () => {
    const renderer = await open();
    for (let i = 0; i < 5; i += 1)
      await expect(renderer.render({ source: { folder, path: 'gone' } })).rejects.toMatchObject({
        code: 'DESIRED_PATH',
      });
  });

  it('names the option by which a network is denied', async () => {
    const renderer = await open({ limits: { deniedNetworks: ['10.0.0.0/8'] } });
    await expect(renderer.render({ source: { repoURL: 'https://10.1.2.3/app.git' } })).rejects.toThrow(
      'lies in a network that options.limits.deniedNetworks keeps sources out of',
    );
  });

  it('names files that have some keys of a manifest and are none', async () => {
    write({
      'a.yaml': configMap('one'),
      'values.yaml': 'replicas: 3\n',
      'kindless.yaml': 'apiVersion: v1\nmetadata: {name: b}\n',
      'big.yaml': `kind: ConfigMap\napiVersion: v1\ntext: "${'x'.repeat(2 ** 20)}"\ndata: [\n`,
    });
    const { objects, ignored } = await (await open()).render({ source: { folder } });
    expect(objects).toHaveLength(1);
    expect(ignored).toEqual([
      expect.stringMatching(/^big\.yaml: document 1: ./),
      "kindless.yaml: document 1: Object 'Kind' is missing",
    ]);
  });

  it('ends with the signal, and refuses work after close', async () => {
    write({ 'a.yaml': configMap('one') });
    const renderer = await openRenderer({ env: { PATH: withTools } });
    const controller = new AbortController();
    const pending = renderer.render({ source: { folder }, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(pending).rejects.toThrow('enough');
    const own = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('driftless-desired-'));
    const before = own();
    await renderer.close();
    await renderer.close();
    expect(before.filter((name) => !own().includes(name)).length).toBeGreaterThan(0);
    expect(existsSync(folder)).toBe(true);
    await expect(renderer.render({ source: { folder } })).rejects.toThrow('the renderer is closed');
  });

  itWithTool('helm', 'renders a chart with values, for a version of the cluster', async () => {
    write({
      'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'values.yaml': 'name: default\n',
      'templates/a.yaml': `${configMap('{{ .Release.Name }}-{{ .Values.name }}')}data: {v: "{{ .Capabilities.KubeVersion.Version }}"}\n`,
    });
    const renderer = await open();
    const { objects, sourceType } = await renderer.render({
      source: { folder, helm: { parameters: [{ name: 'name', value: 'given' }] } },
      name: 'shop',
      kubeVersion: 'v1.33.1',
    });
    expect(sourceType).toBe('Helm');
    expect(objects).toMatchObject([{ metadata: { name: 'shop-given' }, data: { v: 'v1.33.1' } }]);
    write({ 'templates/b.yaml': '{{ fail "no way" }}' });
    await expect(renderer.render({ source: { folder } })).rejects.toMatchObject({
      code: 'DESIRED_RENDER',
      message: expect.stringContaining('no way'),
    });
  });

  itWithTool('kustomize', 'renders an overlay of a base', async () => {
    write({
      'base/kustomization.yaml': 'resources: [a.yaml]\n',
      'base/a.yaml': configMap('one'),
      'live/kustomization.yaml': 'resources: [../base]\nnamePrefix: live-\n',
    });
    expect(await render({ folder, path: 'live' })).toEqual(['ConfigMap live-one']);
  });
});

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { SourcePathError, ToolFailed, ToolMissing, UnsupportedSource } from '../../errors.ts';
import { baseAddress } from './remote-bases.ts';
import { failureOf, machineTools, renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import { currentRevision, renderedAgain, requestOf } from '../../testing/request.ts';
import { describeWithTool, itWithTool } from '../../testing/with-tool.ts';

const configMap = (name: string, value = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: "${value}"}\n`;
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx:1.0}]}
`;
const overlay = {
  'base/kustomization.yaml': 'resources: [deployment.yaml]\n',
  'base/deployment.yaml': deployment,
  'parts/extra/kustomization.yaml':
    'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [cm.yaml]\n',
  'parts/extra/cm.yaml': configMap('extra'),
  'prod/kustomization.yaml':
    'resources: [../base]\nconfigMapGenerator: [{name: made, files: [named=app.conf], options: {disableNameSuffixHash: true}}]\n',
  'prod/app.conf': 'a=1',
};
const options = requestOf({ repoURL: '' }, { url: '', type: 'git', insecure: false, inheritedCreds: false }).options;

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const names = (objects: readonly KubeObject[]): string[] => objects.map((o) => `${o.kind}/${o.metadata.name ?? ''}`);
const find = (objects: readonly KubeObject[], kind: string): KubeObject =>
  objects.find((object) => object.kind === kind) ?? { apiVersion: '', kind: 'none', metadata: {} };

describe('a missing kustomize', () => {
  it('is named in the condition with how to install it', async () => {
    bench.close();
    bench = renderBench({ tools: () => undefined });
    const error = await failureOf(bench.render(bench.repository(overlay), { path: 'prod' }));
    expect(error).toBeInstanceOf(ToolMissing);
    expect(error.message).toMatch(/^kustomize is not installed .* install kustomize 5\.0 or newer/);
  });

  it('is reported if the installed version is too old', async () => {
    const old = join(bench.root, 'kustomize');
    writeFileSync(old, '#!/bin/sh\necho v4.5.7\n', { mode: 0o755 });
    const other = renderBench({ tools: () => old });
    const error = await failureOf(other.render(bench.repository(overlay), { path: 'prod' })).finally(other.close);
    expect(error.message).toMatch(/has version 4\.5\.7, but 5\.0 or newer is required/);
  });

  it('is not needed with kustomize.enable=false, which reads the directory as plain files like Argo CD', async () => {
    const made = await bench.render(
      bench.repository({ 'a.yaml': configMap('a'), 'kustomization.txt': '' }),
      { kustomize: {} },
      { options: { ...options, enabledTypes: { Kustomize: false } } },
    );
    expect([made.sourceType, names(made.objects)]).toEqual(['Directory', ['ConfigMap/a']]);
  });
});

describeWithTool('kustomize', 'rendering overlays', () => {
  it('follows a kustomization, or its directory, that is a link within the repository', async () => {
    const repository = bench.repository({
      'base/kustomization.yaml': 'namePrefix: p-\nresources: [c.yaml]\n',
      'app/c.yaml': configMap('c'),
    });
    repository.link('app/kustomization.yaml', '../base/kustomization.yaml');
    repository.link('here', 'app');
    for (const path of ['app', 'here'])
      expect(names((await bench.render(repository, { path })).objects)).toEqual(['ConfigMap/p-c']);
  });

  it('renders an overlay with its bases, files and components, and leaves nothing behind', async () => {
    const repository = bench.repository(overlay);
    const sha = repository.save();
    const made = await bench.render(repository, { path: 'prod', kustomize: { components: ['../parts/extra'] } });
    expect([made.sourceType, made.revision]).toEqual(['Kustomize', sha]);
    expect(names(made.objects).sort()).toEqual(['ConfigMap/extra', 'ConfigMap/made', 'Deployment/web']);
    expect(made.objects.find((o) => o.metadata.name === 'made')?.['data']).toEqual({ named: 'a=1' });
    expect(readdirSync(join(bench.root, 'staging'))).toEqual([]);
  });

  it('are read with their bases, components and neighbours by one run of git', async () => {
    const repository = bench.repository({ ...overlay, 'other/kustomization.yaml': 'resources: [../base]\n' });
    const reads = (): number => bench.ran.filter((argv) => argv.includes('cat-file')).length;
    const before = reads();
    await bench.render(repository, { path: 'prod', kustomize: { components: ['../parts/extra'] } });
    expect(reads() - before).toBe(1);
    await bench.render(repository, { path: 'other' });
    repository.commit({ 'README.md': 'more\n' });
    await bench.render(repository, { path: 'prod' }, { cache: renderedAgain });
    expect(reads() - before).toBe(1);
  });

  it('applies every option of the source', async () => {
    const made = await bench.render(
      bench.repository(overlay),
      {
        path: 'base',
        kustomize: {
          namePrefix: '-p-',
          nameSuffix: '-s',
          namespace: 'shop',
          images: ['nginx=registry.example.com/nginx:$ARGOCD_APP_NAME'],
          replicas: [{ name: 'web', count: '3' }],
          commonLabels: { team: 'x-${ARGOCD_APP_NAME}' },
          labelWithoutSelector: true,
          commonAnnotations: { who: '$ARGOCD_APP_NAME', free: 'a b' },
          commonAnnotationsEnvsubst: true,
          patches: [{ target: { kind: 'Deployment' }, patch: '- {op: add, path: /spec/paused, value: true}' }],
        },
      },
      { appName: 'shop' },
    );
    const web = find(made.objects, 'Deployment');
    expect(web.metadata).toMatchObject({
      name: '-p-web-s',
      namespace: 'shop',
      labels: { team: 'x-shop' },
      annotations: { who: 'shop', free: 'a b' },
    });
    expect(web['spec']).toMatchObject({
      replicas: 3,
      paused: true,
      selector: { matchLabels: { app: 'web' } },
      template: { spec: { containers: [{ image: 'registry.example.com/nginx:shop' }] } },
    });
    expect((web['spec'] as { selector: object }).selector).toEqual({ matchLabels: { app: 'web' } });
  });

  it('leaves out missing components, also directories without a kustomization, if the source says so', async () => {
    const repository = bench.repository(overlay);
    const render = (ignoreMissingComponents: boolean): ReturnType<RenderBench['render']> =>
      bench.render(repository, {
        path: 'prod',
        kustomize: { components: ['../gone', 'app.conf', '../parts', '../parts/extra'], ignoreMissingComponents },
      });
    expect(names((await render(true)).objects)).toContain('ConfigMap/extra');
    expect(await failureOf(render(false))).toBeInstanceOf(ToolFailed);
  });

  it.each([
    ['+2', 2],
    [-1, -1],
    ['007', 7],
  ])('reads a number of replicas as Go does: %j', async (count, expected) => {
    const made = await bench.render(bench.repository(overlay), {
      path: 'base',
      kustomize: { replicas: [{ name: 'web', count }] },
    });
    expect(find(made.objects, 'Deployment')['spec']).toMatchObject({ replicas: expected });
  });

  it('leaves an empty image to kustomize, which refuses it', async () => {
    const error = await failureOf(
      bench.render(bench.repository(overlay), { path: 'base', kustomize: { images: [''] } }),
    );
    expect(error.message).toMatch(/invalid format of image/);
  });

  it('applies build options of argocd-cm, and selects binaries by version', async () => {
    const repository = bench.repository({
      'app/kustomization.yaml': 'resources: [../shared.yaml]\n',
      'shared.yaml': configMap('shared'),
    });
    const refused = await failureOf(bench.render(repository, { path: 'app' }));
    expect(refused).toBeInstanceOf(ToolFailed);
    expect(refused.message).toMatch(/is not in or below/);
    expect(refused.message).not.toContain(bench.root);
    const free = { ...options, kustomizeBuildOptions: '--load-restrictor LoadRestrictionsNone' };
    expect(names((await bench.render(repository, { path: 'app' }, { options: free })).objects)).toEqual([
      'ConfigMap/shared',
    ]);
    const unknown = await failureOf(bench.render(repository, { path: 'app', kustomize: { version: 'v4' } }));
    expect(unknown.message).toBe('kustomize version v4 is not registered');
    const versions = { ...free, kustomizeVersions: { v4: machineTools('kustomize') ?? '' } };
    const made = await bench.render(repository, { path: 'app', kustomize: { version: 'v4' } }, { options: versions });
    expect(names(made.objects)).toEqual(['ConfigMap/shared']);
  });

  it('renders again if a commit changes a base, and not if it changes no file that was read', async () => {
    const repository = bench.repository(overlay);
    await bench.render(repository, { path: 'prod' }, { revision: 'main' });
    repository.commit({ 'README.md': 'x', 'other/a.yaml': configMap('a') });
    const second = repository.save();
    const made = await bench.render(repository, { path: 'prod' }, { revision: second });
    expect([made.revision, bench.count('kustomize', 'build')]).toEqual([second, 1]);
    const third = repository.commit({ 'base/deployment.yaml': deployment.replace('nginx:1.0', 'nginx:2.0') });
    const after = await bench.render(repository, { path: 'prod' }, { revision: third });
    expect(JSON.stringify(after.objects)).toContain('nginx:2.0');
    await bench.render(repository, { path: 'prod' }, { revision: third, cache: renderedAgain });
    expect(bench.count('kustomize', 'build')).toBe(3);
  });

  it.each([
    [
      'a cycle',
      { 'a/kustomization.yaml': 'resources: [../b]\n', 'b/kustomization.yaml': 'resources: [../a]\n' },
      /cycle/,
    ],
    ['a resource that is missing', { 'a/kustomization.yaml': 'resources: [gone.yaml]\n' }, /gone\.yaml/],
    ['what is no YAML', { 'a/kustomization.yaml': 'resources: [\n' }, /^a\/kustomization\.yaml cannot be read/],
    [
      'a remote configuration',
      { 'a/kustomization.yaml': 'transformers: ["https://u:p@example.com/x/y.yaml"]\n' },
      /has a remote file \("https:\/\/example.com/,
    ],
    [
      'a remote file without a name',
      { 'a/kustomization.yaml': 'patches: [{path: "https://u:p@example.com/"}]\n' },
      /names a file on another server without a plain name \("https:\/\/\S*example.com/,
    ],
    [
      'a remote base on the disk',
      { 'a/kustomization.yaml': 'resources: ["file:///etc//x"]\n' },
      /repository not found|does not appear to be a git repository|not a git repository/,
    ],
    [
      'an absolute path',
      { 'a/kustomization.yaml': 'resources: [/etc/passwd]\n' },
      /the path "\/etc\/passwd" is absolute/,
    ],
    [
      'a path outside the repository',
      { 'a/kustomization.yaml': 'resources: [../../../../etc/passwd]\n' },
      /leads out of the repository/,
    ],
    [
      'a file outside the repository',
      { 'a/kustomization.yaml': 'configMapGenerator: [{name: x, files: [k=../../../proc/self/environ]}]\n' },
      /leads out of the repository/,
    ],
  ])('reports %s', async (_name, files, message) => {
    const error = await failureOf(bench.render(bench.repository(files), { path: 'a' }));
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(bench.root);
    expect(error.message).not.toContain('u:p@');
  });

  // T-SEC-30
  it('finds links out of the repository through other links before it writes anything', async () => {
    const repository = bench.repository({
      'top/kustomization.yaml': 'resources: [x.yaml]\n',
      'a/b/c/keep.txt': '',
      'r/keep.txt': '',
    });
    // Each target alone stays inside: "x" is three levels deep, but its target only one.
    repository.link('a/b/c/x', '../../../r');
    repository.link('top/x.yaml', '../a/b/c/x/../../etc/passwd');
    const error = await failureOf(bench.render(repository, { path: 'top' }));
    expect(error).toBeInstanceOf(SourcePathError);
    expect(error.message).toMatch(/leads out of the repository/);
    expect(existsSync(join(bench.root, 'staging'))).toBe(false);
    // No kustomization names this link, but it would be in the checkout.
    repository.link('other/secret.txt', '../a/b/c/x/../../etc/passwd');
    repository.commit({ 'other/kustomization.yaml': 'namePrefix: x-\nresources: []\n' });
    const unnamed = await failureOf(bench.render(repository, { path: 'other' }, { cache: currentRevision }));
    expect(unnamed.message).toBe('other/secret.txt: leads out of the repository');
    expect(existsSync(join(bench.root, 'staging'))).toBe(false);
  });

  it('fetches remote bases like sources, recursively, and kustomize needs no network', async () => {
    const common = bench.repository({
      'deep/kustomization.yaml': 'resources: [cm.yaml]\n',
      'deep/cm.yaml': configMap('common'),
    });
    const first = common.git('rev-parse', 'HEAD');
    const middle = bench.repository({
      'x/kustomization.yaml': `resources: ["file://${common.path}//deep?ref=main", ../y]\nnamePrefix: mid-\n`,
      'y/kustomization.yaml': 'resources: [cm.yaml]\n',
      'y/cm.yaml': configMap('y'),
    });
    const top = bench.repository({
      'a/kustomization.yaml': `resources: ["file://${middle.path}//x", "file://${common.path}//deep?ref=${first}"]\nnameSuffix: -top\n`,
    });
    const sorted = async (more = {}): Promise<string[]> =>
      names((await bench.render(top, { path: 'a' }, more)).objects).sort();
    const expected = ['ConfigMap/common-top', 'ConfigMap/mid-common-top', 'ConfigMap/mid-y-top'];
    expect(await sorted()).toEqual(expected);
    const builds = bench.count('kustomize', 'build');
    expect(await sorted({ cache: currentRevision })).toEqual(expected);
    expect(bench.count('kustomize', 'build')).toBe(builds);
    common.commit({ 'deep/cm.yaml': configMap('moved') });
    expect(await sorted({ cache: currentRevision })).toEqual([
      'ConfigMap/common-top',
      'ConfigMap/mid-moved-top',
      'ConfigMap/mid-y-top',
    ]);
  });

  it('fetches remote bases only from repositories that the project permits', async () => {
    const base = bench.repository({ 'kustomization.yaml': 'resources: []\n' });
    const top = bench.repository({ 'a/kustomization.yaml': `resources: ["file://${base.path}"]\n` });
    const repositories = { repositories: [], credentials: [], sourceRepos: [top.path] };
    const { message } = await failureOf(bench.render(top, { path: 'a' }, { repositories }));
    expect(message).toBe(
      `the remote base file://${base.path} is not permitted in project 'default': its sourceRepos must name it`,
    );
    const missing = await failureOf(
      bench.render(bench.repository({ 'a/kustomization.yaml': `resources: ["file://${base.path}//gone"]\n` }), {
        path: 'a',
      }),
    );
    expect(missing.message).toMatch(/has no folder "gone"$/);
  });

  it.each([
    ['https://git.example.com/a/b//c/d?ref=v1', ['https://git.example.com/a/b', 'c/d', 'v1']],
    ['https://git.example.com/a/b.git//c?version=v2&timeout=90s', ['https://git.example.com/a/b.git', 'c', 'v2']],
    ['https://git.example.com/a/b.git/c', ['https://git.example.com/a/b.git', 'c', '']],
    ['github.com/a/b/c?ref=x', ['https://github.com/a/b', 'c', 'x']],
    ['https://github.com/a/b', ['https://github.com/a/b', '', '']],
    ['git@github.com:a/b/c', ['git@github.com:a/b', 'c', '']],
    ['git@git.example.com:a/b.git//c?ref=x', ['git@git.example.com:a/b.git', 'c', 'x']],
    ['ssh://git@git.example.com:22/a/b//c', ['ssh://git@git.example.com:22/a/b', 'c', '']],
    ['git::https://git.example.com/a//b', ['https://git.example.com/a', 'b', '']],
    ['gh:a/b', ['https://github.com/a/b', '', '']],
    ['https://dev.azure.com/o/p/_git/r/c/d', ['https://dev.azure.com/o/p/_git/r', 'c/d', '']],
    ['https://git.example.com/a/b?ref=v1', ['https://git.example.com/a/b', '', 'v1']],
    ['https://raw.example.com/a/b.yaml', undefined],
  ])('parses the remote base %s', (text, expected) => {
    const found = baseAddress(text);
    expect(found === undefined ? undefined : [found.url, found.path, found.revision]).toEqual(expected);
  });

  // T-SEC-31
  it('passes values that start with a dash as values', async () => {
    const made = await bench.render(bench.repository(overlay), {
      path: 'base',
      kustomize: { namePrefix: '--help', commonAnnotations: { '--force': 'x' } },
    });
    expect(find(made.objects, 'Deployment').metadata).toMatchObject({
      name: '--helpweb',
      annotations: { '--force': 'x' },
    });
  });

  // T-SEC-40
  it('refuses a source above the limits before it is read', async () => {
    const small = renderBench({ limits: { maxCheckoutBytes: 10 } });
    const error = await failureOf(small.render(bench.repository(overlay), { path: 'prod' })).finally(small.close);
    expect(error.message).toMatch(/have more than 10 bytes/);
    expect(small.count('kustomize', 'build')).toBe(0);
  });

  itWithTool('helm', 'inflates a chart of the repository, and needs a repository for others', async () => {
    const withHelm = { options: { ...options, kustomizeBuildOptions: '--enable-helm' } };
    const chart = {
      'a/charts/x/Chart.yaml': 'apiVersion: v2\nname: x\nversion: 1.0.0\n',
      'a/charts/x/values.yaml': '{}\n',
      'a/charts/x/templates/cm.yaml': configMap('{{ .Release.Name }}-{{ .Capabilities.KubeVersion.Minor }}'),
      'a/kustomization.yaml': 'helmCharts: [{name: x, releaseName: rel}]\n',
      'b/kustomization.yaml': 'helmCharts: [{name: x, version: 1.0.0}]\n',
    };
    const repository = bench.repository(chart);
    const refused = await failureOf(bench.render(repository, { path: 'b' }, withHelm));
    expect(refused).toBeInstanceOf(UnsupportedSource);
    expect(refused.message).toMatch(/^the kustomization of b has a Helm chart that is not in the repository \("x"\)/);
    expect(names((await bench.render(repository, { path: 'a' }, withHelm)).objects)).toEqual(['ConfigMap/rel-33']);
  });
});

describe('the environment of a program', () => {
  it('has the build environment, and nothing of this process: no PATH, no working proxy, no home', async () => {
    bench.close();
    const seen = '$ARGOCD_APP_NAME,$PATH,$https_proxy,$HOME,$NODE_ENV,$USER';
    const folder = mkdtempSync(join(tmpdir(), 'fake-'));
    const path = join(folder, 'kustomize');
    const printed = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {value: "${seen}"}`;
    writeFileSync(
      path,
      `#!/bin/sh\nif [ "$1" = version ]; then echo v5.8.0; else echo '${printed.replace(seen, `'"${seen}"'`)}'; fi\n`,
      { mode: 0o755 },
    );
    bench = renderBench({ tools: () => path });
    const made = await bench.render(bench.repository(overlay), { path: 'base' });
    rmSync(folder, { recursive: true });
    const { value } = made.objects[0]?.['data'] as { value: string };
    const [name, programs, proxy, home, ...rest] = value.split(',');
    expect([name, programs, proxy, rest]).toEqual(['app', '/nonexistent', 'http://127.0.0.1:9', ['', '']]);
    expect(home).toMatch(new RegExp(`^${bench.root}/staging/[^/]+/home$`));
  });
});

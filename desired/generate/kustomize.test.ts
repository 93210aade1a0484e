import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { SourcePathError, ToolFailed, ToolMissing, UnsupportedSource } from '../errors.ts';
import { baseAddress } from './remote-bases.ts';
import { failureOf, machineTools, renderBench } from '../testing/repository.ts';
import type { RenderBench } from '../testing/repository.ts';
import { requestOf } from '../testing/request.ts';
import { describeWithTool, itWithTool } from '../testing/with-tool.ts';

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

describe('kustomize that is not there', () => {
  it('10.2: the condition says which program is missing, and how to get it', async () => {
    bench.close();
    bench = renderBench({ tools: () => undefined });
    const error = await failureOf(bench.render(bench.repository(overlay), { path: 'prod' }));
    expect(error).toBeInstanceOf(ToolMissing);
    expect(error.message).toMatch(/^kustomize is not installed .* install kustomize 5\.0 or newer/);
  });

  it('10.2: one that is too old is refused', async () => {
    const old = join(bench.root, 'kustomize');
    writeFileSync(old, '#!/bin/sh\necho v4.5.7\n', { mode: 0o755 });
    const other = renderBench({ tools: () => old });
    const error = await failureOf(other.render(bench.repository(overlay), { path: 'prod' })).finally(other.close);
    expect(error.message).toMatch(/is of version 4\.5\.7: 5\.0 or newer is needed/);
  });

  it('10.2: kustomize.enable=false reads the directory as plain files, as Argo CD does', async () => {
    const made = await bench.render(
      bench.repository({ 'a.yaml': configMap('a'), 'kustomization.txt': '' }),
      { kustomize: {} },
      { options: { ...options, enabledTypes: { Kustomize: false } } },
    );
    expect([made.sourceType, names(made.objects)]).toEqual(['Directory', ['ConfigMap/a']]);
  });
});

describeWithTool('kustomize', 'kustomize', () => {
  it('10.2: renders an overlay with its bases, files and components, and leaves nothing behind', async () => {
    const repository = bench.repository(overlay);
    const sha = repository.save();
    const made = await bench.render(repository, { path: 'prod', kustomize: { components: ['../parts/extra'] } });
    expect([made.sourceType, made.revision]).toEqual(['Kustomize', sha]);
    expect(names(made.objects).sort()).toEqual(['ConfigMap/extra', 'ConfigMap/made', 'Deployment/web']);
    expect(made.objects.find((o) => o.metadata.name === 'made')?.['data']).toEqual({ named: 'a=1' });
    expect(readdirSync(join(bench.root, 'cache', 'work'))).toEqual([]);
  });

  it('10.2: every option of the source has its effect', async () => {
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

  it('10.2: build options of argocd-cm, and binaries by version', async () => {
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

  it('10.3: a commit that touches nothing of what was read renders nothing; one that touches a base does', async () => {
    const repository = bench.repository(overlay);
    await bench.render(repository, { path: 'prod' }, { revision: 'main' });
    repository.commit({ 'README.md': 'x', 'other/a.yaml': configMap('a') });
    const second = repository.save();
    const made = await bench.render(repository, { path: 'prod' }, { revision: second });
    expect([made.revision, bench.count('kustomize', 'build')]).toEqual([second, 1]);
    const third = repository.commit({ 'base/deployment.yaml': deployment.replace('nginx:1.0', 'nginx:2.0') });
    const after = await bench.render(repository, { path: 'prod' }, { revision: third });
    expect(JSON.stringify(after.objects)).toContain('nginx:2.0');
    await bench.render(repository, { path: 'prod' }, { revision: third, noCache: true });
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
      'a remote file',
      { 'a/kustomization.yaml': 'resources: ["https://u:p@example.com/x/y.yaml"]\n' },
      /names a file on another server \("https:\/\/\S*example.com\/x\/y.yaml"/,
    ],
    [
      'a remote patch',
      { 'a/kustomization.yaml': 'patches: [{path: "https://u:p@example.com/x/y.yaml"}]\n' },
      /has a remote file \("https:\/\/example.com/,
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
      'a path that leads out',
      { 'a/kustomization.yaml': 'resources: [../../../../etc/passwd]\n' },
      /leads out of the repository/,
    ],
    [
      'a file that leads out',
      { 'a/kustomization.yaml': 'configMapGenerator: [{name: x, files: [k=../../../proc/self/environ]}]\n' },
      /leads out of the repository/,
    ],
  ])('10: %s ends in one message that says so', async (_name, files, message) => {
    const error = await failureOf(bench.render(bench.repository(files), { path: 'a' }));
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(bench.root);
    expect(error.message).not.toContain('u:p@');
  });

  it('T-SEC-30: links through links that lead out are found before anything is written', async () => {
    const repository = bench.repository({
      'top/kustomization.yaml': 'resources: [x.yaml]\n',
      'a/b/c/keep.txt': '',
      'r/keep.txt': '',
    });
    // Each target, read on its own, stays inside: "x" is three levels deep, but what it leads to is only one.
    repository.link('a/b/c/x', '../../../r');
    repository.link('top/x.yaml', '../a/b/c/x/../../etc/passwd');
    const error = await failureOf(bench.render(repository, { path: 'top' }));
    expect(error).toBeInstanceOf(SourcePathError);
    expect(error.message).toMatch(/leads out of the repository/);
    expect(existsSync(join(bench.root, 'cache', 'work'))).toBe(false);
    // One that no kustomization names, but that would lie in the checkout.
    repository.link('other/secret.txt', '../a/b/c/x/../../etc/passwd');
    repository.commit({ 'other/kustomization.yaml': 'namePrefix: x-\nresources: []\n' });
    const unnamed = await failureOf(bench.render(repository, { path: 'other' }, { noRevisionCache: true }));
    expect(unnamed.message).toBe('other/secret.txt: leads out of the repository');
    expect(existsSync(join(bench.root, 'cache', 'work'))).toBe(false);
  });

  it('10.2: remote bases are fetched as sources are, through each other, and kustomize needs no network', async () => {
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
    expect(await sorted({ noRevisionCache: true })).toEqual(expected);
    expect(bench.count('kustomize', 'build')).toBe(builds);
    common.commit({ 'deep/cm.yaml': configMap('moved') });
    expect(await sorted({ noRevisionCache: true })).toEqual([
      'ConfigMap/common-top',
      'ConfigMap/mid-moved-top',
      'ConfigMap/mid-y-top',
    ]);
  });

  it('10.5: remote bases come from repositories only that the project permits', async () => {
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
  ])('10.2: the remote base %s', (text, expected) => {
    const found = baseAddress(text);
    expect(found === undefined ? undefined : [found.url, found.path, found.revision]).toEqual(expected);
  });

  it('T-SEC-31: values that begin with a dash are values', async () => {
    const made = await bench.render(bench.repository(overlay), {
      path: 'base',
      kustomize: { namePrefix: '--help', commonAnnotations: { '--force': 'x' } },
    });
    expect(find(made.objects, 'Deployment').metadata).toMatchObject({
      name: '--helpweb',
      annotations: { '--force': 'x' },
    });
  });

  it('T-SEC-40: a source that needs more than the limits is refused before it is read', async () => {
    const small = renderBench({ limits: { maxCheckoutBytes: 10 } });
    const error = await failureOf(small.render(bench.repository(overlay), { path: 'prod' })).finally(small.close);
    expect(error.message).toMatch(/have more than 10 bytes/);
    expect(small.count('kustomize', 'build')).toBe(0);
  });

  itWithTool(
    'helm',
    '10.2: a chart that kustomize would have to download is refused; one of the repository is inflated',
    async () => {
      const withHelm = { options: { ...options, kustomizeBuildOptions: '--enable-helm' } };
      const chart = {
        'a/charts/x/Chart.yaml': 'apiVersion: v2\nname: x\nversion: 1.0.0\n',
        'a/charts/x/values.yaml': '{}\n',
        'a/charts/x/templates/cm.yaml': configMap('{{ .Release.Name }}-{{ .Capabilities.KubeVersion.Minor }}'),
        'a/kustomization.yaml': 'helmCharts: [{name: x, releaseName: rel}]\n',
        'b/kustomization.yaml': 'helmCharts: [{name: x, repo: "https://charts.example.com", version: 1.0.0}]\n',
      };
      const repository = bench.repository(chart);
      const refused = await failureOf(bench.render(repository, { path: 'b' }, withHelm));
      expect(refused).toBeInstanceOf(UnsupportedSource);
      expect(refused.message).toMatch(/^the kustomization of b has a Helm chart that is not in the repository \("x"\)/);
      expect(names((await bench.render(repository, { path: 'a' }, withHelm)).objects)).toEqual(['ConfigMap/rel-33']);
    },
  );
});

describe('the surroundings of a program', () => {
  it('10.5: it sees the build environment, and nothing of this process: no PATH, no proxy that works, no home', async () => {
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
    expect(home).toMatch(new RegExp(`^${bench.root}/cache/work/[^/]+/home$`));
  });
});

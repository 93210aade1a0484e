import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { driftless } from '#support';
import { temporaryFolder, toolPath, toolsPath } from './support/index.ts';

// Tests the built `driftless manifests` with real helm and kustomize. Unit tests in
// desired/generate skip without these programs; here they are required.

const configMap = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: "${value}"}\n`;

let root: string;
let remove: () => void;
let repository: string;

beforeAll(() => {
  ({ path: root, remove } = temporaryFolder('sources'));
  repository = commit('apps', {
    'chart/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
    'chart/values.yaml': 'colour: grey\n',
    'chart/templates/cm.yaml': configMap('{{ .Release.Name }}', '{{ .Values.colour }}'),
    'overlay/kustomization.yaml': 'resources: [../base]\nnamePrefix: p-\n',
    'base/kustomization.yaml': 'resources: [cm.yaml]\n',
    'base/cm.yaml': configMap('base', 'x'),
  });
});

afterAll(() => remove());

function commit(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, name);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '.'],
    ['commit', '-qm', 'x'],
  ])
    execFileSync('git', ['-C', folder, ...who, ...args], { stdio: 'pipe' });
  return folder;
}

const manifests = (...args: string[]): ReturnType<typeof driftless> =>
  driftless(['manifests', ...args], { env: { PATH: toolsPath() } });

describe('sources that programs render', () => {
  it('are detected and rendered with kustomize and helm on PATH', async () => {
    expect([toolPath('helm'), toolPath('kustomize')].every((path) => path.startsWith('/'))).toBe(true);
    const overlay = await manifests('--repo', repository, '--path', 'overlay');
    expect([overlay.stderr, overlay.code]).toEqual(['', 0]);
    expect(overlay.stdout).toContain('name: p-base');
    const chart = await manifests('--repo', repository, '--path', 'chart', '--name', 'shop');
    expect(chart.stdout).toContain('name: shop');
    expect(chart.stdout).toContain('value: grey');
  });

  it('can use values of another repository in an Application with several sources', async () => {
    const values = commit('values', { 'prod.yaml': 'colour: green\n' });
    const app = join(root, 'app.yaml');
    const sources = [
      { repoURL: repository, path: 'chart', helm: { valueFiles: ['$values/prod.yaml'] } },
      { repoURL: values, ref: 'values' },
      { repoURL: repository, path: 'overlay', kustomize: { nameSuffix: '-s' } },
    ];
    const spec = { project: 'default', destination: { name: 'x', namespace: 'shop' }, sources };
    const metadata = { name: 'several', namespace: 'argocd' };
    writeFileSync(app, JSON.stringify({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata, spec }));
    const made = await manifests('-f', app);
    expect([made.stderr, made.code]).toEqual(['', 0]);
    expect(made.stdout).toContain('value: green');
    expect(made.stdout).toContain('name: p-base-s');
  });

  it('report a missing program and how to install it', async () => {
    const folder = join(root, 'bin');
    mkdirSync(folder, { recursive: true });
    const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    symlinkSync(git, join(folder, 'git'));
    const { code, stderr } = await driftless(['manifests', '--repo', repository, '--path', 'chart'], {
      env: { PATH: folder },
    });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/helm is not installed .*install helm 3\.14 or newer/);
  });
});

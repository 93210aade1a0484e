import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { createInProcessRunner } from '#desired';
import { asApplication, asProject, defaultSettings } from '#model';
import type { Application, Cluster, KubeObject } from '#model';
import type { InstallationFacts } from './facts.ts';
import { lookUpTools, machineTools, neededTools } from './tools.ts';

const app = (source: object, status: object = {}, project = 'default'): Application =>
  asApplication({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'a', namespace: 'argocd' },
    spec: { project, source, destination: {} },
    status,
  } as unknown as KubeObject);

const cluster = (name: string, command: string): Cluster => ({
  ...{
    id: name,
    server: `https://${name}`,
    name,
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
  },
  connection: {
    server: `https://${name}`,
    insecure: false,
    credentials: { exec: { command, args: [], env: {}, apiVersion: 'v1', provideClusterInfo: false } },
  },
});

const signed = asProject({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'AppProject',
  metadata: { name: 'signed' },
  spec: { signatureKeys: [{ keyID: 'AAAAAAAAAAAAAAAA' }] },
});

const installation = (clusters: readonly Cluster[] = []): InstallationFacts => ({
  namespace: 'argocd',
  settings: defaultSettings,
  problems: [],
  weaker: [],
  labelled: true,
  hasSettings: true,
  params: {},
  clusters,
  repositories: [],
  projects: new Map([['signed', signed]]),
  applications: [],
  workload: undefined,
  repoServer: undefined,
});

const git = 'https://git.example.com/a.git';

describe('programs that are needed', () => {
  it.each([
    ['nothing', [], []],
    ['git', [app({ repoURL: git })], [['git', '1 Application with Git sources']]],
    [
      'a chart needs no git',
      [app({ repoURL: 'https://charts', chart: 'c' })],
      [['helm', '1 Application with Helm sources']],
    ],
    [
      'Jsonnet',
      [app({ repoURL: git, directory: { jsonnet: { libs: ['vendor'] } } })],
      [
        ['git', '1 Application with Git sources'],
        ['jsonnet', '1 Application with Jsonnet sources'],
      ],
    ],
    [
      'what rendering found',
      [app({ repoURL: git }, { sourceType: 'Kustomize' }), app({ repoURL: git, helm: {} }), app({ repoURL: git })],
      [
        ['git', '3 Applications with Git sources'],
        ['helm', '1 Application with Helm sources'],
        ['kustomize', '1 Application with Kustomize sources'],
      ],
    ],
    [
      'ssh, and signatures',
      [app({ repoURL: 'git@git.example.com:a.git' }, {}, 'signed')],
      [
        ['git', '1 Application with Git sources'],
        ['gpg', '1 Application with sources that must be signed'],
        ['ssh', '1 Application with Git sources over ssh'],
      ],
    ],
  ] as const)('%s', (_name, apps, expected) => {
    const found = neededTools(apps, installation());
    expect(found.map(({ tool, neededBy }) => [tool, neededBy.join('; ')])).toEqual(expected);
  });

  it('credential plugins of clusters', () => {
    const clusters = [cluster('prod', 'argocd-k8s-auth'), cluster('dev', 'argocd-k8s-auth'), cluster('odd', '')];
    expect(neededTools([], installation(clusters))).toEqual([
      { tool: 'argocd-k8s-auth', neededBy: ['credentials of cluster prod', 'credentials of cluster dev'] },
    ]);
  });
});

describe('programs of this machine', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'driftless-tools-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const program = (name: string, text: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  };

  it('where they are, and what they say of themselves', async () => {
    program('helm', 'echo "v4.2.4 $*"; echo more');
    program('ssh', 'echo "OpenSSH_9" >&2');
    program('kustomize', 'exit 1');
    program('plugin', 'touch "$0.called"');
    writeFileSync(join(folder, 'gpg'), 'not a program');
    const runner = createInProcessRunner({ clock: systemClock, env: { PATH: process.env['PATH'] } });
    const lookup = machineTools({ PATH: `/nonexistent:${folder}` }, runner, new AbortController().signal);
    const needs = ['gpg', 'helm', 'kustomize', 'plugin', 'ssh'].map((tool) => ({ tool, neededBy: ['x'] }));
    const found = await lookUpTools(needs, lookup);
    expect(found.map(({ tool, path, version }) => [tool, path, version])).toEqual([
      ['gpg', undefined, undefined],
      ['helm', join(folder, 'helm'), 'v4.2.4 version --short'],
      ['kustomize', join(folder, 'kustomize'), undefined],
      ['plugin', join(folder, 'plugin'), undefined],
      ['ssh', join(folder, 'ssh'), 'OpenSSH_9'],
    ]);
    // Running a plugin might contact a cloud, or prompt the user.
    expect(existsSync(join(folder, 'plugin.called'))).toBe(false);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { driftless, eventually } from '#support';
import { repository } from './rendered-controller.ts';
import { runTool, startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

const destination = { server: 'https://kubernetes.default.svc', namespace: 'shop' };
const source = { repoURL: 'https://git.example.com/a&b.git', path: 'shop', targetRevision: 'main' };

function application(name: string, status?: object, spec: object = { source }): object {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: 'argocd', labels: { fleet: name.startsWith('other') ? 'other' : 'shop' } },
    spec: { project: 'default', destination, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

const at = '2026-11-25T12:00:00Z';
const helm = {
  releaseName: 'shop',
  parameters: [{ name: 'a', value: '<b>', forceString: true }],
  valuesObject: { image: { tag: '1.0' }, count: 3, off: false },
};
const condition = { type: 'SyncError', message: 'line 1: a "quoted" one\n\tline 2: — é <b>', lastTransitionTime: at };

/** Applications in every shape that a status has. */
const fleet = [
  application('synced', {
    sync: { status: 'Synced', revision: 'a1b2c3', comparedTo: { source, destination } },
    health: { status: 'Healthy', lastTransitionTime: at },
  }),
  application('fresh'),
  application('several', {
    sync: {
      status: 'OutOfSync',
      revisions: ['a', 'b'],
      comparedTo: { destination, sources: [source, { ...source, path: 'two', helm }] },
    },
    health: { status: 'Degraded', message: 'not in the file' },
    conditions: [condition, { ...condition, type: 'OrphanedResourceWarning' }],
    resources: [{ version: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'shop', status: 'Synced' }],
  }),
  application('unknown', {
    sync: {
      status: 'Unknown',
      comparedTo: {
        source,
        destination,
        ignoreDifferences: [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }],
      },
    },
    health: { status: 'Unknown' },
    conditions: [],
  }),
  application('other', {
    sync: { status: 'Synced', comparedTo: { source, destination } },
    health: { status: 'Missing' },
  }),
];

describe('the commands of `argocd admin app` and those of `driftless admin`', () => {
  let servers: Servers<'hub'>;
  let hub: Server;
  const path = (name: string): string => join(servers.folder, name);

  beforeAll(async () => {
    servers = await startServers({ names: ['hub'] });
    hub = servers.servers.hub;
    await hub.kubectl(['apply', '--server-side', '-f', join(repository, 'manifests', 'crds')]);
    await hub.kubectl(['create', 'namespace', 'argocd']);
    await eventually(
      () =>
        hub.kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: fleet }) }),
      90_000,
    );
  }, 180_000);
  afterAll(() => servers.close());

  async function theirs(...args: readonly string[]): Promise<string> {
    const env = { HOME: servers.folder, ARGOCD_BINARY_NAME: 'argocd', KUBECONFIG: hub.kubeconfig };
    const { code, stdout, stderr } = await runTool('argocd', ['admin', 'app', ...args], { env });
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  }

  async function ours(...args: readonly string[]): Promise<string> {
    const env = { HOME: servers.folder, KUBECONFIG: hub.kubeconfig };
    const { code, stdout, stderr } = await driftless(['admin', 'app', ...args], { env });
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  }

  const parsed = (name: string): unknown => parseYamlDocuments(readFileSync(path(name), 'utf8'));

  it.each([['yaml'], ['json']])('write the same results as %s: no member differs', async (format) => {
    const flags = ['--namespace', 'argocd', '--o', format];
    await theirs('get-reconcile-results', path('theirs'), ...flags);
    await ours('get-reconcile-results', path('ours'), ...flags);
    expect(parsed('ours')).toEqual(parsed('theirs'));
    expect((parsed('ours') as [{ applications: unknown[] }])[0].applications).toHaveLength(fleet.length);
  });

  it.each([['fleet=other'], ['fleet in (shop)'], ['fleet=none']])('select the same by %s', async (selector) => {
    const flags = ['--namespace', 'argocd', '--l', selector];
    await theirs('get-reconcile-results', path('theirs'), ...flags);
    const env = { HOME: servers.folder, KUBECONFIG: hub.kubeconfig };
    const { code } = await driftless(['admin', 'app', 'get-reconcile-results', path('ours'), ...flags], { env });
    expect([code, parsed('ours')]).toEqual([0, parsed('theirs')]);
  });

  it('print the same differences, of their own and of the other files', async () => {
    const get = ['get-reconcile-results'];
    const where = ['--namespace', 'argocd'];
    await theirs(...get, path('theirs-1'), ...where);
    await ours(...get, path('ours-1'), ...where);
    const status = JSON.stringify({ status: { health: { status: 'Progressing' }, conditions: [condition] } });
    await hub.kubectl(['patch', 'application', 'synced', '-n', 'argocd', '--type=merge', '-p', status]);
    await hub.kubectl(['delete', 'application', 'other', '-n', 'argocd']);
    await theirs(...get, path('theirs-2'), ...where);
    await ours(...get, path('ours-2'), ...where);
    const printed = await theirs('diff-reconcile-results', path('theirs-1'), path('theirs-2'));
    expect(printed).toContain('health: Progressing');
    for (const [first, second] of [
      ['theirs-1', 'theirs-2'],
      ['ours-1', 'ours-2'],
      ['theirs-1', 'ours-2'],
    ] as const) {
      expect(await ours('diff-reconcile-results', path(first), path(second))).toBe(printed);
      expect(await theirs('diff-reconcile-results', path(first), path(second))).toBe(printed);
    }
  });
});

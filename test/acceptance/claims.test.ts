import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import { automated, config, synced } from './objects.ts';
import type { GitFixture, Replica } from './world.ts';
import { World } from './world.ts';

/** The annotation with which a tenant can claim an object for an Application. */
const trackingId = (ref: string): Readonly<Record<string, string>> => ({
  'argocd.argoproj.io/tracking-id': `demo:${ref}`,
});
const configMap = (namespace: string, name: string, metadata: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...metadata },
  data: { key: 'mine' },
});

let world: World;
let repo: GitFixture;
let replica: Replica;
beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

function project(spec: object, name = 'tight', namespace = 'argocd'): void {
  const metadata = { name, namespace };
  const all = { sourceRepos: ['*'], ...spec };
  world.hub.store.create({ apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata, spec: all });
}

/** Starts an Application that is Synced and prunes. */
async function started(): Promise<void> {
  project({
    destinations: [{ server: '*', namespace: 'apps' }],
    namespaceResourceBlacklist: [{ group: '', kind: 'ServiceAccount' }],
  });
  repo.commit({ 'app/a.yaml': config('a'), 'app/dropped.yaml': config('dropped') });
  replica = await world.replica();
  const finalizers = ['resources-finalizer.argocd.argoproj.io'];
  world.application('demo', { ...repo.source(), ...automated, project: 'tight' }, { finalizers });
  await world.until('demo', synced);
}

function forgeries(): readonly KubeObject[] {
  const { uid = '' } = world.live('', 'ConfigMap', 'a')?.metadata ?? {};
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid }];
  return [
    configMap('kube-system', 'in-a-forbidden-namespace', {
      annotations: trackingId('/ConfigMap:kube-system/in-a-forbidden-namespace'),
    }),
    configMap('apps', 'labelled', { labels: { 'app.kubernetes.io/instance': 'demo' } }),
    configMap('apps', 'copy', { annotations: trackingId('/ConfigMap:apps/a') }),
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: {
        name: 'of-a-forbidden-kind',
        namespace: 'apps',
        annotations: trackingId('/ServiceAccount:apps/of-a-forbidden-kind'),
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'forbidden-and-owned', namespace: 'apps', ownerReferences },
    },
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'of-the-cluster', annotations: trackingId('/Namespace:/of-the-cluster') },
    },
  ];
}

// T-SEC-12
describe('metadata that claims an object for an Application', () => {
  // T-SEC-12
  it('forged owners, tracking ids and labels have nothing pruned, patched, deleted or shown that the project forbids', async () => {
    await started();
    const { store } = world.cluster;
    const at = ({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined =>
      store.get(
        apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '',
        kind,
        metadata.namespace ?? '',
        metadata.name ?? '',
      );
    // Pruning this one is permitted: when it is gone, the forgeries have been compared too.
    const allowed = configMap('apps', 'allowed', { annotations: trackingId('/ConfigMap:apps/allowed') });
    const forged = forgeries().map((object) => store.create(object));
    store.create(allowed);
    repo.commit({ 'app/dropped.yaml': null });
    world.refresh('demo');
    await eventually(() => {
      expect(at(allowed)).toBeUndefined();
      expect(world.live('', 'ConfigMap', 'dropped')).toBeUndefined();
    });
    const app = await world.until('demo', synced);
    expect(forged.map(at)).toEqual(forged);
    const names = forged.map(({ metadata }) => metadata.name);
    const hidden = names.filter((name) => name !== 'copy');
    // The copy is in a permitted namespace: it is shown, as in Argo CD, and never pruned.
    expect(app.status?.resources?.map(({ name }) => name)).toEqual(['a', 'copy']);
    const shown = JSON.stringify([replica.publisher.tree('demo'), replica.publisher.managedResources('demo')]);
    expect(shown).toContain('"name":"a"');
    expect(hidden.filter((name) => shown.includes(`"${name ?? ''}"`))).toEqual([]);
    world.hub.store.delete('argoproj.io', 'Application', 'argocd', 'demo');
    await eventually(() => expect(world.app('demo')).toBeUndefined());
    expect(world.live('', 'ConfigMap', 'a')).toBeUndefined();
    // The garbage collector of the cluster deletes the dependents of `a`. The copy is deleted too:
    // the project permits it.
    const left = forged.filter(({ metadata }) => metadata.ownerReferences === undefined && metadata.name !== 'copy');
    expect(left.map(at)).toEqual(left);
  });

  // T-SEC-12
  it('a project without permission for the control namespace cannot write there', async () => {
    world.addCluster('hub', world.hub.url);
    project({ destinations: [{ name: 'hub', namespace: 'apps' }] });
    const inArgo = { namespace: 'argocd', name: 'planted' };
    const planted = [
      {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: inArgo,
        spec: { project: 'default', destination: {} },
      },
      { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata: inArgo, spec: { sourceRepos: ['*'] } },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { ...inArgo, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
      },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: inArgo },
    ];
    repo.commit(Object.fromEntries(planted.map((object) => [`app/${object.kind}.yaml`, JSON.stringify(object)])));
    await world.replica();
    const policy = { syncPolicy: { automated: {}, retry: { limit: 0 } } };
    const destination = { name: 'hub', namespace: 'apps' };
    world.application('demo', { ...repo.source(), ...policy, project: 'tight', destination });
    const app = await world.until('demo', ({ status }) => expect(status?.operationState?.phase).toBe('Failed'));
    const said = app.status?.operationState?.syncResult?.resources?.map(({ kind, message }) => [kind, message]) ?? [];
    for (const { kind, apiVersion } of planted) {
      expect(said).toContainEqual([kind, expect.stringContaining('namespace argocd is not permitted in project')]);
      const [group = '', version] = apiVersion.split('/');
      expect(world.hub.store.get(version === undefined ? '' : group, kind, 'argocd', 'planted')).toBeUndefined();
    }
  });
});

// T-SEC-14, T-SEC-32
describe("references of an Application in a tenant's namespace", () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  /** A cluster Secret whose credential plugin creates a marker file. */
  function clusterSecret(namespace: string, name: string, marker: string): void {
    const args = ['-e', `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`];
    const config = JSON.stringify({
      execProviderConfig: { command: execPath, args, apiVersion: 'client.authentication.k8s.io/v1' },
    });
    world.hub.store.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
      data: { server: base64(`${world.cluster.url}/${name}`), name: base64(name), config: base64(config) },
    });
  }

  // T-SEC-14, T-SEC-32
  it('clusters, projects and settings of the control namespace only; no plugin of a tenant is run', async () => {
    const marker = (name: string): string => join(world.root, `${name}-ran`);
    world.hub.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
    clusterSecret('team', 'of-the-tenant', marker('tenant'));
    clusterSecret('argocd', 'of-the-administrators', marker('administrators'));
    project({ destinations: [{ server: '*', namespace: '*' }], sourceNamespaces: ['team'] });
    project({ destinations: [{ server: '*', namespace: '*' }], sourceNamespaces: ['team'] }, 'loose', 'team');
    project({ destinations: [{ server: '*', namespace: '*' }] }, 'of-others');
    // These settings would exclude everything if they were read from the tenant's namespace.
    const data = { 'resource.exclusions': '- {apiGroups: ["*"], kinds: ["*"], clusters: ["*"]}' };
    world.hub.store.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'argocd-cm', namespace: 'team' },
      data,
    });
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica({ applicationNamespaces: ['team'] });
    const { url } = world.cluster;
    const apps: readonly [string, string, object][] = [
      ['allowed', 'tight', { server: url }],
      ['their-cluster', 'tight', { name: 'of-the-tenant' }],
      ['their-address', 'tight', { server: `${url}/of-the-tenant` }],
      ['their-project', 'loose', { server: url }],
      ['project-of-others', 'of-others', { server: url }],
      ['with-plugin', 'tight', { name: 'of-the-administrators' }],
    ];
    for (const [name, named, to] of apps)
      world.application(
        name,
        { ...repo.source(), ...automated, project: named, destination: { ...to, namespace: 'apps' } },
        { namespace: 'team' },
      );
    const said = (name: string): string => {
      const status = world.hub.store.get('argoproj.io', 'Application', 'team', name)?.['status'];
      return JSON.stringify(status ?? {});
    };
    await eventually(() => {
      expect(said('allowed')).toContain('"status":"Synced"');
      expect(said('their-cluster')).toContain('there are no clusters with this name: of-the-tenant');
      expect(said('their-address')).toContain('error getting cluster by server');
      expect(said('their-project')).toContain('referencing project loose which does not exist');
      expect(said('project-of-others')).toContain(
        "application 'project-of-others' in namespace 'team' is not permitted to use project 'of-others'",
      );
      // The plugin of administrators runs.
      expect(existsSync(marker('administrators'))).toBe(true);
    });
    expect(existsSync(marker('tenant'))).toBe(false);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messageOf } from '#base';
import { findResource, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import { gkOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { ObjectSync } from '../../controller/testing/index.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

const { signal } = new AbortController();

let world: Servers<'real'>;
let client: KubeClient;

beforeAll(async () => {
  world = await startServers({ names: ['real'] });
  client = clientOf(world.servers.real);
  await world.servers.real.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

const named = (kind: string, name: string, rest: object): KubeObject => {
  const [apiVersion, namespace] = [kind === 'Deployment' ? 'apps/v1' : 'v1', 'cases'];
  return { apiVersion, kind, metadata: { name, namespace }, ...rest };
};
const deployment = (pod: object): KubeObject => {
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: pod };
  return named('Deployment', 'web', { spec: { replicas: 0, selector: { matchLabels: labels }, template } });
};
const containers = (ports: readonly object[]): object => ({ containers: [{ name: 'a', image: 'a:1', ports }] });
const http = (containerPort: number): object => ({ name: 'http', containerPort });

const labels = { app: 'a' };
const pods = (more: object = {}): object => ({
  metadata: { labels },
  spec: { restartPolicy: 'Always', containers: [{ name: 'a', image: 'a:1' }], ...more },
});
const placed = (apiVersion: string, kind: string, rest: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'fixed', namespace: 'cases' },
  ...rest,
});
const claimSpec = (storage: string): object => ({
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage } },
});
function claim(storage: string): KubeObject {
  return placed('v1', 'PersistentVolumeClaim', { spec: claimSpec(storage) });
}
function service(clusterIP: string): KubeObject {
  return placed('v1', 'Service', { spec: { clusterIP, selector: labels, ports: [{ port: 80 }] } });
}
function binding(name: string): KubeObject {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'cases' }];
  return placed('rbac.authorization.k8s.io/v1', 'RoleBinding', { roleRef, subjects });
}
function statefulSet(storage: string): KubeObject {
  const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: claimSpec(storage) }];
  const spec = {
    replicas: 0,
    serviceName: 'a',
    selector: { matchLabels: labels },
    template: pods(),
    volumeClaimTemplates,
  };
  return placed('apps/v1', 'StatefulSet', { spec });
}
function selecting(tier: string): KubeObject {
  const both = { ...labels, tier };
  const template = { ...pods(), metadata: { labels: both } };
  return placed('apps/v1', 'Deployment', { spec: { replicas: 0, selector: { matchLabels: both }, template } });
}
function job(command: string): KubeObject {
  const container = { name: 'a', image: 'a:1', command: [command] };
  const template = pods({ restartPolicy: 'Never', containers: [container] });
  return placed('batch/v1', 'Job', { spec: { suspend: true, template } });
}

async function begin(): Promise<ObjectSync> {
  return new ObjectSync({ client, discovery: await client.discover({ signal }), schemas: undefined, signal });
}
async function resourceOf({ apiVersion, kind }: KubeObject): Promise<ApiResource> {
  const resource = findResource(await client.discover({ signal }), gkOf({ apiVersion, kind }));
  if (resource === undefined) throw new Error(`${kind} is not served`);
  return resource;
}

/** Lists of numbers with two keys, and the path of a number. */
const podPort = '/spec/containers/0/ports/0/containerPort';
const numbered: readonly (readonly [kind: string, of: (port: number) => KubeObject, path: string])[] = [
  ...['Deployment', 'DaemonSet', 'StatefulSet'].map(
    (kind) => [kind, (port: number) => workload(kind, port), `/spec/template${podPort}`] as const,
  ),
  ['CronJob', cronJob, `/spec/jobTemplate/spec/template${podPort}`],
  ['Service', listening, '/spec/ports/0/port'],
];
function withPort(containerPort: number): object {
  return pods({ containers: [{ name: 'a', image: 'a:1', ports: [http(containerPort)] }] });
}
function workload(kind: string, port: number): KubeObject {
  const more = kind === 'StatefulSet' ? { serviceName: 'a' } : {};
  return placed('apps/v1', kind, { spec: { selector: { matchLabels: labels }, template: withPort(port), ...more } });
}
function cronJob(port: number): KubeObject {
  const template = withPort(port) as { readonly spec: object };
  const job = { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } };
  return placed('batch/v1', 'CronJob', { spec: { schedule: '0 0 1 1 *', suspend: true, jobTemplate: { spec: job } } });
}
function listening(port: number): KubeObject {
  return placed('v1', 'Service', { spec: { selector: labels, ports: [{ name: 'http', port, targetPort: 'http' }] } });
}

/** Deletes an object at once, also one whose finalizer waits for a controller. */
async function removed(resource: ApiResource, { metadata }: KubeObject): Promise<void> {
  const name = { name: metadata.name ?? '', namespace: metadata.namespace ?? '' };
  await client.delete(resource, name, { signal, propagationPolicy: 'Background' });
  await client
    .patch(resource, name, { type: 'merge', body: { metadata: { finalizers: null } } }, { signal })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

describe.each(['client', 'server', 'replace'] as const)('on a real API server, applied with %s', (method) => {
  /** Syncs the manifest, and expects a difference before it and none after it. */
  async function synced(sync: ObjectSync, manifest: KubeObject, live: KubeObject): Promise<KubeObject> {
    const target = sync.target(manifest);
    const kinds = ['local', 'server'] as const;
    const statusOf = async (object: KubeObject): Promise<readonly string[]> => {
      const compared = await Promise.all(kinds.map((kind) => sync.compare(target, object, { method, kind })));
      return compared.map(({ syncStatus }) => syncStatus.status);
    };
    expect(await statusOf(live)).toEqual(['OutOfSync', 'OutOfSync']);
    const stored = await sync.sync(target, live, method);
    expect(await statusOf(stored)).toEqual(['Synced', 'Synced']);
    const resource = await resourceOf(manifest);
    const name = { name: manifest.metadata.name ?? '', namespace: 'cases' };
    await client.delete(resource, name, { signal, propagationPolicy: 'Background' });
    return stored;
  }

  it('a key of stringData is removed', async () => {
    const sync = await begin();
    const secret = (stringData: object): KubeObject => named('Secret', 's', { stringData });
    const live = await sync.sync(secret({ a: 'x', b: 'y' }), null, method);
    const stored = await synced(sync, secret({ a: 'x' }), live);
    expect(stored['data']).toEqual({ a: 'eA==' });
  });

  it('a service account is removed with its old name', async () => {
    const sync = await begin();
    const live = await sync.sync(
      sync.target(deployment({ ...containers([]), serviceAccountName: 'powerful' })),
      null,
      method,
    );
    const stored = await synced(sync, deployment(containers([])), live);
    expect(JSON.stringify(stored['spec'])).not.toContain('powerful');
  });

  it('a key that moved from stringData to data, and one that did not, are as Git says', async () => {
    const sync = await begin();
    const live = await sync.sync(sync.target(named('Secret', 's', { stringData: { a: 'x', b: 'y' } })), null, method);
    const stored = await synced(sync, named('Secret', 's', { data: { a: 'eA==' } }), live);
    expect(stored['data']).toEqual({ a: 'eA==' });
  });

  it.each(numbered)('a number of a list with two keys that was edited is replaced: %s', async (_kind, of, path) => {
    const sync = await begin();
    await sync.sync(sync.target(of(8080)), null, method);
    const live = await client.patch(
      await resourceOf(of(8080)),
      { name: 'fixed', namespace: 'cases' },
      { type: 'json', body: [{ op: 'replace', path, value: 8081 }] },
      { signal, fieldManager: 'kubectl-edit' },
    );
    const stored = JSON.stringify((await synced(sync, of(8080), live))['spec']);
    expect([stored.includes('8080'), stored.includes('8081')]).toEqual([true, false]);
  });

  it('of two items with one name the last one counts, and the comparison comes to rest', async () => {
    const sync = await begin();
    const env = (...names: readonly string[]): KubeObject =>
      deployment({
        containers: [{ name: 'a', image: 'a:1', env: names.map((name, i) => ({ name, value: `${name}${i}` })) }],
      });
    const live = await sync.sync(sync.target(env('A', 'B')), null, method);
    expect(sync.warnings(env('B', 'C', 'B'))).toEqual([
      expect.objectContaining({
        type: 'RepeatedItemWarning',
        message: expect.stringContaining('env[name=B]') as unknown,
      }),
    ]);
    const stored = JSON.stringify((await synced(sync, env('B', 'C', 'B'), live))['spec']);
    expect([stored.includes('B2'), stored.includes('B0'), stored.includes('"A"')]).toEqual([true, false, false]);
  });
});

const reasons = /immutable|forbidden|cannot change|may not change/i;
const refused: readonly (readonly [what: string, before: KubeObject, after: KubeObject])[] = [
  ['the size of a PersistentVolumeClaim', claim('2Gi'), claim('1Gi')],
  ['the clusterIP of a Service', service('10.96.7.40'), service('10.96.7.41')],
  ['the roleRef of a RoleBinding', binding('view'), binding('edit')],
  ['the volumeClaimTemplates of a StatefulSet', statefulSet('1Gi'), statefulSet('2Gi')],
  ['the selector of a Deployment', selecting('a'), selecting('b')],
  ['the template of a Job', job('first'), job('second')],
];

describe('a change that a real API server refuses', () => {
  it.each(refused)(
    'is OutOfSync with the reason, and refuses only its own object: %s',
    async (_what, before, after) => {
      const sync = await begin();
      const [first, second] = [sync.target(before), sync.target(after)];
      for (const method of ['client', 'server', 'replace'] as const) {
        const live = await sync.sync(first, null, method);
        const compared = await sync.compare(second, live, { method, kind: 'server' });
        expect(compared.syncStatus.status).toBe('OutOfSync');
        expect(compared.conditions.map(({ type }) => type)).toEqual(['RefusedChangeWarning']);
        expect(compared.conditions[0]?.message).toMatch(reasons);
        expect(compared.conditions[0]?.message).not.toMatch(/\w\.\w+\{|\w+\(nil\)|0x[0-9a-f]{6}/);
        // As `kubectl auth reconcile`, a client-side apply recreates a RoleBinding of another role.
        const outcome = await sync.sync(second, live, method).catch((error: unknown) => messageOf(error));
        if (typeof outcome === 'string') expect(outcome).toMatch(reasons);
        else expect([live.kind, outcome.metadata.uid === live.metadata.uid]).toEqual(['RoleBinding', false]);
        await removed(await resourceOf(live), live);
      }
    },
  );

  // Without a controller, the finalizer of a PersistentVolumeClaim keeps it.
  it.each(refused.slice(1))('is made by Force, alone and with Replace: %s', async (_what, before, after) => {
    const sync = await begin();
    const [first, second] = [sync.target(before), sync.target(after)];
    for (const method of ['force', 'force replace'] as const) {
      const live = await sync.sync(first, null, method);
      const stored = await sync.sync(second, live, method);
      expect(stored.metadata.uid).not.toBe(live.metadata.uid);
      const compared = await sync.compare(second, stored, { method, kind: 'server' });
      expect(compared.syncStatus.status).toBe('Synced');
      await removed(await resourceOf(stored), stored);
    }
  });
});

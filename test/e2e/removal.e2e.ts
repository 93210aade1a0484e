import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messageOf } from '#base';
import { findResource, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import { gkOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { ObjectSync } from '../../controller/testing/index.ts';
import { runMatrix } from '../removal/world.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

/** `DRIFTLESS_REMOVAL_CASES=all` runs every case; by default a fixed sample. */
const wanted = env['DRIFTLESS_REMOVAL_CASES'] ?? '400';
const limit = wanted === 'all' ? Number.MAX_SAFE_INTEGER : Number(wanted);
const seed = Number(env['DRIFTLESS_SEED'] ?? 1);
/** Runs only the cases whose description matches: `npm run removal -- --only REGEXP`. */
const only = env['DRIFTLESS_REMOVAL_ONLY'] ?? '';
const { signal } = new AbortController();

let world: Servers<'real'>;
let client: KubeClient;

beforeAll(async () => {
  const apiserver = ['--runtime-config=api/all=true', '--feature-gates=AllAlpha=true,AllBeta=true'];
  world = await startServers({ names: ['real'], apiserver });
  client = clientOf(world.servers.real);
  for (const name of ['cases', 'fresh']) {
    await world.servers.real.api.create('/api/v1/namespaces', { metadata: { name } });
    await world.servers.real.api.create(`/api/v1/namespaces/${name}/serviceaccounts`, {
      metadata: { name: 'default' },
    });
  }
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
    const resource = await resourceOf(manifest.kind);
    const name = { name: manifest.metadata.name ?? '', namespace: 'cases' };
    await client.delete(resource, name, { signal, propagationPolicy: 'Background' });
    return stored;
  }
  const resourceOf = async (kind: string): Promise<ApiResource> => {
    const group = kind === 'Deployment' ? 'apps' : '';
    const resource = findResource(await client.discover({ signal }), { group, kind });
    if (resource === undefined) throw new Error(`${kind} is not served`);
    return resource;
  };
  const begin = async (): Promise<ObjectSync> =>
    new ObjectSync({ client, discovery: await client.discover({ signal }), schemas: undefined, signal });

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

  it('a port whose number was edited is replaced', async () => {
    const sync = await begin();
    await sync.sync(sync.target(deployment(containers([http(8080)]))), null, method);
    const edited = [{ op: 'replace', path: '/spec/template/spec/containers/0/ports/0/containerPort', value: 8081 }];
    const live = await client.patch(
      await resourceOf('Deployment'),
      { name: 'web', namespace: 'cases' },
      { type: 'json', body: edited },
      { signal, fieldManager: 'kubectl-edit' },
    );
    const stored = await synced(sync, deployment(containers([http(8080)])), live);
    expect(stored['spec']).toMatchObject({ template: { spec: { containers: [{ ports: [http(8080)] }] } } });
    expect(JSON.stringify(stored['spec'])).not.toContain('8081');
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
  const begin = async (): Promise<ObjectSync> =>
    new ObjectSync({ client, discovery: await client.discover({ signal }), schemas: undefined, signal });
  const resourceOf = async ({ apiVersion, kind }: KubeObject): Promise<ApiResource> => {
    const resource = findResource(await client.discover({ signal }), gkOf({ apiVersion, kind }));
    if (resource === undefined) throw new Error(`${kind} is not served`);
    return resource;
  };

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

describe('what Git drops, on a real API server', () => {
  it('is gone after the sync, in every apply and compare mode and after every switch between them', async () => {
    const authority = world.servers.real.access.ca ?? '';
    const tally = await runMatrix(client, { limit, seed, only, authority, signal });
    process.stdout.write(`removal matrix on a real API server\n${tally.text()}`);
    expect(tally.wrong).toEqual([]);
    expect(tally.judged).toBeGreaterThan(0);
  }, 14_400_000);
});

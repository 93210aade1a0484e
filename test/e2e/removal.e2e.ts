import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findResource } from '#kube';
import type { KubeClient } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { ObjectSync } from '../../controller/testing/index.ts';
import { runMatrix } from '../removal/world.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

/** `DRIFTLESS_REMOVAL_CASES=all` runs every case; by default a fixed sample. */
const wanted = env['DRIFTLESS_REMOVAL_CASES'] ?? '400';
const limit = wanted === 'all' ? Number.MAX_SAFE_INTEGER : Number(wanted);
const seed = Number(env['DRIFTLESS_SEED'] ?? 1);
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

describe('what Git drops, on a real API server', () => {
  it('is gone after the sync, in every apply and compare mode and after every switch between them', async () => {
    const authority = world.servers.real.access.ca ?? '';
    const tally = await runMatrix(client, { limit, seed, authority, signal });
    process.stdout.write(`removal matrix on a real API server\n${tally.text()}`);
    expect(tally.wrong).toEqual([]);
    expect(tally.judged).toBeGreaterThan(0);
  }, 14_400_000);
});

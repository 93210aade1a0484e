/** @seconds 60 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '#base';
import type { KubeClient } from '#kube';
import { eventually } from '#support';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { ChangingKinds, listOf, text, versionWith } from './changing-kinds.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';
import type { Manifest } from './synced-object.ts';

// Reports of users of Argo CD, Helm and kubectl; each title has the number of its issue.
const { signal } = new AbortController();
let world: Servers<'hub'>;
let client: KubeClient;
let kinds: ChangingKinds;
let count = 0;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  kinds = new ChangingKinds(client, world.servers.hub.api, signal);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

const labels = { app: 'web' };
function manifest(apiVersion: string, kind: string, rest: object, metadata: object = {}): Manifest {
  return () => ({ apiVersion, kind, metadata: { name: `report-${count}`, namespace: 'cases', ...metadata }, ...rest });
}
function workload(kind: string, pod: object, metadata: object = {}): Manifest {
  const containers = [{ name: 'web', image: 'web:1' }];
  const template = { metadata: { labels }, spec: { containers, ...pod } };
  return manifest('apps/v1', kind, { spec: { selector: { matchLabels: labels }, template } }, metadata);
}
const text1 = (value: Json | undefined): string => JSON.stringify(value ?? null);

describe.each<SyncMethod>(['client', 'server', 'replace'])('applied with %s', (method) => {
  const begin = async (first: Manifest): Promise<SyncedObject> => {
    const one = await SyncedObject.begin(client, method, signal);
    await eventually(() => one.first(method, first), 60_000);
    return one;
  };
  const changed = async (before: () => Manifest, after: () => Manifest): Promise<JsonObject> => {
    count += 1;
    const one = await begin(before());
    return (await one.changed(after()))['spec'] as JsonObject;
  };

  it('an init container and its volume leave together (calico 6848)', async () => {
    const [volume, mount] = [
      { name: 'flexvol', hostPath: { path: '/x' } },
      { name: 'flexvol', mountPath: '/host' },
    ];
    const init = { initContainers: [{ name: 'flexvol', image: 'f:1', volumeMounts: [mount] }], volumes: [volume] };
    const spec = await changed(
      () => workload('DaemonSet', init),
      () => workload('DaemonSet', {}),
    );
    expect(text1(spec)).not.toContain('flexvol');
  });

  it('one of two mounts of a volume leaves, also the one that another follows (kubernetes 36024)', async () => {
    const mounts = (...paths: readonly string[]): object => ({
      containers: [{ name: 'web', image: 'web:1', volumeMounts: paths.map((mountPath) => ({ name: 'v', mountPath })) }],
      volumes: [{ name: 'v', emptyDir: {} }],
    });
    const spec = await changed(
      () => workload('Deployment', mounts('/a', '/b')),
      () => workload('Deployment', mounts('/b')),
    );
    expect([text1(spec).includes('"/a"'), text1(spec).includes('"/b"')]).toEqual([false, true]);
  });

  it('labels of an object and of its pods leave (helm 30819)', async () => {
    count += 1;
    const pods = (more: object): Manifest => {
      const template = {
        metadata: { labels: { ...labels, ...more } },
        spec: { containers: [{ name: 'a', image: 'a:1' }] },
      };
      return manifest(
        'apps/v1',
        'DaemonSet',
        { spec: { selector: { matchLabels: labels }, template } },
        { labels: more },
      );
    };
    const one = await begin(pods({ old: 'x' }));
    const stored = await one.changed(pods({}));
    expect(text1([stored.metadata.labels ?? {}, stored['spec'] as Json])).not.toContain('"old"');
  });

  it('a port of two protocols loses the first one (kubernetes 103544, istio 33841)', async () => {
    const ports = (...protocols: readonly string[]): Manifest =>
      manifest('v1', 'Service', {
        spec: {
          selector: labels,
          ports: protocols.map((protocol) => ({ name: protocol.toLowerCase(), port: 443, protocol })),
        },
      });
    const spec = await changed(
      () => ports('TCP', 'UDP'),
      () => ports('UDP'),
    );
    expect(spec['ports']).toEqual([expect.objectContaining({ name: 'udp', protocol: 'UDP' })]);
  });

  it('a change that failed and was reverted leaves nothing (helm 10363)', async () => {
    count += 1;
    const plain = workload('Deployment', {});
    const command = { containers: [{ name: 'web', image: 'web:1', command: ['no-such-cmd'] }] };
    const one = await begin(plain);
    await one.changed(workload('Deployment', command));
    expect(text1((await one.changed(plain))['spec'] as Json)).not.toContain('command');
  });

  it('the last variable of a container leaves with its list (argo-cd 19032)', async () => {
    const env = (...names: readonly string[]): object => ({
      containers: [{ name: 'web', image: 'web:1', env: names.map((name) => ({ name, value: '1' })) }],
    });
    count += 1;
    const one = await begin(workload('Deployment', env('A', 'B')));
    expect(text1((await one.changed(workload('Deployment', env('A'))))['spec'] as Json)).not.toContain('"B"');
    expect(text1((await one.changed(workload('Deployment', {})))['spec'] as Json)).not.toContain('"env"');
  });

  it('empty annotations in Git remove those that Git had, and are no difference (argo-cd 3150, 686)', async () => {
    count += 1;
    const config = (annotations: object): Manifest => manifest('v1', 'ConfigMap', { data: {} }, { annotations });
    const one = await begin(config({ old: 'x' }));
    await one.patch('kubectl-rollout', { metadata: { annotations: { theirs: 'y' } } });
    const stored = await one.changed(config({}));
    expect(stored.metadata.annotations?.['old']).toBeUndefined();
    if (method !== 'replace') expect(stored.metadata.annotations?.['theirs']).toBe('y');
  });

  it('entries of a list of texts in a custom resource leave (argo-cd 26307)', async () => {
    const groups = { type: 'array', items: text };
    const kind = await kinds.define([versionWith('v1', true, { securityGroups: groups, subnet: text })]);
    const one = await begin(kind.manifest({ securityGroups: ['a', 'b'], subnet: 's' }));
    await one.describe(await kind.schemas());
    expect((await one.changed(kind.manifest({ securityGroups: ['b'], subnet: 's' })))['spec']).toEqual({
      securityGroups: ['b'],
      subnet: 's',
    });
    await one.patch('by-hand', { spec: { securityGroups: ['b', 'c'] } });
    const same = kind.manifest({ securityGroups: ['b'], subnet: 's' });
    expect((await one.changed(same))['spec']).toMatchObject({ securityGroups: ['b'] });
  });

  it('a name that the version gives another field leaves under its new name (kubectl 1207)', async () => {
    const kind = await kinds.define([
      versionWith('v1', true, { foo: { type: 'object', properties: { value1: text, value2: text } } }),
      versionWith('v2', false, {
        fooValue1: text,
        fooValue2: text,
        foo: { type: 'object', properties: { value1: text } },
      }),
    ]);
    const one = await begin(kind.manifest({ foo: { value1: 'bar', value2: 'baz' } }));
    await one.describe(await kind.schemas());
    await one.read('v2');
    await one.changed(kind.manifest({ foo: { value1: 'bar' } }, 'v2'));
    expect((await one.read('v1'))['spec']).toEqual({ foo: { value1: 'bar' } });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['items', { list: [{ name: 'a', value: null }] }, { list: [{ name: 'a' }] }],
    ['texts', { texts: ['a', null] as Json }, {}],
    ['free items', { free: { list: [{ a: 1, b: null }, null] } }, {}],
    ['nested lists', { nested: [{ list: [{ name: 'a', value: null }] }] }, { nested: [{ list: [{ name: 'a' }] }] }],
  ])('nulls in lists of a custom resource are no lasting difference: %s', async (what, written, read) => {
    const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const texts = { type: 'array', items: { ...text, nullable: true } };
    const nested = { type: 'array', items: { type: 'object', properties: { list: listOf({}) } } };
    const kind = await kinds.define([versionWith('v1', true, { list: listOf({}), texts, free, nested, kept: text })]);
    const first = kind.manifest({ kept: '1', ...written });
    if (method === 'server' && !['texts', 'free items'].includes(what)) {
      const refused = await SyncedObject.begin(client, method, signal);
      await expect(eventually(() => refused.first(method, first), 5000)).rejects.toThrow(/null/);
      return;
    }
    const one = await begin(first);
    await one.describe(await kind.schemas());
    expect([what, ...(await one.statuses(first))]).toEqual([what, 'Synced', 'Synced']);
    const other = kind.manifest({ kept: '2', ...written });
    expect((await one.changed(other))['spec']).toMatchObject({ kept: '2', ...read });
    expect((await one.changed(kind.manifest({ kept: '2' })))['spec']).toEqual({ kept: '2' });
  });
});

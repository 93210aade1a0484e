import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { findResource } from '#kube';
import type { KubeClient } from '#kube';
import { gkOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { eventually } from '#support';
import { ObjectSync } from '../../controller/testing/index.ts';
import type { ComparisonKind, SyncMethod } from '../../controller/testing/index.ts';
import { createWith, isOtherTool } from '../removal/first-sync.ts';
import type { FirstSync } from '../removal/first-sync.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';

const { signal } = new AbortController();
let world: Servers<'hub'>;
let client: KubeClient;
let count = 0;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
  await world.servers.hub.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  const application = { group: 'argoproj.io', kind: 'Application' };
  await eventually(async () => {
    if (findResource(await client.discover({ signal }), application) === undefined) throw new Error('not served');
  });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

/** The part of Argo CD's definition that the reports are about. */
const text = { type: 'string' };
const open = { type: 'object', additionalProperties: text };
const texts = { type: 'array', items: text };
const ignored = { type: 'object', properties: { group: text, kind: text, jsonPointers: texts } };
const spec = {
  type: 'object',
  properties: {
    project: text,
    source: open,
    destination: open,
    ignoreDifferences: { type: 'array', items: ignored },
    syncPolicy: { type: 'object', properties: { syncOptions: texts } },
  },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'applications.argoproj.io' },
  spec: {
    group: 'argoproj.io',
    scope: 'Namespaced',
    names: { kind: 'Application', singular: 'application', plural: 'applications', listKind: 'ApplicationList' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
};

/** A manifest of the namespace `cases`; each has its own name. */
function manifest(apiVersion: string, kind: string, rest: object, metadata: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name: `report-${count}`, namespace: 'cases', ...metadata }, ...rest };
}
const config = (data: object, metadata: object = {}): KubeObject => manifest('v1', 'ConfigMap', { data }, metadata);
const labels = { app: 'web' };
function workload(kind: string, pod: object, spec: object = {}, metadata: object = {}): KubeObject {
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }], ...pod } };
  return manifest('apps/v1', kind, { spec: { selector: { matchLabels: labels }, template, ...spec } }, metadata);
}
function withProbe(livenessProbe: object): object {
  return { containers: [{ name: 'web', image: 'web:1', livenessProbe }] };
}

async function resourceOf(object: KubeObject): Promise<ApiResource> {
  const resource = findResource(await client.discover({ signal }), gkOf(object));
  if (resource === undefined) throw new Error(`${object.kind} is not served`);
  return resource;
}

interface Change {
  readonly first: FirstSync;
  readonly method: SyncMethod;
  readonly before: () => KubeObject;
  readonly after: () => KubeObject;
}

/** Syncs the change, which both comparisons see before and not after; returns what is stored. */
async function applied({ first, method, before, after }: Change): Promise<KubeObject> {
  count += 1;
  const sync = new ObjectSync({ client, discovery: await client.discover({ signal }), schemas: undefined, signal });
  const [was, wanted] = [sync.target(before()), sync.target(after())];
  const live = isOtherTool(first)
    ? await createWith(client, first, { resource: await resourceOf(was), object: was, signal })
    : await sync.sync(was, null, first);
  const statuses = async (object: KubeObject): Promise<readonly string[]> => {
    const kinds: readonly ComparisonKind[] = ['local', 'server'];
    const compared = await Promise.all(kinds.map((kind) => sync.compare(wanted, object, { method, kind })));
    return compared.map(({ syncStatus }) => syncStatus.status);
  };
  expect(await statuses(live)).toEqual(['OutOfSync', 'OutOfSync']);
  const stored = await sync.sync(wanted, live, method);
  expect(await statuses(stored)).toEqual(['Synced', 'Synced']);
  return stored;
}

const methods: readonly SyncMethod[] = ['client', 'server', 'replace', 'force'];

describe.each(methods)('public reports, on a real API server, applied with %s', (method) => {
  it('a key of a ConfigMap or Secret, and a container, are removed (argo-cd 24882, 3142, 199)', async () => {
    const map = { first: method, method, before: () => config({ a: '1', b: '2' }), after: () => config({ a: '1' }) };
    expect((await applied(map))['data']).toEqual({ a: '1' });
    const secret = (data: object) => (): KubeObject => manifest('v1', 'Secret', { data });
    const keys = { first: method, method, before: secret({ a: 'eA==', b: 'eQ==' }), after: secret({ a: 'eA==' }) };
    expect((await applied(keys))['data']).toEqual({ a: 'eA==' });
    const two = {
      containers: [
        { name: 'web', image: 'web:1' },
        { name: 'side', image: 'side:1' },
      ],
    };
    const before = (): KubeObject => workload('Deployment', two);
    const stored = await applied({ first: method, method, before, after: () => workload('Deployment', {}) });
    expect(JSON.stringify(stored['spec'])).not.toContain('side:1');
  });

  it('a label is removed, also the last one (argo-cd 17862)', async () => {
    const of = (own: object) => (): KubeObject => config({ a: '1' }, { labels: own });
    const one = await applied({ first: method, method, before: of({ a: '1', b: '2' }), after: of({ a: '1' }) });
    expect(one.metadata.labels).toEqual({ a: '1' });
    const none = await applied({ first: method, method, before: of({ a: '1' }), after: () => config({ a: '1' }) });
    expect(none.metadata.labels).toBeUndefined();
  });

  it('what kubectl apply had set is removed (kubernetes 99003, argo-cd 23214)', async () => {
    const [before, after] = [
      (): KubeObject => config({ key: 'v', legacy: 'x' }),
      (): KubeObject => config({ key: 'v' }),
    ];
    expect((await applied({ first: 'kubectl apply', method, before, after }))['data']).toEqual({ key: 'v' });
  });

  it('what a creation by Argo CD had set is removed by the first apply (kubernetes/website 21640)', async () => {
    const [before, after] = [(): KubeObject => config({ key: 'v', old: 'x' }), (): KubeObject => config({ key: 'v' })];
    expect((await applied({ first: 'Argo CD Replace', method, before, after }))['data']).toEqual({ key: 'v' });
  });

  it('a probe of another kind takes the place of the old one (argo-cd 17392)', async () => {
    const before = (): KubeObject => workload('Deployment', withProbe({ exec: { command: ['cat', '/tmp/healthy'] } }));
    const after = (): KubeObject => workload('Deployment', withProbe({ httpGet: { path: '/healthz', port: 8080 } }));
    const stored = JSON.stringify((await applied({ first: method, method, before, after }))['spec']);
    expect(stored).toContain('/healthz');
    expect(stored).not.toContain('/tmp/healthy');
  });

  it('the strategy Recreate removes the defaults of RollingUpdate (lfx-self-serve 1541)', async () => {
    const before = (): KubeObject => workload('Deployment', {});
    const after = (): KubeObject => workload('Deployment', {}, { strategy: { type: 'Recreate' } });
    const stored = (await applied({ first: method, method, before, after }))['spec'];
    expect((stored as { readonly strategy: unknown }).strategy).toEqual({ type: 'Recreate' });
  });

  it('the types of a NetworkPolicy follow its egress rules, added and dropped', async () => {
    const policy = (own: object) => (): KubeObject =>
      manifest('networking.k8s.io/v1', 'NetworkPolicy', { spec: { podSelector: {}, ...own } });
    const rules = { egress: [{ ports: [{ port: 53 }] }] };
    const more = await applied({ first: method, method, before: policy({}), after: policy(rules) });
    expect(more['spec']).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
    const less = await applied({ first: method, method, before: policy(rules), after: policy({}) });
    expect(less['spec']).toEqual({ podSelector: {}, policyTypes: ['Ingress'] });
  });

  it('a DaemonSet with an empty map of annotations comes to rest (vectordotdev/helm-charts 435)', async () => {
    const before = (): KubeObject => workload('DaemonSet', {}, {}, { annotations: { note: 'x' } });
    const after = (): KubeObject => workload('DaemonSet', {}, {}, { annotations: {} });
    const stored = await applied({ first: method, method, before, after });
    expect(stored.metadata.annotations).not.toHaveProperty('note');
  });
});

describe.each(['server', 'replace'] as const)('an object without managed fields, applied with %s', (method) => {
  it('loses nothing by a guess, and what is recorded since is removed', async () => {
    count += 1;
    const sync = new ObjectSync({ client, discovery: await client.discover({ signal }), schemas: undefined, signal });
    const targets = [{ a: '1', b: '2', c: '3' }, { a: '1', c: '3' }, { a: '2', c: '3' }, { a: '2' }].map((data) =>
      sync.target(config(data)),
    );
    const [first, dropped, changed, last] = targets as [KubeObject, KubeObject, KubeObject, KubeObject];
    const live = await sync.sync(first, null, method);
    const { name = '', namespace = '' } = live.metadata;
    const trimmed = await client.patch(
      await resourceOf(live),
      { name, namespace },
      { type: 'merge', body: { metadata: { managedFields: [{}] } } },
      { signal, fieldManager: 'operator' },
    );
    expect(trimmed.metadata.managedFields ?? []).toEqual([]);
    for (const kind of ['local', 'server'] as const)
      expect((await sync.compare(dropped, trimmed, { method, kind })).pairs[0]?.diff.paths ?? []).not.toContain(
        '/data',
      );
    const recorded = await sync.sync(changed, trimmed, method);
    expect(recorded['data']).toEqual(method === 'server' ? { a: '2', b: '2', c: '3' } : { a: '2', c: '3' });
    expect((await sync.sync(last, recorded, method))['data']).not.toHaveProperty('c');
  });
});

describe('an object that kubectl applied, without managed fields (argo-cd 28736)', () => {
  it('keeps what others set when it is applied server-side, and loses what Git drops', async () => {
    count += 1;
    const sync = new ObjectSync({ client, discovery: await client.discover({ signal }), schemas: undefined, signal });
    const [first, dropped] = [{ a: '1', b: '2' }, { a: '1' }].map((data) => sync.target(config(data)));
    const resource = await resourceOf(first!);
    const live = await createWith(client, 'kubectl apply', { resource, object: first!, signal });
    const { name = '', namespace = '' } = live.metadata;
    const change = { data: { other: 'x' }, metadata: { annotations: { 'team/note': 'y' } } };
    const patch = (body: JsonObject): Promise<KubeObject> =>
      client.patch(resource, { name, namespace }, { type: 'merge', body }, { signal, fieldManager: 'operator' });
    await patch(change);
    const trimmed = await patch({ metadata: { managedFields: [{}] } });
    expect(trimmed.metadata.managedFields ?? []).toEqual([]);
    for (const kind of ['local', 'server'] as const) {
      const { syncStatus } = await sync.compare(dropped!, trimmed, { method: 'server', kind });
      expect(syncStatus.status).toBe('OutOfSync');
    }
    let stored = trimmed;
    for (let i = 0; i < 3; i += 1) stored = await sync.sync(dropped!, stored, 'server');
    expect(stored['data']).toEqual({ a: '1', other: 'x' });
    expect(stored.metadata.annotations).toMatchObject({ 'team/note': 'y' });
    for (const kind of ['local', 'server'] as const) {
      const { syncStatus } = await sync.compare(dropped!, stored, { method: 'server', kind });
      expect(syncStatus.status).toBe('Synced');
    }
  });
});

describe('public reports of custom resources, on a real API server', () => {
  it.each<[FirstSync, SyncMethod]>([
    ['client', 'client'],
    ['server', 'client'],
    ['replace', 'client'],
    ['Argo CD Replace', 'client'],
    ['client', 'server'],
    ['server', 'server'],
  ])('fields of an Application lose what Git drops, after %s by %s (argo-cd 23845)', async (first, method) => {
    const app = (more: object) => (): KubeObject =>
      manifest('argoproj.io/v1alpha1', 'Application', { spec: { project: 'p', source: { repoURL: 'r' }, ...more } });
    const before = app({
      ignoreDifferences: [{ group: 'argoproj.io', kind: 'Application', jsonPointers: ['/status'] }],
      syncPolicy: { syncOptions: ['CreateNamespace=true', 'ServerSideApply=true'] },
    });
    const after = app({ syncPolicy: { syncOptions: ['CreateNamespace=true'] } });
    const stored = await applied({ first, method, before, after });
    expect(stored['spec']).not.toHaveProperty('ignoreDifferences');
    expect(stored['spec']).toMatchObject({ syncPolicy: { syncOptions: ['CreateNamespace=true'] } });
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { valueAt, seededRandom } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { eventually, FakeClock } from '#support';
import { startSimCluster } from '../index.ts';
import type { SimCluster, SimStore } from '../types.ts';
import { stringOrEmpty } from './fields.ts';
import { TestClient } from './test-client.ts';

const clock = new FakeClock();
let cluster: SimCluster;
let client: TestClient;
let store: SimStore;

beforeEach(async () => {
  cluster = await startSimCluster({
    name: 'c',
    clock,
    random: seededRandom(4),
    workloads: { enabled: false, delayMs: 0 },
  });
  client = new TestClient(cluster.url);
  store = cluster.store;
});
afterEach(() => cluster.close());

function map(name: string, owners: readonly KubeObject[] = [], more: JsonObject = {}): KubeObject {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    blockOwnerDeletion: true,
  }));
  return store.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ownerReferences, ...more },
  });
}

function names(namespace = 'default'): string[] {
  const all = store.list('', 'ConfigMap', namespace).map((object) => object.metadata.name ?? '');
  return all.filter((name) => name !== 'kube-root-ca.crt');
}

function crd(versions: readonly JsonObject[], names0: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.ex.io' },
    spec: {
      group: 'ex.io',
      scope: 'Namespaced',
      names: { kind: 'Gadget', plural: 'gadgets', shortNames: ['gd'], ...names0 },
      versions,
    },
  };
}

function version(name: string, storage: boolean, more: JsonObject = {}): JsonObject {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
    ...more,
  };
}

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const gadgets = '/apis/ex.io/v1/namespaces/default/gadgets';
const gadget = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'ex.io/v1',
  kind: 'Gadget',
  metadata: { name },
  spec,
});

describe('garbage collection', () => {
  it('deletes dependents in the background, through all generations', () => {
    const owner = map('owner');
    const child = map('child', [owner]);
    map('grandchild', [child]);
    map('other');
    store.delete('', 'ConfigMap', 'default', 'owner');
    expect(names()).toEqual(['other']);
  });

  it('orphans dependents by removing the owner reference', () => {
    const owner = map('owner');
    map('child', [owner]);
    store.delete('', 'ConfigMap', 'default', 'owner', { propagationPolicy: 'Orphan' });
    expect(names()).toEqual(['child']);
    expect(store.get('', 'ConfigMap', 'default', 'child')?.metadata).not.toHaveProperty('ownerReferences');
  });

  it('keeps a foreground-deleted owner until blocking dependents are deleted', () => {
    const owner = map('owner');
    const child = map('child', [owner]);
    map('held', [child], { finalizers: ['a.io/wait'] });
    store.delete('', 'ConfigMap', 'default', 'owner', { propagationPolicy: 'Foreground' });
    expect(names()).toEqual(['child', 'held', 'owner']);
    expect(store.get('', 'ConfigMap', 'default', 'owner')?.metadata.finalizers).toEqual(['foregroundDeletion']);
    const held = store.get('', 'ConfigMap', 'default', 'held');
    expect(held?.metadata.deletionTimestamp).toBeDefined();
    const { finalizers, ...metadata } = held?.metadata ?? {};
    expect(finalizers).toEqual(['a.io/wait']);
    store.update({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    expect(names()).toEqual([]);
  });

  it('keeps a dependent that has another owner, without the dead reference', () => {
    const first = map('first');
    const second = map('second');
    map('shared', [first, second]);
    store.delete('', 'ConfigMap', 'default', 'first');
    expect(names()).toEqual(['second', 'shared']);
    expect(store.get('', 'ConfigMap', 'default', 'shared')?.metadata.ownerReferences).toHaveLength(1);
  });

  it('deletes a new object whose owner is absent or in another namespace', () => {
    const ghost: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ghost', uid: 'no-such-uid' } };
    map('a', [ghost]);
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'far' } });
    const far = store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'far', namespace: 'far' } });
    map('b', [far]);
    map('c', [
      { apiVersion: 'v1', kind: 'Namespace', metadata: store.get('', 'Namespace', '', 'far')?.metadata ?? {} },
    ]);
    expect(names()).toEqual(['c']);
  });

  it('ignores owners of unknown kinds', () => {
    map('a', [{ apiVersion: 'unknown.io/v1', kind: 'Thing', metadata: { name: 't', uid: 'u' } }]);
    expect(names()).toEqual(['a']);
  });
});

describe('namespaces', () => {
  it('get their default objects on creation', () => {
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } });
    const made = store.get('', 'Namespace', '', 'new');
    expect(made).toMatchObject({ spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } });
    expect(made?.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'new' });
    expect(store.get('', 'ServiceAccount', 'new', 'default')).toBeDefined();
    store.delete('', 'ConfigMap', 'new', 'kube-root-ca.crt');
    expect(store.get('', 'ConfigMap', 'new', 'kube-root-ca.crt')).toBeDefined();
  });

  it('are emptied before removal', async () => {
    await client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'end' } });
    const inside = '/api/v1/namespaces/end/configmaps';
    const held = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held', finalizers: ['a.io/b'] } };
    await client.post(inside, held);
    const { body } = await client.delete('/api/v1/namespaces/end');
    expect(body).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    const waiting = (await client.get('/api/v1/namespaces/end')).body;
    expect(valueAt(waiting, 'status', 'conditions', 1)).toMatchObject({
      type: 'NamespaceFinalizersRemaining',
      status: 'True',
      message: 'Some content in the namespace has finalizers remaining: a.io/b in 1 resource instances',
    });
    await client.merge(`${inside}/held`, { metadata: { finalizers: null } });
    expect((await client.get('/api/v1/namespaces/end')).code).toBe(404);
    expect(store.list('', 'ServiceAccount', 'end')).toEqual([]);
  });
});

describe('custom resources', () => {
  it('keep integers beyond 2^53', async () => {
    await client.post(crds, crd([version('v1', true)]));
    await client.post(gadgets, gadget('a', { big: 9007199254740993n }));
    expect((await client.get(gadgets)).text).toContain('9007199254740993');
  });

  it('are served from the start if their definitions are given', async () => {
    const definition = crd([version('v1', true)]) as unknown as KubeObject;
    const ready = await startSimCluster({ name: 'd', clock, random: seededRandom(5), crds: [definition] });
    try {
      const served = new TestClient(ready.url);
      await eventually(async () => expect((await served.get(gadgets)).code).toBe(200));
    } finally {
      await ready.close();
    }
  });
});

describe('discovery', () => {
  it('answers 304 as long as nothing changed', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const { headers } = await client.get('/apis', { accept });
    const again = await client.get('/apis', { accept, headers: { 'If-None-Match': headers.etag ?? '' } });
    expect(again.code).toBe(304);
  });

  it('has OpenAPI v2 as protobuf, and v3 at the addresses of its index', async () => {
    const url = valueAt((await client.get('/openapi/v3')).body, 'paths', 'apis/apps/v1', 'serverRelativeURL');
    expect(url).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]+$/);
    expect((await client.get(stringOrEmpty(url))).code).toBe(200);
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const protobuf = await client.get('/openapi/v2', { accept });
    expect([protobuf.code, protobuf.text.includes('Kubernetes')]).toEqual([200, true]);
  });

  it('answers reviews as its options decide, and allows what they leave open', async () => {
    const strict = await startSimCluster({
      name: 'strict',
      clock,
      random: seededRandom(4),
      workloads: { enabled: false, delayMs: 0 },
      review: ({ kind, ...review }) =>
        kind === 'TokenReview' ? { authenticated: valueAt(review as Json, 'spec', 'token') === 'good' } : undefined,
    });
    try {
      const review = (token: string): JsonObject => ({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token },
      });
      const reviews = new TestClient(strict.url);
      const path = '/apis/authentication.k8s.io/v1/tokenreviews';
      const answers = await Promise.all(['good', 'bad'].map((token) => reviews.post(path, review(token))));
      expect(answers.map(({ body }) => valueAt(body, 'status', 'authenticated'))).toEqual([true, false]);
      const access = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: {} };
      const { body } = await reviews.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', access);
      expect(valueAt(body, 'status', 'allowed')).toBe(true);
    } finally {
      await strict.close();
    }
  });
});

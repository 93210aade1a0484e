import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { valueAt, seededRandom } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { eventually, FakeClock } from '#support';
import { startSimCluster } from '../index.ts';
import type { SimCluster, SimStore } from '../types.ts';
import { objectItemsOf as objects, stringOrEmpty } from './fields.ts';
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

  it('are emptied before removal, and reject new content meanwhile', async () => {
    await client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'end' } });
    const inside = '/api/v1/namespaces/end/configmaps';
    const held = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held', finalizers: ['a.io/b'] } };
    await client.post(inside, held);
    const { body } = await client.delete('/api/v1/namespaces/end');
    expect(body).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    const refused = await client.post(inside, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } });
    expect(refused.code).toBe(403);
    expect(refused.body).toMatchObject({
      reason: 'Forbidden',
      message:
        'configmaps "late" is forbidden: unable to create new content in namespace end because it is being terminated',
      details: {
        name: 'late',
        kind: 'configmaps',
        causes: [
          { reason: 'NamespaceTerminating', message: 'namespace end is being terminated', field: 'metadata.namespace' },
        ],
      },
    });
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

  it('of the system cannot be deleted', async () => {
    const { code, body } = await client.delete('/api/v1/namespaces/kube-system');
    expect([code, body['message']]).toEqual([
      403,
      'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    ]);
  });
});

describe('custom resources', () => {
  it('are served and discovered once their definition exists', async () => {
    expect((await client.get(gadgets)).code).toBe(404);
    const { code } = await client.post(crds, crd([version('v1', true, { subresources: { status: {} } })]));
    expect(code).toBe(201);
    const made = (await client.get(`${crds}/gadgets.ex.io`)).body;
    const conditions = (valueAt(made, 'status', 'conditions') ?? []) as JsonObject[];
    expect(conditions.map(({ type, status }) => [type, status])).toEqual([
      ['NamesAccepted', 'True'],
      ['Established', 'True'],
    ]);
    expect(valueAt(made, 'status', 'storedVersions')).toEqual(['v1']);
    const list = (await client.get('/apis/ex.io/v1')).body;
    const resources = (list['resources'] ?? []) as JsonObject[];
    expect(resources.map((resource) => resource['name'])).toEqual(['gadgets', 'gadgets/status']);
    const created = (await client.post(gadgets, gadget('a', { big: 9007199254740993n }))).body;
    expect(valueAt(created, 'metadata', 'generation')).toBe(1);
    const raw = await client.get(gadgets);
    expect(raw.text).toContain('9007199254740993');
    expect(valueAt(raw.body, 'items', 0, 'kind')).toBe('Gadget');
  });

  it('increment generation on every change if status is not a subresource', async () => {
    await client.post(crds, crd([version('v1', true)]));
    await client.post(gadgets, gadget('a'));
    const generation = async (patch: JsonObject): Promise<Json | undefined> =>
      valueAt((await client.merge(`${gadgets}/a`, patch)).body, 'metadata', 'generation');
    expect(await generation({ metadata: { labels: { a: 'b' } } })).toBe(1);
    expect(await generation({ status: { x: 1 } })).toBe(2);
    expect(await generation({ spec: { x: 1 } })).toBe(3);
    expect((await client.merge(`${gadgets}/a/status`, { status: {} })).code).toBe(404);
  });

  it('reject strategic merge patches and unconditional replacement', async () => {
    await client.post(crds, crd([version('v1', true)]));
    await client.post(gadgets, gadget('a'));
    const patch = await client.call('PATCH', `${gadgets}/a`, {
      body: {},
      type: 'application/strategic-merge-patch+json',
    });
    expect([patch.code, patch.body['message']]).toEqual([
      415,
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    ]);
    const put = await client.put(`${gadgets}/a`, gadget('a', { x: 1 }));
    expect([put.code, put.body['message']]).toEqual([
      422,
      'gadgets.ex.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    ]);
  });

  it('serve one object in several versions', async () => {
    await client.post(crds, crd([version('v1', true), version('v1beta1', false)]));
    await client.post(gadgets, gadget('a', { x: 1 }));
    const old = '/apis/ex.io/v1beta1/namespaces/default/gadgets';
    expect((await client.get(`${old}/a`)).body).toMatchObject({ apiVersion: 'ex.io/v1beta1', spec: { x: 1 } });
    await client.merge(`${old}/a`, { spec: { x: 2 } });
    expect((await client.get(`${gadgets}/a`)).body).toMatchObject({ apiVersion: 'ex.io/v1', spec: { x: 2 } });
    const group = (await client.get('/apis/ex.io')).body;
    expect(valueAt(group, 'preferredVersion', 'version')).toBe('v1');
    const fewer = await client.merge(`${crds}/gadgets.ex.io`, { spec: { versions: [version('v1', true)] } });
    expect([fewer.code, fewer.body['message']]).toEqual([200, undefined]);
    expect((await client.get(`${old}/a`)).code).toBe(404);
  });

  it('print the columns of their definition', async () => {
    const additionalPrinterColumns = [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1 },
      { name: 'Since', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      { name: 'Missing', type: 'string', jsonPath: '.spec.none' },
    ];
    await client.post(crds, crd([version('v1', true, { additionalPrinterColumns })]));
    const conditions = [
      { type: 'Other', status: 'Unknown' },
      { type: 'Ready', status: 'True' },
    ];
    await client.post(gadgets, { ...gadget('a', { size: 3 }), status: { conditions } });
    const { body } = await client.get(gadgets, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(valueAt(body, 'rows', 0, 'cells')).toEqual(['a', 3, 'True', '0s', null]);
    const columns = (body['columnDefinitions'] ?? []) as JsonObject[];
    expect(columns.map(({ name, priority }) => [name, priority])).toEqual([
      ['Name', 0],
      ['Size', 0],
      ['Ready', 1],
      ['Since', 0],
      ['Missing', 0],
    ]);
  });

  it('are deleted with their definition, finalizers first', async () => {
    await client.post(crds, crd([version('v1', true)]));
    await client.post(gadgets, gadget('a'));
    await client.post(gadgets, { ...gadget('b'), metadata: { name: 'b', finalizers: ['a.io/b'] } });
    await client.delete(`${crds}/gadgets.ex.io`);
    expect((await client.get(`${gadgets}/a`)).code).toBe(404);
    expect((await client.get(`${gadgets}/b`)).code).toBe(200);
    await client.merge(`${gadgets}/b`, { metadata: { finalizers: null } });
    expect((await client.get(`${crds}/gadgets.ex.io`)).code).toBe(404);
    expect((await client.get(gadgets)).code).toBe(404);
    const { body } = await client.get('/apis');
    expect(JSON.stringify(body)).not.toContain('ex.io');
  });

  it('cannot use a kind that is already in use', async () => {
    await client.post(crds, crd([version('v1', true)]));
    const other = crd([version('v1', true)], { plural: 'widgets' });
    const { code } = await client.post(crds, { ...other, metadata: { name: 'widgets.ex.io' } });
    expect(code).toBe(201);
    const made = (await client.get(`${crds}/widgets.ex.io`)).body;
    expect(valueAt(made, 'status', 'conditions', 0)).toMatchObject({ status: 'False', reason: 'KindConflict' });
    expect((await client.get('/apis/ex.io/v1/widgets')).code).toBe(404);
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
  it('returns the same kinds in aggregated and legacy form', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const { body, headers } = await client.get('/apis', { accept });
    expect(headers['content-type']).toBe('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    expect([body['kind'], body['apiVersion']]).toEqual(['APIGroupDiscoveryList', 'apidiscovery.k8s.io/v2']);
    const aggregated = new Set(
      objects(body['items']).flatMap((group) =>
        objects(group['versions']).flatMap((one) =>
          objects(one['resources']).map(
            (resource) =>
              `${stringOrEmpty(valueAt(group, 'metadata', 'name'))}/${stringOrEmpty(one['version'])}/${stringOrEmpty(resource['resource'])}`,
          ),
        ),
      ),
    );
    const plain = new Set<string>();
    const groups = objects((await client.get('/apis')).body['groups']);
    for (const version of groups.flatMap((group) => objects(group['versions']))) {
      const path = stringOrEmpty(version['groupVersion']);
      const list = (await client.get(`/apis/${path}`)).body;
      const found = objects(list['resources']).map((resource) => stringOrEmpty(resource['name']));
      for (const name of found.filter((one) => !one.includes('/'))) plain.add(`${path}/${name}`);
    }
    expect(aggregated).toEqual(plain);
    expect(plain.has('apps/v1/deployments')).toBe(true);
    const again = await client.get('/apis', { accept, headers: { 'If-None-Match': headers.etag ?? '' } });
    expect(again.code).toBe(304);
  });

  it('returns version, health and the OpenAPI paths', async () => {
    expect((await client.get('/version')).body).toMatchObject({ major: '1' });
    for (const path of ['/healthz', '/livez', '/readyz']) expect((await client.get(path)).text).toBe('ok');
    const { body } = await client.get('/openapi/v3');
    const url = valueAt(body, 'paths', 'apis/apps/v1', 'serverRelativeURL');
    expect(url).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]+$/);
    expect((await client.get(stringOrEmpty(url))).code).toBe(200);
    const protobuf = await client.get('/openapi/v2', {
      accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    });
    expect([protobuf.code, protobuf.text.includes('Kubernetes')]).toEqual([200, true]);
    expect((await client.get('/openapi/v3', { accept: 'application/xml' })).code).toBe(406);
    expect((await client.get('/nothing/here')).code).toBe(404);
  });

  it('allows everything in access reviews', async () => {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb: 'create', resource: 'pods' } },
    };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const { code, body } = await client.post(path, review);
    expect([code, valueAt(body, 'status', 'allowed')]).toEqual([201, true]);
    expect((await client.get(path)).code).toBe(405);
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

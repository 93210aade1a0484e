import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { valueAt, seededRandom } from '#base';
import type { JsonObject } from '#base';
import { FakeClock } from '#support';
import { SimError, startSimCluster } from '../index.ts';
import type { SimCluster } from '../types.ts';
import { TestClient } from './test-client.ts';

const clock = new FakeClock();
let cluster: SimCluster;
let client: TestClient;
const maps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';

beforeAll(async () => {
  cluster = await startSimCluster({
    name: 'c',
    clock,
    random: seededRandom(1),
    workloads: { enabled: false, delayMs: 0 },
  });
  client = new TestClient(cluster.url);
});
afterAll(() => cluster.close());

function configMap(name: string, data: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data };
}

function deployment(name: string, replicas = 1): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
    },
  };
}

describe('create', () => {
  it('sets the server-owned fields', async () => {
    const { code, body } = await client.post(maps, configMap('create-a', { k: 'v' }, { selfLink: '/x', uid: 'mine' }));
    expect(code).toBe(201);
    expect(body).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v' } });
    expect(body['metadata']).toMatchObject({
      name: 'create-a',
      namespace: 'default',
      creationTimestamp: '2026-01-01T00:00:00Z',
    });
    expect(valueAt(body, 'metadata', 'uid')).toMatch(/^[0-9a-f-]{36}$/);
    expect(body['metadata']).not.toHaveProperty('selfLink');
    expect(body['metadata']).not.toHaveProperty('generation');
    expect(Number(valueAt(body, 'metadata', 'resourceVersion'))).toBeGreaterThan(0);
  });

  it('generates names from generateName', async () => {
    const { body } = await client.post(maps, { ...configMap(''), metadata: { generateName: 'gen-' } });
    expect(valueAt(body, 'metadata', 'name')).toMatch(/^gen-[a-z0-9]{5}$/);
  });

  it('returns AlreadyExists with details', async () => {
    await client.post(deployments, deployment('twice'));
    const { code, body } = await client.post(deployments, deployment('twice'));
    expect(code).toBe(409);
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'deployments.apps "twice" already exists',
      reason: 'AlreadyExists',
      details: { name: 'twice', group: 'apps', kind: 'deployments' },
      code: 409,
    });
  });

  it.each([
    ['Bad_Name', 'a lowercase RFC 1123 subdomain must consist of'],
    ['', 'metadata.name: Required value: name or generateName is required'],
    ['x'.repeat(254), 'must be no more than 253 characters'],
  ])('rejects the name %j', async (name, message) => {
    const { code, body } = await client.post(maps, configMap(name));
    expect(code).toBe(422);
    expect(body['reason']).toBe('Invalid');
    expect(body['message']).toContain(message);
    expect(valueAt(body, 'details', 'causes', 0, 'field')).toBe('metadata.name');
  });

  it('rejects invalid labels, huge annotations and two controllers', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u', controller: true };
    for (const [metadata, field] of [
      [{ labels: { a: 'not valid' } }, 'metadata.labels'],
      [{ annotations: { a: 'x'.repeat(262_144) } }, 'metadata.annotations'],
      [{ ownerReferences: [owner, { ...owner, name: 'p', uid: 'w' }] }, 'metadata.ownerReferences'],
    ] as const) {
      const { code, body } = await client.post(maps, configMap('bad', {}, metadata));
      expect([code, valueAt(body, 'details', 'causes', 0, 'field')]).toEqual([422, field]);
    }
  });

  it('requires an existing, matching namespace', async () => {
    const missing = await client.post('/api/v1/namespaces/nowhere/configmaps', configMap('a'));
    expect([missing.code, missing.body['message']]).toEqual([404, 'namespaces "nowhere" not found']);
    const other = await client.post(maps, configMap('a', {}, { namespace: 'kube-system' }));
    expect([other.code, other.body['message']]).toEqual([
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ]);
    expect((await client.post('/api/v1/configmaps', configMap('a'))).code).toBe(405);
  });

  it('rejects other kinds, invalid JSON and unknown media types', async () => {
    expect((await client.post(maps, deployment('a'))).code).toBe(400);
    expect((await client.call('POST', maps, { text: '{"kind":' })).code).toBe(400);
    expect((await client.call('POST', maps, { text: 'x', type: 'text/plain' })).code).toBe(415);
    const yaml = await client.call('POST', maps, {
      text: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\n',
      type: 'application/yaml',
    });
    expect(yaml.code).toBe(201);
  });

  it('stores nothing with dryRun=All, and rejects other values', async () => {
    const { code, body } = await client.post(`${maps}?dryRun=All`, configMap('dry'));
    expect([code, valueAt(body, 'metadata', 'name')]).toEqual([201, 'dry']);
    expect((await client.get(`${maps}/dry`)).code).toBe(404);
    expect((await client.post(`${maps}?dryRun=Some`, configMap('dry'))).code).toBe(422);
  });

  it('converts stringData of a Secret to data', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } };
    const { body } = await client.post('/api/v1/namespaces/default/secrets', secret);
    expect(body['data']).toEqual({ a: 'Yg==' });
    expect(body).not.toHaveProperty('stringData');
  });
});

describe('update', () => {
  it('increments generation on spec changes only', async () => {
    await client.post(deployments, deployment('gen'));
    const at1 = (reply: JsonObject): unknown => valueAt(reply, 'metadata', 'generation');
    expect(at1((await client.merge(`${deployments}/gen`, { metadata: { labels: { a: 'b' } } })).body)).toBe(1);
    expect(at1((await client.merge(`${deployments}/gen/status`, { status: { replicas: 1 } })).body)).toBe(1);
    expect(at1((await client.merge(`${deployments}/gen`, { spec: { replicas: 3 } })).body)).toBe(2);
    const ignored = await client.merge(`${deployments}/gen`, { status: { replicas: 9 } });
    expect(valueAt(ignored.body, 'status', 'replicas')).toBe(1);
    const status = await client.merge(`${deployments}/gen/status`, { spec: { replicas: 7 }, status: { replicas: 2 } });
    expect([valueAt(status.body, 'spec', 'replicas'), valueAt(status.body, 'status', 'replicas')]).toEqual([3, 2]);
  });

  it('rejects a stale resourceVersion and accepts the current one', async () => {
    const { body } = await client.post(maps, configMap('stale', { a: '1' }));
    const next = await client.put(`${maps}/stale`, { ...body, data: { a: '2' } });
    expect(next.code).toBe(200);
    const again = await client.put(`${maps}/stale`, { ...body, data: { a: '3' } });
    expect(again.code).toBe(409);
    expect(again.body).toMatchObject({
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "stale": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'stale', kind: 'configmaps' },
    });
    const unconditional = await client.put(`${maps}/stale`, configMap('stale', { a: '4' }));
    expect([unconditional.code, valueAt(unconditional.body, 'metadata', 'uid')]).toEqual([
      200,
      valueAt(body, 'metadata', 'uid'),
    ]);
  });

  it('keeps the revision on a write without changes', async () => {
    const { body } = await client.post(maps, configMap('same', { a: '1' }));
    const put = await client.put(`${maps}/same`, configMap('same', { a: '1' }));
    expect(valueAt(put.body, 'metadata', 'resourceVersion')).toBe(valueAt(body, 'metadata', 'resourceVersion'));
    const patch = await client.merge(`${maps}/same`, {});
    expect(valueAt(patch.body, 'metadata', 'resourceVersion')).toBe(valueAt(body, 'metadata', 'resourceVersion'));
  });

  it('rejects another name or uid, and keeps the creationTimestamp', async () => {
    await client.post(maps, configMap('fixed'));
    const renamed = await client.put(`${maps}/fixed`, configMap('other'));
    expect([renamed.code, renamed.body['message']]).toEqual([
      400,
      'the name of the object (other) does not match the name on the URL (fixed)',
    ]);
    expect((await client.merge(`${maps}/fixed`, { metadata: { uid: 'other' } })).code).toBe(422);
    const aged = await client.merge(`${maps}/fixed`, { metadata: { creationTimestamp: '2020-01-01T00:00:00Z' } });
    expect([aged.code, valueAt(aged.body, 'metadata', 'creationTimestamp')]).not.toEqual([200, '2020-01-01T00:00:00Z']);
    expect(aged.code).toBe(200);
    expect((await client.put(`${maps}/none`, configMap('none'))).code).toBe(404);
  });

  it('rejects unknown media types of patches', async () => {
    await client.post(maps, configMap('patched', { a: '1' }));
    const plain = await client.call('PATCH', `${maps}/patched`, { body: {}, type: 'application/json' });
    expect([plain.code, plain.body['reason']]).toEqual([415, 'UnsupportedMediaType']);
    const json = await client.call('PATCH', `${maps}/patched`, {
      body: [{ op: 'replace', path: '/data/a', value: '2' }],
      type: 'application/json-patch+json',
    });
    expect(valueAt(json.body, 'data', 'a')).toBe('2');
    const broken = await client.call('PATCH', `${maps}/patched`, {
      body: [{ op: 'test', path: '/data/a', value: 'other' }],
      type: 'application/json-patch+json',
    });
    expect(broken.code).toBe(422);
  });

  it('requires a field manager for apply and rejects force elsewhere', async () => {
    const none = await client.apply(`${maps}/applied`, configMap('applied'));
    expect([none.code, valueAt(none.body, 'details', 'causes', 0, 'field')]).toEqual([422, 'fieldManager']);
    expect((await client.merge(`${maps}/same?force=true`, {})).code).toBe(422);
    expect((await client.apply(`${maps}/applied?fieldManager=me`, configMap('applied', { a: '1' }))).code).toBe(201);
    expect((await client.apply(`${maps}/applied?fieldManager=me`, configMap('applied', { a: '2' }))).code).toBe(200);
    const conflict = await client.apply(`${maps}/applied?fieldManager=you`, configMap('applied', { a: '3' }));
    expect([conflict.code, conflict.body['reason']]).toEqual([409, 'Conflict']);
    expect(conflict.body['message']).toBe('Apply failed with 1 conflict: conflict with "me": .data.a');
    expect(valueAt(conflict.body, 'details', 'causes', 0)).toEqual({
      reason: 'FieldManagerConflict',
      message: 'conflict with "me"',
      field: '.data.a',
    });
    const forced = await client.apply(`${maps}/applied?fieldManager=you&force=true`, configMap('applied', { a: '3' }));
    expect([forced.code, valueAt(forced.body, 'data', 'a')]).toEqual([200, '3']);
  });
});

describe('scale', () => {
  it('is read and written through autoscaling/v1', async () => {
    await client.post(deployments, deployment('scaled', 2));
    const { body } = await client.get(`${deployments}/scaled/scale`);
    expect(body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=scaled' },
    });
    const put = await client.put(`${deployments}/scaled/scale`, { ...body, spec: { replicas: 5 } });
    expect(valueAt(put.body, 'spec', 'replicas')).toBe(5);
    expect((await client.put(`${deployments}/scaled/scale`, { ...body, spec: { replicas: 6 } })).code).toBe(409);
    expect(
      valueAt((await client.merge(`${deployments}/scaled/scale`, { spec: { replicas: 1 } })).body, 'spec', 'replicas'),
    ).toBe(1);
    expect(valueAt((await client.get(`${deployments}/scaled`)).body, 'spec', 'replicas')).toBe(1);
    expect((await client.get(`${maps}/same/scale`)).code).toBe(404);
  });
});

describe('delete', () => {
  it('returns a Status that names the deleted object', async () => {
    const { body } = await client.post(maps, configMap('gone'));
    const { code, body: status } = await client.delete(`${maps}/gone`);
    expect(code).toBe(200);
    expect(status).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'gone', kind: 'configmaps', uid: valueAt(body, 'metadata', 'uid') },
    });
    const again = await client.delete(`${maps}/gone`);
    expect([again.code, again.body['message']]).toEqual([404, 'configmaps "gone" not found']);
  });

  it('checks its preconditions', async () => {
    const { body } = await client.post(maps, configMap('pre'));
    expect((await client.delete(`${maps}/pre`, { preconditions: { uid: 'other' } })).code).toBe(409);
    expect((await client.delete(`${maps}/pre`, { preconditions: { resourceVersion: '1' } })).code).toBe(409);
    expect((await client.delete(`${maps}/pre?dryRun=All`)).code).toBe(200);
    const uid = valueAt(body, 'metadata', 'uid') ?? '';
    expect((await client.delete(`${maps}/pre`, { preconditions: { uid } })).code).toBe(200);
  });

  it('waits for finalizers and rejects new ones', async () => {
    await client.post(deployments, { ...deployment('held'), metadata: { name: 'held', finalizers: ['a.io/b'] } });
    const { body } = await client.delete(`${deployments}/held`);
    expect(body['metadata']).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      generation: 2,
    });
    const more = await client.merge(`${deployments}/held`, { metadata: { finalizers: ['a.io/b', 'c.io/d'] } });
    expect(more.code).toBe(422);
    expect(more.body['message']).toContain(
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c.io/d"}',
    );
    expect((await client.merge(`${deployments}/held`, { metadata: { finalizers: null } })).code).toBe(200);
    expect((await client.get(`${deployments}/held`)).code).toBe(404);
  });

  it('deletes collections by selector', async () => {
    for (const name of ['col-a', 'col-b']) await client.post(maps, configMap(name, {}, { labels: { set: 'col' } }));
    expect((await client.delete(`${maps}?labelSelector=set%3Dcol`)).code).toBe(200);
    expect(valueAt((await client.get(`${maps}?labelSelector=set`)).body, 'items')).toEqual([]);
    expect((await client.delete('/api/v1/namespaces')).code).toBe(405);
  });

  it('warns before orphaning the pods of a Job', async () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j' },
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
    };
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    const { body } = await client.post(jobs, job);
    expect(valueAt(body, 'spec', 'selector', 'matchLabels')).toEqual({
      'batch.kubernetes.io/controller-uid': valueAt(body, 'metadata', 'uid'),
    });
    const { headers } = await client.delete(`${jobs}/j`);
    expect(headers.warning).toContain('299 - "child pods are preserved by default when jobs are deleted;');
  });

  it('gives pods on a node their grace period', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const pod = (name: string, nodeName?: string): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }], ...(nodeName === undefined ? {} : { nodeName }) },
    });
    await client.post(pods, pod('free'));
    await client.delete(`${pods}/free`);
    expect((await client.get(`${pods}/free`)).code).toBe(404);
    await client.post(pods, pod('bound', 'node-1'));
    const { body } = await client.delete(`${pods}/bound`);
    expect(body['metadata']).toMatchObject({
      deletionGracePeriodSeconds: 30,
      deletionTimestamp: '2026-01-01T00:00:30Z',
    });
    await clock.advance(1);
    expect((await client.get(`${pods}/bound`)).code).toBe(404);
    await client.post(pods, pod('forced', 'node-1'));
    await client.delete(`${pods}/forced`, { gracePeriodSeconds: 0 });
    expect((await client.get(`${pods}/forced`)).code).toBe(404);
  });
});

describe('the in-process store', () => {
  it('applies the same rules', () => {
    const { store } = cluster;
    const made = store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'in', namespace: 'default' } });
    expect(store.get('', 'ConfigMap', 'default', 'in')).toBe(made);
    const stale = { ...made, metadata: { ...made.metadata, resourceVersion: '1' } };
    const failure = (body: () => void): unknown => {
      try {
        body();
      } catch (error) {
        return error instanceof SimError ? [error.httpCode, error.reason] : error;
      }
      return undefined;
    };
    expect(failure(() => store.update(stale))).toEqual([409, 'Conflict']);
    expect(failure(() => store.create(made))).toEqual([500, '']);
    expect(failure(() => store.delete('', 'ConfigMap', 'default', 'none'))).toEqual([404, 'NotFound']);
    expect(failure(() => store.create({ apiVersion: 'x/v1', kind: 'Nope', metadata: { name: 'a' } }))).toEqual([
      404,
      'NotFound',
    ]);
    const heard: string[] = [];
    const stop = store.subscribe((event) => heard.push(`${event.type} ${event.object.metadata.name ?? ''}`));
    store.update({ ...made, data: { a: 'b' } });
    store.delete('', 'ConfigMap', 'default', 'in');
    stop();
    store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'unheard', namespace: 'default' } });
    expect(heard).toEqual(['MODIFIED in', 'DELETED in']);
  });
});

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

function configMap(name: string, data: JsonObject): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

/** test/conformance/scenarios/objects.ts has the other rules, with the answers of a real server. */
describe('objects', () => {
  it('keeps the revision on a write without changes', async () => {
    const { body } = await client.post(maps, configMap('same', { a: '1' }));
    const put = await client.put(`${maps}/same`, configMap('same', { a: '1' }));
    expect(valueAt(put.body, 'metadata', 'resourceVersion')).toBe(valueAt(body, 'metadata', 'resourceVersion'));
    const patch = await client.merge(`${maps}/same`, {});
    expect(valueAt(patch.body, 'metadata', 'resourceVersion')).toBe(valueAt(body, 'metadata', 'resourceVersion'));
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

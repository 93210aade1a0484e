/** @seconds 60 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { atomic, byName, ChangingKinds, listOf, versionWith } from './changing-kinds.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';
import type { Manifest } from './synced-object.ts';

const { signal } = new AbortController();
const methods: readonly SyncMethod[] = ['client', 'server', 'replace'];
let world: Servers<'hub'>;
let client: KubeClient;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

const managers = 2000;
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `theirs-${i}`);

/** The entries of an object, and one of another manager for each part. */
function entriesWith({ apiVersion, metadata }: KubeObject, parts: readonly JsonObject[]): JsonObject[] {
  const theirs = parts.map((fieldsV1, i) => {
    return { manager: `manager-${i}`, operation: 'Apply', apiVersion, fieldsType: 'FieldsV1', fieldsV1 };
  });
  return [...((metadata.managedFields ?? []) as unknown as JsonObject[]), ...theirs];
}

const big = 'x'.repeat(256);
const config = (name: string, data: object): Manifest => {
  return () => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'cases' },
    data: data,
  });
};

/** A ConfigMap of ours with a key of each of some other managers. */
async function shared(method: SyncMethod, count: number): Promise<SyncedObject> {
  const one = await SyncedObject.begin(client, method, signal);
  await one.first(method, config(`${method}-${count}`, { a: '1', b: '2', big: big.repeat(1000) }));
  const keys = names(count);
  const managedFields = entriesWith(
    one.live,
    keys.map((key) => ({ 'f:data': { [`f:${key}`]: {} } })),
  );
  await one.patch('setup', {
    metadata: { managedFields },
    data: Object.fromEntries(keys.map((key) => [key, 'x'.repeat(350)])),
  });
  return one;
}

/** The shortest time of a local comparison: a busy machine makes others longer. */
async function comparisonMs(one: SyncedObject, manifest: Manifest): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run += 1) {
    const begin = performance.now();
    await one.localStatus(manifest);
    best = Math.min(best, performance.now() - begin);
  }
  return best;
}

describe.each(methods)('applied with %s', (method) => {
  it('loses what Git drops, and nothing of 2,000 other managers, from an object of a megabyte', async () => {
    const one = await shared(method, managers);
    expect(JSON.stringify(one.live).length).toBeGreaterThan(1_000_000);
    const kept = { a: '1', big: big.repeat(1000) };
    const manifest = config(`${method}-${managers}`, kept);
    const stored = (await one.changed(manifest))['data'] as JsonObject;
    expect(stored).not.toHaveProperty('b');
    // A replacement is sent as it is in Git.
    expect(Object.keys(stored)).toHaveLength(method === 'replace' ? 2 : managers + 2);
  });

  it('compares in a time that grows with the number of managers, not with its square', async () => {
    const [few, many] = [await shared(method, 100), await shared(method, managers - 1)];
    const data = { a: '2', big: big.repeat(1000) };
    const fewMs = await comparisonMs(few, config(`${method}-100`, data));
    const manyMs = await comparisonMs(many, config(`${method}-${managers - 1}`, data));
    // 20 times as many; the square would be 400 times as long.
    expect(manyMs / fewMs).toBeLessThan(120);
  });
});

it('a list that became a map list with 1,000 items of ours and 1,000 of others loses only ours', async () => {
  const kinds = new ChangingKinds(client, world.servers.hub.api, signal);
  const kind = await kinds.define([versionWith('v1', true, { list: listOf(atomic) })]);
  const ours = Array.from({ length: 1000 }, (_, i) => ({ name: `ours-${i}`, value: 'x' }));
  const one = await SyncedObject.begin(client, 'server', signal);
  await one.first('server', kind.manifest({ list: ours }));
  const schemas = await kind.reshape({ list: listOf(byName) }, async () => {
    const theirs = { spec: { list: [{ name: 'probe', value: 'x' }] } };
    return JSON.stringify(await one.patch('probe', theirs, 'apply', true).catch(() => '')).includes('ours-0');
  });
  await one.describe(schemas);
  const theirs = names(1000);
  const owned = { '.': {}, 'f:name': {}, 'f:value': {} };
  const parts = theirs.map((name) => ({ 'f:spec': { 'f:list': { [`k:{"name":"${name}"}`]: owned } } }));
  const managedFields = entriesWith(one.live, parts);
  const list = [...ours, ...theirs.map((name) => ({ name, value: 'x' }))];
  await one.patch('setup', { metadata: { managedFields }, spec: { list } });
  const { spec } = (await one.changed(kind.manifest({ list: ours.slice(0, 500) }))) as unknown as {
    spec: { list: readonly JsonObject[] };
  };
  expect(spec.list).toHaveLength(1500);
});

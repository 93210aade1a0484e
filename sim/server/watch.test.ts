import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { valueAt, seededRandom } from '#base';
import type { Json, JsonObject } from '#base';
import { eventually, FakeClock } from '#support';
import { startSimCluster } from '../index.ts';
import type { SimCluster } from '../types.ts';
import { stringOrEmpty } from './fields.ts';
import { TestClient } from './test-client.ts';
import type { TestWatch } from './test-client.ts';

let clock: FakeClock;
let cluster: SimCluster;
let client: TestClient;
let open: TestWatch[];
const secrets = '/api/v1/namespaces/w/secrets';

beforeEach(async () => {
  clock = new FakeClock();
  open = [];
  cluster = await startSimCluster({
    name: 'c',
    clock,
    random: seededRandom(2),
    workloads: { enabled: false, delayMs: 0 },
  });
  client = new TestClient(cluster.url);
  cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'w' } });
});
afterEach(async () => {
  for (const watch of open) watch.close();
  await cluster.close();
  expect(clock.pending).toBe(0);
});

async function watching(path: string, accept?: string): Promise<TestWatch> {
  const watch = await client.watch(path, accept === undefined ? {} : { accept });
  open.push(watch);
  return watch;
}

function put(name: string, labels: Record<string, string> = {}, data: Record<string, string> = {}): void {
  const { store } = cluster;
  const live = store.get('', 'Secret', 'w', name);
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'w', labels }, stringData: data };
  if (live === undefined) store.create(object);
  else store.update(object);
}

function remove(name: string): void {
  cluster.store.delete('', 'Secret', 'w', name);
}

function brief(event: JsonObject | string): string {
  if (typeof event === 'string') return event;
  return `${stringOrEmpty(event['type'])} ${stringOrEmpty(valueAt(event, 'object', 'metadata', 'name') ?? '-')}`;
}

async function expectEvents(watch: TestWatch, expected: readonly string[]): Promise<void> {
  await eventually(() => expect(watch.events.map(brief)).toEqual(expected));
}

async function now(): Promise<string> {
  return stringOrEmpty(valueAt((await client.get(secrets)).body, 'metadata', 'resourceVersion'));
}

describe('watch', () => {
  it('starts with the current objects if no revision is given', async () => {
    put('a');
    const watch = await watching(`${secrets}?watch=true`);
    put('b');
    remove('a');
    await expectEvents(watch, ['ADDED a', 'ADDED b', 'DELETED a']);
    expect(valueAt(watch.events[1] as JsonObject, 'object', 'kind')).toBe('Secret');
  });

  it('continues after a revision', async () => {
    put('a');
    const from = await now();
    put('a', {}, { x: '1' });
    put('b');
    const watch = await watching(`${secrets}?watch=1&resourceVersion=${from}`);
    await expectEvents(watch, ['MODIFIED a', 'ADDED b']);
  });

  it('sends objects that enter and leave a selection as ADDED and DELETED', async () => {
    const from = await now();
    const watch = await watching(`${secrets}?watch=true&resourceVersion=${from}&labelSelector=on%3Dyes`);
    put('a');
    put('a', { on: 'yes' });
    put('a', { on: 'yes' }, { k: 'v' });
    put('a', { on: 'no' });
    await expectEvents(watch, ['ADDED a', 'MODIFIED a', 'DELETED a']);
    const left = watch.events[2] as JsonObject;
    expect(valueAt(left, 'object', 'metadata', 'labels')).toEqual({ on: 'yes' });
    expect(valueAt(left, 'object', 'metadata', 'resourceVersion')).toBe(await now());
  });

  it('watches one object by field selector, in its namespace only', async () => {
    const watch = await watching(`${secrets}?watch=true&fieldSelector=metadata.name%3Db`);
    put('a');
    put('b');
    cluster.store.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'b', namespace: 'default' } });
    remove('b');
    await expectEvents(watch, ['ADDED b', 'DELETED b']);
  });

  it('sends initial events and the bookmark that ends them', async () => {
    put('a');
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await watching(`${secrets}?${query}`);
    await expectEvents(watch, ['ADDED a', 'BOOKMARK -']);
    expect(valueAt(watch.events.at(-1) as JsonObject, 'object', 'metadata')).toEqual({
      resourceVersion: await now(),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
    const refused = await client.get(`${secrets}?watch=true&sendInitialEvents=true`);
    expect([refused.code, valueAt(refused.body, 'details', 'causes', 0, 'field')]).toEqual([
      422,
      'resourceVersionMatch',
    ]);
  });

  it('sends bookmarks every minute and ends at its timeout', async () => {
    const from = await now();
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=${from}`;
    const watch = await watching(`${secrets}?${query}`);
    await clock.advance(60_000);
    await expectEvents(watch, ['BOOKMARK -']);
    await clock.advance(30_000);
    await watch.ended;
    await expectEvents(watch, ['BOOKMARK -', 'BOOKMARK -']);
  });

  it('returns 410 in the stream once the history is compacted', async () => {
    const from = await now();
    put('a');
    put('b');
    cluster.compact(1);
    const watch = await watching(`${secrets}?watch=true&resourceVersion=${from}`);
    await watch.ended;
    expect(watch.events).toHaveLength(1);
    expect(watch.events[0]).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    const late = await watching(`${secrets}?watch=true&resourceVersion=${Number(await now()) - 1}`);
    await expectEvents(late, ['ADDED b']);
  });

  it('ends all watches on disconnect and continues to serve', async () => {
    const watch = await watching(`${secrets}?watch=true`);
    cluster.disconnect();
    await watch.ended;
    put('a');
    expect(valueAt((await client.get(secrets)).body, 'items')).toHaveLength(1);
  });

  it('ends the watch of a client that disappeared', async () => {
    const watch = await watching(`${secrets}?watch=true&allowWatchBookmarks=true`);
    watch.close();
    await eventually(() => expect(clock.pending).toBe(0));
  });

  it('replays from any revision to the current list', async () => {
    const command = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      what: fc.constantFrom('put', 'remove', 'label'),
      value: fc.nat(3),
    });
    const { store } = cluster;
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 25 }), fc.nat(25), async (commands, at0) => {
        let start: Awaited<ReturnType<typeof snapshot>> | undefined;
        for (const [index, { name, what, value }] of commands.entries()) {
          if (index === Math.min(at0, commands.length - 1)) start = await snapshot();
          if (what === 'put') put(name, {}, { v: String(value) });
          else if (what === 'label') put(name, { l: String(value) });
          else if (store.get('', 'Secret', 'w', name) !== undefined) remove(name);
        }
        const end = await snapshot();
        const objects = new Map(start?.objects);
        const watch = await watching(`${secrets}?watch=true&resourceVersion=${start?.revision ?? '0'}`);
        await eventually(() => {
          objects.clear();
          for (const [name, object] of start?.objects ?? []) objects.set(name, object);
          for (const event of watch.events) replay(objects, event as JsonObject);
          expect(Object.fromEntries(objects)).toEqual(Object.fromEntries(end.objects));
        });
        watch.close();
        const then = await client.get(`${secrets}?resourceVersion=${start?.revision ?? ''}&resourceVersionMatch=Exact`);
        expect(index(then.body)).toEqual(start?.objects);
      }),
      { numRuns: 25 },
    );
  });
});

function replay(objects: Map<string, Json>, event: JsonObject): void {
  const object = event['object'] as JsonObject;
  const name = stringOrEmpty(valueAt(object, 'metadata', 'name'));
  if (event['type'] === 'DELETED') objects.delete(name);
  else objects.set(name, valueAt(object, 'metadata', 'resourceVersion') ?? null);
}

function index(list: JsonObject): Map<string, Json> {
  const result = new Map<string, Json>();
  for (const item of (list['items'] ?? []) as JsonObject[]) {
    result.set(stringOrEmpty(valueAt(item, 'metadata', 'name')), valueAt(item, 'metadata', 'resourceVersion') ?? null);
  }
  return result;
}

async function snapshot(): Promise<{ revision: string; objects: Map<string, Json> }> {
  const { body } = await client.get(secrets);
  return { revision: stringOrEmpty(valueAt(body, 'metadata', 'resourceVersion')), objects: index(body) };
}

describe('list', () => {
  it('omits kind and apiVersion from the items of built-in kinds', async () => {
    put('a');
    const { body } = await client.get(secrets);
    expect([body['kind'], body['apiVersion']]).toEqual(['SecretList', 'v1']);
    expect(valueAt(body, 'items', 0)).not.toHaveProperty('kind');
    expect(valueAt(body, 'items', 0)).not.toHaveProperty('apiVersion');
    expect(valueAt(body, 'items', 0, 'metadata', 'name')).toBe('a');
  });

  it('pages through one consistent snapshot', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) put(name);
    const first = (await client.get(`${secrets}?limit=2`)).body;
    expect(first['metadata']).toMatchObject({ remainingItemCount: 3 });
    remove('d');
    put('c', {}, { changed: 'yes' });
    put('cc');
    const token = stringOrEmpty(valueAt(first, 'metadata', 'continue'));
    const second = (await client.get(`${secrets}?limit=2&continue=${token}`)).body;
    const last = (
      await client.get(`${secrets}?limit=2&continue=${stringOrEmpty(valueAt(second, 'metadata', 'continue'))}`)
    ).body;
    const names = [first, second, last].flatMap((page) => [...index(page).keys()]);
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(valueAt(second, 'items', 0)).not.toHaveProperty('data');
    expect(valueAt(last, 'metadata', 'resourceVersion')).toBe(valueAt(first, 'metadata', 'resourceVersion'));
    expect(last['metadata']).not.toHaveProperty('continue');
  });

  it('returns 410 for a compacted token, with a token to continue from', async () => {
    for (const name of ['a', 'b', 'c']) put(name);
    const first = (await client.get(`${secrets}?limit=1`)).body;
    put('d');
    cluster.compact();
    const token = stringOrEmpty(valueAt(first, 'metadata', 'continue'));
    const expired = await client.get(`${secrets}?limit=1&continue=${token}`);
    expect([expired.code, expired.body['reason']]).toEqual([410, 'Expired']);
    const next = stringOrEmpty(valueAt(expired.body, 'metadata', 'continue'));
    const rest = await client.get(`${secrets}?continue=${next}`);
    expect([...index(rest.body).keys()]).toEqual(['b', 'c', 'd']);
    expect((await client.get(`${secrets}?continue=nonsense`)).code).toBe(400);
  });

  it('rejects future, compacted and invalid revisions', async () => {
    put('a');
    const future = await client.get(`${secrets}?resourceVersion=999999`);
    expect([future.code, future.body['reason'], future.headers['retry-after']]).toEqual([504, 'Timeout', '1']);
    put('b');
    cluster.compact();
    expect((await client.get(`${secrets}?resourceVersion=1&resourceVersionMatch=Exact`)).code).toBe(410);
    expect((await client.get(`${secrets}?resourceVersion=1&resourceVersionMatch=NotOlderThan`)).code).toBe(200);
    expect((await client.get(`${secrets}?resourceVersion=x`)).code).toBe(400);
    expect((await client.get(`${secrets}?resourceVersionMatch=Exact`)).code).toBe(422);
  });

  it('selects by labels and fields', async () => {
    put('a', { tier: 'front', n: '5' });
    put('b', { tier: 'back' });
    put('c');
    const chosen = async (query: string): Promise<string[]> => [
      ...index((await client.get(`${secrets}?${query}`)).body).keys(),
    ];
    const label = (text: string): Promise<string[]> => chosen(`labelSelector=${encodeURIComponent(text)}`);
    expect(await label('tier=front')).toEqual(['a']);
    expect(await label('tier==front,n')).toEqual(['a']);
    expect(await label('tier!=front')).toEqual(['b', 'c']);
    expect(await label('tier in (front, back)')).toEqual(['a', 'b']);
    expect(await label('tier notin (front)')).toEqual(['b', 'c']);
    expect(await label('!tier')).toEqual(['c']);
    expect(await label('n>4')).toEqual(['a']);
    expect(await label('n<5')).toEqual([]);
    expect(await chosen('fieldSelector=metadata.name!%3Da,metadata.namespace%3Dw')).toEqual(['b', 'c']);
    const bad = await client.get(`${secrets}?labelSelector=${encodeURIComponent('a in b')}`);
    expect([bad.code, bad.body['reason']]).toEqual([400, 'BadRequest']);
    const unknown = await client.get(`${secrets}?fieldSelector=data.x%3D1`);
    expect([unknown.code, unknown.body['message']]).toEqual([400, 'field label not supported: data.x']);
    const plain = await client.get('/api/v1/configmaps?fieldSelector=data.x%3D1');
    expect([plain.code, plain.body['message']]).toEqual([
      400,
      '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ]);
    const pods = await client.get('/api/v1/pods?fieldSelector=status.phase%3DRunning,spec.nodeName!%3Dx');
    expect(pods.code).toBe(200);
  });

  it('returns metadata only, or a table, on request', async () => {
    put('a', { x: 'y' }, { k: 'v' });
    const partial = await client.get(secrets, {
      accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    });
    expect(partial.body).toMatchObject({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      items: [{ kind: 'PartialObjectMetadata', metadata: { name: 'a' } }],
    });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    await clock.advance(5000);
    const table = (await client.get(secrets, { accept })).body;
    expect([table['kind'], table['apiVersion']]).toEqual(['Table', 'meta.k8s.io/v1']);
    expect(valueAt(table, 'rows', 0, 'cells')).toEqual(['a', 'Opaque', 1, '5s']);
    expect(valueAt(table, 'rows', 0, 'object', 'kind')).toBe('PartialObjectMetadata');
    const whole = (await client.get(`${secrets}?includeObject=Object`, { accept })).body;
    expect(valueAt(whole, 'rows', 0, 'object', 'data')).toEqual({ k: 'dg==' });
    const none = (await client.get(`${secrets}?includeObject=None`, { accept })).body;
    expect(valueAt(none, 'rows', 0, 'object')).toBeNull();
    const watch = await watching(`${secrets}?watch=true`, accept);
    put('b');
    await eventually(() => expect(watch.events).toHaveLength(2));
    expect(valueAt(watch.events[0] as JsonObject, 'object', 'columnDefinitions')).toHaveLength(4);
    expect(valueAt(watch.events[1] as JsonObject, 'object', 'columnDefinitions')).toEqual([]);
    expect((await client.get(secrets, { accept: 'application/xml' })).code).toBe(406);
  });
});

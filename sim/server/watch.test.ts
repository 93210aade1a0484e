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

/** test/conformance/scenarios/lists.ts has the other rules, with the answers of a real server. */
describe('watch', () => {
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
  it('watches as a table, with its columns in the first event', async () => {
    put('a');
    const watch = await watching(`${secrets}?watch=true`, 'application/json;as=Table;v=v1;g=meta.k8s.io');
    put('b');
    await eventually(() => expect(watch.events).toHaveLength(2));
    expect(valueAt(watch.events[0] as JsonObject, 'object', 'columnDefinitions')).toHaveLength(4);
    expect(valueAt(watch.events[1] as JsonObject, 'object', 'columnDefinitions')).toEqual([]);
  });
});

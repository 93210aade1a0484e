import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import type { Json } from '#base';
import { apiResource, createKubeClient, isAlreadyExists, isConflict, isExpired, isNotFound } from '#kube';
import type { KubeClient, WatchEvent } from '#kube';
import type { KubeObject } from '#model';
import { startSimCluster } from '#sim';
import { silentLogger } from '#telemetry';
import { argoCrds } from '../simulation/fleet.ts';
import { hubClient } from './hub-client.ts';
import { HubStore } from './hub-store.ts';

const applications = apiResource('argoproj.io/v1alpha1', 'Application', 'applications', 'namespaced');
const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const secrets = apiResource('v1', 'Secret', 'secrets', 'namespaced');
const events = apiResource('v1', 'Event', 'events', 'namespaced');
const namespace = 'agent';

let stop: AbortController;
let call: { readonly signal: AbortSignal };
let ends: (() => Promise<unknown>)[];
beforeEach(() => {
  stop = new AbortController();
  call = { signal: stop.signal };
  ends = [];
});
afterEach(async () => {
  stop.abort();
  for (const end of ends.reverse()) await end();
});

async function simulatedHub(): Promise<KubeClient> {
  const sim = await startSimCluster({ name: 'hub', clock: systemClock, random: systemRandom, crds: argoCrds() });
  const connection = { server: sim.url, insecure: false, credentials: {} };
  const deps = { clock: systemClock, random: systemRandom, logger: silentLogger, userAgent: 'test' };
  const client = createKubeClient(connection, deps);
  sim.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  ends.push(
    () => sim.close(),
    () => client.close(),
  );
  return client;
}

function ownHub(): Promise<KubeClient> {
  return Promise.resolve(hubClient(new HubStore({ clock: systemClock, random: systemRandom }), () => undefined));
}

const configMap = (name: string, value: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name, labels },
  data: { value },
});
const application: KubeObject = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { namespace, name: 'shop' },
  spec: { project: 'default', destination: { namespace: 'shop' }, source: { repoURL: 'https://git/shop' } },
};
const at = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace, name });
const merge = (body: Json): { readonly type: 'merge'; readonly body: Json } => ({ type: 'merge', body });
const namesOf = (items: readonly KubeObject[]): unknown[] => items.map(({ metadata }) => metadata.name).sort();

async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'done';
  } catch (error) {
    if (isAlreadyExists(error)) return 'exists';
    if (isConflict(error)) return 'conflict';
    if (isNotFound(error)) return `not found: ${(error as Error).message}`;
    return isExpired(error) ? 'expired' : String(error);
  }
}

/** The next `count` events of a watch. */
async function eventsOf(watch: AsyncIterable<WatchEvent>, count: number): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of watch) {
    if (event.type !== 'BOOKMARK') seen.push([event.type, event.object.metadata.name, event.object['data']]);
    if (seen.length === count) break;
  }
  return seen;
}

// The simulator behaves as a real API server: `npm run e2e` compares the two.
describe.each([
  ['of an agent', ownHub],
  ['on an API server', simulatedHub],
])('the hub %s', (_name, open) => {
  let hub: KubeClient;
  beforeEach(async () => {
    hub = await open();
  });

  it('stores an object once, with a uid, a version and a time', async () => {
    const created = await hub.create(applications, application, call);
    expect(created).toMatchObject({ ...application, metadata: { ...application.metadata, generation: 1 } });
    expect(created.metadata).toMatchObject({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      resourceVersion: expect.stringMatching(/^\d+$/) as unknown,
      creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as unknown,
    });
    expect(await outcomeOf(hub.create(applications, application, call))).toBe('exists');
    expect((await hub.get(applications, at('shop'), call)).metadata.uid).toBe(created.metadata.uid);
  });

  it('names the object that it does not have', async () => {
    const missing = 'not found: applications.argoproj.io "other" not found';
    expect(await outcomeOf(hub.get(applications, at('other'), call))).toBe(missing);
    expect(await outcomeOf(hub.patch(applications, at('other'), merge({}), call))).toBe(missing);
    const other = { ...application, metadata: { ...at('other'), resourceVersion: '1' } };
    expect(await outcomeOf(hub.replace(applications, other, call))).toBe(missing);
  });

  it('refuses writes of an outdated version, and takes those without one', async () => {
    const first = await hub.create(configMaps, configMap('a', '1'), call);
    const second = await hub.replace(configMaps, { ...first, data: { value: '2' } }, call);
    expect(await outcomeOf(hub.replace(configMaps, { ...first, data: { value: '3' } }, call))).toBe('conflict');
    const outdated = merge({
      metadata: { resourceVersion: first.metadata.resourceVersion ?? '' },
      data: { value: '3' },
    });
    expect(await outcomeOf(hub.patch(configMaps, at('a'), outdated, call))).toBe('conflict');
    expect((await hub.get(configMaps, at('a'), call)).metadata.resourceVersion).toBe(second.metadata.resourceVersion);
    const { metadata } = await hub.replace(configMaps, configMap('a', '4'), call);
    expect(metadata.uid).toBe(first.metadata.uid);
    expect(metadata.creationTimestamp).toBe(first.metadata.creationTimestamp);
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(second.metadata.resourceVersion));
  });

  it('merges patches, and removes what is null in them', async () => {
    await hub.create(applications, application, call);
    const running = { operation: { sync: { revision: 'main' } }, metadata: { annotations: { a: '1', b: '2' } } };
    await hub.patch(applications, at('shop'), merge(running), call);
    const change = { operation: null, metadata: { annotations: { a: null } }, status: { sync: { status: 'Synced' } } };
    const patched = await hub.patch(applications, at('shop'), merge(change), call);
    expect(patched['operation']).toBeUndefined();
    expect(patched.metadata.annotations).toEqual({ b: '2' });
    expect(patched['status']).toEqual({ sync: { status: 'Synced' } });
    expect(patched['spec']).toEqual(application['spec']);
  });

  it('applies the operations of a JSON patch, all or none', async () => {
    const annotated = { ...application.metadata, annotations: { 'a/b': '1', c: '2' } };
    await hub.create(applications, { ...application, metadata: annotated, operation: { sync: {} } }, call);
    const annotation = '/metadata/annotations/a~1b';
    const patch = (...body: Json[]): Promise<KubeObject> =>
      hub.patch(applications, at('shop'), { type: 'json', body }, call);
    const patched = await patch(
      { op: 'test', path: annotation, value: '1' },
      { op: 'remove', path: annotation },
      { op: 'replace', path: '/metadata/annotations/c', value: '3' },
      { op: 'add', path: '/status', value: { sync: { status: 'Synced' } } },
      { op: 'add', path: '/operation', value: null },
    );
    expect(patched.metadata.annotations).toEqual({ c: '3' });
    expect([patched['operation'], patched['status']]).toEqual([undefined, { sync: { status: 'Synced' } }]);
    const change = { op: 'add', path: '/metadata/annotations/d', value: '4' };
    for (const last of [
      { op: 'test', path: '/metadata/annotations/c', value: '2' },
      { op: 'remove', path: annotation },
      { op: 'add', path: '/status/operationState/phase', value: 'Running' },
    ])
      await expect(patch(change, last)).rejects.toMatchObject({ status: 422 });
    expect((await hub.get(applications, at('shop'), call)).metadata.annotations).toEqual({ c: '3' });
  });

  it('changes nothing for a write of what it has', async () => {
    const created = await hub.create(configMaps, configMap('a', '1'), call);
    const patched = await hub.patch(configMaps, at('a'), merge({ data: { value: '1' } }), call);
    const replaced = await hub.replace(configMaps, created, call);
    expect([patched, replaced].map(({ metadata }) => metadata.resourceVersion)).toEqual([
      created.metadata.resourceVersion,
      created.metadata.resourceVersion,
    ]);
  });

  it('keeps the texts of a Secret encoded', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: at('s'), stringData: { password: 'p\u00e4ss' } };
    const created = await hub.create(secrets, secret, call);
    expect(created['data']).toEqual({ password: Buffer.from('p\u00e4ss').toString('base64') });
    expect(created['stringData']).toBeUndefined();
  });

  it('lists what a selector chooses', async () => {
    await hub.create(configMaps, configMap('a', '1', { type: 'one' }), call);
    await hub.create(configMaps, configMap('b', '1', { type: 'two' }), call);
    await hub.create(configMaps, configMap('c', '1'), call);
    const list = async (selection: object): Promise<unknown[]> =>
      namesOf((await hub.list(configMaps, { ...call, namespace, ...selection })).items).filter(
        (name) => name !== 'kube-root-ca.crt',
      );
    expect(await list({})).toEqual(['a', 'b', 'c']);
    expect(await list({ labelSelector: 'type in (one,two)' })).toEqual(['a', 'b']);
    expect(await list({ labelSelector: 'type=two' })).toEqual(['b']);
    expect(await list({ fieldSelector: 'metadata.name=c' })).toEqual(['c']);
    expect(await list({ namespace: 'other' })).toEqual([]);
  });

  it('sends a watch what changed since its version, and then each change', async () => {
    await hub.create(configMaps, configMap('before', '0'), call);
    const { resourceVersion } = await hub.list(configMaps, { ...call, namespace });
    await hub.create(configMaps, configMap('other', '1', { type: 'two' }), call);
    await hub.create(configMaps, configMap('a', '1', { type: 'one' }), call);
    let opened = (): void => undefined;
    const open = new Promise<void>((resolve) => (opened = resolve));
    const selection = { namespace, labelSelector: 'type in (one)', onOpen: () => opened() };
    const seen = eventsOf(hub.watch(configMaps, { ...call, ...selection, resourceVersion }), 3);
    await open;
    await hub.patch(configMaps, at('other'), merge({ data: { value: '2' } }), call);
    await hub.patch(configMaps, at('a'), merge({ data: { value: '2' } }), call);
    await hub.delete(configMaps, at('a'), call);
    const [[, ...first] = [], ...rest] = (await seen) as unknown[][];
    expect(first).toEqual(['a', { value: '1' }]);
    expect(rest).toEqual([
      ['MODIFIED', 'a', { value: '2' }],
      ['DELETED', 'a', { value: '2' }],
    ]);
  });

  it('ends a watch with the reason of its signal', async () => {
    const { resourceVersion } = await hub.list(configMaps, { ...call, namespace });
    const leave = new AbortController();
    const onOpen = (): void => leave.abort(new Error('enough'));
    const watch = hub.watch(configMaps, { signal: leave.signal, namespace, resourceVersion, onOpen });
    await expect(eventsOf(watch, 1)).rejects.toThrow('enough');
  });

  it('deletes only the object that is meant', async () => {
    const { metadata } = await hub.create(configMaps, configMap('a', '1'), call);
    const other = { ...call, preconditions: { uid: '00000000-0000-0000-0000-000000000000' } };
    expect(await outcomeOf(hub.delete(configMaps, at('a'), other))).toBe('conflict');
    await hub.delete(configMaps, at('a'), { ...call, preconditions: { uid: metadata.uid ?? '' } });
    expect(await outcomeOf(hub.delete(configMaps, at('a'), call))).toBe('not found: configmaps "a" not found');
  });

  it('sends nothing that is refused right before', async () => {
    const beforeSend = (): never => {
      throw new Error('not the owner');
    };
    const refused = hub.create(configMaps, configMap('a', '1'), { ...call, beforeSend });
    await expect(refused).rejects.toThrow('not the owner');
    expect(await outcomeOf(hub.get(configMaps, at('a'), call))).toContain('not found');
  });
});

describe('the hub of an agent', () => {
  let store: HubStore;
  let hub: KubeClient;
  let answers: number;
  beforeEach(() => {
    answers = 0;
    store = new HubStore({ clock: systemClock, random: systemRandom });
    hub = hubClient(store, () => (answers += 1));
  });

  it('accepts Events and keeps none, however long it runs', async () => {
    const event = { apiVersion: 'v1', kind: 'Event', metadata: at('shop.1'), reason: 'OperationCompleted' };
    expect(await hub.create(events, event, call)).toEqual(event);
    expect(store.list('', 'Event')).toEqual([]);
    expect(answers).toBe(1);
  });

  it('lets a watcher list again after a deletion that it missed', async () => {
    await hub.create(configMaps, configMap('a', '1'), call);
    const { resourceVersion } = await hub.list(configMaps, call);
    await hub.delete(configMaps, at('a'), call);
    expect(await outcomeOf(eventsOf(hub.watch(configMaps, { ...call, resourceVersion }), 1))).toBe('expired');
  });

  it('does not share its objects with their writer', async () => {
    const labels = { type: 'one' };
    await hub.create(configMaps, configMap('a', '1', labels), call);
    labels.type = 'two';
    expect((await hub.get(configMaps, at('a'), call)).metadata.labels).toEqual({ type: 'one' });
  });

  it.each([
    ['a selector', () => hub.list(configMaps, { ...call, labelSelector: 'type!=one' })],
    ['another selector', () => hub.list(configMaps, { ...call, fieldSelector: 'status.phase=Running' })],
    ['a patch', () => hub.patch(configMaps, at('a'), { type: 'strategic', body: {} }, call)],
    ['a dry run', () => hub.create(configMaps, configMap('a', '1'), { ...call, dryRun: true })],
    ['a request', () => hub.discover(call)],
  ])('refuses %s that it cannot serve', async (_what, request) => {
    await expect((async () => request())()).rejects.toMatchObject({ code: 'KUBE_REQUEST' });
  });
});

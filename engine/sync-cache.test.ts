import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject, ObjectName } from '#model';
import { eventually, widgetCrd } from '#support';
import { openCache } from './live.ts';
import type { CacheOptions, ClusterCache } from './live.ts';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openGate, openWriter, runSync } from './sync.ts';
import type { SyncCache, SyncGate, SyncInputs, SyncWriter, WriterOptions } from './sync.ts';

const configMap = (name: string, value = 'a'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { team: 'shop' } },
  data: { value },
});

const deployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};

const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } };
const widgets = { group: 'example.com', kind: 'Widget' };

const targets: readonly KubeObject[] = [
  widgetCrd(),
  { ...widget, spec: { size: 3 } },
  deployment,
  ...Array.from({ length: 8 }, (_, i) => configMap(`config-${i}`)),
];

type Options = NonNullable<SyncInputs['options']>;
const modes: readonly (readonly [string, Options])[] = [
  ['client-side', {}],
  ['server-side', { serverSideApply: true }],
];

describe('runSync with a cache and a gate', () => {
  let sim: SimCluster;
  let cache: ClusterCache;
  let gate: SyncGate;
  let writer: SyncWriter & { close(): Promise<void> };
  /** Every request for one object or a write; not the lists and watches of the cache. */
  let requests: string[];

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: true, delayMs: 1 } });
    requests = [];
    sim.onRequest(({ verb, resource, name, agent }) => {
      if (!agent.startsWith('driftless-') || verb === 'list' || verb === 'watch' || resource === '') return;
      requests.push(`${verb} ${resource}/${name}`);
    });
    cache = await open();
    gate = openGate();
    writer = await openWriter({ kubeConfig: kubeConfigOf(sim), gate });
  });

  afterEach(async () => {
    await cache.close();
    await writer.close();
    await sim.close();
  });

  function stored(name: string): KubeObject {
    const object = sim.store.get('', 'ConfigMap', 'default', name);
    if (object === undefined) throw new Error(`there is no ConfigMap ${name}`);
    return object;
  }

  const open = (options: Partial<CacheOptions> = {}): Promise<ClusterCache> =>
    openCache({ kubeConfig: kubeConfigOf(sim), onProblem: () => undefined, ...options });

  const sync = (inputs: Partial<SyncInputs> = {}): ReturnType<typeof runSync> =>
    runSync({ targets, writer, cache, ...inputs });

  /** The cache has the current version of the object. */
  const seen = (group: string, kind: string, name: string): Promise<void> =>
    eventually(async () => {
      const stored = sim.store.get(group, kind, 'default', name);
      const { objects } = await cache.list({ kinds: [{ group, kind }], namespaces: ['default'] });
      expect(objects.find((object) => object.name === name)?.resourceVersion).toBe(stored?.metadata.resourceVersion);
    });

  async function settle(): Promise<void> {
    await eventually(() =>
      expect(sim.store.get('apps', 'Deployment', 'default', 'web')).toMatchObject({ status: { availableReplicas: 1 } }),
    );
    await seen('apps', 'Deployment', 'web');
    await eventually(async () => expect((await cache.list({ kinds: [widgets] })).incomplete).toEqual([]));
    await seen('example.com', 'Widget', 'one');
  }

  async function deployed(options: Options): Promise<void> {
    expect(await sync({ options })).toMatchObject({ phase: 'Succeeded' });
    await settle();
    // A status that arrived before the cache kept the object whole is read once.
    await sync({ options });
    requests = [];
  }

  it.each(modes)('sends no request for unchanged objects (%s)', async (_mode, options) => {
    await deployed(options);
    const { hits } = gate.metrics();
    const outcome = await sync({ options });
    expect(outcome).toMatchObject({ phase: 'Succeeded' });
    expect(outcome.results).toHaveLength(targets.length);
    expect(requests).toEqual([]);
    expect(gate.metrics().hits - hits).toBe(targets.length);
  });

  it.each(modes)('sends no request after a change of the status alone (%s)', async (_mode, options) => {
    await deployed(options);
    const stored = sim.store.get('apps', 'Deployment', 'default', 'web');
    sim.store.update({ ...stored, status: { observedGeneration: 1, availableReplicas: 0 } } as KubeObject, {
      subresource: 'status',
    });
    await seen('apps', 'Deployment', 'web');
    await sync({ options });
    expect(requests).toEqual([]);
  });

  it.each(modes)('sends the one object whose manifest changed (%s)', async (_mode, options) => {
    await deployed(options);
    const next = [...targets.slice(0, -1), configMap('config-7', 'b')];
    expect(await sync({ targets: next, options })).toMatchObject({ phase: 'Succeeded' });
    expect(requests.map((request) => request.split(' ')[1])).toEqual(['configmaps/config-7']);
    expect(sim.store.get('', 'ConfigMap', 'default', 'config-7')).toMatchObject({ data: { value: 'b' } });
  });

  it.each(modes)('repairs each kind of drift (%s)', async (_mode, options) => {
    await deployed(options);
    const change = (name: string, edit: (object: KubeObject) => KubeObject): void => {
      sim.store.update(edit(stored(name)));
    };
    change('config-0', (object) => ({ ...object, data: { value: 'drift' } }));
    change('config-1', (object) => ({ ...object, metadata: { ...object.metadata, labels: { team: 'drift' } } }));
    sim.store.delete('', 'ConfigMap', 'default', 'config-2');
    sim.store.delete('', 'ConfigMap', 'default', 'config-3');
    sim.store.create({ ...configMap('config-3', 'other'), metadata: { name: 'config-3', namespace: 'default' } });
    for (const name of ['config-0', 'config-1', 'config-3']) await seen('', 'ConfigMap', name);
    await eventually(async () => {
      const { objects } = await cache.list({ kinds: [{ group: '', kind: 'ConfigMap' }] });
      expect(objects.map(({ name }) => name)).not.toContain('config-2');
    });
    expect(await sync({ options })).toMatchObject({ phase: 'Succeeded' });
    for (const name of ['config-0', 'config-1', 'config-2', 'config-3'])
      expect(sim.store.get('', 'ConfigMap', 'default', name)).toMatchObject({
        data: { value: 'a' },
        metadata: { labels: { team: 'shop' } },
      });
  });

  it('sends no request for a namespace that it has created', async () => {
    const inputs = { targets: targets.slice(3), namespace: 'fresh', options: { createNamespace: true } };
    for (let round = 0; round < 2; round += 1) await sync(inputs);
    requests = [];
    expect(await sync(inputs)).toMatchObject({ phase: 'Succeeded' });
    expect(requests).toEqual([]);
  });

  it('sends server-side applies without a cache only if something differs', async () => {
    const options = { serverSideApply: true };
    const inputs = { targets: targets.slice(3), options, writer };
    await runSync(inputs);
    requests = [];
    await runSync(inputs);
    expect(requests.filter((request) => !request.startsWith('get '))).toEqual([]);
    gate.forget();
    await runSync(inputs);
    expect(requests.filter((request) => request.startsWith('patch '))).toHaveLength(8);
  });

  it('counts what it sends by reason, and keeps no more entries than permitted', async () => {
    const small = openGate({ maxEntries: 3 });
    const own = await openWriter({ kubeConfig: kubeConfigOf(sim), gate: small });
    const options = { serverSideApply: true };
    const inputs = { targets: targets.slice(3), options, writer: own };
    await sync(inputs);
    expect(small.metrics()).toMatchObject({ hits: 0, misses: { missing: 8 }, entries: 3 });
    expect(small.metrics().bytes).toBeGreaterThan(300);
    await sync(inputs);
    expect(small.metrics()).toMatchObject({ hits: 3, misses: { missing: 8, unknown: 5 } });
    await own.close();
  });

  it('prunes an object, and creates it again at once', async () => {
    const all = targets.slice(3);
    await sync({ targets: all });
    await sync({ targets: all.slice(1), known: all, options: { prune: true } });
    expect(sim.store.get('', 'ConfigMap', 'default', 'config-0')).toBeUndefined();
    await sync({ targets: all });
    expect(sim.store.get('', 'ConfigMap', 'default', 'config-0')).toMatchObject({ data: { value: 'a' } });
  });

  it('reads an object of a kind that is not current from the server', async () => {
    for (const verb of ['list', 'watch'])
      sim.addFault({ verb, resource: 'configmaps', agent: 'driftless-live', fault: { kind: 'status', code: 403 } });
    const blind = await open();
    await sync({ targets: targets.slice(3), cache: blind });
    requests = [];
    sim.store.update({
      ...stored('config-4'),
      data: { value: 'drift' },
    });
    await sync({ targets: targets.slice(3), cache: blind });
    expect(requests.filter((request) => request.startsWith('get '))).toHaveLength(8);
    expect(sim.store.get('', 'ConfigMap', 'default', 'config-4')).toMatchObject({ data: { value: 'a' } });
    await blind.close();
  });

  it('reads objects outside of the namespaces of the cache by the writer', async () => {
    const narrow = await open({ namespaces: ['kube-system'] });
    expect(await sync({ targets: targets.slice(3), cache: narrow })).toMatchObject({ phase: 'Succeeded' });
    expect(requests.filter((request) => request.startsWith('get configmaps/'))).not.toEqual([]);
    await narrow.close();
  });

  it('never believes a cache that is behind its own writes', async () => {
    const frozen = new Map<string, KubeObject>();
    const behind: SyncCache = {
      server: cache.server,
      apiMetadata: (kind) => cache.apiMetadata(kind),
      read: (names: readonly ObjectName[]) =>
        Promise.resolve({
          objects: names.flatMap(({ metadata }) => frozen.get(metadata.name ?? '') ?? []),
          unread: [],
        }),
      observe: () => undefined,
    };
    const one = [configMap('one')];
    await sync({ targets: one, cache: behind });
    frozen.set('one', stored('one'));
    await sync({ targets: [configMap('one', 'b')], cache: behind });
    // By the frozen answer, the object already has this value.
    await sync({ targets: one, cache: behind });
    expect(sim.store.get('', 'ConfigMap', 'default', 'one')).toMatchObject({ data: { value: 'a' } });
    frozen.set('one', stored('one'));
    await sync({ targets: [], known: one, options: { prune: true }, cache: behind });
    await sync({ targets: one, cache: behind });
    expect(sim.store.get('', 'ConfigMap', 'default', 'one')).toMatchObject({ data: { value: 'a' } });
  });

  it('teaches the cache nothing in a dry run', async () => {
    const careful = await openWriter({ kubeConfig: kubeConfigOf(sim), dryRun: true, gate });
    await sync({ targets: [configMap('a')], writer: careful, options: { serverSideApply: true } });
    expect(gate.metrics().entries).toBe(0);
    await careful.close();
    await sync({ targets: [configMap('a')] });
    expect(stored('a')).toMatchObject({ data: { value: 'a' } });
  });

  it('refuses the cache of another cluster, a closed one, and a gate that is none', async () => {
    const other = await startCluster();
    const kubeConfig = kubeConfigOf(other);
    const foreign = await openCache({ kubeConfig });
    await expect(sync({ cache: foreign })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('the cache is that of'),
    });
    await foreign.close();
    await other.close();
    await expect(sync({ cache: foreign })).rejects.toMatchObject({ code: 'USAGE' });
    const closed = await open();
    await closed.close();
    const message = `the cache of ${closed.server} is closed: use it before close, or open another one`;
    await expect(sync({ cache: closed })).rejects.toMatchObject({ code: 'SHUTDOWN', message });
    const used = await openWriter({ kubeConfig: kubeConfigOf(sim) });
    await used.close();
    await expect(sync({ writer: used })).rejects.toMatchObject({
      code: 'SHUTDOWN',
      message: expect.stringContaining('the writer of'),
    });
    const options: WriterOptions = {
      kubeConfig: kubeConfigOf(sim),
      gate: { metrics: () => gate.metrics(), forget: () => undefined },
    };
    await expect(openWriter(options)).rejects.toMatchObject({ code: 'USAGE' });
    expect(() => openGate({ maxEntries: 0 })).toThrow('maxEntries');
    expect(requests).toEqual([]);
  });

  it('fails before it writes when the server of cache and writer is gone', async () => {
    await deployed({});
    sim.addFault({ agent: 'driftless-', fault: { kind: 'reset' } });
    sim.disconnect();
    await eventually(async () =>
      expect((await cache.list({ kinds: [{ group: '', kind: 'ConfigMap' }] })).incomplete).not.toEqual([]),
    );
    await expect(sync()).rejects.toMatchObject({ code: 'LIVE_STATE' });
  });
});

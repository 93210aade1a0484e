import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seededRandom, Shutdown, systemClock } from '#base';
import { createKubeClient, SharedClients } from '#kube';
import { annotations, defaultSettings, resourceKey } from '#model';
import type { Cluster, KubeObject, ResourceKey } from '#model';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { eventually } from '#support';
import { PromMetrics, silentLogger } from '#telemetry';
import { createLiveClusters } from './live-clusters.ts';
import type { LiveChange, LiveClusters, LiveRow } from './types.ts';

const random = seededRandom(1);

function clusterOf({ url }: SimCluster): Cluster {
  return {
    id: '',
    server: url,
    name: 'sim',
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server: url, insecure: false, credentials: {} },
  };
}

function configMap(name: string, data: Record<string, string> = {}): KubeObject {
  const tracking = { [annotations.trackingId]: `shop:/ConfigMap:default/${name}` };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', annotations: tracking }, data };
}

describe('live state over a real socket', () => {
  let sim: SimCluster;
  let live: LiveClusters;
  let changes: LiveChange[];
  const controller = { current: new AbortController() };
  let running: Promise<void>;

  beforeEach(async () => {
    controller.current = new AbortController();
    sim = await startSimCluster({ name: 'sim', clock: systemClock, random, workloads: { enabled: false, delayMs: 0 } });
    sim.store.create(configMap('before'));
    live = createLiveClusters({
      clock: systemClock,
      random,
      logger: silentLogger,
      metrics: new PromMetrics(),
      clients: new SharedClients((connection) =>
        createKubeClient(connection, { clock: systemClock, random, logger: silentLogger, userAgent: 'test' }),
      ),
      tuning: { lists: 8 },
    });
    changes = [];
    live.onChange((change) => changes.push(change));
    live.setClusters([clusterOf(sim)], defaultSettings);
    running = live.run(controller.current.signal);
  });

  afterEach(async () => {
    controller.current.abort(new Shutdown());
    await running;
    await sim.close();
  });

  const names = async (): Promise<readonly string[]> => {
    const cluster = await live.cluster(sim.url, controller.current.signal);
    const { objects } = await cluster.managed({ app: 'shop', targets: [] }, controller.current.signal);
    return [...objects.values()].map((object) => object.metadata.name ?? '').sort();
  };

  const row = async (key: ResourceKey): Promise<LiveRow | undefined> => {
    const cluster = await live.cluster(sim.url, controller.current.signal);
    return (await cluster.rows([key], controller.current.signal)).get(key);
  };

  it('has existing, added, changed and deleted objects, also after a broken watch', async () => {
    const cluster = await live.cluster(sim.url, controller.current.signal);
    expect(cluster.info()).toMatchObject({ state: 'synced' });
    expect(cluster.info().kinds.filter((kind) => kind.state !== 'synced')).toEqual([]);
    expect(await names()).toEqual(['before']);
    sim.store.create(configMap('after'));
    await eventually(async () => expect(await names()).toEqual(['after', 'before']));
    sim.disconnect();
    sim.store.delete('', 'ConfigMap', 'default', 'before');
    await eventually(async () => expect(await names()).toEqual(['after']));
    await eventually(() =>
      expect(changes.map(({ key }) => key)).toContain(resourceKey('', 'ConfigMap', 'default', 'after')),
    );
  });

  // T-CACHE-5
  it('follows a kind whose definition is created and deleted', async () => {
    const cluster = await live.cluster(sim.url, controller.current.signal);
    sim.store.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    await eventually(() =>
      sim.store.create({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default' } }),
    );
    const key = resourceKey('example.com', 'Widget', 'default', 'w');
    await eventually(async () => expect((await row(key))?.uid).toMatch(/./));
    sim.store.delete('apiextensions.k8s.io', 'CustomResourceDefinition', '', 'widgets.example.com');
    await eventually(async () => {
      expect(await row(key)).toBeUndefined();
      expect(cluster.isNamespaced({ group: 'example.com', kind: 'Widget' })).toBeUndefined();
    });
  });

  it('has the list types of a CRD, and updates them when the CRD changes', async () => {
    const cluster = await live.cluster(sim.url, controller.current.signal);
    const crd = (listType: object): KubeObject => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'lists.example.com' },
      spec: {
        group: 'example.com',
        names: { plural: 'lists', singular: 'list', kind: 'List', listKind: 'ListList' },
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { tags: { type: 'array', items: { type: 'string' }, ...listType } },
              },
            },
          },
        ],
      },
    });
    const keysOfTags = async (): Promise<readonly string[] | undefined> => {
      const { kinds } = await cluster.schemas(['example.com/v1'], controller.current.signal);
      return kinds.get('example.com/v1 List')?.shape.member('tags').listKeys;
    };
    expect(await keysOfTags()).toBeUndefined();
    sim.store.create(crd({ 'x-kubernetes-list-type': 'set' }));
    await eventually(async () => expect(await keysOfTags()).toEqual([]));
    const made = sim.store.get('apiextensions.k8s.io', 'CustomResourceDefinition', '', 'lists.example.com');
    sim.store.update({ ...crd({ 'x-kubernetes-list-type': 'atomic' }), metadata: made?.metadata ?? {} });
    await eventually(async () => expect(await keysOfTags()).toBeUndefined());
    const { kinds } = await cluster.schemas(['apps/v1', 'v1'], controller.current.signal);
    const podSpec = kinds.get('apps/v1 Deployment')?.shape.member('spec').member('template').member('spec');
    expect(podSpec?.member('containers').listKeys).toEqual(['name']);
    expect(podSpec?.member('containers').items().member('ports').listKeys).toEqual(['containerPort', 'protocol']);
    expect(kinds.has('v1 Pod')).toBe(true);
  });

  it('recovers if the cluster is rebuilt at the same address, with older versions', async () => {
    for (let i = 0; i < 300; i += 1) sim.store.create(configMap(`old-${i}`));
    await eventually(async () => expect(await names()).toHaveLength(301));
    const { port } = new URL(sim.url);
    const ports = { port: Number(port), workloads: { enabled: false, delayMs: 0 } };
    await sim.close();
    const cluster = await live.cluster(sim.url, controller.current.signal);
    await eventually(() =>
      expect(cluster.info().kinds.find(({ kind }) => kind === 'ConfigMap')?.state).toBe('degraded'),
    );
    sim = await startSimCluster({ name: 'sim', clock: systemClock, random, ...ports });
    const again = sim.store.create(configMap('before', { is: 'another' }));
    await eventually(async () => expect(await names()).toEqual(['before']));
    const node = await row(resourceKey('', 'ConfigMap', 'default', 'before'));
    expect([node?.uid, node?.resourceVersion]).toEqual([again.metadata.uid, again.metadata.resourceVersion]);
    sim.store.create(configMap('after'));
    await eventually(async () => expect(await names()).toEqual(['after', 'before']));
  });
});

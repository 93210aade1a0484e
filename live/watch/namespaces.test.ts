import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { apiError } from '../testing/fake-server.ts';
import type { FakeServer, ServerFault } from '../testing/fake-server.ts';
import { clusterAt, managedNames, tracked, url, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

const cluster = clusterAt(url, { namespaces: ['red', 'blue', 'green'] });

const inNamespace = (namespace: string, name: string): KubeObject => {
  const object = tracked(name, namespace);
  const annotations = { 'argocd.argoproj.io/tracking-id': `${namespace}:/ConfigMap:${namespace}/${name}` };
  return { apiVersion: 'v1', ...object, metadata: { ...object.metadata, namespace, annotations } };
};

/** One Application for each namespace, with its name and one ConfigMap. */
async function started(prepare: (server: FakeServer) => void = () => undefined): Promise<LiveWorld> {
  return world(
    (server) => {
      for (const namespace of cluster.namespaces) server.put(inNamespace(namespace, `in-${namespace}`));
      prepare(server);
    },
    { cluster },
  );
}

async function staleOf(w: LiveWorld, namespace: string): Promise<readonly string[]> {
  const targets = [inNamespace(namespace, `in-${namespace}`)];
  const { degraded } = await w.cluster().managed({ app: namespace, targets }, w.signal);
  return degraded.kinds.map((kind) => `${kind.kind} ${kind.namespace ?? '*'} ${kind.state}`);
}

/** Fails all requests about ConfigMaps of a namespace. */
function fail(server: FakeServer, namespace: string, fault: ServerFault): void {
  for (const verb of ['list', 'watch', 'stream', 'look', 'get'])
    server.faults.set(`${verb} configmaps ${namespace}`, fault);
}

describe('a cluster that is limited to namespaces', () => {
  it.each<[string, ServerFault, string]>([
    ['is forbidden', 403, 'forbidden'],
    ['answers with an error', 500, 'degraded'],
    ['hangs', 'hang', 'degraded'],
  ])('has a stale kind only in the namespace that %s, and recovers within 30 s', async (_title, fault, state) => {
    const w = await started();
    expect(await Promise.all(cluster.namespaces.map((one) => staleOf(w, one)))).toEqual([[], [], []]);
    fail(w.server, 'red', fault);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(1_800_000);
    expect(await staleOf(w, 'blue')).toEqual([]);
    expect(await staleOf(w, 'green')).toEqual([]);
    if (fault !== 'hang') expect(await staleOf(w, 'red')).toEqual([`ConfigMap red ${state}`]);
    w.server.put(inNamespace('red', 'later'));
    w.server.faults.clear();
    await w.clock.advance(fault === 'hang' ? 90_000 : 30_000);
    expect(await staleOf(w, 'red')).toEqual([]);
    expect(await managedNames(w, 'red')).toEqual(['in-red', 'later']);
    await w.stop();
  });

  it('has a stale kind only in the namespace that was forbidden at the start', async () => {
    const w = await started((server) => fail(server, 'red', 403));
    await w.clock.advance(60_000);
    expect(w.cluster().info().state).toBe('synced');
    expect([await staleOf(w, 'blue'), await staleOf(w, 'green')]).toEqual([[], []]);
    const evidence = { app: 'blue', targets: [inNamespace('blue', 'in-blue')] };
    expect(await w.cluster().managed(evidence, w.signal)).toMatchObject({ unread: [] });
    await w.stop();
  });

  it('answers with what has changed although another namespace is forbidden', async () => {
    const w = await started((server) => fail(server, 'red', 403));
    const targets = [inNamespace('blue', 'in-blue')];
    const { objects } = await w.cluster().managed({ app: 'blue', targets }, w.signal);
    w.server.put({ ...inNamespace('blue', 'in-blue'), data: { key: 'new' } });
    await w.clock.advance(1000);
    const { changes } = await w.cluster().managed({ app: 'blue', targets, since: objects }, w.signal);
    expect([...(changes?.keys ?? [])]).toHaveLength(1);
    await w.stop();
  });

  it('tries every kind of a namespace as soon as one of them is permitted again', async () => {
    const w = await started();
    for (const resource of ['configmaps', 'pods', 'deployments'])
      for (const verb of ['list', 'watch', 'stream', 'look']) w.server.faults.set(`${verb} ${resource} red`, 403);
    w.server.cutWatches(apiError(410));
    await w.clock.advance(3_600_000);
    const before = w.server.requests.length;
    await w.clock.advance(300_000);
    // Three kinds that are tried at most every 13 s, in two requests.
    expect(w.server.requests.length - before).toBeLessThan(150);
    w.server.faults.clear();
    await w.clock.advance(30_000);
    expect(w.server.watching().filter((watch) => watch.endsWith(' red'))).toHaveLength(3);
    await w.stop();
  });
});

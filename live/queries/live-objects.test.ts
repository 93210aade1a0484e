import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { annotations } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import type { FakeServer, ServerFault } from '../testing/fake-server.ts';
import { clusterAt, configMap, managedNames, tracked, url, world } from '../testing/world.ts';

describe('the live objects of an Application', () => {
  const target = (name: string, apiVersion = 'v1', kind = 'ConfigMap'): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name, namespace: 'ns' },
  });

  it('include untracked targets, read once per version; missing ones are not requested', async () => {
    const w = await world((server) => {
      server.put({ kind: 'ConfigMap', metadata: { name: 'free', namespace: 'ns' } });
      server.put(tracked('a'));
    });
    const targets = [target('free'), target('a'), target('missing')];
    expect(await managedNames(w, 'shop', targets)).toEqual(['a', 'free']);
    expect(await managedNames(w, 'shop', targets)).toEqual(['a', 'free']);
    expect(w.server.count('get configmaps')).toBe(1);
    w.server.put({ kind: 'ConfigMap', metadata: { name: 'free', namespace: 'ns' } });
    await w.clock.settle();
    expect(await managedNames(w, 'shop', targets)).toEqual(['a', 'free']);
    expect(w.server.count('get configmaps')).toBe(2);
    await w.stop();
  });

  it('include a CRD by its name for the Application that has it as a target, whatever its tracking annotation', async () => {
    const name = 'widgets.example.com';
    const w = await world((server) => {
      server.serve('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', false);
      const annotations = {
        'argocd.argoproj.io/tracking-id': `shop:apiextensions.k8s.io/CustomResourceDefinition:ns/${name}`,
      };
      server.put({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name, annotations },
      });
    });
    const named = { ...target(name, 'apiextensions.k8s.io/v1', 'CustomResourceDefinition'), metadata: { name } };
    expect(await managedNames(w, 'other', [named])).toEqual([name]);
    expect(await managedNames(w, 'shop', [])).toEqual([]);
    await w.stop();
  });

  it('include targets of kinds that are not watched or not fresh, read from the server', async () => {
    const w = await world((server) => {
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
      server.faults.set('list pods', 500);
    });
    expect(await managedNames(w, 'shop', [target('p', 'v1', 'Pod'), target('q', 'v1', 'Pod')])).toEqual(['p']);
    expect(await managedNames(w, 'shop', [target('x', 'nobody.example.com/v1', 'Unknown')])).toEqual([]);
    await w.stop();
  });

  it('report a kind as degraded that recovers during the query', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
    });
    w.server.faults.set('list configmaps', 500).set('watch configmaps', 410);
    w.server.cutWatches();
    await w.clock.advance(5000);
    // The object now belongs to another Application, but the degraded cache still has the old
    // state.
    w.server.put(tracked('a', 'other'));
    w.server.faults.set('get pods', 'hang');
    const answer = w.cluster().managed({ app: 'shop', targets: [target('p', 'v1', 'Pod')] }, w.signal);
    await w.clock.settle();
    w.server.faults.delete('list configmaps');
    w.server.faults.delete('watch configmaps');
    await w.clock.advance(60_000);
    const { objects, degraded } = await answer;
    expect(
      w
        .cluster()
        .info()
        .kinds.map(({ state }) => state),
    ).toEqual(['synced', 'synced', 'synced']);
    expect([...objects.keys()]).toEqual([configMap('a')]);
    expect(degraded.kinds).toMatchObject([{ kind: 'ConfigMap', state: 'degraded' }]);
    const next = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect([[...next.objects], next.degraded.kinds, next.degraded.version === degraded.version]).toEqual([
      [],
      [],
      false,
    ]);
    await w.stop();
  });

  it('are not parsed again after a watch event or the response of a write', async () => {
    const w = await world((server) => void server.put(tracked('a')));
    const read = async (): Promise<KubeObject | undefined> =>
      (await w.cluster().managed({ app: 'shop', targets: [] }, w.signal)).objects.get(configMap('a'));
    const seen = w.server.put(tracked('a', 'shop', { data: { by: 'hand' } }));
    await w.clock.advance(1000);
    expect(await read()).toBe(seen);
    const { resourceVersion } = seen.metadata;
    const metadata = { ...seen.metadata, resourceVersion: String(Number(resourceVersion) + 1) };
    const written: KubeObject = { ...seen, metadata, data: { by: 'us' } };
    w.cluster().observe(written);
    expect(await read()).toBe(written);
    await w.stop();
  });

  it('are never those of a late response that is older than the cache', async () => {
    const w = await world((server) => void server.put(tracked('a', 'shop', { data: { by: 'hand' } })));
    const [listed] = await w.cluster().list({}, w.signal);
    w.cluster().observe({
      ...tracked('a', 'shop', { data: { by: 'us' } }),
      apiVersion: 'v1',
      metadata: { ...tracked('a').metadata, uid: listed?.uid ?? '', resourceVersion: '50' },
    });
    const { objects } = await w.cluster().managed({ app: 'shop', targets: [] }, w.signal);
    expect(objects.get(configMap('a'))).toMatchObject({ data: { by: 'hand' } });
    await w.stop();
  });

  it('have none for a target without a name, which is not requested', async () => {
    const w = await world((server) => {
      server.put({ kind: 'Pod', metadata: { name: 'p', namespace: 'ns' } });
      server.faults.set('list pods', 500);
    });
    const nameless = { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'p-', namespace: 'ns' } };
    const { objects, unread } = await w
      .cluster()
      .managed({ app: 'shop', targets: [nameless, target('p', 'v1', 'Pod')] }, w.signal);
    expect([[...objects.keys()], unread, w.server.count('get pods')]).toEqual([['/Pod/ns/p'], [], 1]);
    await w.stop();
  });

  it('report a target as unread, not as missing, if discovery cannot read its group', async () => {
    const w = await world((server) => server.failedGroups.set('down.example.com', 'the server is unavailable'));
    const unknown = target('x', 'down.example.com/v1', 'Unknown');
    const { objects, unread } = await w.cluster().managed({ app: 'shop', targets: [unknown] }, w.signal);
    expect([...objects]).toEqual([]);
    expect(unread).toEqual([
      expect.objectContaining({ kind: 'Unknown', message: expect.stringMatching(/the server is unavailable$/) }),
    ]);
    await w.stop();
  });

  const step = fc.record({
    on: fc.constantFrom('own', 'own', 'own', 'other', 'untracked', 'gone', 'twin', 'pod fault', 'discovery', 'nothing'),
    name: fc.constantFrom('a', 'a', 'b', 'c', 'd'),
    data: fc.nat(2),
  });

  it('are the same incrementally and in full, over random histories', async () => {
    let byDifference = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (history) => {
        const w = await world((server) => {
          server.serve('apps', 'v1beta1', 'Deployment');
          for (const name of ['a', 'b', 'd']) server.put(tracked(name));
        });
        const targets = [target('a'), target('b'), target('none'), target('d', 'apps/v1beta1', 'Deployment')];
        let since: ReadonlyMap<ResourceKey, KubeObject> | undefined;
        for (const { on, name, data } of history) {
          happen(w.server, on, name, data);
          await w.clock.advance(on === 'discovery' ? 700_000 : 1000);
          const answer = await w.cluster().managed({ app: 'shop', targets, since }, w.signal);
          const whole = await w.cluster().managed({ app: 'shop', targets }, w.signal);
          expect({ ...answer, changes: undefined }).toEqual({ ...whole, changes: undefined });
          const { keys } = answer.changes ?? {};
          if (keys !== undefined) byDifference += 1;
          const same = [...answer.objects.keys()].filter((key) => keys?.has(key) === false);
          for (const key of same) expect(answer.objects.get(key)).toBe(since?.get(key));
          since = answer.objects;
        }
        await w.stop();
      }),
      { numRuns: 100 },
    );
    expect(byDifference).toBeGreaterThan(100);
  });

  function happen(server: FakeServer, on: string, name: string, data: number): void {
    const body = { data: { key: String(data) } };
    if (on === 'own') server.put(tracked(name, 'shop', body));
    else if (on === 'other') server.put(tracked(name, 'another', body));
    else if (on === 'untracked') server.put({ kind: 'ConfigMap', metadata: { name, namespace: 'ns' }, ...body });
    else if (on === 'gone') {
      if (server.contents()[configMap(name)] !== undefined) server.remove('ConfigMap', name);
    } else if (on === 'twin') {
      const tracking = { [annotations.trackingId]: `shop:apps/Deployment:ns/${name}` };
      server.put({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name, namespace: 'ns', annotations: tracking },
      });
    } else if (on === 'pod fault') {
      server.faults.set('list pods', 500);
      server.cutWatches();
    } else if (on === 'discovery') server.serve('extra', 'v1', `Kind${server.kinds.length}`);
  }

  it('include all readable objects, and list the others as unread', async () => {
    const w = await world((server) => {
      server.put(tracked('a'));
      server.serve('apps', 'v1beta1', 'Deployment');
      const tracking = { [annotations.trackingId]: 'shop:apps/Deployment:ns/d' };
      server.put({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd', namespace: 'ns', annotations: tracking },
      });
      server.faults.set('list pods', 500);
    });
    w.server.faults.set('get pods', 500);
    w.server.faults.set('get deployments', 403);
    const targets = [target('q', 'v1', 'Pod'), target('p', 'v1', 'Pod'), target('d', 'apps/v1beta1', 'Deployment')];
    const { objects, unread } = await w
      .cluster()
      .managed({ app: 'shop', targets: [...targets, target('a')] }, w.signal);
    expect([...objects.keys()]).toEqual([configMap('a')]);
    const words = 'failed to get managed objects: unexpected error getting managed object: the server says';
    expect(unread).toEqual([
      {
        group: '',
        version: 'v1',
        kind: 'Pod',
        namespace: 'ns',
        name: 'p',
        key: '/Pod/ns/p',
        message: `${words} 500`,
      },
      {
        group: '',
        version: 'v1',
        kind: 'Pod',
        namespace: 'ns',
        name: 'q',
        key: '/Pod/ns/q',
        message: `${words} 500`,
      },
      {
        group: 'apps',
        version: 'v1beta1',
        kind: 'Deployment',
        namespace: 'ns',
        name: 'd',
        key: 'apps/Deployment/ns/d',
        message: `${words} 403`,
      },
    ]);
    await w.stop();
  });

  it.each<[string, ServerFault]>([
    ['a server that refuses connections', 'refuse'],
    ['credentials that are refused', 401],
  ])('are rejected with %s', async (_name, fault) => {
    const w = await world((server) => server.faults.set('list pods', 500));
    w.server.faults.set('get pods', fault);
    await expect(w.cluster().managed({ app: 'shop', targets: [target('p', 'v1', 'Pod')] }, w.signal)).rejects.toThrow(
      /^failed to get managed objects: unexpected error getting managed object: /,
    );
    await w.stop();
  });

  it('wait once for a kind that hangs, not once per object', async () => {
    const w = await world((server) => server.faults.set('list pods', 500));
    w.server.faults.set('get pods', 'hang');
    const targets = Array.from({ length: 100 }, (_, i) => target(`p${i}`, 'v1', 'Pod'));
    const reading = w.cluster().managed({ app: 'shop', targets }, w.signal);
    await w.clock.advance(30_000);
    const { unread } = await reading;
    expect(unread).toHaveLength(100);
    expect(new Set(unread.map(({ message }) => message)).size).toBe(1);
    expect(w.server.count('get pods')).toBe(16);
    await w.stop();
  });

  it("have the target's version, read once per version of the object", async () => {
    const w = await world((server) => {
      server.serve('apps', 'v1beta1', 'Deployment');
      const tracking = { [annotations.trackingId]: 'shop:apps/Deployment:ns/d' };
      server.put({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd', namespace: 'ns', annotations: tracking },
      });
    });
    for (let i = 0; i < 3; i += 1) {
      const { objects } = await w
        .cluster()
        .managed({ app: 'shop', targets: [target('d', 'apps/v1beta1', 'Deployment')] }, w.signal);
      expect([...objects.values()].map((object) => object.apiVersion)).toEqual(['apps/v1beta1']);
    }
    expect(w.server.count('get deployments')).toBe(1);
    const { objects } = await w
      .cluster()
      .managed({ app: 'shop', targets: [target('d', 'apps/v0', 'Deployment')] }, w.signal);
    expect([...objects.values()].map((object) => object.apiVersion)).toEqual(['apps/v1']);
    await w.stop();
  });

  it('are limited to the namespaces of a namespaced cluster; targets elsewhere are refused', async () => {
    const cluster = clusterAt(url, { namespaces: ['ns', 'two'] });
    const w = await world((server) => server.serve('', 'v1', 'Node', false), { cluster });
    expect(w.server.watching()).toContain('pods ns');
    expect(w.server.watching()).not.toContain('nodes');
    const refuse = async (object: KubeObject, text: string): Promise<void> =>
      expect(w.cluster().managed({ app: 'shop', targets: [object] }, w.signal)).rejects.toThrow(text);
    const elsewhere = { ...target('a'), metadata: { name: 'a', namespace: 'three' } };
    await refuse(elsewhere, 'namespace "three" for ConfigMap "a" is not managed');
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
    await refuse(node, 'cluster level Node "n" can not be managed when in namespaced mode');
    await w.stop();
  });
});

import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { widgetCrd } from '#support';
import { KindsInUse } from '../discovery/kinds-in-use.ts';
import { clusterAt, crd, managedNames, tracked, url, withCrds, world } from '../testing/world.ts';
import type { LiveWorld } from '../testing/world.ts';

type Prepare = NonNullable<Parameters<typeof world>[0]>;
type Options = NonNullable<Parameters<typeof world>[1]>;

const target = (name: string, kind = 'ConfigMap', apiVersion = 'v1'): KubeObject => ({
  apiVersion,
  ...tracked(name),
  kind,
});
const widget = target('w', 'Widget', 'example.com/v1');

/** A world that watches only kinds in use, and the lists of kinds that were reported. */
async function narrowWorld(
  known: readonly string[] | undefined,
  prepare?: Prepare,
  options: Options = {},
): Promise<LiveWorld & { readonly kinds: KindsInUse; readonly reported: (readonly string[])[] }> {
  const reported: (readonly string[])[] = [];
  const kinds = new KindsInUse(known, (list) => reported.push(list));
  const serve: Prepare = (server) => {
    withCrds(server);
    server.serve('apiregistration.k8s.io', 'v1', 'APIService', false);
    prepare?.(server);
  };
  return { ...(await world(serve, { ...options, kindsInUse: kinds })), kinds, reported };
}

/** The watched resources but those that define kinds, which are always watched. */
function watched({ server }: LiveWorld): readonly string[] {
  const all = server.watching();
  const others = all.filter((resource) => !/^(?:apiservices|customresourcedefinitions)$/.test(resource));
  expect(all.length - others.length).toBe(2);
  return others;
}

describe('the kinds in use', () => {
  it('are all kinds until the targets are known, then those of targets and of tracked objects', async () => {
    const w = await narrowWorld(undefined, (server) => {
      server.put(target('left', 'Deployment', 'apps/v1'));
      server.put({ kind: 'Pod', metadata: { name: 'foreign', namespace: 'ns' } });
    });
    await w.clock.advance(600_000);
    expect([watched(w), w.reported]).toEqual([['configmaps', 'deployments', 'pods'], []]);
    // A page is read whole only if it has a tracked object.
    expect(w.server.requests).not.toContain('list pods whole');
    expect(w.server.requests).toContain('list deployments whole');
    // Nothing is kept of objects that are not tracked.
    w.server.put({ kind: 'Pod', metadata: { name: 'later', namespace: 'ns' } });
    await w.clock.advance(600_000);
    expect(w.cluster().info().resourcesCount).toBe(1);
    expect(await managedNames(w, 'shop', [target('new')])).toEqual(['left']);
    expect(w.reported).toEqual([['/ConfigMap', 'apps/Deployment']]);
    expect(watched(w)).toEqual(['configmaps', 'deployments']);
    expect(w.cluster().info().resourcesCount).toBe(1);
    await w.clock.advance(600_000);
    expect(w.server.count('list pods')).toBe(1);
    await w.stop();
  });

  it('include one whose only object has the name of a target and is not tracked yet', async () => {
    const w = await narrowWorld(undefined, (server) => {
      server.put({ kind: 'ConfigMap', metadata: { name: 'theirs', namespace: 'ns' } });
      server.put({ kind: 'ConfigMap', metadata: { name: 'other', namespace: 'ns' } });
    });
    expect(w.cluster().info().resourcesCount).toBe(0);
    expect(await managedNames(w, 'shop', [target('theirs')])).toEqual(['theirs']);
    expect(w.cluster().info().resourcesCount).toBe(2);
    await w.stop();
  });

  it('show before they are known that an object is no longer tracked', async () => {
    const w = await narrowWorld(undefined, (server) => server.put(tracked('ours')));
    expect(await managedNames(w)).toEqual(['ours']);
    w.server.put({ kind: 'ConfigMap', metadata: { name: 'ours', namespace: 'ns' } });
    await w.clock.advance(0);
    expect([await managedNames(w), w.reported]).toEqual([[], []]);
    await w.stop();
  });

  it('are the known ones from the start, and nothing else is listed', async () => {
    const w = await narrowWorld(['/ConfigMap'], (server) => server.put(target('left')));
    expect(await managedNames(w)).toEqual(['left']);
    await w.clock.advance(600_000);
    expect([w.server.count('list pods'), w.server.count('list deployments'), w.reported]).toEqual([0, 0, []]);
    await w.stop();
  });

  it('include a kind that gets its first target, which is compared after its first list', async () => {
    const w = await narrowWorld(['/ConfigMap'], (server) => server.put(target('live', 'Deployment', 'apps/v1')));
    let release = (): void => undefined;
    w.server.listAnswers = new Promise((resolve) => (release = resolve));
    const query = { app: 'shop', targets: [target('live', 'Deployment', 'apps/v1')] };
    let isAnswered = false;
    const answer = w
      .cluster()
      .managed(query, w.signal)
      .finally(() => (isAnswered = true));
    await w.clock.advance(10_000);
    expect([isAnswered, w.reported]).toEqual([false, [['/ConfigMap', 'apps/Deployment']]]);
    release();
    await w.clock.advance(0);
    const { objects, degraded } = await answer;
    expect([objects.size, degraded.kinds, w.server.count('get deployments')]).toEqual([1, [], 0]);
    await w.stop();
  });

  it('delay no comparison beyond the first failed list of a new kind, and it is not pruned meanwhile', async () => {
    const w = await narrowWorld(['/ConfigMap'], (server) => {
      server.put(target('live', 'Deployment', 'apps/v1'));
      server.faults.set('list deployments', 500);
    });
    const query = { app: 'shop', targets: [target('live', 'Deployment', 'apps/v1')] };
    const answer = w.cluster().managed(query, w.signal);
    await w.clock.advance(10_000);
    const { objects, degraded } = await answer;
    expect([objects.size, degraded.kinds.map(({ kind, state }) => `${kind} ${state}`)]).toEqual([
      1,
      ['Deployment degraded'],
    ]);
    await w.stop();
  });

  it('stay when their last target is gone, so that its object is found', async () => {
    const w = await narrowWorld(['/ConfigMap']);
    await managedNames(w, 'shop', [target('a', 'Deployment', 'apps/v1')]);
    w.server.put(target('a', 'Deployment', 'apps/v1'));
    await w.clock.advance(0);
    expect(await managedNames(w, 'shop', [target('b')])).toEqual(['a']);
    await w.clock.advance(600_000);
    expect(watched(w)).toEqual(['configmaps', 'deployments']);
    await w.stop();
  });

  it('include the kinds of definitions, and a custom kind once it is served', async () => {
    const w = await narrowWorld(['/ConfigMap']);
    expect(watched(w)).toEqual(['configmaps']);
    const targets = [target('widgets.example.com', 'CustomResourceDefinition', 'apiextensions.k8s.io/v1'), widget];
    expect(await managedNames(w, 'shop', targets)).toEqual([]);
    expect(w.reported.at(-1)).toContain('example.com/Widget');
    w.server.put(crd('widgets.example.com'));
    w.server.put(crd('gadgets.example.com'));
    w.server.serve('example.com', 'v1', 'Widget');
    w.server.serve('example.com', 'v1', 'Gadget');
    w.server.put(widget);
    await w.clock.advance(5000);
    expect(watched(w)).toEqual(['configmaps', 'widgets']);
    expect(await managedNames(w, 'shop', targets)).toEqual(['w']);
    await w.stop();
  });

  it('include a kind that is written although it is no target', async () => {
    const w = await narrowWorld(['/ConfigMap']);
    w.kinds.add([{ group: 'apps', kind: 'Deployment' }]);
    expect(w.reported).toEqual([['/ConfigMap', 'apps/Deployment']]);
    await managedNames(w, 'shop', [target('a')]);
    await w.clock.advance(0);
    expect(watched(w)).toEqual(['configmaps', 'deployments']);
    await w.stop();
  });

  it('include a kind that cannot be listed until it was, and is empty', async () => {
    const w = await narrowWorld(undefined, (server) => server.faults.set('list pods', 500));
    await managedNames(w, 'shop', [target('a')]);
    expect(w.reported).toEqual([['/ConfigMap', '/Pod']]);
    w.server.faults.clear();
    await w.clock.advance(60_000);
    expect(w.reported.at(-1)).toEqual(['/ConfigMap']);
    expect(watched(w)).toEqual(['configmaps']);
    await w.stop();
  });

  it('include one that may not be listed, which is then found when it may', async () => {
    const settings = { ...defaultSettings, respectRBAC: 'normal' as const };
    const w = await narrowWorld(undefined, (server) => void server.faults.set('list deployments', 403), { settings });
    await managedNames(w, 'shop', [target('a')]);
    expect(w.reported).toEqual([['/ConfigMap', 'apps/Deployment']]);
    w.server.put(target('old', 'Deployment', 'apps/v1'));
    w.server.faults.clear();
    await w.clock.advance(900_000);
    expect(await managedNames(w, 'shop', [target('a')])).toEqual(['old']);
    await w.stop();
  });

  it('include excluded kinds, whose objects are found when the exclusion ends', async () => {
    const excluded = [{ apiGroups: ['apps'], kinds: [], clusters: [] }];
    const w = await narrowWorld(undefined, (server) => server.put(target('old', 'Deployment', 'apps/v1')), {
      settings: { ...defaultSettings, exclusions: excluded },
    });
    expect(await managedNames(w, 'shop', [target('a')])).toEqual([]);
    expect(w.reported).toEqual([['/ConfigMap', 'apps/Deployment']]);
    expect(watched(w)).toEqual(['configmaps']);
    w.live.setClusters([clusterAt(url)], defaultSettings);
    await w.clock.advance(0);
    expect(await managedNames(w, 'shop', [target('a')])).toEqual(['old']);
    await w.stop();
  });

  it('include all kinds of a group that discovery cannot read, until it can', async () => {
    const w = await narrowWorld(undefined, (server) => server.failedGroups.set('example.com', 'down'), {
      tuning: { discoveryMs: 10_000 },
    });
    await managedNames(w, 'shop', [target('a')]);
    expect(w.reported).toEqual([['/ConfigMap', 'example.com/*']]);
    w.server.failedGroups.clear();
    w.server.serve('example.com', 'v1', 'Widget');
    w.server.serve('example.com', 'v1', 'Gadget');
    w.server.put(widget);
    await w.clock.advance(30_000);
    expect(await managedNames(w, 'shop', [target('a')])).toEqual(['w']);
    await w.clock.advance(30_000);
    expect(w.reported.at(-1)).toEqual(['/ConfigMap', 'example.com/Widget']);
    expect(watched(w)).toEqual(['configmaps', 'widgets']);
    await w.stop();
  });

  it('are all kinds while discovery fails for all groups, or may lack some', async () => {
    const w = await narrowWorld(undefined, (server) => server.failedGroups.set('*', 'down'));
    await managedNames(w, 'shop', [target('a')]);
    expect(w.reported).toEqual([]);
    await w.stop();
    const late = await narrowWorld(undefined, (server) => {
      server.serve('example.com', 'v1', 'Widget');
      server.unnamed.add('widgets');
      server.put({ ...widgetCrd(), status: { conditions: [{ type: 'Established', status: 'True' }] } });
      server.put(widget);
    });
    const early = managedNames(late, 'shop', [target('a')]);
    await late.clock.advance(14_000);
    expect(late.reported).toEqual([]);
    late.server.unnamed.clear();
    await late.clock.advance(60_000);
    await early;
    expect(await managedNames(late, 'shop', [target('a')])).toEqual(['w']);
    expect(late.reported.at(-1)).toContain('example.com/Widget');
    await late.stop();
  });

  it('are watched in each namespace of a cluster that is limited to some', async () => {
    const cluster = clusterAt(url, { namespaces: ['ns', 'other'], clusterResources: true });
    const w = await narrowWorld(undefined, undefined, { cluster });
    await managedNames(w, 'shop', [target('a')]);
    expect(watched(w)).toEqual(['configmaps ns', 'configmaps other']);
    await w.stop();
  });
});

/** @seconds 60 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { ChangingKinds, listOf, text, versionWith } from './changing-kinds.ts';
import { ConversionServer } from './conversion-server.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';
import type { Manifest } from './synced-object.ts';

const { signal } = new AbortController();
const methods: readonly SyncMethod[] = ['client', 'server', 'replace'];
const stash = 'conversion.example.com/later';

let world: Servers<'hub'>;
let client: KubeClient;
let conversion: ConversionServer;
let kinds: ChangingKinds;
let count = 0;

/** As the conversions of Cluster API do: an annotation of v1 has what only v2 shows. */
function converted(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  // Server-side apply also converts bare objects.
  const { [stash]: kept, ...annotations } = (object as Partial<KubeObject>).metadata?.annotations ?? {};
  const { later, renamed, old, ...spec } = (object['spec'] ?? {}) as Record<string, Json>;
  if (apiVersion.endsWith('/v1')) {
    const noted = later === undefined ? annotations : { ...annotations, [stash]: JSON.stringify(later) };
    const named = renamed === undefined ? spec : { ...spec, old: renamed };
    return { ...object, apiVersion, metadata: { ...object.metadata, annotations: noted }, spec: named };
  }
  const named = old === undefined ? spec : { ...spec, renamed: old };
  const all = kept === undefined ? named : { ...named, later: JSON.parse(kept) as Json };
  return { ...object, apiVersion, metadata: { ...object.metadata, annotations }, spec: all };
}

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  kinds = new ChangingKinds(client, world.servers.hub.api, signal);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
  conversion = await ConversionServer.start(world.folder, converted);
});
afterAll(async () => {
  conversion.close();
  await client.close();
  await world.close();
});

const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 70 } },
};
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } };
const behavior = { scaleDown: { stabilizationWindowSeconds: 10 } };
const notes = 'autoscaling.alpha.kubernetes.io';

function autoscaler(version: string, spec: JsonObject, annotations: Record<string, string> = {}): Manifest {
  const name = `scaler-${count}`;
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name };
  return () => ({
    apiVersion: `autoscaling/${version}`,
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace: 'cases', annotations },
    spec: { scaleTargetRef, maxReplicas: 5, ...spec },
  });
}

describe.each(methods)('an autoscaler that is applied with %s', (method) => {
  const begin = async (manifest: Manifest): Promise<SyncedObject> => {
    const one = await SyncedObject.begin(client, method, signal);
    await one.first(method, manifest);
    return one;
  };
  const spec = async (one: SyncedObject): Promise<JsonObject> => (await one.read('v2'))['spec'] as JsonObject;

  it('loses the metrics and the behavior of v2 when Git goes to v1', async () => {
    count += 1;
    const one = await begin(autoscaler('v2', { metrics: [cpu, memory], behavior }));
    await one.patch('controller', { metadata: { annotations: { theirs: 'x' } } });
    await one.read('v1');
    const stored = await one.changed(autoscaler('v1', { targetCPUUtilizationPercentage: 50 }));
    expect(Object.keys(stored.metadata.annotations ?? {}).filter((name) => name.startsWith(notes))).toEqual([]);
    const after = await spec(one);
    expect([after['metrics'], after['behavior']]).toEqual([[cpu], undefined]);
    expect(one.live.metadata.annotations?.['theirs']).toBe(method === 'replace' ? undefined : 'x');
  });

  it('keeps a behavior that another manager has set', async () => {
    count += 1;
    const one = await begin(autoscaler('v2', { metrics: [cpu, memory] }));
    await one.patch('tuner', { spec: { behavior } });
    await one.read('v1');
    await one.changed(autoscaler('v1', { targetCPUUtilizationPercentage: 50 }));
    const after = await spec(one);
    expect(after['metrics']).toEqual([cpu]);
    if (method !== 'replace') expect(after['behavior']).toMatchObject(behavior);
  });

  it('is Synced when Git goes from one version to the other with the same content', async () => {
    count += 1;
    const one = await begin(autoscaler('v1', { targetCPUUtilizationPercentage: 50 }));
    await one.read('v2');
    expect(await one.statuses(autoscaler('v2', { metrics: [cpu] }))).toEqual(['Synced', 'Synced']);
    count += 1;
    const other = await begin(autoscaler('v2', { metrics: [cpu], behavior }));
    await other.read('v1');
    const note = { [`${notes}/behavior`]: other.live.metadata.annotations?.[`${notes}/behavior`] ?? '' };
    expect(await other.statuses(autoscaler('v1', { targetCPUUtilizationPercentage: 50 }, note))).toEqual([
      'Synced',
      'Synced',
    ]);
  });

  it('loses metrics that Git had as an annotation of v1 when Git goes to v2', async () => {
    count += 1;
    const annotation = JSON.stringify([
      { type: 'Resource', resource: { name: 'memory', targetAverageUtilization: 70 } },
    ]);
    const one = await begin(
      autoscaler('v1', { targetCPUUtilizationPercentage: 50 }, { [`${notes}/metrics`]: annotation }),
    );
    expect((await spec(one))['metrics']).toHaveLength(2);
    const stored = await one.changed(autoscaler('v2', { metrics: [cpu] }));
    expect((stored['spec'] as JsonObject)['metrics']).toEqual([cpu]);
  });
});

describe.each(methods)('a custom resource that is applied with %s', (method) => {
  const later = { type: 'object', properties: { a: text, b: text } };
  const shared = { kept: text, theirs: text, list: listOf({}) };
  const v1 = (properties: object = {}): object => versionWith('v1', false, { ...shared, ...properties });
  const v2 = (properties: object = {}): object => versionWith('v2', true, { ...shared, ...properties });
  const list = [{ name: 'x', value: '1' }];

  const begin = async (manifest: Manifest): Promise<SyncedObject> => {
    const one = await SyncedObject.begin(client, method, signal);
    await eventually(() => one.first(method, manifest), 60_000);
    return one;
  };
  const stored = async (one: SyncedObject): Promise<JsonObject> => (await one.read('v2'))['spec'] as JsonObject;

  it('loses what only the former version has, without a conversion (kubectl 1207)', async () => {
    const kind = await kinds.define([v1(), v2({ later })]);
    const one = await begin(kind.manifest({ kept: '1', later: { a: '1' } }, 'v2'));
    await one.describe(await kind.schemas());
    await one.read('v1');
    const fewer = kind.manifest({ kept: '1' });
    await one.changed(fewer);
    expect(await stored(one)).toEqual({ kept: '1' });
  });

  it('loses what a conversion keeps in an annotation, and keeps what others set (cluster-api)', async () => {
    const kind = await kinds.define([v1({ old: text }), v2({ later, renamed: text })], {
      conversion: conversion.conversion,
    });
    const one = await begin(kind.manifest({ kept: '1', renamed: 'x', later: { a: '1' } }, 'v2'));
    await one.describe(await kind.schemas());
    await one.patch('operator', { spec: { theirs: 'y' } });
    await one.read('v1');
    await one.changed(kind.manifest({ kept: '1', old: 'x' }));
    const theirs = method === 'replace' ? {} : { theirs: 'y' };
    expect(await stored(one)).toEqual({ kept: '1', renamed: 'x', ...theirs });
  });

  it('is Synced when only its version changes in Git', async () => {
    const kind = await kinds.define([v1(), v2({ later })]);
    const one = await begin(kind.manifest({ kept: '1' }, 'v2'));
    await one.describe(await kind.schemas());
    await one.read('v1');
    expect(await one.statuses(kind.manifest({ kept: '1' }))).toEqual(['Synced', 'Synced']);
  });

  it('is written once if a list is all that another version may hide', async () => {
    const kind = await kinds.define([v1(), v2()]);
    const one = await begin(kind.manifest({ kept: '1', list }, 'v2'));
    await one.describe(await kind.schemas());
    await one.read('v1');
    const same = kind.manifest({ kept: '1', list });
    const isUnknown = method !== 'client';
    expect((await one.statuses(same))[0]).toBe(isUnknown ? 'OutOfSync' : 'Synced');
    expect((await one.settled(same))['spec']).toEqual({ kept: '1', list });
    expect(isObject((await one.read('v2'))['spec'] as Json)).toBe(true);
  });
});

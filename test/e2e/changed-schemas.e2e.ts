import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import type { Json } from '#base';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { ChangingKinds, text, versionWith } from './changing-kinds.ts';
import { ConversionServer } from './conversion-server.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';

const { signal } = new AbortController();
const methods: readonly SyncMethod[] = ['client', 'server', 'replace'];

let world: Servers<'hub'>;
let client: KubeClient;
let conversion: ConversionServer;
let kinds: ChangingKinds;

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

/** A conversion that loses `spec.lost`. */
function converted(object: KubeObject, apiVersion: string): KubeObject {
  return { ...object, apiVersion, spec: omit(object['spec'] as Record<string, Json>, 'lost') };
}

describe.each(methods)('applied with %s', (method) => {
  it('a field that moved is set where it is now, and fields of others stay', async () => {
    const thing = await kinds.define([versionWith('v1', true, { old: text, theirs: text })]);
    const one = await SyncedObject.begin(client, method, signal);
    await one.first(method, thing.manifest({ old: 'x' }));
    await one.patch('operator', { spec: { theirs: 'y' } });
    await thing.redefine([versionWith('v1', true, { moved: text, theirs: text })], async () => {
      return (await one.read())['spec'] !== undefined && !JSON.stringify((await one.read())['spec']).includes('old');
    });
    const stored = await one.changed(thing.manifest({ moved: 'x' }));
    expect(stored['spec']).toEqual(method === 'replace' ? { moved: 'x' } : { moved: 'x', theirs: 'y' });
  });

  it('a field that a conversion webhook loses is named by a condition, and nothing of others is removed', async () => {
    const properties = { kept: text, lost: text, theirs: text };
    const versions = [versionWith('v1', false, properties), versionWith('v2', true, properties)];
    const thing = await kinds.define(versions, { conversion: conversion.conversion });
    const target = thing.manifest({ kept: '1', lost: '2' });
    const one = await SyncedObject.begin(client, method, signal);
    await eventually(() => one.first(method, target));
    await one.patch('operator', { spec: { theirs: 'y' } });
    // A creation of the manifest would lose it too, which a server-side diff sees.
    expect(await one.statuses(target)).toEqual(['OutOfSync', 'Synced']);
    const theirs = method === 'replace' ? {} : { theirs: 'y' };
    expect((await one.sync(target))['spec']).toEqual({ kept: '1', ...theirs });
    expect(await one.statuses(target)).toEqual(['OutOfSync', 'Synced']);
    expect(await one.conditions(target)).toEqual([
      expect.stringMatching(/^Thing\d+ cases\/a: the API server .* keeps \/spec\/lost different from the manifest/),
    ]);
    const dropped = await one.sync(thing.manifest({ lost: '2' }));
    expect(dropped['spec']).toEqual(theirs);
  });
});

import { createServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import type { Json, JsonObject } from '#base';
import { findResource } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { CertificateAuthority } from './support/certificates.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';
import type { Manifest } from './synced-object.ts';

const { signal } = new AbortController();
const group = 'changing.example.com';
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const methods: readonly SyncMethod[] = ['client', 'server', 'replace'];

let world: Servers<'hub'>;
let client: KubeClient;
let conversion: HttpsServer;
let webhook: object;
let count = 0;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
  const authority = await CertificateAuthority.create(world.folder);
  await authority.server('conversion');
  const tls = { cert: authority.read('conversion.crt'), key: authority.read('conversion.key') };
  conversion = createServer(tls, (request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => response.end(JSON.stringify(converted(JSON.parse(text) as ConversionReview))));
  });
  await new Promise<void>((resolve) => conversion.listen(0, '127.0.0.1', resolve));
  const { port } = conversion.address() as AddressInfo;
  const clientConfig = { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.ca).toString('base64') };
  webhook = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
});
afterAll(async () => {
  conversion.close();
  await client.close();
  await world.close();
});

interface ConversionReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly KubeObject[];
  };
}

/** A conversion that loses `spec.lost`. */
function converted(review: ConversionReview): object {
  const { uid, desiredAPIVersion: apiVersion, objects } = review.request;
  const convertedObjects = objects.map((object) => {
    const spec = omit(object['spec'] as Record<string, Json>, 'lost');
    return { ...object, apiVersion, spec };
  });
  const { apiVersion: reviewVersion, kind } = review;
  return { apiVersion: reviewVersion, kind, response: { uid, result: { status: 'Success' }, convertedObjects } };
}

const text = { type: 'string' };
const version = (name: string, storage: boolean, properties: object): object => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
});
const list = (type: object): object => ({
  type: 'array',
  items: { type: 'object', required: ['name'], properties: { name: text, value: text } },
  ...type,
});
const atomic = { 'x-kubernetes-list-type': 'atomic' };
const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };

/** A kind of its own for each case. */
async function define(versions: readonly object[], more: object = {}): Promise<(spec: JsonObject) => Manifest> {
  count += 1;
  const [singular, kind] = [`thing${count}`, `Thing${count}`];
  const plural = `${singular}s`;
  await world.servers.hub.api.create(crds, {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names: { kind, singular, plural, listKind: `${kind}List` }, versions, ...more },
  });
  await eventually(async () => {
    if (findResource(await client.discover({ signal }), { group, kind }) === undefined) throw new Error('not served');
  });
  return (spec) => () => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name: 'a', namespace: 'cases' },
    spec,
  });
}

/** Changes the versions of the last kind, and waits until a dry run of a write obeys them. */
async function redefine(versions: readonly object[], isObeyed: () => Promise<boolean>): Promise<void> {
  await world.servers.hub.api.patch(`${crds}/thing${count}s.${group}`, { spec: { versions } });
  await eventually(async () => {
    if (!(await isObeyed())) throw new Error('the former schema is still in force');
  }, 60_000);
}

describe.each(methods)('applied with %s', (method) => {
  it.each([
    ['beside items of others', true],
    ['alone', false],
  ])(
    'a list that became a map list loses what Git drops, and with server-side apply nothing of others: %s',
    async (_how, isShared) => {
      const thing = await define([version('v1', true, { items: list(atomic) })]);
      const items = (...names: readonly string[]): Manifest =>
        thing({ items: names.map((name) => ({ name, value: name })) });
      const one = await SyncedObject.begin(client, method, signal);
      await one.first(method, items('a', 'b'));
      const theirs = { spec: { items: [{ name: 'theirs', value: 'x' }] } };
      await redefine([version('v1', true, { items: list(byName) })], async () => {
        // With an atomic list, the items of others would replace ours, or conflict.
        const stored = await one.patch('operator', theirs, 'apply', !isShared).catch(() => undefined);
        return JSON.stringify(stored?.['spec'] ?? {}).includes('theirs');
      });
      // The API server forgets which items we applied; the next apply of them tells it again.
      if (method === 'server') await one.sync(items('a', 'b'));
      const stored = JSON.stringify((await one.changed(items('a')))['spec']);
      expect(stored).not.toContain('"b"');
      expect(stored.includes('theirs')).toBe(method === 'server' && isShared);
    },
  );

  it('a field that moved is set where it is now, and fields of others stay', async () => {
    const thing = await define([version('v1', true, { old: text, theirs: text })]);
    const one = await SyncedObject.begin(client, method, signal);
    await one.first(method, thing({ old: 'x' }));
    await one.patch('operator', { spec: { theirs: 'y' } });
    await redefine([version('v1', true, { moved: text, theirs: text })], async () => {
      return (await one.read())['spec'] !== undefined && !JSON.stringify((await one.read())['spec']).includes('old');
    });
    const stored = await one.changed(thing({ moved: 'x' }));
    expect(stored['spec']).toEqual(method === 'replace' ? { moved: 'x' } : { moved: 'x', theirs: 'y' });
  });

  it('a field that a conversion webhook loses is named by a condition, and nothing of others is removed', async () => {
    const properties = { kept: text, lost: text, theirs: text };
    const versions = [version('v1', false, properties), version('v2', true, properties)];
    const thing = await define(versions, { conversion: webhook });
    const target = thing({ kept: '1', lost: '2' });
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
    const dropped = await one.sync(thing({ lost: '2' }));
    expect(dropped['spec']).toEqual(theirs);
  });
});

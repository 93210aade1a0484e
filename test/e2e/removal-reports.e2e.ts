/** @seconds 60 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import type { SyncMethod } from '../../controller/testing/index.ts';
import type { FirstSync } from '../removal/first-sync.ts';
import { ChangingKinds, listOf, text, versionWith } from './changing-kinds.ts';
import type { ChangingKind } from './changing-kinds.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';
import type { Manifest } from './synced-object.ts';

// Reports about removals that schemas, versions and managers hinder; each title has its issue.
const { signal } = new AbortController();
let world: Servers<'hub'>;
let client: KubeClient;
let kinds: ChangingKinds;
let count = 0;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  kinds = new ChangingKinds(client, world.servers.hub.api, signal);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

const methods: readonly SyncMethod[] = ['client', 'server', 'replace'];
const struct = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const named = (apiVersion: string, kind: string, rest: object): Manifest => {
  count += 1;
  const name = `report-${count}`;
  return () => ({ apiVersion, kind, metadata: { name, namespace: 'cases' }, ...rest });
};
const changedTo = (before: Manifest, rest: object): Manifest => {
  return () => ({
    ...before(),
    ...rest,
    metadata: { ...before().metadata, ...(rest as { metadata?: object }).metadata },
  });
};

describe.each(methods)('applied with %s', (method) => {
  const begin = async (first: FirstSync, manifest: Manifest): Promise<SyncedObject> => {
    const one = await SyncedObject.begin(client, method, signal);
    await eventually(() => one.first(first, manifest), 60_000);
    return one;
  };
  const beginCustom = async (kind: ChangingKind, manifest: Manifest): Promise<SyncedObject> => {
    const one = await begin(method, manifest);
    await one.describe(await kind.schemas());
    return one;
  };
  const custom = async (spec: object): Promise<ChangingKind> => kinds.define([versionWith('v1', true, spec)]);

  it('a version of the definition that is gone hinders no removal (kubernetes 111937, knative operator 1184)', async () => {
    const spec = { a: text, b: text };
    const kind = await kinds.define([versionWith('v1beta1', false, spec), versionWith('v1', true, spec)]);
    const one = await beginCustom(kind, kind.manifest({ a: '1', b: '2' }, 'v1beta1'));
    await kind.redefine([versionWith('v1', true, spec)], async () => {
      const { apiVersion } = await one.read('v1');
      const found = await client.discover({ signal });
      return apiVersion.endsWith('/v1') && !JSON.stringify(found).includes('v1beta1');
    });
    await one.describe(await kind.schemas());
    expect((await one.changed(kind.manifest({ a: '1' })))['spec']).toEqual({ a: '1' });
  });

  it('managed fields that a status write at another version took away are not forgotten in silence (kubernetes 133704)', async () => {
    const status = { subresources: { status: {} } };
    const version = (name: string, isStored: boolean): object => ({
      ...versionWith(name, isStored, { a: text, b: text }),
      ...status,
    });
    const kind = await kinds.define([version('v1', true), version('v2', false)]);
    const one = await beginCustom(kind, kind.manifest({ a: '1', b: '2' }));
    await one.writeStatus({ observed: 'x' }, 'v2');
    const dropped = kind.manifest({ a: '1' });
    const [local] = await one.statuses(dropped);
    if (local === 'OutOfSync') expect((await one.settled(dropped))['spec']).toEqual({ a: '1' });
    else expect(await one.conditions(dropped)).not.toEqual([]);
  });

  it('a struct that Git drops is gone and not null (kubernetes 101036, structured-merge-diff 171)', async () => {
    const kind = await custom({ a: text, inner: struct({ b: text, deep: struct({ c: text }) }) });
    const one = await beginCustom(kind, kind.manifest({ a: '1', inner: { b: '2', deep: { c: '3' } } }));
    expect((await one.changed(kind.manifest({ a: '1', inner: { b: '2' } })))['spec']).toEqual({
      a: '1',
      inner: { b: '2' },
    });
    expect((await one.changed(kind.manifest({ a: '1' })))['spec']).toEqual({ a: '1' });
  });

  it('an empty struct loses its fields and is not null (structured-merge-diff 259)', async () => {
    const inner = struct({ b: text, c: struct({ d: text }) });
    const kind = await custom({ a: text, inner, list: listOf({}) });
    const one = await beginCustom(
      kind,
      kind.manifest({ a: '1', inner: { b: '2', c: { d: '3' } }, list: [{ name: 'x' }] }),
    );
    const fewer = { a: '1', inner: { c: {} }, list: [] };
    expect((await one.changed(kind.manifest(fewer)))['spec']).toEqual(fewer);
    const empty = { a: '1', inner: {}, list: [] };
    expect((await one.changed(kind.manifest(empty)))['spec']).toEqual(empty);
  });

  it('entries of lists and a source of an Application leave it (argo-cd 23845, 23016)', async () => {
    const source = struct({ repoURL: text, path: text });
    const strings = { type: 'array', items: text };
    const kind = await custom({
      source,
      sourceHydrator: struct({ drySource: source }),
      ignoreDifferences: { type: 'array', items: struct({ kind: text, jsonPointers: strings }) },
      syncPolicy: struct({ syncOptions: strings, automated: struct({ prune: { type: 'boolean' } }) }),
    });
    const before = {
      source: { repoURL: 'https://git.example.com/a', path: 'a' },
      ignoreDifferences: [{ kind: 'Application', jsonPointers: ['/status'] }],
      syncPolicy: { automated: { prune: true }, syncOptions: ['CreateNamespace=true'] },
    };
    const one = await beginCustom(kind, kind.manifest(before));
    const fewer = { source: before.source, syncPolicy: { automated: { prune: true } } };
    expect((await one.changed(kind.manifest(fewer)))['spec']).toEqual(fewer);
    const hydrated = { sourceHydrator: { drySource: before.source }, syncPolicy: fewer.syncPolicy };
    expect((await one.changed(kind.manifest(hydrated)))['spec']).toEqual(hydrated);
  });

  it('a free form is merged member by member, and loses what Git drops (argo-cd 17882)', async () => {
    const kind = await custom({ config: free });
    const before = { config: { auth: { strategy: 'anonymous' }, server: { port: 1 }, list: [{ a: 1 }, { b: 2 }] } };
    const one = await beginCustom(kind, kind.manifest(before));
    await one.patch('operator', { spec: { config: { theirs: { x: 'y' } } } });
    const after = { config: { auth: {}, list: [{ b: 2 }] } };
    const theirs = method === 'replace' ? {} : { theirs: { x: 'y' } };
    expect((await one.changed(kind.manifest(after)))['spec']).toEqual({ config: { ...after.config, ...theirs } });
  });

  it('a label is removed from an object of a custom kind (argo-cd 17862)', async () => {
    const kind = await custom({ a: text });
    const labelled = (labels: Record<string, string>): Manifest => {
      const plain = kind.manifest({ a: '1' });
      return () => ({ ...plain(), metadata: { ...plain().metadata, labels, annotations: { n: labels['x'] ?? '' } } });
    };
    const one = await beginCustom(kind, labelled({ x: '1', y: '2' }));
    expect((await one.changed(labelled({ x: '1' }))).metadata.labels).toEqual({ x: '1' });
  });

  it('a port whose protocol was edited comes back (kubernetes 118725, argo-cd 25474)', async () => {
    const ports = [{ name: 'p', protocol: 'TCP', port: 80, targetPort: 9376 }];
    const service = named('v1', 'Service', { spec: { selector: { app: 'a' }, ports } });
    const one = await begin(method, service);
    const edited = [{ $patch: 'replace' }, { name: 'p', protocol: 'UDP', port: 80, targetPort: 9376 }];
    await one.patch('kubectl-edit', { spec: { ports: edited } }, 'strategic');
    const stored = (await one.changed(service))['spec'] as { readonly ports: readonly object[] };
    expect(stored.ports).toEqual([expect.objectContaining(ports[0]!)]);
  });

  it('what kubectl applied leaves after the switch, also by the predicted change (kubernetes 99003, 125607, kustomize-controller 486)', async () => {
    const before = named('v1', 'ConfigMap', { data: { key1: 'a', key2: 'b', key3: 'c' } });
    const one = await begin('kubectl apply', before);
    expect((await one.changed(changedTo(before, { data: { key1: 'a', key3: 'd' } })))['data']).toEqual({
      key1: 'a',
      key3: 'd',
    });
  });

  it('a conversion whose certificate another manager wrote is gone, or out of sync with a reason (kubernetes 108081, cert-manager 4831)', async () => {
    const name = `hooks.cert-${method}.example.com`;
    const names = { plural: 'hooks', singular: 'hook', kind: 'Hook', listKind: 'HookList' };
    const spec = {
      group: `cert-${method}.example.com`,
      scope: 'Namespaced',
      names,
      versions: [versionWith('v1', true, {})],
    };
    const clientConfig = { service: { namespace: 'cases', name: 'webhook', path: '/convert' } };
    const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
    const definition = (rest: object): Manifest => {
      return () => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name },
        spec: { ...spec, ...rest } as JsonObject,
      });
    };
    const one = await begin(method, definition({ conversion }));
    const caBundle = Buffer.from(world.servers.hub.ca).toString('base64');
    await one.patch('cainjector', { spec: { conversion: { webhook: { clientConfig: { caBundle } } } } });
    const plain = definition({});
    expect((await one.statuses(plain))[0]).toBe('OutOfSync');
    const sync = (): Promise<KubeObject | string> => one.sync(plain).catch((error: unknown) => String(error));
    const isConflict = (outcome: KubeObject | string): boolean =>
      typeof outcome === 'string' && outcome.includes('the object has been modified');
    let outcome = await sync();
    // The API server writes the status of a changed definition once more, which refuses a replace.
    for (let again = 0; again < 5 && isConflict(outcome); again += 1) {
      await one.read();
      outcome = await sync();
    }
    if (typeof outcome !== 'string') expect(outcome['spec']).toMatchObject({ conversion: { strategy: 'None' } });
    else expect([(await one.statuses(plain))[0], outcome]).toEqual(['OutOfSync', expect.stringMatching(/conversion/)]);
  });

  it('the security context of a pod template leaves (helm-controller 771)', async () => {
    const labels = { app: 'a' };
    const pods = (more: object): object => ({
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a:1', ...more }], ...more } },
      },
    });
    const before = named('apps/v1', 'Deployment', pods({ securityContext: { runAsUser: 1000, runAsGroup: 3000 } }));
    const one = await begin(method, before);
    expect(JSON.stringify((await one.changed(changedTo(before, pods({}))))['spec'])).not.toContain('runAs');
  });
});

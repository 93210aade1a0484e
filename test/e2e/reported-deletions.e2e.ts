/** @seconds 150 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, widgetCrd } from '#support';
import { config, hookJob } from '../acceptance/objects.ts';
import { TestApplication } from './applications.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

const limitMs = 90_000;
const testMs = 240_000;
const automated = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };
const holder = 'example.com/hold';

interface LiveObject {
  readonly metadata: {
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly data?: { readonly key?: string };
}

let world: Servers<'hub'>;
let hub: Server;
let double: ClusterDouble;
let controller: UnderTest;

const within = { withinMs: limitMs, tail: (): string => controller.pods.tail() };
const mapPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
const mapOf = (namespace: string, name: string): Promise<LiveObject | undefined> =>
  hub.api.get<LiveObject>(mapPath(namespace, name));

function held(name: string, annotations: Readonly<Record<string, string>> = {}): string {
  const metadata = { name, finalizers: [holder], annotations };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: '1' } });
}

async function synced(
  name: string,
  files: Readonly<Record<string, string>>,
  spec: object = { syncPolicy: automated },
): Promise<TestApplication> {
  const app = await TestApplication.create({ hub, folder: world.folder }, name, { files, spec });
  await app.isGood(undefined, within);
  return app;
}

/** Commits, and has the sources read. */
async function released(app: TestApplication, files: Readonly<Record<string, string | null>>): Promise<void> {
  app.git.commit(files);
  await refreshed(hub, app.path, 'normal', limitMs);
}

const release = (path: string): Promise<unknown> => hub.api.patch(path, { metadata: { finalizers: null } });

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  ({ hub } = world.servers);
  await hub.startLifecycle();
  double = await startDouble(hub.access, { collects: false });
  const params = { 'controller.self.heal.backoff.timeout.seconds': '0' };
  const values = { rbac: { clusterWrite: true }, configs: { params } };
  controller = await UnderTest.install({ server: hub, folder: world.folder, values });
}, 120_000);
afterAll(async () => {
  await controller.stop();
  await double.stop();
  await world.close();
});

describe('reports about other controllers', () => {
  it(
    'an object that a finalizer holds delays no other object (kustomize-controller 98)',
    async () => {
      const name = 'report-98';
      const app = await synced(name, { 'a.yaml': config('a'), 'b.yaml': held('b'), 'c.yaml': config('c') });
      await released(app, { 'a.yaml': config('a', '2'), 'b.yaml': null, 'c.yaml': null, 'd.yaml': config('d') });
      await eventually(async () => {
        const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((each) => mapOf(name, each)));
        const found = [a?.data?.key, b?.metadata.deletionTimestamp !== undefined, c === undefined, d?.data?.key];
        if (found.join() !== '2,true,true,1') throw new Error(`${found.join()}\n${controller.pods.tail()}`);
      }, limitMs);
      await released(app, { 'd.yaml': config('d', '3') });
      await eventually(async () => expect((await mapOf(name, 'd'))?.data?.key).toBe('3'), limitMs);
      await release(mapPath(name, 'b'));
      await app.isGood(undefined, within);
    },
    testMs,
  );

  it.each([
    ['whose CRD stays, because CRDs are never pruned', false],
    ['whose CRD was deleted by hand before', true],
  ])(
    'a kind leaves Git %s (kustomize-controller 90)',
    async (_how, isByHand) => {
      const name = isByHand ? 'report-90-hand' : 'report-90';
      const group = `${name}.example.com`;
      const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`;
      const widget = `apiVersion: ${group}/v1\nkind: Widget\nmetadata: { name: one }\nspec: { size: 1 }\n`;
      const app = await synced(name, {
        'a.yaml': config('a'),
        'crd.json': JSON.stringify(widgetCrd(group)),
        'widget.yaml': widget,
      });
      if (isByHand) {
        await hub.api.patch(app.path, { spec: { syncPolicy: { automated: null } } });
        // The controller has seen the policy: otherwise it heals the deletion by the former one.
        await refreshed(hub, app.path, 'normal', limitMs);
        await hub.api.delete(crd);
        await eventually(async () => expect(await hub.api.get(crd)).toBeUndefined(), limitMs);
      }
      app.git.commit({ 'crd.json': null, 'widget.yaml': null });
      if (isByHand) await hub.api.patch(app.path, { spec: { syncPolicy: automated } });
      await refreshed(hub, app.path, 'normal', limitMs);
      const objects = `/apis/${group}/v1/namespaces/${name}/widgets/one`;
      await eventually(async () => expect(await hub.api.get(objects)).toBeUndefined(), limitMs);
      expect((await hub.api.get(crd)) === undefined).toBe(isByHand);
      await app.isGood(undefined, within);
      expect((await app.read()).status?.operationState?.phase).toBe('Succeeded');
      await hub.api.delete(app.path);
      await app.isGone(within);
    },
    testMs,
  );

  it(
    'a hook that a finalizer holds is created again once it is gone (helm 6879)',
    async () => {
      const name = 'report-6879';
      const policy = {
        'argocd.argoproj.io/hook': 'PreSync',
        'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
      };
      const app = await synced(name, { 'a.yaml': config('a'), 'hook.yaml': held('before', policy) });
      const first = await mapOf(name, 'before');
      expect(first?.metadata.uid).toBeDefined();
      await released(app, { 'a.yaml': config('a', '2') });
      await eventually(async () => {
        const { status } = await app.read();
        const state = status?.operationState;
        if (state?.phase !== 'Running' || !state.message.includes('before'))
          throw new Error(`${JSON.stringify(state)}\n${controller.pods.tail()}`);
      }, limitMs);
      expect((await mapOf(name, 'a'))?.data?.key).toBe('1');
      await release(mapPath(name, 'before'));
      await eventually(async () => expect((await mapOf(name, 'a'))?.data?.key).toBe('2'), limitMs);
      await app.isGood(undefined, within);
      const second = await mapOf(name, 'before');
      expect([second === undefined, second?.metadata.uid === first?.metadata.uid]).toEqual([false, false]);
      await hub.api.delete(app.path);
      await eventually(async () => {
        if ((await mapOf(name, 'before'))?.metadata.deletionTimestamp !== undefined)
          await release(mapPath(name, 'before'));
        expect(await hub.api.get(app.path)).toBeUndefined();
      }, limitMs);
    },
    testMs,
  );

  it(
    'a delete hook that always fails is skipped by removing its finalizer (helm-controller 1327)',
    async () => {
      const name = 'report-1327';
      const hook = hookJob('before', { 'argocd.argoproj.io/hook': 'PreDelete' }, true);
      const app = await synced(name, { 'a.yaml': config('a'), 'hook.yaml': hook });
      await hub.api.delete(app.path);
      expect(await app.condition('DeletionError', within)).toContain('PreDelete hook(s) failed');
      expect((await mapOf(name, 'a'))?.metadata.deletionTimestamp).toBeUndefined();
      await hub.api.patch(app.path, { metadata: { finalizers: ['resources-finalizer.argocd.argoproj.io'] } });
      await app.isGone(within);
      expect(await mapOf(name, 'a')).toBeUndefined();
    },
    testMs,
  );

  it(
    'a deletion does not wait for, or delete, what another user creates in its place (kubernetes 66136)',
    async () => {
      const name = 'report-66136';
      const app = await synced(name, { 'a.yaml': held('a') });
      await hub.api.delete(app.path);
      await eventually(async () => expect((await mapOf(name, 'a'))?.metadata.deletionTimestamp).toBeDefined(), limitMs);
      await release(mapPath(name, 'a'));
      await eventually(async () => {
        const body = { metadata: { name: 'a', namespace: name }, data: { key: 'theirs' } };
        await hub.api.create(`/api/v1/namespaces/${name}/configmaps`, body);
      }, limitMs);
      await app.isGone(within);
      const left = await mapOf(name, 'a');
      expect([left?.data?.key, left?.metadata.deletionTimestamp]).toEqual(['theirs', undefined]);
    },
    testMs,
  );
});

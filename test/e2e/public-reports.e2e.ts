import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, widgetCrd } from '#support';
import { config, hookJob } from '../acceptance/objects.ts';
import { endlessHook } from './argo-cli/manifests.ts';
import { automated, HubUnderTest } from './hub-under-test.ts';
import type { Server } from './support/index.ts';
import { refreshed } from './under-test.ts';

// Reports of users of Argo CD; each title has the number of its issue.
const limitMs = 120_000;
const testMs = 200_000;
const hook = (type: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': type });
const secrets = '/api/v1/namespaces/argocd/secrets';

let at: HubUnderTest;
let hub: Server;
/** Takes a minute, beside the other tests. */
let lostHook: Promise<string>;

const workflows = {
  ...widgetCrd('argoproj.io'),
  metadata: { name: 'workflows.argoproj.io' },
  spec: {
    ...(widgetCrd('argoproj.io')['spec'] as object),
    names: { plural: 'workflows', singular: 'workflow', kind: 'Workflow', listKind: 'WorkflowList' },
  },
};
const workflow = `apiVersion: argoproj.io/v1
kind: Workflow
metadata: { name: before, annotations: { argocd.argoproj.io/hook: PreSync } }
status: { phase: Running }
`;

/** A Workflow that is deleted while it runs, as a hook: how its operation ends. */
async function deletedHook(): Promise<string> {
  await hub.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', workflows);
  const path = '/apis/argoproj.io/v1/namespaces/lost-hook/workflows/before';
  await eventually(() => hub.api.list('/apis/argoproj.io/v1/workflows'), limitMs);
  const files = { 'a.yaml': config('settings'), 'hook.yaml': workflow };
  const app = await at.create('lost-hook', files, { syncPolicy: { ...automated, retry: { limit: 0 } } });
  await eventually(async () => {
    if ((await hub.api.get(path)) === undefined) throw new Error(`no hook\n${at.within.tail()}`);
  }, limitMs);
  await hub.api.delete(path);
  return eventually(async () => {
    const state = (await app.read()).status?.operationState;
    if (state?.finishedAt === undefined) throw new Error(`${JSON.stringify(state)}\n${at.within.tail()}`);
    return `${state.phase}: ${JSON.stringify(state.syncResult?.resources)}`;
  }, 180_000);
}

beforeAll(async () => {
  at = await HubUnderTest.start();
  ({ hub } = at);
  lostHook = deletedHook();
  // The test that awaits it reports its failure.
  lostHook.catch(() => undefined);
}, 240_000);
afterAll(() => at.close());

describe('a deletion', () => {
  it(
    'with PostDelete hooks names the cluster Secret that is gone, and gives up on request (19571)',
    async () => {
      const token = await hub.managerToken();
      const server = hub.url.replace('127.0.0.1', 'localhost');
      const tlsClientConfig = { caData: Buffer.from(hub.ca).toString('base64') };
      await hub.api.create(secrets, {
        metadata: { name: 'cluster-second', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
        stringData: { name: 'second', server, config: JSON.stringify({ bearerToken: token, tlsClientConfig }) },
      });
      const files = { 'a.yaml': config('settings'), 'hook.yaml': hookJob('after', hook('PostDelete')) };
      const app = await at.synced('no-cluster', files, { destination: { name: 'second', namespace: 'no-cluster' } });
      await hub.api.delete(`${secrets}/cluster-second`);
      await hub.api.delete(app.path);
      expect(await app.condition('DeletionError', at.within)).toContain('second');
      await hub.api.patch(app.path, { metadata: { annotations: { 'driftless.io/leave-resources': 'true' } } });
      await app.isGone(at.within);
    },
    testMs,
  );

  it(
    'by the background finalizer that is added with it goes on when the namespace is deleted by hand (11145)',
    async () => {
      const app = await at.synced('by-hand', { 'a.yaml': config('settings') });
      const finalizers = ['resources-finalizer.argocd.argoproj.io/background'];
      await hub.api.patch(app.path, { metadata: { finalizers } });
      await hub.api.delete('/api/v1/namespaces/by-hand');
      await hub.api.delete(app.path);
      await app.isGone(at.within);
    },
    testMs,
  );

  it(
    'of a chart with its namespace creates nothing again (7875)',
    async () => {
      const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata: { name: whole }\n';
      const files = { 'namespace.yaml': namespace, 'a.yaml': config('settings'), 'b.yaml': config('other') };
      const app = await at.synced('whole', files);
      const before = at.createdIn('whole');
      await hub.api.delete(app.path);
      await app.isGone(at.within);
      await eventually(async () => expect(await hub.api.get('/api/v1/namespaces/whole')).toBeUndefined(), limitMs);
      expect(at.createdIn('whole')).toBe(before);
    },
    testMs,
  );
});

describe('a sync', () => {
  it(
    'waits for no child Application that is deleted meanwhile (10561)',
    async () => {
      const child = {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: { name: 'child', namespace: 'argocd', annotations: { 'argocd.argoproj.io/sync-wave': '0' } },
        spec: {
          project: 'default',
          source: { repoURL: `file://${at.folder}/absent`, path: '.', targetRevision: 'main' },
          destination: { server: 'https://kubernetes.default.svc', namespace: 'child' },
        },
      };
      const later = config('later', '1', { 'argocd.argoproj.io/sync-wave': '1' });
      const app = await at.create(
        'parent',
        { 'child.json': JSON.stringify(child), 'later.yaml': later },
        { syncPolicy: {} },
      );
      await hub.api.create('/api/v1/namespaces', { metadata: { name: 'parent' } });
      const ended = app.sync({}, at.within);
      const path = app.path.replace('parent', 'child');
      await eventually(async () => expect(await hub.api.get(path)).toBeDefined(), limitMs);
      await hub.api.delete(path);
      expect((await ended).phase).toMatch(/^(?:Succeeded|Failed|Error)$/);
    },
    testMs,
  );

  it(
    'of an object whose kind an operator defines later succeeds by its retries (5738)',
    async () => {
      const group = 'operator.example.com';
      const options = '{ argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true }';
      const widget = `apiVersion: ${group}/v1\nkind: Widget\nmetadata: { name: one, annotations: ${options} }\nspec: { size: 1 }\n`;
      const retry = { limit: -1, backoff: { duration: '1s', factor: 1 } };
      const app = await at.create('operator', { 'a.yaml': widget }, { syncPolicy: { ...automated, retry } });
      await eventually(async () => {
        const { status } = await app.read();
        if ((status?.operationState?.message ?? '') === '')
          throw new Error(`${JSON.stringify(status)}\n${at.within.tail()}`);
      }, limitMs);
      await hub.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd(group));
      await app.isGood(undefined, at.within);
    },
    testMs,
  );

  it(
    'of several CustomResourceDefinitions, and of a cluster-scoped one with its object, is one operation (21079, 1940)',
    async () => {
      const many = Array.from({ length: 6 }, (_, i) => [
        `${i}.json`,
        JSON.stringify(widgetCrd(`many${i}.example.com`)),
      ]);
      const spec = { ...(widgetCrd('wide.example.com')['spec'] as object), scope: 'Cluster' };
      const wide = JSON.stringify({ ...widgetCrd('wide.example.com'), spec });
      const object = 'apiVersion: wide.example.com/v1\nkind: Widget\nmetadata: { name: one }\nspec: { size: 1 }\n';
      const apps = [
        await at.create('many', Object.fromEntries(many) as Record<string, string>),
        await at.create('wide', { 'crd.json': wide, 'object.yaml': object }),
      ];
      for (const app of apps) await app.isGood(undefined, at.within);
      expect(apps.map(({ name }) => at.operations.of(name))).toEqual([['Succeeded'], ['Succeeded']]);
    },
    testMs,
  );

  it(
    'that was terminated can be started again (4811)',
    async () => {
      const files = { 'a.yaml': config('settings'), 'hook.yaml': endlessHook };
      const app = await at.create('again', files, { syncPolicy: {} });
      const options = { syncOptions: ['CreateNamespace=true'] };
      const first = app.sync(options, at.within);
      await eventually(async () => expect((await app.read()).status?.operationState?.phase).toBe('Running'), limitMs);
      await hub.api.patch(app.path, { status: { operationState: { phase: 'Terminating' } } });
      expect((await first).message).toMatch(/^Operation terminated/);
      app.git.commit({ 'hook.yaml': null });
      const { phase, message } = await app.sync(options, at.within);
      expect([phase, message]).toEqual(['Succeeded', expect.stringContaining('successfully synced')]);
    },
    testMs,
  );

  it(
    'whose PreSync Job is deleted as soon as it has ended succeeds (4979)',
    async () => {
      const files = { 'a.yaml': config('settings'), 'hook.yaml': hookJob('before', hook('PreSync')) };
      const app = await at.create('short', files);
      const path = '/apis/batch/v1/namespaces/short/jobs/before';
      await eventually(async () => {
        const job = await hub.api.get<{ status?: { succeeded?: number } }>(path);
        if (job?.status?.succeeded !== 1 && (await app.read()).status?.sync?.status !== 'Synced')
          throw new Error(`the Job has not ended\n${at.within.tail()}`);
      }, limitMs);
      await hub.api.delete(path).catch(() => undefined);
      await app.isGood(undefined, at.within);
      expect(at.operations.of('short')).toEqual(['Succeeded']);
    },
    testMs,
  );

  it(
    'whose hook is a custom resource that was deleted while it ran fails, and says so (6880)',
    async () => {
      expect(await lostHook).toMatch(/^Failed: .*the Workflow was deleted before it ended/);
      const hooks = await hub.api.list('/apis/argoproj.io/v1/namespaces/lost-hook/workflows');
      expect(hooks).toEqual([]);
    },
    testMs,
  );
});

describe('an object that Git no longer has', () => {
  const dataOf = async (namespace: string, name: string): Promise<string | undefined> =>
    (await hub.api.get<{ data: { key: string } }>(`/api/v1/namespaces/${namespace}/configmaps/${name}`))?.data.key;

  it(
    'is healed and pruned although a controller gave it an owner, and kept with a warning if that one controls it (4764, 11972, 12210, 20945, 12238)',
    async () => {
      const name = 'given-owners';
      const [core, robot] = [`/api/v1/namespaces/${name}`, { 'kubernetes.io/service-account.name': 'robot' }];
      const left = {
        'plain.yaml': config('plain'),
        'controlled.yaml': config('controlled'),
        'token.yaml': `apiVersion: v1\nkind: Secret\nmetadata: { name: token, annotations: ${JSON.stringify(robot)} }\ntype: kubernetes.io/service-account-token\n`,
        'addresses.yaml': 'apiVersion: v1\nkind: Endpoints\nmetadata: { name: outside }\nsubsets: []\n',
      };
      const app = await at.synced(name, {
        'owner.yaml': config('owner'),
        'account.yaml': 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: robot }\n',
        'service.yaml': 'apiVersion: v1\nkind: Service\nmetadata: { name: outside }\nspec: { ports: [{ port: 80 }] }\n',
        ...left,
      });
      const uidOf = async (path: string): Promise<string> =>
        (await hub.api.get<{ metadata: { uid: string } }>(`${core}/${path}`))?.metadata.uid ?? '';
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: await uidOf('configmaps/owner') };
      // As the controller of tokens does.
      const uid = { 'kubernetes.io/service-account.uid': await uidOf('serviceaccounts/robot') };
      await hub.api.patch(`${core}/secrets/token`, { metadata: { annotations: uid } });
      for (const [one, controller] of [['plain', false] as const, ['controlled', true] as const]) {
        const metadata = { ownerReferences: [{ ...owner, controller }] };
        await hub.api.patch(`${core}/configmaps/${one}`, { metadata, data: { key: 'by hand' } });
        await eventually(async () => expect(await dataOf(name, one)).toBe('1'), limitMs);
      }
      app.git.commit(Object.fromEntries(Object.keys(left).map((file) => [file, null])));
      await refreshed(hub, app.path, 'normal', limitMs);
      expect(await app.condition('KeptResourceWarning', at.within)).toContain(
        'controlled (ConfigMap/owner controls it',
      );
      await eventually(async () => {
        for (const path of ['configmaps/plain', 'secrets/token', 'endpoints/outside'])
          if ((await uidOf(path)) !== '') throw new Error(`${path} is left\n${at.within.tail()}`);
      }, limitMs);
      const { status } = await app.read();
      expect([status?.sync?.status, await dataOf(name, 'controlled')]).toEqual(['OutOfSync', '1']);
    },
    testMs,
  );

  it(
    'as a hook is a resource from then on, and a mark in the cluster makes none a hook (2737, cluster-api-operator 751)',
    async () => {
      const app = await at.synced('no-hook', {
        'a.yaml': config('settings'),
        'b.yaml': config('was', '1', hook('PreSync')),
      });
      app.git.commit({ 'b.yaml': config('was', '2') });
      await refreshed(hub, app.path, 'normal', limitMs);
      await eventually(async () => expect(await dataOf('no-hook', 'was')).toBe('2'), limitMs);
      const metadata = { annotations: hook('PreSync') };
      await hub.api.patch('/api/v1/namespaces/no-hook/configmaps/settings', { metadata, data: { key: 'by hand' } });
      await eventually(async () => expect(await dataOf('no-hook', 'settings')).toBe('1'), limitMs);
    },
    testMs,
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { config, deployment, hookJob } from '../acceptance/objects.ts';
import type { TestApplication } from './applications.ts';
import { invalid, service } from './argo-cli/manifests.ts';
import { automated, HubUnderTest } from './hub-under-test.ts';
import type { Server } from './support/index.ts';
import { refreshed } from './under-test.ts';

// Reports of users of Argo CD about hooks and deletions; each title has the number of its issue.
const limitMs = 120_000;
const testMs = 200_000;
const manual = { syncPolicy: { syncOptions: ['CreateNamespace=true'] } };
const hook = (type: string, policy = 'BeforeHookCreation'): Record<string, string> => ({
  'argocd.argoproj.io/hook': type,
  'argocd.argoproj.io/hook-delete-policy': policy,
});
const options = { syncOptions: ['CreateNamespace=true'] };
const configMaps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const jobs = (namespace: string): string => `/apis/batch/v1/namespaces/${namespace}/jobs`;
const mutating = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';

interface ObjectMeta {
  readonly metadata: { readonly name: string; readonly uid: string; readonly finalizers?: readonly string[] };
}

let at: HubUnderTest;
let hub: Server;
/** Takes a minute, beside the other tests. */
let heldPrune: Promise<{ readonly app: TestApplication; readonly message: string; readonly syncs: number }>;

/** A Deployment that Git drops, and whose ReplicaSet another controller holds. */
async function holdPrune(): Promise<Awaited<typeof heldPrune>> {
  const policy = { ...automated, syncOptions: [...automated.syncOptions, 'PrunePropagationPolicy=foreground'] };
  const files = { 'a.yaml': config('stays'), 'b.yaml': deployment() };
  const app = await at.synced('foreground', files, { syncPolicy: policy });
  const replicaSets = '/apis/apps/v1/namespaces/foreground/replicasets';
  const [dependent = ''] = await namesIn(replicaSets);
  const held = `${replicaSets}/${dependent}`;
  await hub.api.patch(held, { metadata: { finalizers: ['example.com/hold'] } });
  app.git.commit({ 'b.yaml': null });
  await refreshed(hub, app.path, 'normal', limitMs);
  const message = await app.condition('KeptResourceWarning', { withinMs: 150_000, tail: at.within.tail });
  const background = { ...policy, syncOptions: [...automated.syncOptions, 'PrunePropagationPolicy=background'] };
  await hub.api.patch(app.path, { spec: { syncPolicy: background } });
  await refreshed(hub, app.path, 'hard', limitMs);
  const syncs = at.operations.of(app.name).length;
  await hub.api.patch(held, { metadata: { finalizers: null } });
  return { app, message, syncs };
}

beforeAll(async () => {
  at = await HubUnderTest.start();
  ({ hub } = at);
  heldPrune = holdPrune();
  // The test that awaits it reports its failure.
  heldPrune.catch(() => undefined);
}, 240_000);
afterAll(() => at.close());

async function namesIn(path: string): Promise<readonly string[]> {
  return ((await hub.api.list(path)) as unknown as readonly ObjectMeta[]).map(({ metadata }) => metadata.name);
}

async function jobOf(namespace: string, name: string): Promise<ObjectMeta | undefined> {
  return hub.api.get<ObjectMeta>(`${jobs(namespace)}/${name}`);
}

describe('a deletion', () => {
  it(
    'whose finalizer an admission policy adds again says so, and ends without that policy (20296)',
    async () => {
      const app = await at.synced('kept-finalizer', { 'a.yaml': config('settings') });
      const names = `object.metadata.name == 'kept-finalizer'`;
      const expression = `Object{metadata: Object.metadata{finalizers: ["resources-finalizer.argocd.argoproj.io"]}}`;
      await hub.api.create(mutating, {
        metadata: { name: 'keep' },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: ['argoproj.io'], apiVersions: ['*'], resources: ['applications'], operations: ['UPDATE'] },
            ],
          },
          matchConditions: [{ name: 'named', expression: names }],
          reinvocationPolicy: 'Never',
          mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
        },
      });
      const binding = mutating.replace('policies', 'policybindings');
      await hub.api.create(binding, { metadata: { name: 'keep' }, spec: { policyName: 'keep' } });
      await eventually(async () => {
        await hub.api.patch(app.path, { metadata: { finalizers: null } });
        const { metadata } = (await hub.api.get<ObjectMeta>(app.path)) ?? {};
        if (metadata?.finalizers === undefined) {
          await hub.api.patch(app.path, { metadata: { finalizers: ['resources-finalizer.argocd.argoproj.io'] } });
          throw new Error('the policy is not in force yet');
        }
      }, limitMs);
      await hub.api.delete(app.path);
      expect(await app.condition('DeletionError', at.within)).toContain('resources-finalizer.argocd.argoproj.io');
      expect(await hub.api.get(`${configMaps('kept-finalizer')}/settings`)).toBeUndefined();
      await hub.api.delete(`${binding}/keep`);
      await hub.api.delete(`${mutating}/keep`);
      await app.isGone(at.within);
    },
    testMs,
  );

  it(
    'of an Application with self-heal creates nothing again while the garbage collector works (1208)',
    async () => {
      const app = await at.synced('undone', {
        'a.yaml': config('settings'),
        'b.yaml': deployment(),
        'c.yaml': service,
      });
      const before = at.createdIn('undone');
      await hub.api.delete(app.path);
      await app.isGone(at.within);
      expect(at.createdIn('undone')).toBe(before);
      for (const kind of ['deployments', 'replicasets'])
        expect(await hub.api.list(`/apis/apps/v1/namespaces/undone/${kind}`)).toEqual([]);
    },
    testMs,
  );

  it(
    'creates a PreDelete hook again that its policy has deleted as a PreSync hook (26404)',
    async () => {
      const account = `apiVersion: v1
kind: ServiceAccount
metadata: { name: cleaner, annotations: ${JSON.stringify(hook('PreSync,PreDelete', 'HookSucceeded'))} }
`;
      const files = { 'a.yaml': config('settings'), 'b.yaml': account, 'c.yaml': hookJob('before', hook('PreDelete')) };
      const app = await at.synced('twice', files);
      const accounts = '/api/v1/namespaces/twice/serviceaccounts/cleaner';
      expect(await hub.api.get(accounts)).toBeUndefined();
      await hub.api.delete(app.path);
      await app.isGone(at.within);
      const created = at.controller
        .managedWrites()
        .filter(({ verb, requestURI }) => verb === 'create' && requestURI.includes('/twice/serviceaccounts'));
      expect(created).toHaveLength(2);
      expect(await hub.api.get(accounts)).toBeUndefined();
    },
    testMs,
  );

  it(
    'with a PostDelete hook names the path that has left Git, and runs the hook once it is back (18070)',
    async () => {
      const files = { 'a.yaml': config('settings'), 'b.yaml': hookJob('after', hook('PostDelete')) };
      const app = await at.synced('pathless', files);
      const source = { repoURL: app.git.url, targetRevision: 'main', path: 'gone' };
      await hub.api.patch(app.path, { spec: { source } });
      await hub.api.delete(app.path);
      expect(await app.condition('DeletionError', at.within)).toContain('gone');
      app.git.commit({ 'gone/b.yaml': hookJob('after', hook('PostDelete')) });
      await refreshed(hub, app.path, 'normal', limitMs);
      await app.isGone(at.within);
      const runs = at.controller
        .managedWrites()
        .filter(({ verb, requestURI }) => verb === 'create' && requestURI.includes('/pathless/jobs'));
      expect(runs).toHaveLength(1);
    },
    testMs,
  );
});

describe('a sync', () => {
  it(
    'fails when the Deployment that it waits for is deleted meanwhile (25323)',
    async () => {
      const later = config('later', '1', { 'argocd.argoproj.io/sync-wave': '1' });
      const files = { 'a.yaml': deployment('nginx:does-not-exist'), 'b.yaml': later };
      const app = await at.create('deleted-meanwhile', files, manual);
      const ended = app.sync(options, at.within);
      const path = '/apis/apps/v1/namespaces/deleted-meanwhile/deployments/web';
      await eventually(async () => {
        expect((await app.read()).status?.operationState?.message).toContain(
          'waiting for healthy state of apps/Deployment/web',
        );
      }, limitMs);
      await hub.api.delete(path);
      const { phase, message } = await ended;
      expect([phase, message]).toEqual(['Failed', expect.stringContaining('web')]);
    },
    testMs,
  );

  it(
    'without retries is tried once (15624)',
    async () => {
      const files = { 'a.yaml': config('settings'), 'b.yaml': invalid };
      const app = await at.create('once', files, { syncPolicy: { ...automated, retry: { limit: 0 } } });
      expect(await app.condition('SyncError', at.within)).toContain('Failed last sync attempt');
      await refreshed(hub, app.path, 'hard', limitMs);
      await refreshed(hub, app.path, 'normal', limitMs);
      expect(at.operations.of('once')).toEqual([expect.stringMatching(/^Failed: /)]);
    },
    testMs,
  );

  it(
    'that prunes an object which was deleted by hand succeeds (5872)',
    async () => {
      const app = await at.create('gone', { 'a.yaml': config('settings'), 'b.yaml': config('other') }, manual);
      expect((await app.sync(options, at.within)).phase).toBe('Succeeded');
      app.git.commit({ 'b.yaml': null });
      await refreshed(hub, app.path, 'normal', limitMs);
      const ended = app.sync({ ...options, prune: true }, at.within);
      await hub.api.delete(`${configMaps('gone')}/other`).catch(() => undefined);
      const { phase, message } = await ended;
      expect([phase, message]).toEqual(['Succeeded', expect.any(String)]);
    },
    testMs,
  );

  it(
    'restores a namespace that a user deletes with all its objects (7982)',
    async () => {
      const files = Object.fromEntries(
        ['one', 'two', 'three', 'four'].map((name) => [`${name}.yaml`, config(name)]),
      ) as Record<string, string>;
      const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata: { name: emptied }\n';
      const app = await at.synced('emptied', { ...files, 'namespace.yaml': namespace });
      const uid = async (): Promise<string | undefined> =>
        (await hub.api.get<ObjectMeta>('/api/v1/namespaces/emptied'))?.metadata.uid;
      const before = await uid();
      await hub.api.delete('/api/v1/namespaces/emptied');
      await eventually(async () => {
        const names = (await namesIn(configMaps('emptied'))).filter((name) => name !== 'kube-root-ca.crt');
        expect([(await uid()) === before, names.length]).toEqual([false, 4]);
      }, limitMs);
      await app.isGood(undefined, at.within);
    },
    testMs,
  );

  it(
    'that waits for the confirmation of a prune is not started again and again (25193)',
    async () => {
      const asked = config('asked', '1', { 'argocd.argoproj.io/sync-options': 'Prune=confirm' });
      const app = await at.synced('confirmed', { 'a.yaml': config('settings'), 'b.yaml': asked });
      app.git.commit({ 'b.yaml': null });
      await refreshed(hub, app.path, 'normal', limitMs);
      await eventually(async () => {
        expect((await app.read()).status?.operationState?.message).toMatch(/confirm/i);
      }, limitMs);
      await refreshed(hub, app.path, 'hard', limitMs);
      expect(at.operations.of('confirmed')).toHaveLength(2);
      const approved = { 'argocd.argoproj.io/deletion-approved': new Date(Date.now() + 1000).toISOString() };
      await hub.api.patch(app.path, { metadata: { annotations: approved } });
      await app.isGood(undefined, at.within);
      expect(await hub.api.get(`${configMaps('confirmed')}/asked`)).toBeUndefined();
      expect(at.operations.of('confirmed')).toHaveLength(2);
    },
    testMs,
  );

  it(
    'runs its PreSync hook again after one that was ended while a wave rolled out (25475)',
    async () => {
      const later = config('later', '1', { 'argocd.argoproj.io/sync-wave': '1' });
      const files = {
        'a.yaml': hookJob('before', hook('PreSync')),
        'b.yaml': deployment('nginx:does-not-exist'),
        'c.yaml': later,
      };
      const app = await at.create('again-before', files, manual);
      const first = app.sync(options, at.within);
      await eventually(async () => {
        expect((await app.read()).status?.operationState?.message).toContain(
          'waiting for healthy state of apps/Deployment/web',
        );
      }, limitMs);
      const before = (await jobOf('again-before', 'before'))?.metadata.uid;
      await hub.api.patch(app.path, { status: { operationState: { phase: 'Terminating' } } });
      expect((await first).phase).toBe('Failed');
      app.git.commit({ 'b.yaml': deployment('nginx:1') });
      expect((await app.sync(options, at.within)).phase).toBe('Succeeded');
      const after = (await jobOf('again-before', 'before'))?.metadata.uid;
      expect([before === undefined, after === undefined, after === before]).toEqual([false, false, false]);
    },
    testMs,
  );

  it(
    'succeeds each time with a hook that its time to live deletes (14929)',
    async () => {
      const spec = 'spec:\n  ttlSecondsAfterFinished: 1\n';
      const files = {
        'a.yaml': config('settings'),
        'b.yaml': hookJob('brief', hook('PreSync')).replace('spec:\n', spec),
      };
      const app = await at.create('brief', files, manual);
      for (let n = 0; n < 3; n += 1) expect((await app.sync(options, at.within)).phase).toBe('Succeeded');
      await eventually(async () => expect(await jobOf('brief', 'brief')).toBeUndefined(), limitMs);
    },
    testMs,
  );

  it(
    'of a chart whose hooks delete themselves is one operation (3928)',
    async () => {
      const role = (name: string, annotations: object): string => `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: ${name}, annotations: ${JSON.stringify(annotations)} }
rules: []
`;
      const policies = {
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
      };
      const files = {
        'a.yaml': config('settings'),
        'b.yaml': role('kept-hook', policies),
        'c.yaml': role('brief-hook', { ...policies, 'helm.sh/hook-delete-policy': 'hook-succeeded' }),
      };
      const app = await at.synced('chart-hooks', files);
      for (const type of ['normal', 'hard'] as const) await refreshed(hub, app.path, type, limitMs);
      await app.isGood(undefined, at.within);
      expect(at.operations.of('chart-hooks')).toEqual(['Succeeded']);
    },
    testMs,
  );

  it(
    'whose foreground prune waits for an object that is held says so, and none starts for it (17465)',
    async () => {
      const { app, message, syncs } = await heldPrune;
      expect(message).toMatch(/Deployment foreground\/web \(.*foregroundDeletion/);
      expect(syncs).toBeLessThanOrEqual(3);
      await app.isGood(undefined, at.within);
      expect((await app.read()).status?.conditions ?? []).toEqual([]);
      await eventually(
        async () => expect(await hub.api.list('/apis/apps/v1/namespaces/foreground/replicasets')).toEqual([]),
        limitMs,
      );
    },
    testMs,
  );
});

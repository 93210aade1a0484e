import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, widgetCrd } from '#support';
import { config, deployment, hookJob } from '../acceptance/objects.ts';
import { endlessHook, invalid } from './argo-cli/manifests.ts';
import { TestApplication } from './applications.ts';
import { OperationsSeen } from './operations-seen.ts';
import { ApiProxy } from './support/api-proxy.ts';
import { startGitServer } from './support/git-server.ts';
import type { GitServer } from './support/git-server.ts';
import { HangingProxy } from './support/hanging-proxy.ts';
import { startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { slowDiscovery } from './support/slow-discovery.ts';
import { refreshed, UnderTest } from './under-test.ts';

const limitMs = 90_000;
const repairMs = 10_000;
const automated = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };
const hook = (type: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': type });
const wave = (number: string): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': number });

let world: Servers<'hub' | 'bare'>;
let hub: Server;
/** A cluster without a garbage collector, behind {@link discovery}. */
let bare: Server;
let double: ClusterDouble;
let discovery: ApiProxy;
let git: GitServer;
let gitPath: HangingProxy;
let controller: UnderTest;
let operations: OperationsSeen;
/** Work that takes a minute by its nature, beside the other tests. */
let minutes: { readonly kept: Promise<readonly Kept[]>; readonly failed: Promise<FailedHook> };

interface Kept {
  readonly app: TestApplication;
  readonly message: string;
  /** How many operations had begun when the condition appeared. */
  readonly before: number;
  readonly operations: readonly string[];
}

interface FailedHook {
  readonly message: string;
  /** UIDs of the Job when the condition appears, a pass later, and of the next attempt. */
  readonly jobs: readonly (string | undefined)[];
}

const tail = (): string => controller.pods.tail();
const within = { withinMs: limitMs, tail };

function create(name: string, files: Record<string, string>, spec: object = {}): Promise<TestApplication> {
  return TestApplication.create({ hub, folder: world.folder }, name, { files, spec });
}

/** Deploys to the cluster without a garbage collector. */
const toBare = (name: string): object => ({
  destination: { server: discovery.url, namespace: name },
  syncPolicy: automated,
});

const configMapPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`;

/** Edits a ConfigMap by hand; resolves with the milliseconds until it is repaired. */
async function repaired(server: Server, path: string): Promise<number> {
  const begin = performance.now();
  await server.api.patch(path, { data: { key: 'by hand' } });
  await eventually(async () => {
    const live = await server.api.get<{ data: { key: string } }>(path);
    if (live?.data.key !== '1') throw new Error(`${path} is not repaired\n${tail()}`);
  }, limitMs);
  return performance.now() - begin;
}

async function register(url: string): Promise<void> {
  const bearerToken = await bare.managerToken();
  await hub.api.create('/api/v1/namespaces/argocd/secrets', {
    metadata: { name: 'cluster-bare', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: { name: 'bare', server: url, config: JSON.stringify({ bearerToken }) },
  });
}

/** Git drops objects whose deletion does not end. */
async function keptPrunes(): Promise<readonly Kept[]> {
  const files = { 'a.yaml': config('stays'), 'b.yaml': config('dropped') };
  const held = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'dropped', finalizers: ['example.com/hold'] },
    data: { key: '1' },
  });
  const apps = await Promise.all([
    create('uncollected', files, toBare('uncollected')),
    create('held', { ...files, 'b.yaml': held }, { syncPolicy: automated }),
    create('held-bare', { ...files, 'b.yaml': held }, toBare('held-bare')),
  ]);
  for (const app of apps) {
    await app.isGood(undefined, within);
    app.git.commit({ 'b.yaml': null });
    await refreshed(hub, app.path, 'normal', limitMs);
  }
  return Promise.all(
    apps.map(async (app) => {
      const message = await app.condition('KeptResourceWarning', { withinMs: 150_000, tail });
      const before = operations.of(app.name).length;
      await refreshed(hub, app.path, 'hard', limitMs);
      return { app, message, before, operations: operations.of(app.name) };
    }),
  );
}

async function failedHook(): Promise<FailedHook> {
  const files = { 'a.yaml': config('settings'), 'b.yaml': hookJob('before', hook('PreDelete'), true) };
  const app = await create('failing', files, { syncPolicy: automated });
  await app.isGood(undefined, within);
  await hub.api.delete(app.path);
  const job = async (): Promise<string | undefined> =>
    (await hub.api.get<{ metadata: { uid: string } }>('/apis/batch/v1/namespaces/failing/jobs/before'))?.metadata.uid;
  const message = await app.condition('DeletionError', within);
  const first = await job();
  await refreshed(hub, app.path, 'normal', limitMs);
  const kept = await job();
  const next = await eventually(async () => {
    const uid = await job();
    if (uid === undefined || uid === first) throw new Error(`no next attempt\n${tail()}`);
    return uid;
  }, 150_000);
  return { message, jobs: [first, kept, next] };
}

beforeAll(async () => {
  world = await startServers({ names: ['hub', 'bare'] });
  ({ hub, bare } = world.servers);
  await hub.startLifecycle();
  double = await startDouble(hub.access, { collects: false });
  discovery = await ApiProxy.start(bare);
  discovery.inject(slowDiscovery((group) => 1000 * Number(/^after(\d+)/.exec(group)?.[1] ?? 0)));
  git = await startGitServer({ root: world.folder });
  gitPath = await HangingProxy.start(Number(new URL(git.url).port));
  const params = {
    'controller.self.heal.backoff.timeout.seconds': '0',
    'controller.repo.error.grace.period.seconds': '2s',
  };
  const env = [
    { name: 'ARGOCD_GIT_REQUEST_TIMEOUT', value: '5s' },
    { name: 'ARGOCD_EXEC_TIMEOUT', value: '10s' },
  ];
  const values = { rbac: { clusterWrite: true }, configs: { params }, controller: { env } };
  controller = await UnderTest.install({ server: hub, folder: world.folder, values });
  await register(discovery.url);
  operations = new OperationsSeen(hub);
  minutes = { kept: keptPrunes(), failed: failedHook() };
  // The tests that await them report their failures.
  for (const work of Object.values(minutes)) work.catch(() => undefined);
}, 120_000);
afterAll(async () => {
  await operations.close();
  await controller.stop();
  await double.stop();
  await Promise.all([gitPath.close(), git.close(), discovery.close()]);
  await world.close();
});

const widget = (group: string): string =>
  `apiVersion: ${group}/v1\nkind: Widget\nmetadata: { name: one }\nspec: { size: 1 }\n`;
const definition = (group: string): string => JSON.stringify(widgetCrd(group));

/** Synced, and compared once more since: no further operation has begun. */
async function syncedOnce(app: TestApplication): Promise<void> {
  await app.isGood(undefined, within);
  await refreshed(hub, app.path, 'hard');
  await app.isGood(undefined, within);
  expect([app.name, operations.of(app.name)]).toEqual([app.name, ['Succeeded']]);
}

describe('a CustomResourceDefinition and its object', () => {
  it('of one commit are one operation that succeeds, however late the kind is served', async () => {
    const apps = await Promise.all(
      [0, 1, 3, 6, 10].map((seconds) => {
        const [name, group] = [`crd-${seconds}`, `after${seconds}.example.com`];
        return create(name, { 'crd.json': definition(group), 'widget.yaml': widget(group) }, toBare(name));
      }),
    );
    await Promise.all(apps.map(syncedOnce));
  }, 180_000);

  it('of two Applications are one operation each', async () => {
    const group = 'after4.example.org';
    const first = await create('definition', { 'crd.json': definition(group) }, toBare('definition'));
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`;
    await eventually(async () => expect(await bare.api.get(path)).toBeDefined(), limitMs);
    const second = await create('user', { 'widget.yaml': widget(group) }, toBare('user'));
    await Promise.all([first, second].map(syncedOnce));
  }, 120_000);
});

describe('a deletion', () => {
  const stuck: readonly (readonly [string, Record<string, string>])[] = [
    ['retries', { 'a.yaml': config('settings'), 'b.yaml': invalid }],
    ['waits for a PreSync hook', { 'a.yaml': config('settings'), 'hook.yaml': endlessHook }],
    [
      'waits for a Deployment',
      {
        'a.yaml': config('settings'),
        'b.yaml': deployment('nginx:does-not-exist'),
        'c.yaml': config('later', '1', wave('1')),
      },
    ],
  ];
  it.each(stuck)(
    'ends an operation that %s without end, and then the resources',
    async (what, files) => {
      const name = `stuck-${what.split(' ').at(-1)?.toLowerCase() ?? ''}`;
      const retry = { limit: -1, backoff: { duration: '1s', factor: 1 } };
      const app = await create(name, files, { syncPolicy: { ...automated, retry } });
      const live = (): Promise<unknown[]> =>
        Promise.all([
          hub.api.get(configMapPath(name, 'settings')),
          hub.api.get(`/apis/batch/v1/namespaces/${name}/jobs/wait`),
        ]);
      await eventually(async () => {
        const { status } = await app.read();
        expect(status?.operationState?.phase).toBe('Running');
        expect((await live()).some((object) => object !== undefined)).toBe(true);
        if (what === 'retries') expect(status?.operationState?.message).toMatch(/Retrying attempt #[2-9]/);
      }, limitMs);
      await hub.api.delete(app.path);
      await app.isGone(within);
      expect(operations.of(name)).toEqual([expect.stringMatching(/^Failed: Operation terminated/)]);
      expect(await live()).toEqual([undefined, undefined]);
    },
    120_000,
  );

  // https://github.com/argoproj/argo-cd/issues/24924
  it('runs a PostDelete hook in the namespace of the Application, and then deletes that', async () => {
    const name = 'owned';
    const app = await create(
      name,
      {
        'namespace.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${name} }\n`,
        'a.yaml': config('settings'),
        'hook.yaml': hookJob('after', hook('PostDelete')),
      },
      { syncPolicy: automated },
    );
    await app.isGood(undefined, within);
    await hub.api.delete(app.path);
    await app.isGone(within);
    await eventually(async () => expect(await hub.api.get(`/api/v1/namespaces/${name}`)).toBeUndefined(), limitMs);
    const hooks = hub
      .audit()
      .filter(({ verb, requestURI }) => verb === 'create' && requestURI.includes(`${name}/jobs`));
    expect(hooks.map(({ responseStatus }) => responseStatus?.code)).toEqual([201]);
  }, 120_000);

  it('says that the namespace of its PreDelete hook never existed, and goes on once it exists', async () => {
    const elsewhere = hookJob('before', hook('PreDelete')).replace('metadata:\n', 'metadata:\n  namespace: nowhere\n');
    const app = await create('lost', { 'a.yaml': config('settings'), 'b.yaml': elsewhere }, { syncPolicy: automated });
    await app.isGood(undefined, within);
    await hub.api.delete(app.path);
    expect(await app.condition('DeletionError', within)).toContain('namespaces "nowhere" not found');
    expect(await hub.api.get(configMapPath('lost', 'settings'))).toBeDefined();
    await hub.api.create('/api/v1/namespaces', { metadata: { name: 'nowhere' } });
    await app.isGone(within);
  }, 120_000);
});

describe('a wave that is no number of ours', () => {
  it('ends the operation, and the status shows the wave exactly, or none', async () => {
    const app = await create(
      'waves',
      {
        'a.yaml': config('last', '1', wave('9007199254740993')),
        'b.yaml': config('none', '1', wave('99999999999999999999')),
      },
      { syncPolicy: automated },
    );
    await syncedOnce(app);
    const { text } = await hub.api.exchange({ method: 'GET', path: app.path });
    expect(text).toMatch(/"name":"last"[^{}]*"syncWave":9007199254740993\b/);
    expect(/"name":"none"[^{}]*\}/.exec(text)?.[0]).not.toContain('syncWave');
  }, 120_000);
});

describe('while the Git server', () => {
  it.each([
    [
      'hangs',
      (): Promise<void> => {
        gitPath.hang();
        return Promise.resolve();
      },
    ],
    ['refuses connections', (): Promise<void> => gitPath.close()],
  ])(
    '%s, drift is repaired within 10 seconds, and a condition shows the outage',
    async (what, fail) => {
      const name = `git-${what.split(' ')[0] ?? ''}`;
      const app = await create(name, { 'a.yaml': config('settings') }, { syncPolicy: automated });
      const url = (port: number): string => `http://127.0.0.1:${port}/${name}`;
      await hub.api.patch(app.path, { spec: { source: { repoURL: url(gitPath.port) } } });
      await eventually(async () => {
        const live = await hub.api.get<{ status?: { sync?: { comparedTo?: { source?: { repoURL?: string } } } } }>(
          app.path,
        );
        expect(live?.status?.sync?.comparedTo?.source?.repoURL).toBe(url(gitPath.port));
      }, limitMs);
      await app.isGood(undefined, within);
      await fail();
      const ms = [
        await repaired(hub, configMapPath(name, 'settings')),
        await repaired(hub, configMapPath(name, 'settings')),
      ];
      expect(Math.max(...ms)).toBeLessThan(repairMs);
      // The next resync would notice the outage too.
      await hub.api.patch(app.path, { metadata: { annotations: { 'argocd.argoproj.io/refresh': 'normal' } } });
      expect(await app.condition('SourceUnavailableWarning', within)).toMatch(/since .*Drift is repaired/);
      expect(await repaired(hub, configMapPath(name, 'settings'))).toBeLessThan(repairMs);
      // A new process knows the commit by the status, and its rendering by the disk.
      await controller.pods.roll();
      await repaired(hub, configMapPath(name, 'settings'));
      if (what === 'hangs') gitPath.heal();
      else {
        gitPath = await HangingProxy.start(Number(new URL(git.url).port));
        await hub.api.patch(app.path, { spec: { source: { repoURL: url(gitPath.port) } } });
      }
      await eventually(async () => {
        const { status } = await app.read();
        expect(status?.conditions ?? []).toEqual([]);
      }, limitMs);
      await app.isGood(undefined, within);
    },
    180_000,
  );
});

describe('what takes a minute', () => {
  it('a prune that does not end has a condition with its time, and no sync starts for it', async () => {
    for (const { app, message, before, operations: phases } of await minutes.kept) {
      const holder = app.name === 'uncollected' ? 'foregroundDeletion' : 'example.com/hold';
      expect(message).toMatch(new RegExp(`dropped \\(being deleted since 20.*held by .*${holder}`));
      // A sync may begin before the watch has shown the deletion; after it, none does.
      expect([app.name, phases.length]).toEqual([app.name, before]);
      expect([2, 3]).toContain(before);
      const server = app.name === 'held' ? hub : bare;
      expect(await repaired(server, configMapPath(app.name, 'stays'))).toBeLessThan(repairMs);
      await server.api.patch(configMapPath(app.name, 'dropped'), { metadata: { finalizers: null } });
      await app.isGood(undefined, within);
      expect((await app.read()).status?.conditions ?? []).toEqual([]);
    }
  }, 240_000);

  it('a failed PreDelete hook stays with its logs until the next attempt', async () => {
    const { message, jobs } = await minutes.failed;
    const [first, kept, next] = jobs;
    expect(message).toContain('PreDelete hook(s) failed: failing/before');
    expect([kept, first === undefined, next === first]).toEqual([first, false, false]);
  }, 240_000);
});

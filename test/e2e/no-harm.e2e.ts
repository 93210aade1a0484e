import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import { TestApplication, hammer } from './applications.ts';
import { crd, instance } from './argo/manifests.ts';
import { describeRequest, isDryRun, startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

const values = {
  rbac: { clusterWrite: true },
  controller: { heartbeatTime: 2 },
  configs: {
    cm: { 'resource.customizations.ignoreDifferences.apps_Deployment': 'jsonPointers: [/spec/revisionHistoryLimit]\n' },
    params: { 'controller.sync.wave.delay.seconds': '0' },
  },
};
const createNamespace = { syncPolicy: { syncOptions: ['CreateNamespace=true'] } };

interface Deployment {
  readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly replicas: number;
    readonly revisionHistoryLimit: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

const deployment = ({ app = 'web', container = 'web', image = 'nginx:1', options = 'Validate=true' } = {}): string =>
  `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-options: ${options}}}
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector: {matchLabels: {app: ${app}}}
  template:
    metadata: {labels: {app: ${app}}}
    spec: {containers: [{name: ${container}, image: "${image}"}]}
`;
const map = (name: string, data: string, annotations = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, annotations: {${annotations}}}\ndata: {${data}}\n`;
const hook = (name: string, suspend = false): string => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {suspend: ${suspend}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}
`;
/** A webhook configuration that matches no request. */
const webhook = (failurePolicy: string): string => `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: nobody}
webhooks:
- name: nobody.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: ${failurePolicy}
  clientConfig: {url: "https://127.0.0.1:1/", caBundle: Cg==}
  rules: [{apiGroups: [nobody.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
`;

/** A policy by which the API server stores another value in one ConfigMap; returns its removal. */
async function storingOtherValues({ api }: Server, namespace: string): Promise<() => Promise<void>> {
  const group = '/apis/admissionregistration.k8s.io/v1';
  const paths = ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'].map((kind) => `${group}/${kind}`);
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] };
  const expression = '[JSONPatch{op: "replace", path: "/data/key", value: "theirs"}]';
  const spec = {
    failurePolicy: 'Fail',
    reinvocationPolicy: 'Never',
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      resourceRules: [{ ...rule, resourceNames: ['kept'] }],
    },
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
  };
  const metadata = { name: 'kept' };
  await api.create(paths[0]!, { metadata, spec });
  await api.create(paths[1]!, { metadata, spec: { policyName: 'kept' } });
  const maps = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
  await eventually(async () => {
    const { data } = await api.create<{ data: { key: string } }>(maps, { metadata, data: { key: '1' } });
    if (data.key !== 'theirs') throw new Error('the policy has no effect yet');
  }, 60_000);
  return async () => {
    for (const path of [...paths].reverse()) await api.delete(`${path}/kept`);
    await eventually(async () => {
      const map = `/api/v1/namespaces/${namespace}/configmaps/kept?dryRun=All`;
      const { data } = await api.patch<{ data: { key: string } }>(map, { data: { key: '1' } });
      if (data.key !== '1') throw new Error('the policy still has effect');
    }, 60_000);
  };
}

describe('a controller that does no harm', () => {
  let world: Servers<'hub'>;
  let hub: Server;
  let double: ClusterDouble;
  let controller: UnderTest;

  const create = (name: string, files: Readonly<Record<string, string>>, spec: object): Promise<TestApplication> =>
    TestApplication.create({ hub, folder: world.folder }, name, { files, spec });
  const tail = (): string => controller.pods.tail();

  beforeAll(async () => {
    world = await startServers({ names: ['hub'] });
    hub = world.servers.hub;
    double = await startDouble(hub.access);
    controller = await UnderTest.install({ server: hub, folder: world.folder, values });
  }, 120_000);
  afterAll(async () => {
    await controller.stop();
    await double.stop();
    await world.close();
  });

  it('an object that Force=true deleted is restored if the server refuses the new manifest, with an error', async () => {
    const options = 'Force=true';
    const path = '/apis/apps/v1/namespaces/forced/deployments/web';
    const app = await create('forced', { 'web.yaml': deployment({ options }) }, createNamespace);
    expect((await app.sync(createNamespace.syncPolicy, { tail })).phase).toBe('Succeeded');
    // The selector is immutable, which is what Force is for. The name of the container is invalid.
    app.git.commit({ 'web.yaml': deployment({ options, app: 'other', container: 'Not_A_Name' }) });
    const state = await app.sync(createNamespace.syncPolicy, { tail });

    expect(state.phase).toBe('Failed');
    expect(state.syncResult?.resources?.find(({ kind }) => kind === 'Deployment')?.message).toContain('Not_A_Name');
    const live = await hub.api.get<Deployment>(path);
    expect(live?.metadata.deletionTimestamp).toBeUndefined();
    expect(live?.spec.selector.matchLabels).toEqual({ app: 'web' });
    await hub.kubectl(['rollout', 'status', '-n', 'forced', 'deploy/web', '--timeout=30s']);
    // A valid manifest is applied.
    app.git.commit({ 'web.yaml': deployment({ options, app: 'other' }) });
    expect((await app.sync(createNamespace.syncPolicy, { tail })).phase).toBe('Succeeded');
    expect((await hub.api.get<Deployment>(path))?.spec.selector.matchLabels).toEqual({ app: 'other' });
  }, 120_000);

  it('a dry run writes nothing in any wave: no namespace, CRD, custom resource, hook or prune', async () => {
    await hub.kubectl(['create', 'namespace', 'elsewhere']);
    const tracked = (name: string, options: string): string =>
      map(
        name,
        '',
        `argocd.argoproj.io/tracking-id: "dry:/ConfigMap:elsewhere/${name}", argocd.argoproj.io/sync-options: "${options}"`,
      );
    for (const text of [tracked('to-confirm', 'Prune=confirm'), tracked('to-prune', 'Prune=true')])
      await hub.kubectl(['apply', '-n', 'elsewhere', '-f', '-'], { input: text });
    const files = {
      'crd.yaml': crd('parts', 'Part'),
      'part.yaml': instance('Part', 'first'),
      'hook.yaml': hook('before'),
      'early.yaml': map('early', '', 'argocd.argoproj.io/sync-wave: "-1"'),
      'late.yaml': map('late', '', 'argocd.argoproj.io/sync-wave: "2"'),
    };
    const app = await create('dry', files, createNamespace);
    await refreshed(hub, app.path, 'normal');
    const before = await places();
    const state = await app.sync({ dryRun: true, prune: true, ...createNamespace.syncPolicy }, { tail });
    await refreshed(hub, app.path, 'hard');

    expect(state.phase).toBe('Succeeded');
    const mine = controller.writes().filter(({ requestURI }) => /namespaces\/(dry|elsewhere)|parts/.test(requestURI));
    expect(mine.filter((event) => !isDryRun(event)).map(describeRequest)).toEqual([]);
    expect(mine.length).toBeGreaterThan(0);
    expect(await places()).toEqual(before);
    expect(before.map((version) => version === '')).toEqual([true, true, false, false]);
  }, 120_000);

  /** Versions of the objects that the dry run would create or delete. */
  function places(): Promise<string[]> {
    const paths = [
      '/api/v1/namespaces/dry',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parts.example.com',
      '/api/v1/namespaces/elsewhere/configmaps/to-confirm',
      '/api/v1/namespaces/elsewhere/configmaps/to-prune',
    ];
    return Promise.all(
      paths.map(async (path) => {
        const object = await hub.api.get<{ metadata: { resourceVersion: string } }>(path);
        return object?.metadata.resourceVersion ?? '';
      }),
    );
  }

  it('RespectIgnoreDifferences keeps fields of others: by pointer, jq, field manager and argocd-cm', async () => {
    const syncOptions = ['CreateNamespace=true', 'RespectIgnoreDifferences=true'];
    const ignoreDifferences = [
      { group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] },
      {
        group: 'admissionregistration.k8s.io',
        kind: 'ValidatingWebhookConfiguration',
        jqPathExpressions: ['.webhooks[]?.clientConfig.caBundle'],
      },
      { kind: 'ConfigMap', managedFieldsManagers: ['painter'] },
    ];
    const files = {
      'web.yaml': deployment(),
      'hook.yaml': webhook('Ignore'),
      'map.yaml': map('paint', 'colour: blue, size: "1"'),
    };
    const app = await create('respect', files, { ignoreDifferences, syncPolicy: { syncOptions } });
    expect((await app.sync({ syncOptions }, { tail })).phase).toBe('Succeeded');
    await othersWrite();
    await refreshed(hub, app.path, 'normal');
    expect((await app.read()).status?.sync?.status).toBe('Synced');
    app.git.commit({
      'web.yaml': deployment({ image: 'nginx:2' }),
      'hook.yaml': webhook('Fail'),
      'map.yaml': map('paint', 'colour: blue, size: "2"'),
    });
    const state = await app.sync({ syncOptions }, { tail });

    expect([state.phase, state.message]).toEqual(['Succeeded', 'successfully synced (all tasks run)']);
    const live = await hub.api.get<Deployment>('/apis/apps/v1/namespaces/respect/deployments/web');
    const { replicas, revisionHistoryLimit, template } = live?.spec ?? {};
    expect([replicas, revisionHistoryLimit, template?.spec.containers[0]?.image]).toEqual([5, 7, 'nginx:2']);
    const paint = await hub.api.get<{ data: object }>('/api/v1/namespaces/respect/configmaps/paint');
    expect(paint?.data).toEqual({ colour: 'red', size: '2' });
    const configuration = await hub.api.get<{ webhooks: readonly object[] }>(nobody);
    expect(configuration?.webhooks).toMatchObject([{ failurePolicy: 'Fail', clientConfig: { caBundle: 'Y2E=' } }]);
  }, 120_000);

  const nobody = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/nobody';

  /** Writes as an autoscaler, with kubectl, as a CA injector, and as the manager of one field. */
  async function othersWrite(): Promise<void> {
    const web = '/apis/apps/v1/namespaces/respect/deployments/web';
    await hub.api.patch(`${web}/scale?fieldManager=autoscaler`, { spec: { replicas: 5 } });
    await hub.api.patch(`${web}?fieldManager=somebody`, { spec: { revisionHistoryLimit: 7 } });
    const injected = [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: 'Y2E=' }];
    await hub.api.patch(`${nobody}?fieldManager=injector`, injected, 'json');
    const paint = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'paint' }, data: { colour: 'red' } };
    const path = '/api/v1/namespaces/respect/configmaps/paint?fieldManager=painter&force=true';
    await hub.api.patch(path, paint, 'apply');
  }

  it("a finished hook's finalizer is removed although something writes to the Job continuously", async () => {
    const files = { 'hook.yaml': hook('before', true), 'map.yaml': map('after', '') };
    const app = await create('hooked', files, createNamespace);
    const job = '/apis/batch/v1/namespaces/hooked/jobs/before';
    const hammering = hammer(hub, job);
    const syncing = app.sync(createNamespace.syncPolicy, { tail });
    // Wait until the Job exists and is being written to, on any machine.
    await eventually(() => {
      if (hammering.written() < 3) throw new Error(`written ${hammering.written()} times\n${tail()}`);
    }, 60_000);
    await hub.api.patch(job, { spec: { suspend: false } });
    const state = await syncing;
    const written = await hammering.stop();

    expect([state.phase, state.message]).toEqual(['Succeeded', 'successfully synced (all tasks run)']);
    expect(written).toBeGreaterThan(2);
    const live = await hub.api.get<{ metadata: { finalizers?: string[]; deletionTimestamp?: string } }>(job);
    expect([live?.metadata.finalizers, live?.metadata.deletionTimestamp]).toEqual([undefined, undefined]);
  }, 120_000);

  it('a change that the API server refuses stops no sync of others with server-side diff, and Force makes it', async () => {
    const job = (command: string, options: string): string => `apiVersion: batch/v1
kind: Job
metadata: {name: once, annotations: {argocd.argoproj.io/sync-options: "${options}"}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [${command}]}]}}}
`;
    const name = 'refused';
    const app = await create(
      name,
      { 'a.yaml': map('a', 'key: "1"'), 'b.yaml': map('b', 'key: "1"'), 'job.yaml': job('first', 'Validate=true') },
      createNamespace,
    );
    const compareOptions = { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' };
    await hub.api.patch(app.path, { metadata: { annotations: compareOptions } });
    expect((await app.sync(createNamespace.syncPolicy, { tail })).phase).toBe('Succeeded');
    const keys = (): Promise<readonly (string | undefined)[]> =>
      Promise.all(
        ['a', 'b'].map(async (one) => {
          const found = await hub.api.get<{ data: { key: string } }>(`/api/v1/namespaces/${name}/configmaps/${one}`);
          return found?.data.key;
        }),
      );
    const second = { 'a.yaml': map('a', 'key: "2"'), 'b.yaml': map('b', 'key: "2"') };
    app.git.commit({ ...second, 'job.yaml': job('second', 'Validate=true') });
    await refreshed(hub, app.path, 'normal');
    expect(await app.condition('RefusedChangeWarning', { tail })).toMatch(/^Job\/refused\/once differs .*immutable/);
    const resources = (await app.read()).status?.resources?.map(({ kind, status }) => `${kind} ${status}`);
    expect(resources?.toSorted()).toEqual(['ConfigMap OutOfSync', 'ConfigMap OutOfSync', 'Job OutOfSync']);

    const only = { resources: [{ kind: 'ConfigMap', name: 'a' }] };
    expect((await app.sync({ ...only, ...createNamespace.syncPolicy }, { tail })).phase).toBe('Succeeded');
    expect(await keys()).toEqual(['2', '1']);
    const refused = await app.sync(createNamespace.syncPolicy, { tail });
    expect([refused.phase, await keys()]).toEqual(['Failed', ['2', '2']]);
    expect(JSON.stringify(refused.syncResult)).toMatch(/immutable/);
    expect(JSON.stringify(refused)).not.toMatch(/\w\.\w+\{|0x[0-9a-f]{6}/);

    app.git.commit({ 'job.yaml': job('second', 'Force=true,Replace=true') });
    expect((await app.sync(createNamespace.syncPolicy, { tail })).phase).toBe('Succeeded');
    await refreshed(hub, app.path, 'normal');
    expect((await app.read()).status?.sync?.status).toBe('Synced');
  }, 180_000);

  it('a field that the API server keeps is named by a condition, without self-heal and after a restart', async () => {
    const name = 'kept';
    const app = await create(name, { 'map.yaml': map('kept', 'key: "1"'), 'free.yaml': map('free', 'key: "1"') }, {});
    await hub.api.create('/api/v1/namespaces', { metadata: { name } });
    const removePolicy = await storingOtherValues(hub, name);
    expect((await app.sync({}, { tail })).phase).toBe('Succeeded');
    const text = await app.condition('ContestedResourceWarning', { tail });
    expect(text).toMatch(/^ConfigMap kept\/kept: the API server .* keeps \/data\/key different from the manifest/);
    expect((await app.read()).status?.conditions).toHaveLength(1);

    await controller.pods.roll();
    await refreshed(hub, app.path, 'hard');
    expect((await app.read()).status?.conditions?.map(({ message }) => message)).toEqual([text]);
    await removePolicy();
    expect((await app.sync({}, { tail })).phase).toBe('Succeeded');
    await app.isGood(undefined, { tail });
    expect((await app.read()).status?.conditions ?? []).toEqual([]);
  }, 240_000);

  it('Replace=true succeeds although something writes to the object continuously', async () => {
    const replaced = 'argocd.argoproj.io/sync-options: Replace=true';
    const app = await create('replacing', { 'map.yaml': map('busy', 'count: "0"', replaced) }, createNamespace);
    expect((await app.sync(createNamespace.syncPolicy, { tail })).phase).toBe('Succeeded');
    const path = '/api/v1/namespaces/replacing/configmaps/busy';
    const hammering = hammer(hub, path, { pauses: false });
    const states: unknown[] = [];
    for (const count of ['1', '2', '3']) {
      app.git.commit({ 'map.yaml': map('busy', `count: "${count}"`, replaced) });
      const { phase, message } = await app.sync(createNamespace.syncPolicy, { tail });
      states.push([phase, message, (await hub.api.get<{ data: object }>(path))?.data]);
    }

    expect(await hammering.stop()).toBeGreaterThan(10);
    const good = ['Succeeded', 'successfully synced (all tasks run)'];
    expect(states).toEqual(['1', '2', '3'].map((count) => [...good, { count }]));
  }, 120_000);
});

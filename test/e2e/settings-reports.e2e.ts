/** @seconds 60 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, widgetCrd } from '#support';
import { TestApplication } from './applications.ts';
import { ApiProxy } from './support/api-proxy.ts';
import { startDouble, startServers, toolsPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { refreshed, UnderTest } from './under-test.ts';

// Public reports about settings, tracking and namespaces of clusters; a number is an issue of
// github.com/argoproj/argo-cd.
const testMs = 180_000;
const settingsPath = '/api/v1/namespaces/argocd/configmaps/argocd-cm';
const secretsPath = '/api/v1/namespaces/argocd/secrets';
const projectsPath = '/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects';
const trackingId = 'argocd.argoproj.io/tracking-id';
const kinds = ['ConfigMap', 'Secret', 'Widget', 'CustomResourceDefinition', 'Application', 'Namespace'];
const values = {
  rbac: { clusterWrite: true },
  controller: { heartbeatTime: 2, env: [{ name: 'PATH', value: toolsPath() }] },
  configs: {
    cm: {
      'resource.inclusions': `- apiGroups: ["*"]\n  kinds: [${kinds.join(', ')}]\n  clusters: ["*"]\n`,
      'application.resourceTrackingMethod': 'annotation+label',
    },
    params: { 'controller.sync.wave.delay.seconds': '0', 'controller.self.heal.backoff.timeout.seconds': '1' },
  },
};
const automated = { automated: { selfHeal: true, prune: true } };

interface LiveObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>>; readonly labels?: unknown };
  readonly data?: Readonly<Record<string, string>>;
}

let world: Servers<'hub'>;
let hub: Server;
let double: ClusterDouble;
let controller: UnderTest;
let bearerToken: string;
const proxies: ApiProxy[] = [];

const tail = (): string => controller.pods.tail();
const within = { withinMs: 90_000, tail };
const configMap = (name = 'settings', more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}data: {colour: blue}\n`;
const objectIn = (namespace: string, plural = 'configmaps', name = 'settings'): string =>
  `/api/v1/namespaces/${namespace}/${plural}/${name}`;

async function openProxy(): Promise<ApiProxy> {
  const proxy = await ApiProxy.start(hub);
  proxies.push(proxy);
  return proxy;
}

async function addCluster(name: string, fields: Readonly<Record<string, string>>): Promise<string> {
  await hub.api.create(secretsPath, {
    metadata: { name: `cluster-${name}`, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: { name, ...fields, config: JSON.stringify({ bearerToken }) },
  });
  return `${secretsPath}/cluster-${name}`;
}

async function addNamespace(name: string): Promise<void> {
  await hub.api.create('/api/v1/namespaces', { metadata: { name } });
}

/** An Application of this name in a namespace of its name, unless the spec names others. */
function deploy(
  name: string,
  files: Readonly<Record<string, string>> = { 'a.yaml': configMap() },
  spec: object = {},
): Promise<TestApplication> {
  const destination = { name: 'in-cluster', namespace: name };
  const syncPolicy = { ...automated, retry: { limit: 0 } };
  return TestApplication.create({ hub, folder: world.folder }, name, {
    files,
    spec: { destination, syncPolicy, ...spec },
  });
}

const read = (path: string): Promise<LiveObject | undefined> => hub.api.get<LiveObject>(path);

async function isHealed(namespace: string): Promise<void> {
  await hub.api.patch(objectIn(namespace), { data: { colour: 'red' } });
  await eventually(async () => {
    const { data } = (await read(objectIn(namespace))) ?? {};
    if (data?.['colour'] !== 'blue') throw new Error(`${namespace} is not healed\n${tail()}`);
  }, within.withinMs);
}

async function isAbsent(path: string): Promise<void> {
  await eventually(async () => {
    if ((await read(path)) !== undefined) throw new Error(`${path} is still there\n${tail()}`);
  }, within.withinMs);
}

async function conditionsOf(app: TestApplication): Promise<string> {
  const { status } = await app.read();
  return (status?.conditions ?? []).map(({ type, message }) => `${type}: ${message}`).join('\n');
}

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  ({ hub } = world.servers);
  double = await startDouble(hub.access);
  bearerToken = await hub.managerToken();
  controller = await UnderTest.install({ server: hub, folder: world.folder, values });
}, 300_000);
afterAll(async () => {
  await controller.stop();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await double.stop();
  await world.close();
});

describe('the Secret of a cluster', () => {
  it(
    'whose namespaces change has nothing of the others listed again (23806)',
    async () => {
      const proxy = await openProxy();
      for (const name of ['first', 'second']) await addNamespace(name);
      const secret = await addCluster('few', { server: proxy.url, namespaces: 'first' });
      const cluster = (namespace: string): object => ({ destination: { name: 'few', namespace } });
      const first = await deploy('first', undefined, cluster('first'));
      await first.isGood(undefined, within);
      const before = proxy.requests.length;
      await hub.api.patch(secret, { stringData: { namespaces: 'first,second' } });
      const second = await deploy('second', undefined, cluster('second'));
      await second.isGood(undefined, within);
      await isHealed('first');
      await isHealed('second');
      const again = proxy.requests
        .slice(before)
        .filter(({ verb, path }) => verb === 'list' && path.includes('/first/'));
      expect(again).toEqual([]);
      await hub.api.patch(secret, { stringData: { namespaces: 'second' } });
      await eventually(async () => expect(await conditionsOf(first)).toContain('first'), within.withinMs);
      expect(await read(objectIn('first'))).toBeDefined();
      await isHealed('second');
    },
    testMs,
  );

  it(
    'that gets another server is used there, and nothing is sent to the former one (14410)',
    async () => {
      const [former, next] = [await openProxy(), await openProxy()];
      const secret = await addCluster('moving', { server: former.url });
      await addNamespace('moved');
      const app = await deploy('moved', undefined, { destination: { name: 'moving', namespace: 'moved' } });
      await app.isGood(undefined, within);
      await hub.api.patch(secret, { stringData: { server: next.url } });
      await eventually(() => expect(next.requests.some(({ verb }) => verb === 'watch')).toBe(true), within.withinMs);
      await isHealed('moved');
      // Its cache stays for a moment, for a Secret that is created again.
      await eventually(async () => expect(await former.openConnections()).toBe(0), within.withinMs);
      const sent = former.requests.length;
      await isHealed('moved');
      await refreshed(hub, app.path, 'hard', within.withinMs);
      expect(former.requests.slice(sent)).toEqual([]);
    },
    testMs,
  );

  it(
    'with a namespace that does not exist hinders no Application of another (20459)',
    async () => {
      const proxy = await openProxy();
      await addNamespace('exists');
      await addCluster('onboarding', { server: proxy.url, namespaces: 'exists,not-yet' });
      const at = (namespace: string): object => ({ destination: { name: 'onboarding', namespace } });
      const early = await deploy('not-yet', undefined, at('not-yet'));
      const app = await deploy('exists', undefined, at('exists'));
      await app.isGood(undefined, within);
      await isHealed('exists');
      await eventually(async () => expect(JSON.stringify(await early.read())).toContain('not found'), within.withinMs);
      await addNamespace('not-yet');
      await early.sync({}, within);
      await early.isGood(undefined, within);
    },
    testMs,
  );

  it(
    'whose server fails and closes all watches is healed once it answers (9339)',
    async () => {
      const proxy = await openProxy();
      await addCluster('flaky', { server: proxy.url });
      await addNamespace('flaky');
      const app = await deploy('flaky', undefined, { destination: { name: 'flaky', namespace: 'flaky' } });
      await app.isGood(undefined, within);
      proxy.inject(() => ({ status: 502, contentType: 'text/html', text: '<html>no agent</html>' }));
      await hub.api.patch(objectIn('flaky'), { data: { colour: 'red' } });
      await refreshed(hub, app.path, 'normal', within.withinMs);
      expect(await read(objectIn('flaky'))).toMatchObject({ data: { colour: 'red' } });
      proxy.inject();
      await isHealed('flaky');
      const clusters = JSON.stringify(await controller.pods.all()[0]?.page('clusters'));
      expect(clusters).toContain('flaky');
    },
    testMs,
  );
});

describe('ignored differences', () => {
  it(
    'that are respected stay when a sync changes another field of the object (8970)',
    async () => {
      await addNamespace('self-managed');
      const secret = 'apiVersion: v1\nkind: Secret\nmetadata:\n  name: login\n';
      const app = await deploy(
        'self-managed',
        { 'a.yaml': configMap(), 'b.yaml': secret },
        {
          ignoreDifferences: ['ConfigMap', 'Secret'].map((kind) => ({ kind, jsonPointers: ['/data'] })),
          syncPolicy: { ...automated, syncOptions: ['RespectIgnoreDifferences=true'] },
        },
      );
      await app.isGood(undefined, within);
      const login = objectIn('self-managed', 'secrets', 'login');
      await hub.api.patch(objectIn('self-managed'), { data: { url: 'https://example.com', colour: 'red' } });
      await hub.api.patch(login, { stringData: { 'server.secretkey': 'k' } });
      const more = '  labels: {team: blue}\n';
      const commit = app.git.commit({ 'a.yaml': configMap('settings', more), 'b.yaml': `${secret}${more}` });
      await refreshed(hub, app.path, 'normal', within.withinMs);
      await app.isGood(commit, within);
      expect(await read(objectIn('self-managed'))).toMatchObject({
        metadata: { labels: { team: 'blue' } },
        data: { url: 'https://example.com', colour: 'red' },
      });
      expect(await read(login)).toMatchObject({
        metadata: { labels: { team: 'blue' } },
        data: { 'server.secretkey': 'aw==' },
      });
    },
    testMs,
  );

  it(
    'of all kinds that name one kind are reported (18254)',
    async () => {
      const rule = 'group: argoproj.io\nkind: Rollout\njsonPointers: [/data/size]\n';
      await hub.api.patch(settingsPath, { data: { 'resource.customizations.ignoreDifferences.all': rule } });
      await eventually(
        () =>
          expect(controller.pods.log()).toMatch(
            /ignoreDifferences\.all.*kind.* has no effect: the rule holds for all kinds/,
          ),
        within.withinMs,
      );
      await hub.api.patch(settingsPath, { data: { 'resource.customizations.ignoreDifferences.all': null } });
    },
    testMs,
  );
});

describe('an object', () => {
  it(
    'that moves to another Application gets its mark (17965)',
    async () => {
      await addNamespace('shared');
      const destination = { name: 'in-cluster', namespace: 'shared' };
      const keeping = { destination, syncPolicy: { automated: { selfHeal: true, prune: false } } };
      const files = { 'a.yaml': configMap(), 'b.yaml': configMap('other') };
      const before = await deploy('before', files, keeping);
      await before.isGood(undefined, within);
      before.git.commit({ 'a.yaml': null });
      await refreshed(hub, before.path, 'normal', within.withinMs);
      const after = await deploy('after', { 'a.yaml': configMap() }, keeping);
      await after.isGood(undefined, within);
      await eventually(async () => {
        const { metadata } = (await read(objectIn('shared'))) ?? {};
        expect(metadata?.annotations?.[trackingId]).toBe('after:/ConfigMap:shared/settings');
        expect(metadata?.labels).toMatchObject({ 'app.kubernetes.io/instance': 'after' });
      }, within.withinMs);
      await refreshed(hub, before.path, 'hard', within.withinMs);
      await before.isGood(undefined, within);
      expect(await conditionsOf(after)).toBe('');
      await hub.api.delete(before.path);
      await before.isGone(within);
      expect(await read(objectIn('shared'))).toBeDefined();
    },
    testMs,
  );

  it(
    'Namespace that the project forbids is not created by CreateNamespace (22869)',
    async () => {
      await hub.api.create(projectsPath, {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'AppProject',
        metadata: { name: 'narrow' },
        spec: { destinations: [{ server: '*', namespace: 'narrow-*' }], sourceRepos: ['*'] },
      });
      const app = await deploy('narrow-one', undefined, {
        project: 'narrow',
        syncPolicy: { ...automated, retry: { limit: 0 }, syncOptions: ['CreateNamespace=true'] },
      });
      await eventually(async () => {
        const { operationState } = (await app.read()).status ?? {};
        expect(JSON.stringify(operationState)).toMatch(/Namespace is not permitted in project narrow/);
      }, within.withinMs);
      expect(await read('/api/v1/namespaces/narrow-one')).toBeUndefined();
    },
    testMs,
  );
});

it(
  'a child Application is deleted with its file, with a label key of its own (6061)',
  async () => {
    const data = {
      'application.instanceLabelKey': 'argocd.argoproj.io/instance',
      'application.resourceTrackingMethod': 'label',
    };
    await hub.api.patch(settingsPath, { data });
    await addNamespace('child');
    const child = await deploy('child');
    await child.isGood(undefined, within);
    const { spec } = (await hub.api.get<{ spec: object }>(child.path)) ?? {};
    const manifest = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'child', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      spec,
    };
    const files = { 'child.yaml': JSON.stringify(manifest), 'a.yaml': configMap('parent') };
    const parent = await deploy('parent', files, { destination: { name: 'in-cluster', namespace: 'argocd' } });
    await parent.isGood(undefined, within);
    parent.git.commit({ 'child.yaml': null });
    await refreshed(hub, parent.path, 'normal', within.withinMs);
    await child.isGone(within);
    await isAbsent(objectIn('child'));
  },
  testMs,
);

it(
  'a chart that asks for a kind is rendered again once its definition is there (5643)',
  async () => {
    await addNamespace('capable');
    const template = `{{- if .Capabilities.APIVersions.Has "example.com/v1/Widget" }}
apiVersion: example.com/v1
kind: Widget
metadata: {name: wheel}
{{- end }}
`;
    const files = {
      'Chart.yaml': 'apiVersion: v2\nname: capable\nversion: 1.0.0\n',
      'templates/widget.yaml': template,
      'templates/settings.yaml': configMap(),
    };
    const app = await deploy('capable', files);
    await app.isGood(undefined, within);
    await hub.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd());
    await eventually(async () => {
      // The API server takes a moment to serve a new kind.
      await refreshed(hub, app.path, 'normal', within.withinMs);
      const widget = await read('/apis/example.com/v1/namespaces/capable/widgets/wheel');
      if (widget === undefined) throw new Error(`no Widget\n${tail()}`);
    }, within.withinMs);
  },
  testMs,
);
